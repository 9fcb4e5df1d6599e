//! From the words after `-d` to installed environments.

use std::collections::BTreeMap;

use crate::adapter::environment::{self, Environment};
use crate::adapter::manifest::{self, Manifest};
use crate::error::{Error, Result};
use crate::result::records::Unavailable;

/// `node@7.9.0` -> (`node`, Some(`7.9.0`)).
pub fn split_version(driver: &str) -> (&str, Option<&str>) {
    match driver.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (driver, None),
    }
}

/// Finds an adapter by name.
pub fn find<'a>(manifests: &'a [Manifest], name: &str) -> Result<&'a Manifest> {
    manifests.iter().find(|it| it.name == name).ok_or_else(|| {
        let names: Vec<&str> = manifests.iter().map(|it| it.name.as_str()).collect();
        let near = names.iter().min_by_key(|known| strsim::levenshtein(known, name));
        let hint = match near {
            Some(near) if strsim::levenshtein(near, name) <= 2 => format!("did you mean {near}?"),
            _ => format!("there are: {}", names.join(", ")),
        };
        Error::usage(format!("there is no driver {name}"), hint)
    })
}

/// Installs `ADAPTER` or `ADAPTER@VERSION`.
pub fn install(manifests: &[Manifest], driver: &str) -> Result<Environment> {
    let (name, version) = split_version(driver);
    environment::install(find(manifests, name)?, version)
}

/// Adapters this machine can run, and those it cannot, with the reason.
pub fn runnable(manifests: &[Manifest]) -> (Vec<&Manifest>, Vec<(&Manifest, manifest::Missing)>) {
    let mut good = Vec::new();
    let mut bad = Vec::new();
    for manifest in manifests {
        match manifest.probe() {
            Ok(_) => good.push(manifest),
            Err(missing) => bad.push((manifest, missing)),
        }
    }
    (good, bad)
}

/// An adapter and the version asked for.
type Chosen<'a> = (&'a Manifest, Option<String>);

/// The drivers asked for, or every one this machine can run.
///
/// # Errors
/// An unknown driver; a machine that can run none.
pub fn choose<'a>(
    drivers: &[String],
    manifests: &'a [Manifest],
) -> Result<(Vec<Chosen<'a>>, Vec<Unavailable>)> {
    if !drivers.is_empty() {
        let chosen = drivers.iter().map(|driver| {
            let (name, version) = split_version(driver);
            Ok((find(manifests, name)?, version.map(str::to_owned)))
        });
        return Ok((chosen.collect::<Result<_>>()?, Vec::new()));
    }
    let (good, bad) = runnable(manifests);
    let unavailable: Vec<Unavailable> = bad
        .into_iter()
        .map(|(manifest, missing)| Unavailable {
            adapter: manifest.name.clone(),
            reason: missing.reason,
            hint: missing.hint,
        })
        .collect();
    for it in &unavailable {
        eprintln!("{}: left out, {}; {}", it.adapter, it.reason, it.hint);
    }
    if good.is_empty() {
        return Err(Error::environment(
            "this machine can run no adapter",
            "`mongodyno adapters list` says what each of them needs",
        ));
    }
    Ok((good.into_iter().map(|manifest| (manifest, None)).collect(), unavailable))
}

/// Installs the arms. One that was asked for by name must install; of the others those that do
/// not are named and left out.
pub fn install_all(
    arms: &[Chosen<'_>],
    asked_by_name: bool,
    unavailable: &mut Vec<Unavailable>,
) -> Result<Vec<(String, Environment)>> {
    let mut environments = Vec::new();
    for (manifest, version) in arms {
        match environment::install(manifest, version.as_deref()) {
            Ok(environment) => {
                environments
                    .push((format!("{}@{}", manifest.name, environment.version), environment));
            }
            Err(error) if !asked_by_name && environments.len() + 1 < arms.len() => {
                eprintln!("{}: left out, {error}", manifest.name);
                unavailable.push(Unavailable {
                    adapter: manifest.name.clone(),
                    reason: error.message,
                    hint: error.hint,
                });
            }
            Err(error) => return Err(error),
        }
    }
    number_twins(&mut environments);
    Ok(environments)
}

/// The same driver given twice gets `#2`, so that every arm has its own name.
fn number_twins(environments: &mut [(String, Environment)]) {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for (id, _) in environments {
        let count = seen.entry(id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            *id = format!("{id}#{count}");
        }
    }
}
