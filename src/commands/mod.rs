//! One file per verb: they wire the modules together and print.

pub mod adapters;
pub mod check;
pub mod fake_adapter;
mod plan_text;
pub mod report;
pub mod run;
pub mod schema;
pub mod server;
pub mod workloads;

use crate::adapter::environment::{self, Environment};
use crate::adapter::manifest::{self, Manifest};
use crate::error::{Error, Result};

/// `node@7.9.0` -> (`node`, Some(`7.9.0`)).
fn split_version(driver: &str) -> (&str, Option<&str>) {
    match driver.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (driver, None),
    }
}

/// Finds an adapter by name.
fn find<'a>(manifests: &'a [Manifest], name: &str) -> Result<&'a Manifest> {
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
fn install(manifests: &[Manifest], driver: &str) -> Result<Environment> {
    let (name, version) = split_version(driver);
    environment::install(find(manifests, name)?, version)
}

/// Adapters this machine can run, and those it cannot, with the reason.
fn runnable(manifests: &[Manifest]) -> (Vec<&Manifest>, Vec<(&Manifest, manifest::Missing)>) {
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

/// Prints a result: the one place that writes to stdout.
///
/// # Errors
/// None: a reader that went away (`| head`) is no error.
#[allow(clippy::unnecessary_wraps)] // verbs end with it
fn print(text: &str) -> Result<()> {
    use std::io::Write as _;
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.flush();
    Ok(())
}

/// A table without borders.
fn table() -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::TableStyle::new());
    table
}
