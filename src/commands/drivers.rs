//! `mongodyno drivers [--versions DRIVER]`.

use crate::cli::DriversArgs;
use adapter::manifest::{Manifest, discover};
use base::error::{Error, Result};
use measure::arms;

pub fn run(args: &DriversArgs) -> Result<()> {
    let manifests = discover(args.adapters_dir.as_deref())?;
    match &args.versions {
        None => super::adapters::list(&manifests, false),
        Some(driver) => releases(&manifests, driver, args.registry.offline),
    }
}

fn releases(manifests: &[Manifest], driver: &str, offline: bool) -> Result<()> {
    if driver.contains(['@', '/']) {
        // It is not repeated: a password may be in the place of the version.
        let message = "--versions takes a driver without a version and options";
        return Err(Error::usage(message, "name the driver alone, or NAME:PACKAGE"));
    }
    let arm = arms::parse(manifests, driver)?;
    let package = arm.manifest.choose(&arm.asked)?.package;
    let listing = arm.manifest.listing(&package, offline)?;
    let (taken, others): (Vec<_>, Vec<_>) =
        listing.releases.iter().partition(|it| arm.manifest.takes(&package, &it.version));
    let is_dated = taken.iter().any(|it| it.date.is_some());
    let mut table = super::PlainTable::default();
    for release in &taken {
        let unknown = if is_dated { "date unknown" } else { "" };
        table.add_row([release.version.as_str(), release.date.as_deref().unwrap_or(unknown)]);
    }
    let left_out = [
        (others.len(), format!(" for which there is no program ({})", arm.manifest.versions)),
        (listing.prereleases, " prereleases".to_owned()),
    ];
    let left_out = left_out.iter().filter(|(count, _)| *count > 0);
    let left_out: Vec<String> = left_out.map(|(count, what)| format!("{count}{what}")).collect();
    let left_out = left_out.join(", ");
    let left_out = if left_out.is_empty() { left_out } else { format!("; left out: {left_out}") };
    let dates = match (is_dated, listing.has_false_dates) {
        (true, _) => "",
        (_, true) => "; dates unknown: the registry's contradict the order of its versions",
        (_, false) => "; dates unknown: the registry's tool tells none",
    };
    super::print(&format!("{table}\n{} releases of {package}{left_out}{dates}\n", taken.len()))
}
