//! `mongodyno clean`: drops the databases that killed experiments left on a server.

use base::say;
use std::io::{BufRead as _, IsTerminal as _};

use crate::cli::CleanArgs;
use base::error::{Error, Exit, Result};
use base::say::clean;
use measure::admin::{Admin, Marked};
use server::connect;

/// Databases without our marker and those of living experiments are named, and stay.
pub async fn run(args: CleanArgs) -> Result<()> {
    let uri = args.at.uri.ok_or_else(|| {
        Error::usage("clean needs a server", "name it by MDYN_URI, --uri-file or --uri")
    })?;
    connect(&uri).await?;
    let (found, unmarked) = Admin::marked(&uri).await?;
    for name in unmarked {
        say!("note: {name} is called like a database of mongodyno, but has no marker: it stays");
    }
    let lives = |(_, it): &(Admin, Marked)| it.lives.is_some();
    let (living, found): (Vec<_>, Vec<_>) = found.into_iter().partition(lives);
    for (_, it) in &living {
        // Anybody may write a marker: `say!` cleans it.
        let lives = it.lives.as_deref().unwrap_or_default();
        say!("note: {} stays: its experiment {} lives ({lives})", it.name, it.experiment);
    }
    if found.is_empty() {
        return super::print("no database of an experiment that has ended is there\n");
    }
    let mut table = super::PlainTable::default();
    table.add_row(["database", "experiment", "made at"]);
    for (_, it) in &found {
        table.add_row([it.name.clone(), clean(&it.experiment), clean(&it.made_at)]);
    }
    super::print(&format!("{table}\n"))?;
    if args.dry_run {
        return Ok(());
    }
    if !args.yes && !agreed()? {
        return super::print("nothing was dropped\n");
    }
    let mut failed = 0;
    for (admin, it) in found {
        match admin.drop_database().await {
            Ok(()) => super::print(&format!("{} dropped\n", it.name))?,
            Err(error) => {
                failed += 1;
                say!("warning: {} was not dropped: {}", it.name, error.message);
            }
        }
    }
    if failed == 0 {
        return Ok(());
    }
    let message = format!("databases not dropped: {failed}");
    Err(Error::new(Exit::Unreachable, message, "see the reasons above"))
}

/// What is dropped is lost: somebody has to confirm.
fn agreed() -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        let hint = "add --yes to drop them, or --dry-run to list them";
        return Err(Error::usage("stdin is not a terminal, so no one can confirm", hint));
    }
    say!("drop them? [y/N]");
    let mut answer = String::new();
    let _ = std::io::stdin().lock().read_line(&mut answer);
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
