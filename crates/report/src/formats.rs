//! Formats and their input.

use std::io::{self, Write};

use super::study::page::StudyReport;
use base::error::{Error, Result};
use judge::analysis::joint::JointAnalysis;
use judge::analysis::latencies::PhaseLatency;
use judge::analysis::types::Analysis;
use record::folder::Series;
use record::records::{Experiment, Run};

/// A form in which a report is written.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// The name that `--format` knows it by.
    pub name: &'static str,
    /// Description in `--help`.
    pub about: &'static str,
    /// One experiment, and several of one folder; None: it is a format of studies alone.
    pub(super) experiments: Option<Writers>,
    /// None: studies do not have it.
    pub(super) study: Option<WriteStudy>,
}

/// Writers of one experiment, and of several of one folder.
pub(super) type Writers = (
    fn(&Report<'_>, &mut dyn Write) -> io::Result<()>,
    fn(&Joint<'_>, &mut dyn Write) -> io::Result<()>,
);

/// The outer result is of the reading of samples.
pub(super) type WriteStudy =
    fn(&dyn StudyReport, &Options, &mut dyn Write) -> Result<io::Result<()>>;

impl Format {
    fn writers(self) -> Result<Writers> {
        self.experiments.ok_or_else(|| {
            let what = format!("--format {} draws a study, and this folder has none", self.name);
            Error::usage(what, "use --format svg")
        })
    }
}

/// Input of every report.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    pub analysis: &'a Analysis,
    /// The folder's records, for formats with a line a round.
    pub runs: &'a [Run],
    /// For formats that show it; else empty.
    pub series: &'a Series,
    pub latencies: &'a [PhaseLatency],
    pub options: &'a Options,
}

/// Experiments of one folder.
#[derive(Debug, Clone, Copy)]
pub struct Joint<'a> {
    pub analysis: &'a JointAnalysis,
    /// In the order of [`JointAnalysis::each`].
    pub parts: &'a [(&'a Experiment, Report<'a>)],
    /// What all of them show together: a title and its sentences.
    pub findings: &'a [(String, Vec<String>)],
    pub options: &'a Options,
}

/// Wishes of the reader's surroundings; only the terminal looks at colour and width.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Write ANSI colours; the caller decides by the terminal, `CLICOLOR_FORCE` and `NO_COLOR`.
    pub colour: bool,
    /// Columns of the terminal; None where there is none.
    pub width: Option<u16>,
    /// Path of the HTML page, to be named at the end.
    pub page: Option<String>,
    /// Everything in the terminal, and not the summary alone.
    pub details: bool,
}

impl Report<'_> {
    /// The report as text.
    ///
    /// # Errors
    /// A format of studies alone.
    pub fn text(&self, format: Format) -> Result<String> {
        let (write, _) = format.writers()?;
        Ok(text(|out| write(self, out)))
    }
}

impl Joint<'_> {
    /// The report as text.
    ///
    /// # Errors
    /// A format of studies alone.
    pub fn text(&self, format: Format) -> Result<String> {
        let (_, write) = format.writers()?;
        Ok(text(|out| write(self, out)))
    }
}

fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("writing to memory");
    String::from_utf8_lossy(&bytes).into_owned()
}
