//! The store of `history`: one file of JSON lines, an experiment a line. It only grows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::metric_values::MetricValues;
use crate::records::Machine;
use base::error::{Error, Result};

/// What is kept of an experiment to see it over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredExperiment {
    /// Version of this line's format.
    pub schema_version: u32,
    /// Identity of the experiment.
    pub id: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// Version of mongodyno that measured.
    pub mongodyno: String,
    /// Name of the workload.
    pub workload: String,
    /// What was asked for, by name: two experiments with the same are of the same request.
    pub asked: BTreeMap<String, Value>,
    pub machine: Machine,
    /// Kind and version: `embedded 6.0.5`.
    pub server: String,
    /// In the order asked for; the first is the baseline.
    pub arms: Vec<StoredArm>,
    pub figures: Vec<StoredFigure>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredArm {
    pub id: String,
    pub is_aa: bool,
    pub version: String,
    pub runtime: String,
    pub native: Option<bool>,
    pub lock_sha256: Option<String>,
    /// Defaults that the driver resolved.
    pub resolved: Value,
}

/// An operation of a phase of an arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredFigure {
    /// Id of the arm.
    pub arm: String,
    pub phase: String,
    pub operation: String,
    /// Against the baseline over paired rounds: ln(cost ratio), by the metric's word; + is slower.
    pub against_baseline: BTreeMap<String, f64>,
    #[serde(flatten)]
    pub values: MetricValues,
}

/// [`StoredExperiment::schema_version`] of the writer.
pub const STORE_VERSION: u32 = 1;

/// Experiments in the order of their start, each once, and a sentence for each line that is none.
pub fn read(path: &Path) -> Result<(Vec<StoredExperiment>, Vec<String>)> {
    let mut bytes = Vec::new();
    let file = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    file.map_err(|error| Error::file("read", path, &error))?;
    let (mut found, mut broken) = (Vec::new(), Vec::new());
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<StoredExperiment>(line) {
            Ok(it) => found.push(it),
            Err(error) => broken.push(format!(
                "{}:{}:{}: no experiment of a store, left out: {error}",
                path.display(),
                number + 1,
                error.column()
            )),
        }
    }
    Ok((in_order(found), broken))
}

/// By their start, each experiment once.
pub fn in_order(mut experiments: Vec<StoredExperiment>) -> Vec<StoredExperiment> {
    let mut known = BTreeSet::new();
    experiments.retain(|it| known.insert(it.id.clone()));
    experiments.sort_by(|a, b| (&a.started_at, &a.id).cmp(&(&b.started_at, &b.id)));
    experiments
}

/// Appends the experiments that the store does not have; returns their number. Others may append
/// at the same time. What a killed one has left of a line stays, and is read as a broken line.
pub fn append(path: &Path, experiments: &[StoredExperiment]) -> Result<usize> {
    let failed = |error: io::Error| Error::file("write", path, &error);
    let mut options = File::options();
    let mut file = options.read(true).append(true).create(true).open(path).map_err(failed)?;
    file.lock().map_err(failed)?;
    let (known, _) = read(path)?;
    let known: BTreeSet<&str> = known.iter().map(|it| it.id.as_str()).collect();
    let new = experiments.iter().filter(|it| !known.contains(it.id.as_str()));
    let mut text = String::new();
    let mut count = 0;
    if is_torn(&mut file).map_err(failed)? {
        text.push('\n');
    }
    for it in new {
        text += &serde_json::to_string(it).expect("experiments serialise");
        text.push('\n');
        count += 1;
    }
    if count > 0 {
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    }
    Ok(count)
}

/// Whether the last line has no end.
fn is_torn(file: &mut File) -> io::Result<bool> {
    match file.seek(SeekFrom::End(-1)) {
        Err(error) if error.kind() == ErrorKind::InvalidInput => return Ok(false), // empty
        other => other?,
    };
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn experiment(id: &str, started_at: &str) -> StoredExperiment {
        let value = json!({
            "schema_version": 1, "id": id, "started_at": started_at, "mongodyno": "0.1.0",
            "workload": "crud", "asked": {}, "server": "absorber 1", "arms": [], "figures": [],
            "machine": { "cpu": "c", "cores": 2, "memory_bytes": 1, "os": "o", "kernel": "k",
                "clock_source": "tsc", "governor": null },
        });
        serde_json::from_value(value).expect("an experiment")
    }

    #[test]
    fn a_store_only_grows_and_a_torn_line_is_named_and_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store.jsonl");
        let (first, second) = (experiment("b", "2026-11-02"), experiment("a", "2026-11-01"));
        assert_eq!(append(&path, &[first.clone(), second.clone()]).expect("a store"), 2);
        assert_eq!(append(&path, std::slice::from_ref(&first)).expect("a store"), 0, "it is there");
        let whole = std::fs::read(&path).expect("bytes");
        std::fs::write(&path, [&whole[..], b"{\"id\": \"c"].concat()).expect("torn");
        let third = experiment("d", "2026-11-03");
        assert_eq!(append(&path, std::slice::from_ref(&third)).expect("a store"), 1);
        let (found, broken) = read(&path).expect("a store");
        assert_eq!(found, [second, first, third]);
        let [broken] = &broken[..] else { panic!("{broken:?}") };
        assert!(broken.contains("store.jsonl:3:") && broken.contains("left out"), "{broken}");
    }
}
