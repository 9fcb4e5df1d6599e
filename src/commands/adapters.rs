//! `mongodyno adapters list|install|test`.

use serde_json::json;
use tokio::process::Command;

use crate::cli::{AdaptersAction, AdaptersArgs};
use adapter::environment;
use adapter::manifest::{Manifest, discover};
use base::error::{Error, Exit, Result};
use measure::arms;
use measure::install::install;
use measure::stop::Requests;

pub async fn run(args: AdaptersArgs) -> Result<()> {
    let manifests = discover(args.adapters_dir.as_deref())?;
    match args.action {
        AdaptersAction::List { json } => list(&manifests, json),
        AdaptersAction::Install { adapter } => {
            let arm = arms::parse(&manifests, &adapter)?;
            let environment = install(&arm, &mut Requests::watch()).await?;
            super::print(&format!("{}\n", environment.folder.display()))
        }
        AdaptersAction::Test { adapter, uri } => test(&manifests, &adapter, uri.as_deref()).await,
    }
}

/// Runs the adapter's own tests.
async fn test(manifests: &[Manifest], adapter: &str, uri: Option<&str>) -> Result<()> {
    let arm = arms::parse(manifests, adapter)?;
    let name = &arm.manifest.name;
    let words = arm.manifest.choose(&arm.asked)?.test;
    if words.is_empty() {
        return Err(Error::usage(
            format!("{name} has no tests"),
            "its manifest names none: `test`",
        ));
    }
    let mut requests = Requests::watch();
    let environment = install(&arm, &mut requests).await?;
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

fn list(manifests: &[Manifest], json: bool) -> Result<()> {
    let mut table = super::Table::default();
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
