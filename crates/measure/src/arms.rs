//! From the words after `-d` to installed environments.

use base::say;
use std::collections::BTreeMap;

use adapter::driver_choice::{DriverSelection, PROCESSES};
use adapter::manifest::{self, Manifest};
use adapter::version_selection::is_selection;
use base::error::{Error, Result};
use base::strings::nearest;
use record::records::Unavailable;
use record::words::{FromFolder as _, Plain};
use server::connection_string;
use workload::plan::Plan;

const PROCESSES_RANGE: std::ops::RangeInclusive<u32> = 1..=64;

#[derive(Debug)]
pub struct Arm<'a> {
    /// The words after `-d`.
    pub words: String,
    pub manifest: &'a Manifest,
    /// Package, version and options asked for.
    pub asked: DriverSelection,
}

/// Reads `ADAPTER[:PACKAGE][@VERSION][/KEY=VALUE]...`. KEY is an option of the adapter or of
/// connection strings.
///
/// # Errors
/// The adapter, package, version or option does not exist, or they do not go together.
pub fn parse<'a>(manifests: &'a [Manifest], driver: &str) -> Result<Arm<'a>> {
    let (head, options) = split(driver, '/');
    let (name, version) = split(head, '@');
    let (name, package) = split(name, ':');
    let manifest = find(manifests, name)?;
    // The version becomes a word of an installer's command line, where other forms name other
    // packages.
    let is_other = |it: &&str| {
        it.starts_with('-') || it.contains(':') || is_selection(it) || !Plain::may_give(it)
    };
    if let Some(version) = version.filter(is_other) {
        return Err(Error::usage(
            format!("-d {driver}: {version} is no version"),
            format!("write {name}@1.2.3; versions are of letters, digits and . _ - +"),
        ));
    }
    let mut asked = DriverSelection {
        package: package.filter(|it| **it != manifest.driver).map(str::to_owned),
        version: version.map(str::to_owned),
        ..DriverSelection::default()
    };
    for segment in options.map(of_options).unwrap_or_default() {
        let (key, value) =
            segment.split_once('=').filter(|(_, value)| !value.is_empty()).ok_or_else(|| {
                Error::usage(
                    format!("-d {driver}: `{segment}` names no value"),
                    format!("write {head}/key=value, as in {head}/maxPoolSize=10"),
                )
            })?;
        // A path is the adapter's, not of a connection string; so is a flag with a value.
        let own = manifest.options.contains_key(key);
        let path = value.strip_prefix('/').filter(|_| own);
        let is_right =
            |part: &str| Plain::may_give(part) || own && part.split('=').all(Plain::may_give);
        if !path.unwrap_or(value).split('/').all(is_right) || path.is_none() && value.contains('/')
        {
            return Err(Error::usage(
                format!(
                    "-d {driver}: the value of `{segment}` has a character that no option accepts"
                ),
                "values are of letters, digits and . _ - : , +; some options take a path",
            ));
        }
        if key == PROCESSES {
            let processes = value.parse().ok().filter(|count| PROCESSES_RANGE.contains(count));
            asked.processes = Some(processes.ok_or_else(|| {
                Error::usage(
                    format!("-d {driver}: {value} is no number of processes"),
                    format!("from 1 to {}", PROCESSES_RANGE.end()),
                )
            })?);
            continue;
        }
        let (known, key) = match connection_string::arm_option(key) {
            _ if manifest.options.contains_key(key) => (&mut asked.options, key),
            Some(option) => (&mut asked.uri_options, option),
            None => return Err(unknown_option(manifest, key)),
        };
        if known.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(Error::usage(format!("-d {driver} sets {key} twice"), "set it once"));
        }
    }
    manifest.choose(&asked)?;
    Ok(Arm { words: driver.to_owned(), manifest, asked })
}

/// The parts between slashes; those of a path belong to its option: `runtime=/usr/bin/x`.
fn of_options(text: &str) -> Vec<String> {
    let mut segments: Vec<String> = Vec::new();
    for part in text.split('/') {
        let is_path = |it: &&mut String| it.ends_with('=') || it.contains("=/");
        match segments.last_mut().filter(is_path).filter(|_| !part.contains('=')) {
            Some(path) => *path = format!("{path}/{part}"),
            None => segments.push(part.to_owned()),
        }
    }
    segments
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(before, after)| (before, Some(after)))
}

