//! `study.json`: the request of a study of several experiments. Each of them is a folder beside it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::plain;
use crate::records::SCHEMA_VERSION;
use base::error::{Error, Result};
use stats::order::Order;

const NAME: &str = "study.json";
const BYTES_MAX: u64 = 1 << 20;

/// The command line of a study, and the parts of it that were left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyRequest {
    pub schema_version: u32,
    /// Version of mongodyno that wrote it.
    pub mongodyno: String,
    /// The command, secrets masked.
    pub command: Vec<String>,
    /// `crud-scale`.
    pub study: String,
    pub scale: f64,
    pub quick: bool,
    /// As `-d` takes them; none: the study's.
    pub drivers: Vec<String>,
    pub rounds: Option<u32>,
    /// The parts that were asked for; none: all.
    #[serde(default)]
    pub parts: Vec<String>,
    /// Parameters of the workload.
    pub sets: BTreeMap<String, String>,
    pub seed: u64,
    /// Values of the study's own options.
    pub flags: BTreeMap<String, String>,
    pub order: Order,
    /// None: the study's.
    pub server: Option<String>,
    /// Whether it was asked for by connection string, which is not kept.
    pub by_uri: bool,
    /// Reasons by part.
    #[serde(default)]
    pub left_out: BTreeMap<String, String>,
}

impl StudyRequest {
    pub fn is_in(folder: &Path) -> bool {
        folder.join(NAME).exists()
    }

    /// # Errors
    /// No such file, or one of a newer version.
    pub fn read(folder: &Path) -> Result<Self> {
        let refused = |what: String| {
            let file = folder.join(NAME);
            Error::usage(format!("{}: {what}", file.display()), "it may come from a newer version")
        };
        let bytes = plain::read(folder, NAME, BYTES_MAX).map_err(|it| refused(it.to_string()))?;
        let read: Self = serde_json::from_slice(&bytes).map_err(|it| refused(it.to_string()))?;
        if read.schema_version > SCHEMA_VERSION {
            return Err(refused(format!("its schema is version {}", read.schema_version)));
        }
        Ok(read)
    }

    /// Whole or not at all; makes the folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).expect("records serialise");
        std::fs::create_dir_all(folder)
            .and_then(|()| plain::write_whole(folder, NAME, text.as_bytes()))
            .map_err(|error| Error::file("write", &folder.join(NAME), &error))
    }
}
