//! The experiment folder: the boundary between measuring and reporting.
//!
//! `experiment.json` is written whole (beside, then renamed). The `.jsonl` files only grow, so a
//! finished run stays readable whatever happens next.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::plain;
use crate::records::{ClientSample, DriverShare, Experiment, Run, SCHEMA_VERSION, ServerSample};
use crate::unbegun;
use base::error::{Error, Exit, Result};

/// A folder may come from anybody: so much of it is read at once and no more.
const EXPERIMENT_BYTES_MAX: u64 = 64 << 20;
/// The same for `runs.jsonl` and `server.jsonl`: ten thousand runs of many phases.
const LINES_BYTES_MAX: u64 = 512 << 20;
/// Rounds are numbered from 1. No experiment makes so many: whoever counts up to them ends.
const ROUNDS_MAX: u32 = 10_000;

/// Readings over time, in their order.
#[derive(Debug, Clone, Default)]
pub struct Series {
    pub clients: Vec<ClientSample>,
    pub server: Vec<ServerSample>,
}

#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
}

/// Refuses a path that is not UTF-8: adapters are told their files in JSON.
pub fn utf8(path: &Path) -> Result<()> {
    match path.to_str() {
        Some(_) => Ok(()),
        None => Err(Error::usage(
            format!("the path {} is not UTF-8", path.display()),
            "choose another --out, or start mongodyno in another folder",
        )),
    }
}

impl Folder {
    /// Makes a new folder with its sub-folders, where the path is free.
    pub fn create(path: &Path) -> Result<Self> {
        unbegun::clear(path)?;
        // Our working directory may be no UTF-8 either.
        utf8(&std::path::absolute(path).unwrap_or_default())?;
        let folder = Self { path: path.to_owned() };
        for name in ["samples", "hlog", "logs"] {
            let path = folder.path.join(name);
            fs::create_dir_all(&path).map_err(|error| Error::file("create", &path, &error))?;
        }
        // A printed path must work from anywhere.
        folder
            .path
            .canonicalize()
            .map(|path| Self { path })
            .map_err(|error| Error::file("read", path, &error))
    }

    /// Refuses a path without an experiment, or with one of a newer format.
    pub fn open(path: &Path) -> Result<(Self, Experiment)> {
        let file = path.join("experiment.json");
        let text = plain::read(path, "experiment.json", EXPERIMENT_BYTES_MAX).map_err(|error| {
            Error::usage(
                format!("{} is no experiment folder: {error}", path.display()),
                "name the folder that `mongodyno run` printed at its end",
            )
        })?;
        let experiment: Experiment = serde_json::from_slice(&text).map_err(|error| {
            Error::usage(format!("{}: {error}", file.display()), "it may come from a newer version")
        })?;
        if experiment.schema_version > SCHEMA_VERSION {
            return Err(Error::usage(
                format!(
                    "{} was written by mongodyno {} in format {}, this one knows {SCHEMA_VERSION}",
                    path.display(),
                    experiment.mongodyno,
                    experiment.schema_version
                ),
                "use a newer mongodyno",
            ));
        }
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
        if !(1..=64).contains(&experiment.id.len()) || !experiment.id.chars().all(is_plain) {
            return Err(Error::usage(
                format!("{}: its id is none that mongodyno makes", file.display()),
                "the file was changed or damaged",
            ));
        }
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Ok((Self { path }, of_any_version(experiment)))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn join(&self, relative: &str) -> PathBuf {
        self.path.join(relative)
    }

    pub fn write_experiment(&self, experiment: &Experiment) -> Result<()> {
        let text = serde_json::to_string_pretty(experiment).expect("records serialise");
        self.write_whole("experiment.json", text.as_bytes())
    }

    /// Writes a file so that it is there whole or not at all.
    pub fn write_whole(&self, name: &str, bytes: &[u8]) -> Result<()> {
        plain::write_whole(&self.path, name, bytes)
            .map_err(|error| Error::file("write", &self.join(name), &error))
    }

    /// Reads a file that a record names. Refuses a name that leads elsewhere, a link, and more than
    /// `most` bytes.
    pub fn read(&self, name: &str, most: u64) -> Result<Vec<u8>> {
        plain::read(&self.path, name, most)
            .map_err(|error| Error::file("read", &self.join(name), &error))
    }

    /// The same for a file that need not be there.
    fn read_lines(&self, name: &str) -> Result<Vec<u8>> {
        match plain::read(&self.path, name, LINES_BYTES_MAX) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            result => result.map_err(|error| Error::file("read", &self.join(name), &error)),
        }
    }