fn unknown_option(manifest: &Manifest, key: &str) -> Error {
    if connection_string::check_option(key).is_ok() {
        return Error::usage(
            format!("{key} is an option of connection strings that one arm cannot set alone"),
            format!("it holds for all arms: write it into --uri, as in mongodb://HOST/?{key}=…"),
        );
    }
    let own: Vec<&str> = manifest.options.keys().map(String::as_str).collect();
    let hint = match nearest(key, own.iter().copied().chain(connection_string::arm_options())) {
        Some(near) => format!("did you mean {near}?"),
        None if own.is_empty() => {
            "it takes options of connection strings, such as maxPoolSize; what concerns all arms \
             alike stands in --uri"
                .to_owned()
        }
        None => format!("it takes {}, and options of connection strings", own.join(", ")),
    };
    Error::usage(format!("{} takes no option {key}", manifest.name), hint)
}

/// # Errors
/// No adapter has this name; the hint has the nearest one.
pub fn find<'a>(manifests: &'a [Manifest], name: &str) -> Result<&'a Manifest> {
    manifests.iter().find(|it| it.name == name).ok_or_else(|| {
        let names: Vec<&str> = manifests.iter().map(|it| it.name.as_str()).collect();
        let of_package = of_package(manifests, name);
        let hint = match nearest(name, names.iter().copied()) {
            _ if name.contains(',') => {
                format!("each driver has its own -d: -d {}", name.replace(',', " -d "))
            }
            _ if !of_package.is_empty() => {
                format!("-d takes an adapter; {name} is measured by {}", of_package.join(", "))
            }
            Some(near) => format!("did you mean {near}?"),
            None => format!("there are: {}", names.join(", ")),
        };
        Error::usage(format!("there is no driver {name}"), hint)
    })
}

/// The words after `-d` that lead to a package of this name: `-d python` for pymongo.
fn of_package(manifests: &[Manifest], name: &str) -> Vec<String> {
    let words = |manifest: &Manifest| {
        let packages = manifest.packages();
        let package = packages.into_iter().find(|it| it.eq_ignore_ascii_case(name))?.to_owned();
        let package = Some(package).filter(|it| *it != manifest.driver);
        Some(format!(
            "-d {}",
            DriverSelection { package, ..DriverSelection::default() }.named(&manifest.name)
        ))
    };
    manifests.iter().filter_map(words).collect()
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

/// The drivers asked for, or every one this machine can run.
pub fn choose<'a>(
    drivers: &[String],
    manifests: &'a [Manifest],
) -> Result<(Vec<Arm<'a>>, Vec<Unavailable>)> {
    if !drivers.is_empty() {
        let chosen = drivers.iter().map(|driver| parse(manifests, driver));
        return Ok((chosen.collect::<Result<_>>()?, Vec::new()));
    }
    let (good, bad) = runnable(manifests);
    let unavailable: Vec<Unavailable> = bad
        .into_iter()
        .map(|(manifest, missing)| Unavailable {
            adapter: manifest.name.clone(),
            reason: missing.reason,
            hint: missing.hint,
            unasked: true,
        })
        .collect();
    for it in &unavailable {
        say!("{}: left out, {}; {}", it.adapter, it.reason, it.hint);
    }
    if good.is_empty() {
        return Err(Error::environment(
            "this machine can run no adapter",
            "`mongodyno adapters list` says what each of them needs",
        ));
    }
    let arm = |manifest: &'a Manifest| Arm {
        words: manifest.name.clone(),
        manifest,
        asked: DriverSelection::default(),
    };
    Ok((good.into_iter().map(arm).collect(), unavailable))
}

