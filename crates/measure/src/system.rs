//! The driver that the machine has tells its version when it runs.

use std::path::Path;

use adapter::environment::Environment;
use adapter::install::Installation;
use adapter::process::AdapterProcess;
use adapter::versions::SYSTEM;
use base::clock::Epoch;
use base::error::{Error, Result};

/// Name and environment of an installed arm. That of the machine's driver is greeted first, for no
/// registry knows its version.
///
/// # Errors
/// The machine's driver does not start, or is not the one of the arm's name.
pub async fn named(plan: &Installation<'_>) -> Result<(String, Environment)> {
    let mut environment = plan.environment().await?;
    if environment.version != SYSTEM {
        return Ok((plan.id(), environment));
    }
    let log = Path::new("/dev/null"); // the error quotes its last words
    let started = AdapterProcess::start(&environment, log, &Epoch::start()).await;
    let process = started.map_err(|failure| {
        let hint = "see the adapter's README for what it needs of the machine";
        Error::environment(format!("{}: {failure}", plan.id()), hint)
    })?;
    let hello = process.hello.as_ref().expect("greeted");
    // Of letters that an arm's name may have.
    let plain = |it: &char| it.is_ascii_alphanumeric() || "._-+".contains(*it);
    let told: String = hello.driver.version.chars().filter(plain).collect();
    let _ = process.close().await;
    if let Some(wanted) = plan.told().filter(|wanted| *wanted != told) {
        return Err(Error::environment(
            format!("{}: the machine's driver is {told}, not {wanted}", plan.id()),
            format!("ask for {}", plan.id_of_machine(&told)),
        ));
    }
    let id = plan.id_of_machine(&told);
    environment.version = told;
    Ok((id, environment))
}
