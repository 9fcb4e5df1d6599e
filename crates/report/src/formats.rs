//! Formats and their input.

use std::io::{self, Write};

use judge::analysis::types::Analysis;
use record::folder::Series;
use record::records::Run;

/// A form in which a report is written.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// The name that `--format` knows it by.
    pub name: &'static str,
    /// Its words in `--help`.
    pub about: &'static str,
    pub(super) render: fn(&Report<'_>, &mut dyn Write) -> io::Result<()>,
}

/// Input of every report.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    pub analysis: &'a Analysis,
    /// The folder's records, for formats with a line a round.
    pub runs: &'a [Run],
    /// For the one that writes it; else empty.
    pub series: &'a Series,
    pub options: &'a Options,
}

/// Wishes of the reader's surroundings; only the terminal looks at colour and width.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Write ANSI colours; the caller decides by terminal, `--color` and `NO_COLOR`.
    pub colour: bool,
    /// Columns of the terminal; None where there is none.
    pub width: Option<u16>,
    /// Path of the HTML page, to be named at the end.
    pub page: Option<String>,
}

impl Report<'_> {
    /// The report as text.
    pub fn text(&self, format: Format) -> String {
        let mut bytes = Vec::new();
        (format.render)(self, &mut bytes).expect("writing to memory");
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
