//! `mongodyno adapters list|install|test`.

use serde_json::json;
use tokio::process::Command;

use crate::cli::{AdaptersAction, AdaptersArgs, RegistryArgs};
use adapter::environment::{self, Environment};
use adapter::installation::add_tests;
use adapter::manifest::{Manifest, discover};
use base::error::{Error, Exit, Result};
use measure::arms::{self, Arm};
use measure::install::{How, Wanted, install, install_all};
use measure::selection::{expand, one};
use measure::stop::Requests;

pub async fn run(args: AdaptersArgs) -> Result<()> {
    let manifests = discover(args.adapters_dir.as_deref())?;
    match args.action {
        AdaptersAction::List { json } => list(&manifests, json),
        AdaptersAction::Install { adapter, registry: RegistryArgs { offline } } => {
            let words = expand(&manifests, &[adapter], offline)?;
            let arms = words.iter().map(|words| arms::parse(&manifests, words));
            let arms = arms.collect::<Result<Vec<_>>>()?;
            let how = How { wanted: Wanted::All, offline };
            let mut requests = Requests::watch();
            let installed = install_all(&arms, None, how, &mut Vec::new(), &mut requests).await?;
            let folder = |it: &(String, Environment)| format!("{}\n", it.1.folder.display());
            let folders: Vec<String> = installed.arms.iter().map(folder).collect();
            super::print(&folders.concat())
        }
        AdaptersAction::Test { adapter, registry: RegistryArgs { offline }, uri } => {
            test(&one(&manifests, &adapter, offline)?, offline, uri.as_deref()).await
        }
    }
}

/// Runs the adapter's own tests.
async fn test(arm: &Arm<'_>, offline: bool, uri: Option<&str>) -> Result<()> {
    let name = &arm.manifest.name;
    let words = arm.manifest.choose(&arm.asked)?.test;
    if words.is_empty() {
        return Err(Error::usage(
            format!("{name} has no tests"),
            "its manifest names none: `test`",
        ));
    }
    let mut requests = Requests::watch();
    let environment = install(arm, offline, &mut requests).await?;
    add_tests(arm.manifest, &environment.folder)?;
    let mut command = environment.command(&words);
    if let Some(uri) = uri {
        command.env("MDYN_URI", uri);
    }
    let status = requests.or(Command::from(command).kill_on_drop(true).status()).await?;
    let status = status.map_err(|error| {
        Error::environment(format!("cannot run the tests of {name}: {error}"), "")
    })?;
    if status.success() {
        return Ok(());
    }
    Err(Error::new(Exit::GateFailed, format!("the tests of {name} failed ({status})"), ""))
}

pub fn list(manifests: &[Manifest], json: bool) -> Result<()> {
    let mut table = super::PlainTable::default();
    table.add_row(["adapter", "driver", "default", "versions", "this machine"]);
    let mut rows = Vec::new();
    for manifest in manifests {
        let state = match manifest.probe() {
            Ok(_) => "can run it".to_owned(),
            Err(missing) => {
                let error = environment::not_runnable(manifest, &missing);
                format!("{}; {}", missing.reason, error.hint)
            }
        };
        rows.push(json!({
            "name": manifest.name, "driver": manifest.driver, "language": manifest.language,
            "default": manifest.default, "versions": manifest.versions, "state": state,
        }));
        table.add_row([
            manifest.name.clone(),
            format!("{} ({})", manifest.driver, manifest.language),
            manifest.default.clone(),
            manifest.versions.clone(),
            state,
        ]);
    }
    if json {
        let text = serde_json::to_string_pretty(&rows).expect("rows serialise");
        return super::print(&format!("{text}\n"));
    }
    super::print(&format!("{table}\n"))
}
