//! Every adapter that the repository has: its own tests, the contract, other versions of its
//! driver. Adapters are found by their folders; one whose toolchain is missing is skipped.

mod support;

use std::collections::BTreeSet;
use std::fs;

use mongodyno::adapter::environment;
use mongodyno::adapter::manifest::{Manifest, discover};
use mongodyno::adapter::process::AdapterProcess;
use mongodyno::clock::Epoch;
use support::{mongodyno, root, said, scratch, server, skip};

/// Versions to try where the oldest that `versions` names says too little: those with another
/// API or another way of installing. None of Rust's: each would be a build of the whole driver.
const OLD_VERSIONS: [(&str, &[&str]); 4] = [
    ("go", &["2.0.0"]),
    ("node", &["6.20.0", "4.17.2"]),
    ("python", &["4.10.1"]),
    ("rust", &["3.2.5"]),
];

/// Does something with every adapter that this machine can run, and tells all that went wrong.
fn for_each_adapter(test: &str, mut act: impl FnMut(&Manifest) -> Result<(), String>) {
    let mut wrong = Vec::new();
    for manifest in discover(None).expect("manifests that can be read") {
        if let Err(missing) = manifest.probe() {
            skip(&format!("{test}: {}", manifest.name), &missing.reason);
            continue;
        }
        if let Err(reason) = act(&manifest) {
            wrong.push(format!("{}: {reason}", manifest.name));
        }
    }
    assert!(wrong.is_empty(), "{test}\n{}", wrong.join("\n\n"));
}

/// Runs the binary; what it said is the error, unless it ends with 0.
fn succeeds(arguments: &[&str], uri: Option<&str>) -> Result<String, String> {
    let mut command = mongodyno(arguments);
    if let Some(uri) = uri {
        command.env("MDYN_URI", uri);
    }
    let output = command.output().expect("the binary runs");
    let text = format!("mongodyno {}: {}", arguments.join(" "), said(&output));
    if output.status.success() { Ok(text) } else { Err(text) }
}

#[test]
fn the_binary_carries_every_adapter_of_the_repository() {
    let folders = fs::read_dir(root().join("adapters")).expect("adapters/");
    let has_manifest = |path: &std::path::Path| path.join("adapter.toml").is_file();
    let on_disk: BTreeSet<String> = folders
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| has_manifest(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let embedded = discover(None).expect("manifests that can be read");
    let embedded: BTreeSet<String> = embedded.into_iter().map(|it| it.name).collect();
    assert_eq!(embedded, on_disk);
    assert!(!embedded.is_empty());
}

#[test]
fn own_tests() {
    let Some(uri) = server("adapters/own_tests") else { return };
    for_each_adapter("adapters/own_tests", |it| {
        succeeds(&["adapters", "test", &it.name], Some(uri)).map(drop)
    });
}

#[test]
fn contract() {
    let Some(uri) = server("adapters/contract") else { return };
    for_each_adapter("adapters/contract", |it| succeeds(&["check", &it.name], Some(uri)).map(drop));
}

#[test]
fn old_versions_install_and_report_themselves() {
    for_each_adapter("adapters/old_versions", |it| {
        if it.install_version.is_empty() {
            return Ok(());
        }
        let oldest = [it.versions.split(' ').next().expect("a first word")];
        let row = OLD_VERSIONS.iter().find(|(name, _)| *name == it.name);
        let versions = row.map_or(&oldest[..], |(_, versions)| versions);
        versions.iter().try_for_each(|version| {
            let driver = format!("{}@{version}", it.name);
            let folder = succeeds(&["adapters", "install", &driver], None)?;
            succeeds(&["check", "--offline", &driver], None)?;
            match reported_version(it, version)? {
                reported if reported == *version => Ok(()),
                reported => Err(format!("{driver} reports {reported}; {folder}")),
            }
        })
    });
}

/// What the adapter says of its driver when it is started with this version.
fn reported_version(manifest: &Manifest, version: &str) -> Result<String, String> {
    let driver = format!("{}@{version}", manifest.name);
    let environment = environment::install(manifest, Some(version));
    let environment = environment.map_err(|error| error.to_string())?;
    let log = scratch("adapter-logs").join(format!("{driver}.log"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let started = AdapterProcess::start(&environment, &log, &Epoch::start(), "").await;
        let mut process = started.map_err(|failure| format!("{driver}: {failure}"))?;
        let hello = process.hello.take().expect("greeted");
        process.close().await.map_err(|failure| format!("{driver}: {failure}"))?;
        Ok(hello.driver.version)
    })
}

#[test]
fn a_version_that_does_not_exist_is_named_with_the_command_that_lists_them() {
    for_each_adapter("adapters/unknown_version", |it| {
        if it.install_version.is_empty() {
            return Ok(());
        }
        // Of the same major version: a package name may carry it.
        let major = it.default.split('.').next().expect("a major version");
        let driver = format!("{}@{major}.9999.0", it.name);
        let output = support::run(["adapters", "install", &driver]);
        let text = said(&output);
        if output.status.code() == Some(5)
            && text.contains(&format!("has no version {major}.9999.0"))
            && text.contains(&it.versions_command)
        {
            return Ok(());
        }
        Err(format!("installing {driver}: {text}"))
    });
}

#[test]
fn an_adapter_that_does_not_exist_is_a_usage_error() {
    let output = support::run(["adapters", "install", "no-such-adapter"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}
