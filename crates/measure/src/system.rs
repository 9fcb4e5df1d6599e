//! The version that a running driver reports: that of the machine's driver, which no registry
//! knows, and that of an arm, which has to be the one asked for.

use std::path::Path;

use adapter::adapter_process::AdapterProcess;
use adapter::environment::Environment;
use adapter::installation::Installation;
use adapter::protocol::Hello;
use adapter::version_selection::SYSTEM;
use base::clock::Epoch;
use base::error::{Error, Result};

/// Name and environment of an installed arm. That of the machine's driver is greeted first.
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
    let told = told(process.hello.as_ref().expect("greeted"));
    let _ = process.close().await;
    if let Some(wanted) = plan.told().filter(|wanted| *wanted != told) {
        return Err(Error::environment(
            format!("{}: the driver on this machine is version {told}, not {wanted}", plan.id()),
            format!("ask for {}", plan.id_of_machine(&told)),
        ));
    }
    let id = plan.id_of_machine(&told);
    environment.version = told;
    Ok((id, environment))
}

/// The version in letters that an arm's name may have.
fn told(hello: &Hello) -> String {
    let plain = |it: &char| it.is_ascii_alphanumeric() || "._-+".contains(*it);
    hello.driver.version.chars().filter(plain).collect()
}

/// What a driver reports that was built from source without a version, as all of C# 1.8 and 1.9.
const NO_VERSION: &str = "0.0.0";

/// The version of a running driver. In a user's folder of drivers it is the name of the driver's
/// own folder.
pub fn version(environment: &Environment, hello: &Hello) -> String {
    let reported = &hello.driver.version;
    if of_folder(environment) { environment.version.clone() } else { reported.clone() }
}

fn of_folder(environment: &Environment) -> bool {
    environment.options.get("from").is_some_and(|it| it == "folder")
}

/// What a running driver reports in place of a version, where its folder has told that.
pub fn no_version(environment: &Environment, hello: &Hello) -> Option<String> {
    let told = told(hello);
    let is_none = told.is_empty() || begins_as(NO_VERSION, &told);
    (is_none && of_folder(environment)).then_some(told)
}

/// Why a running driver is not the one that its arm asked for; None: it is.
pub fn other_version(environment: &Environment, hello: &Hello) -> Option<String> {
    let (asked, told) = (&environment.version, told(hello));
    if begins_as(asked, &told) || no_version(environment, hello).is_some() {
        return None;
    }
    let source = if of_folder(environment) { "is the name of its folder" } else { "was asked for" };
    Some(format!("its driver reports version {told}, and {asked} {source}"))
}

/// Whether the parts that both versions have are the same: 1.8.3 and 1.8.3.9, v1.4.6 and 1.4.6.
fn begins_as(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|it| it.strip_prefix('v').unwrap_or(it).split('.'));
    one.zip(other).all(|(one, other)| one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_may_have_more_parts_than_the_one_asked_for_or_less() {
        for (one, other) in [("1.8.3", "1.8.3.9"), ("2.14.3", "2.14"), ("1.4.6", "v1.4.6")] {
            assert!(begins_as(one, other) && begins_as(other, one), "{one} {other}");
        }
        for (one, other) in [("1.8.3", "1.8.30"), ("1.1", "1.10"), ("2.0.0", "2.0.0-rc1")] {
            assert!(!begins_as(one, other) && !begins_as(other, one), "{one} {other}");
        }
        assert!(!begins_as("1.0.0", ""));
    }
}
