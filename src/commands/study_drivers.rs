//! The drivers of a study on this machine.

use adapter::manifest::Manifest;
use base::error::{Error, Result};
use measure::arms::{self, Arm};
use record::records::Unavailable;
use studies::Study;

/// The drivers that were asked for; without any those of the study, or every adapter. Also those
/// whose place others take, for this machine can run none of them.
///
/// # Errors
/// A driver that there is not.
pub fn taking_part(
    study: &dyn Study,
    asked: Vec<String>,
    manifests: &[Manifest],
) -> Result<(Vec<String>, Option<Unavailable>)> {
    let definition = study.definition();
    if !asked.is_empty() {
        return Ok((asked, None));
    }
    if definition.arms.is_empty() {
        return Ok((manifests.iter().map(|it| it.name.clone()).collect(), None));
    }
    if definition.elsewhere.is_empty() {
        return Ok((asked, None));
    }
    let own: Vec<String> = definition.arms.into_iter().map(|arm| arm.driver).collect();
    let (good, bad) = probed(&own, manifests)?;
    let Some(missing) = bad.into_iter().next().filter(|_| good.is_empty()) else {
        return Ok((asked, None));
    };
    let others: Vec<String> = definition.elsewhere.into_iter().map(|arm| arm.driver).collect();
    let instead = Unavailable {
        adapter: format!("{} and {} more", missing.adapter, own.len() - 1),
        hint: format!("{}. In their place: {}", missing.hint, others.join(", ")),
        ..missing
    };
    Ok((others, Some(instead)))
}

/// A driver that is left out, and why.
pub fn reason(it: Unavailable) -> (String, String) {
    (it.adapter, format!("{}; {}", it.reason, it.hint))
}

/// The arms of these drivers whose adapters this machine can run, and what the others lack.
///
/// # Errors
/// A driver that there is not; none that can be run.
pub fn runnable<'a>(
    drivers: &[String],
    manifests: &'a [Manifest],
) -> Result<(Vec<Arm<'a>>, Vec<Unavailable>)> {
    let (good, bad) = probed(drivers, manifests)?;
    if good.is_empty() {
        return Err(Error::environment(
            "this machine can run none of the study's drivers",
            "`mongodyno adapters list` says what each of them needs",
        ));
    }
    Ok((good, bad))
}

/// The same, where it may be none.
fn probed<'a>(
    drivers: &[String],
    manifests: &'a [Manifest],
) -> Result<(Vec<Arm<'a>>, Vec<Unavailable>)> {
    let (mut good, mut bad): (Vec<Arm<'_>>, Vec<Unavailable>) = Default::default();
    for driver in drivers {
        let arm = arms::parse(manifests, driver)?;
        match arm.manifest.choose(&arm.asked)?.probe() {
            Ok(_) => good.push(arm),
            // A driver and its copy are missing once.
            Err(_) if bad.iter().any(|it| &it.adapter == driver) => {}
            Err(missing) => bad.push(Unavailable {
                adapter: driver.clone(),
                reason: missing.reason,
                hint: missing.hint,
                unasked: false,
            }),
        }
    }
    Ok((good, bad))
}

/// The error of a record that names a study which there is not.
pub fn unknown(name: &str) -> Error {
    Error::usage(
        format!("this mongodyno has no study {name}"),
        "the folder may come from another version: `mongodyno study` lists those that there are",
    )
}
