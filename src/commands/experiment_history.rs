//! `mongodyno history`: experiments of the same request over time.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::cli::HistoryArgs;
use base::error::{Error, Result};
use base::say;
use format::counted;
use judge::analyse;
use judge::analysis::types::Analysis;
use judge::over_time::{self, over_time, stored};
use record::folder::Folder;
use record::history_store::{self as store, StoredExperiment};
use record::records::{Ended, Experiment};

/// Runs the verb.
///
/// # Errors
/// Folders without an experiment; a store that cannot be read or written.
pub fn run(args: &HistoryArgs) -> Result<()> {
    let mut experiments = Vec::new();
    let mut unread = Vec::new();
    for read in args.folders.iter().flat_map(|folder| below(folder)) {
        match read {
            Ok(found) => experiments.extend(found),
            Err(error) => unread.push(error),
        }
    }
    if experiments.is_empty() && !unread.is_empty() {
        return Err(unread.swap_remove(0));
    }
    for error in &unread {
        say!("left out: {error}");
    }
    let experiments = match &args.store {
        Some(path) if args.folders.is_empty() => read(path)?,
        Some(path) => {
            let new = store::append(path, &experiments)?;
            say!("{}: {} appended", path.display(), counted(new as u64, "experiment"));
            read(path)?
        }
        None => store::in_order(experiments),
    };
    if experiments.is_empty() {
        return Err(Error::usage(
            "there is no experiment to show",
            "name the folders of experiments: mongodyno history DIR...",
        ));
    }
    let options = super::terminal_options(false);
    let bytes = args.format.text(&over_time(&experiments), &options).expect("writing to memory");
    super::print_result(&bytes)
}

/// The store; each line that is none is named.
fn read(path: &Path) -> Result<Vec<StoredExperiment>> {
    let (experiments, broken) = store::read(path)?;
    for line in &broken {
        say!("warning: {line}");
    }
    Ok(experiments)
}

/// The experiment of a folder, or those of the folders in it.
fn below(folder: &Path) -> Vec<Result<Option<StoredExperiment>>> {
    let is_one = |path: &Path| path.join("experiment.json").exists();
    if is_one(folder) {
        return vec![one(folder)];
    }
    let entries = match folder.read_dir() {
        Ok(entries) => entries.flatten().map(|entry| entry.path()),
        Err(error) => return vec![Err(Error::file("read", folder, &error))],
    };
    let mut parts: Vec<PathBuf> = entries.filter(|path| is_one(path)).collect();
    parts.sort();
    if parts.is_empty() {
        return vec![Err(Error::usage(
            format!("{} has no experiment", folder.display()),
            "name the folder of an experiment, or one that contains such folders",
        ))];
    }
    parts.iter().map(|path| one(path)).collect()
}

/// What is kept of an experiment; None of one that was not finished, which would be a night of
/// fewer rounds.
fn one(path: &Path) -> Result<Option<StoredExperiment>> {
    let (folder, experiment) = Folder::open(path)?;
    if experiment.ended != Some(Ended::Completed) {
        say!("{} is left out: it was not completed", path.display());
        return Ok(None);
    }
    let analysis = analyse(&folder, &experiment)?.analysis;
    Ok(Some(stored(&experiment, &analysis)))
}

/// Holds an analysis against the store of `--history`, where one is given.
///
/// # Errors
/// A store that cannot be read. One that does not exist yet is empty.
pub fn hold(analysis: &mut Analysis, experiment: &Experiment, path: Option<&Path>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let missing = std::fs::metadata(path).is_err_and(|it| it.kind() == ErrorKind::NotFound);
    if missing {
        say!("{} does not exist yet: the history is empty", path.display());
    }
    let store = if missing { Vec::new() } else { read(path)? };
    over_time::hold(analysis, experiment, &store);
    Ok(())
}
