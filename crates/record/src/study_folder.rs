//! `study.json`: the experiments of a study. Each is made in a folder beside it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::plain;
use crate::records::SCHEMA_VERSION;
use crate::request::Request;
use crate::words::{FromFolder as _, Plain};
use base::error::{Error, Result};

const NAME: &str = "study.json";
const BYTES_MAX: u64 = 1 << 20;

/// The experiments that a study was asked for, and those of them that were left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyRecord {
    pub schema_version: u32,
    /// Version of mongodyno that wrote it.
    pub mongodyno: String,
    /// The command, secrets masked.
    pub command: Vec<String>,
    /// `crud-scale`.
    pub study: String,
    /// The study's size, as a part of the original's.
    pub scale: f64,
    /// In the order in which they are made; none where an earlier version kept its flags instead.
    #[serde(default)]
    pub experiments: Vec<StudyPart>,
    /// Whether the user named no drivers: those that the machine cannot run are left out.
    #[serde(default)]
    pub own_drivers: bool,
    /// Reasons by part and by driver.
    #[serde(default)]
    pub left_out: BTreeMap<String, String>,
}

/// A part of a study: an experiment that `run` could make as well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyPart {
    /// The part's folder within the study's.
    pub name: String,
    pub request: Request,
    /// Why it may be missing, on a machine that lacks a program; None: the study fails then.
    #[serde(default)]
    pub needs: Option<String>,
}

impl StudyPart {
    /// Returns the part with changes to its request.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Request)) -> Self {
        change(&mut self.request);
        self
    }
}

impl StudyRecord {
    pub fn is_in(folder: &Path) -> bool {
        folder.join(NAME).exists()
    }

    /// # Errors
    /// No such file, one of a newer version, or one whose parts lie elsewhere.
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
        let is_name = |name: &str| Plain::may_give(name) && !name.starts_with('.');
        match read.experiments.iter().find(|part| !is_name(&part.name)) {
            Some(part) => Err(refused(format!("{} is no name of a part", part.name))),
            None => Ok(read),
        }
    }

    /// Whole or not at all; makes the folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).expect("records serialise");
        std::fs::create_dir_all(folder)
            .and_then(|()| plain::write_whole(folder, NAME, text.as_bytes()))
            .map_err(|error| Error::file("write", &folder.join(NAME), &error))
    }
}
