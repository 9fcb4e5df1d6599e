//! `mongodyno environments list|prune`.

use std::time::Duration;

use crate::cli::{EnvironmentsAction, EnvironmentsArgs};
use adapter::cached::{self, Cached, EnvironmentFit};
use adapter::manifest::discover;
use base::error::{Error, Exit, Result};
use base::say;

/// Characters of a toolchain's words that the table shows.
const TOOLCHAIN_CHARACTERS: usize = 28;
const DAY_S: u64 = 24 * 60 * 60;

pub fn run(args: &EnvironmentsArgs) -> Result<()> {
    let found = cached::list(&discover(args.adapters_dir.as_deref())?)?;
    match args.action {
        EnvironmentsAction::List => list(&found),
        EnvironmentsAction::Prune { older_than, dry_run } => prune(&found, older_than, dry_run),
    }
}

fn list(found: &[Cached]) -> Result<()> {
    let mut table = super::PlainTable::default();
    table.add_row(["driver", "version", "options", "toolchain", "size", "last used", "state"]);
    for it in found {
        let note = it.note.as_ref();
        let options = note.map(|it| it.options.iter().map(|(key, value)| format!("{key}={value}")));
        let options = options.map(|it| it.collect::<Vec<_>>().join(" "));
        let toolchain = note.and_then(|it| it.toolchain.first()).map(String::as_str);
        let toolchain = toolchain.unwrap_or_default().chars().take(TOOLCHAIN_CHARACTERS);
        table.add_row([
            driver(it),
            it.version.clone(),
            options.unwrap_or_default(),
            toolchain.collect(),
            format::bytes(it.size_bytes),
            ago(it.unused_for),
            state(it),
        ]);
    }
    let size = format::bytes(found.iter().map(|it| it.size_bytes).sum());
    super::print(&format!("{table}\n{} environments, {size}\n", found.len()))
}

fn prune(found: &[Cached], older_than: Option<Duration>, dry_run: bool) -> Result<()> {
    let is_old = |it: &Cached| older_than.is_some_and(|age| it.unused_for > age);
    let wanted = found.iter().filter(|it| it.fit == EnvironmentFit::Outdated || is_old(it));
    let (mut count, mut bytes, mut failed) = (0, 0, 0);
    for it in wanted {
        let size = format::bytes(it.size_bytes);
        let what = format!("{}@{} ({}, {size})", driver(it), it.version, state(it));
        let removed = if dry_run { Ok(!it.in_use) } else { it.remove() };
        match removed {
            Ok(true) => {
                super::print(&format!("{what}{}\n", if dry_run { "" } else { " removed" }))?;
                (count, bytes) = (count + 1, bytes + it.size_bytes);
            }
            Ok(false) => super::print(&format!("{what} left: it is in use\n"))?,
            Err(error) => {
                failed += 1;
                say!("warning: {what} was not removed: {}", error.message);
            }
        }
    }
    let size = format::bytes(bytes);
    let verb = if dry_run { "would be removed" } else { "removed" };
    super::print(&format!("{count} of {} environments {verb}, {size}\n", found.len()))?;
    if failed == 0 {
        return Ok(());
    }
    let message = format!("environments not removed: {failed}");
    Err(Error::new(Exit::Environment, message, "see the reasons above"))
}

/// Adapter and package, as `-d` takes them.
fn driver(it: &Cached) -> String {
    match &it.note {
        Some(note) => format!("{}:{}", it.adapter, note.package),
        None => it.adapter.clone(),
    }
}

fn ago(time: Duration) -> String {
    match time.as_secs() / DAY_S {
        0 => "today".to_owned(),
        1 => "1 day ago".to_owned(),
        days => format!("{days} days ago"),
    }
}

fn state(it: &Cached) -> String {
    let fit = match it.fit {
        EnvironmentFit::Current if it.is_whole => "current",
        EnvironmentFit::Current => "half built",
        EnvironmentFit::Outdated => "outdated",
        EnvironmentFit::Unknown => "its toolchain is missing",
    };
    let in_use = if it.in_use { ", in use" } else { "" };
    format!("{fit}{in_use}")
}
