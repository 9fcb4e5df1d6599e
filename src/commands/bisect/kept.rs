//! `bisect.json`: what a search was asked, and its answer.

use std::path::Path;

use base::error::{Error, Result};
use judge::analysis::types::{AlsoRow, ComparisonRow, Metric};
use record::plain;
use serde::{Deserialize, Serialize};

const NAME: &str = "bisect.json";
const BYTES_MAX: u64 = 8 << 20;

/// The request; it is in the folder before the first experiment is.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct BisectRequest {
    pub metric: Metric,
    /// Versions as `-d` takes them, in the order of their releases.
    pub versions: Vec<String>,
    /// `--seed`.
    pub seed: Option<u64>,
}

/// What a search that goes on reads of the file.
#[derive(Deserialize)]
pub struct Begun {
    #[serde(flatten)]
    pub asked: BisectRequest,
    #[serde(default)]
    pub unavailable: Vec<String>,
}

/// The answer.
#[derive(Serialize)]
pub struct Answer {
    pub schema_version: u32,
    /// The search's experiments, in the order of their making.
    pub folder: String,
    /// None: the search is not at its end.
    pub phase: Option<String>,
    #[serde(flatten)]
    pub asked: BisectRequest,
    /// Versions that a search by halves could not begin to measure.
    pub unavailable: Vec<String>,
    pub steps: Vec<Step>,
    /// In words.
    pub sentence: String,
}

/// A step that fresh rounds were to confirm.
#[derive(Serialize)]
pub struct Step {
    pub before: String,
    pub after: String,
    /// Versions between them, which could not be measured.
    pub not_measured: Vec<String>,
    pub confirmed: bool,
    /// The comparison on fresh rounds.
    pub comparison: ComparisonRow,
    /// The first version behind the step against the last version of all; None where it is that.
    pub until_last: Option<ComparisonRow>,
    /// The version whose step to the other side takes it back, by the scan.
    pub mended_at: Option<String>,
    /// Other changes between the two versions.
    pub also: Vec<AlsoRow>,
    pub sentence: String,
}

/// Whether a folder is that of a search.
pub fn is_one(folder: &Path) -> bool {
    folder.join(NAME).exists()
}

/// Reads a search that is about to go on. Its folder is data, as that of an experiment is.
///
/// # Errors
/// Links and the like, which lead out of the folder; a file of no search.
pub fn read(folder: &Path) -> Result<Begun> {
    plain::only_files(folder).map_err(|error| {
        let what = format!("nothing is written into this folder: {error}");
        Error::usage(what, "start anew, with another --out")
    })?;
    let path = folder.join(NAME);
    let text =
        plain::read(folder, NAME, BYTES_MAX).map_err(|error| Error::file("read", &path, &error))?;
    serde_json::from_slice(&text).map_err(|error| {
        Error::usage(format!("{}: {error}", path.display()), "choose another --out")
    })
}

/// Writes the file whole, and returns its text.
pub fn write(folder: &Path, answer: &Answer) -> Result<String> {
    let text = serde_json::to_string_pretty(answer).expect("answers serialise");
    plain::write_whole(folder, NAME, text.as_bytes())
        .map_err(|error| Error::file("write", &folder.join(NAME), &error))?;
    Ok(text)
}