    /// Refuses a folder that holds anything but folders and ordinary files. An experiment is about
    /// to go on in it, and its programs would follow links out of it.
    pub fn only_files(&self) -> Result<()> {
        plain::only_files(&self.path).map_err(|error| {
            Error::usage(
                format!("nothing is written into this folder: {error}"),
                "start anew, with another --out",
            )
        })
    }

    pub fn append_run(&self, run: &Run) -> Result<()> {
        self.append("runs.jsonl", run)
    }

    /// Drops the runs of all later rounds, and torn last lines, to which the next line would be
    /// glued. The others stay byte for byte: written anew, their numbers could end in another
    /// digit.
    pub fn keep_rounds(&self, rounds: u32) -> Result<()> {
        let is_kept =
            |line: &[u8]| serde_json::from_slice(line).is_ok_and(|run: Run| run.round <= rounds);
        self.keep_lines("runs.jsonl", is_kept)?;
        for series in ["server.jsonl", "clients.jsonl"] {
            self.keep_lines(series, |line| line.ends_with(b"\n"))?;
        }
        Ok(())
    }

    fn keep_lines(&self, name: &str, is_kept: impl Fn(&[u8]) -> bool) -> Result<()> {
        let bytes = self.read_lines(name)?;
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let mut kept = lines.filter(|line| is_kept(line)).collect::<Vec<_>>().concat();
        if kept.last().is_some_and(|byte| *byte != b'\n') {
            kept.push(b'\n'); // whole but for its end
        }
        self.write_whole(name, &kept)
    }

    /// Keeps other experiments out of the folder while the file is open. The lock ends with the
    /// process, however that ends. Fails where an experiment is at work.
    pub fn lock(&self) -> Result<File> {
        plain::lock(&self.path)
    }

    /// Bytes of its raw samples.
    pub fn sample_bytes(&self) -> u64 {
        let files = fs::read_dir(self.path.join("samples")).into_iter().flatten().flatten();
        files.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
    }

    pub fn append_server_sample(&self, sample: &ServerSample) -> Result<()> {
        self.append("server.jsonl", sample)
    }

    pub fn append_client_sample(&self, sample: &ClientSample) -> Result<()> {
        self.append("clients.jsonl", sample)
    }

    fn append(&self, name: &str, record: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_string(record).expect("records serialise");
        line.push('\n');
        plain::append(&self.path, name)
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .map_err(|error| Error::file("write", &self.join(name), &error))
    }

    /// Without torn last lines.
    pub fn series(&self) -> Result<Series> {
        Ok(Series { clients: self.lines("clients.jsonl")?, server: self.lines("server.jsonl")? })
    }

    fn lines<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<T>> {
        records(&self.join(name), &self.read_lines(name)?).map(|(records, _)| records)
    }

    /// All finished runs, without a torn last line (of a run cut off while it was written).
    pub fn runs(&self) -> Result<Vec<Run>> {
        self.runs_and_rest().map(|(runs, _)| runs)
    }

    /// All finished runs, and whether a torn last line was left out.
    pub fn runs_and_rest(&self) -> Result<(Vec<Run>, bool)> {
        let (path, bytes) = (self.join("runs.jsonl"), self.read_lines("runs.jsonl")?);
        let (runs, torn): (Vec<Run>, bool) = records(&path, &bytes)?;
        match runs.iter().find(|run| !(1..=ROUNDS_MAX).contains(&run.round)) {
            Some(run) => Err(Error::environment(
                format!("{} has a round {}", path.display(), run.round),
                "the file was changed or damaged",
            )),
            None => Ok((runs, torn)),
        }
    }
}

fn records<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<(Vec<T>, bool)> {
    // Bytes, not text: a line may be torn in the middle of a character.
    let lines: Vec<&[u8]> =
        bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let mut records = Vec::with_capacity(lines.len());
    for (number, line) in lines.iter().enumerate() {
        match serde_json::from_slice(line) {
            Ok(record) => records.push(record),
            Err(_) if number + 1 == lines.len() => return Ok((records, true)),
            Err(error) => {
                return Err(Error::new(
                    Exit::Environment,
                    format!("{}:{}: {error}", path.display(), number + 1),
                    "the file was changed or damaged; the lines before it are whole",
                ));
            }
        }
    }
    Ok((records, false))
}

/// The same experiment with what an earlier version said by its study alone.
fn of_any_version(mut experiment: Experiment) -> Experiment {
    let Some(study) = &experiment.study else { return experiment };
    experiment.settings.conduct.figures_only = true;
    for arm in &mut experiment.arms {
        let phases = study.phases.get(&arm.id).cloned();
        let original = study.originals.get(&arm.id).cloned();
        arm.share = DriverShare { phases, original };
    }
    experiment
}
