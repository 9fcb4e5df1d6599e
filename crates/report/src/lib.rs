//! Reports: one [`Analysis`] written in the format asked for. One file a format; what several
//! formats share is in [`view`] (what is shown), [`number`] and [`text`] (how it is written).

mod benchstat;
pub mod broker;
mod csv;
mod drawing;
mod html;
mod json;
mod lines;
mod markdown;
mod page;
mod paint;
mod plots;
mod terminal;
pub mod text;
mod view;
mod wire;

use std::io::{self, Write};

pub use view::finding_line;

use judge::analysis::types::Analysis;
use record::records::Run;

/// In which form a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Tables and sentences for a terminal.
    Terminal,
    /// One self-contained page.
    Html,
    /// GitHub Markdown.
    Markdown,
    /// The `Analysis` itself.
    Json,
    /// One tidy table: a row per arm, phase, operation and metric.
    Csv,
    /// Go benchmark text for `benchstat`: a line per arm, phase, operation and round.
    Benchstat,
}

impl Format {
    /// Every format with the name `--format` knows it by.
    pub const ALL: [(Self, &str); 6] = [
        (Self::Terminal, "terminal"),
        (Self::Html, "html"),
        (Self::Markdown, "md"),
        (Self::Json, "json"),
        (Self::Csv, "csv"),
        (Self::Benchstat, "benchstat"),
    ];

    /// The name `--format` knows it by.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(format, _)| *format == self).map_or("", |(_, name)| name)
    }
}

impl std::str::FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(format, _)| *format).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|(_, name)| *name).collect();
            format!("unknown format `{name}`; known are {}", known.join(", "))
        })
    }
}

/// What the reader's surroundings ask for; only the terminal looks at colour and width.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Write ANSI colours; the caller decides by terminal, `--color` and `NO_COLOR`.
    pub colour: bool,
    /// Columns of the terminal; None where there is none.
    pub width: Option<u16>,
    /// Path of the HTML page, to be named at the end.
    pub page: Option<String>,
}

/// Writes the report. `runs` are the folder's records; only [`Format::Benchstat`]
/// needs them.
///
/// # Errors
/// Whatever writing to `out` gives.
pub fn render(
    analysis: &Analysis,
    runs: &[Run],
    format: Format,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Terminal => terminal::render(analysis, options, out),
        Format::Html => html::render(analysis, out),
        Format::Markdown => markdown::render(analysis, options, out),
        Format::Json => json::render(analysis, out),
        Format::Csv => csv::render(analysis, out),
        Format::Benchstat => benchstat::render(analysis, runs, out),
    }
}