/// The most processes of any arm, which all decode the pools.
pub fn processes(plan: &Plan, arms: &[Arm<'_>]) -> u32 {
    let own = arms.iter().map(|arm| arm.asked.processes);
    let plans = own.map(|own| plan.with_processes(own));
    plans.flat_map(|plan| plan.phases).map(|phase| phase.processes).max().unwrap_or(1)
}

/// The ids of the arms, before anything is installed.
pub fn ids(arms: &[Arm<'_>]) -> Result<Vec<String>> {
    let id = |arm: &Arm<'_>| {
        let version = arm.manifest.choose(&arm.asked)?.named_version();
        Ok(arm.asked.id(&arm.manifest.name, &version))
    };
    let mut ids = arms.iter().map(id).collect::<Result<Vec<_>>>()?;
    number_twins(ids.iter_mut());
    Ok(ids)
}

/// Numbers equal ids (`#2`), so that every arm has its own.
pub(crate) fn number_twins<'a>(ids: impl Iterator<Item = &'a mut String>) {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for id in ids {
        let count = seen.entry(id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            *id = format!("{id}#{count}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use adapter::manifest::discover;

    fn id(driver: &str) -> String {
        let manifests = discover(None).expect("manifests");
        let Arm { manifest, asked, .. } = parse(&manifests, driver).expect("an arm");
        let version = manifest.choose(&asked).expect("a choice").version;
        asked.id(&manifest.name, &version)
    }

    fn refused(driver: &str) -> String {
        let manifests = discover(None).expect("manifests");
        let error = parse(&manifests, driver).expect_err("a refusal");
        assert_eq!(error.exit, base::error::Exit::Usage);
        format!("{} | {}", error.message, error.hint)
    }

    #[test]
    fn an_arm_is_an_adapter_a_version_and_options() {
        assert_eq!(id("go@2.9.3"), "go@2.9.3");
        assert_eq!(id("go@2.9.3/maxpoolsize=1024/w=1"), "go@2.9.3/maxPoolSize=1024/w=1");
        let path = "python@4.20.0/runtime=/usr/bin/python3.12/maxPoolSize=5";
        assert_eq!(id(path), path);
        let old = "node@1.4.3/maxPoolSize=5/runtime=0.12.9";
        assert_eq!(id(old), "node@1.4.3/runtime=0.12.9/maxPoolSize=5");
        let flags = "java@5.10.0/jvm=-Xms1g,-XX:MaxPermSize=64m";
        assert_eq!(id(flags), flags);
        assert_eq!(id("go@2.9.3/processes=4/w=1"), "go@2.9.3/w=1/processes=4");
        assert_eq!(id("node:mongolian"), "node:mongolian@0.1.18");
        assert_eq!(id("node:mongodb@4.17.2/api=callback"), "node@4.17.2/api=callback");
    }

    #[test]
    fn what_is_wrong_with_an_arm_is_said_with_one_thing_to_do() {
        let starts = |driver: &str, wanted: &str| {
            let said = refused(driver);
            assert!(said.contains(wanted), "{driver}: {said}");
        };
        starts("go/maxPolSize=3", "go takes no option maxPolSize | did you mean maxPoolSize?");
        starts("c/runtime=1.2.3", "c takes no option runtime | it takes options of connecti");
        starts(
            "rust/runtime=1",
            "rust takes no option runtime | it takes api, and options of conn",
        );
        starts("go/w=1=2", "the value of `w=1=2` has a character that no option accepts");
        starts("go/w=/usr/bin", "the value of `w=/usr/bin` has a character that no option accepts");
        starts("python/runtime=/usr/bin/py*", "has a character that no option accepts");
        starts("python/runtime=../bin/python", "names no value");
        starts("python/runtime=", "names no value");
        starts("node@1.4.3/runtme=1", "node takes no option runtme | did you mean runtime?");
        starts("node@1.4.3/runtime", "names no value");
        starts("node@1.4.3/w=1/w=1", "sets w twice");
        for version in ["npm:evil", "--global", "1 2", "file:x"] {
            starts(&format!("node@{version}"), "is no version | write node@1.2.3; versions are of");
        }
        starts("go/maxPoolSize=1&w=0", "maxPoolSize=1&w=0");
        starts("go/processes=0", "-d go/processes=0: 0 is no number of processes | from 1 to 64");
        starts("node@1.4.3/runtime=20.1.0", "does not go with runtime=20.1.0");
        starts("node@1.4.3/api=promise", "does not go with api=promise");
        starts("node:mongols", "node has no package mongols");
        starts("go/authSource=admin", "authSource is an option of connection strings that");
        starts(
            "go,python@4.13",
            "no driver go,python | each driver has its own -d: -d go -d python",
        );
    }
}
