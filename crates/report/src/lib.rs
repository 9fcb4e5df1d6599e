//! Reports: an analysis written in the format asked for. A format is a file with a [`Format`] in
//! it, which has its writers of one experiment, of several and of a study, and its line in
//! [`FORMATS`]. Several share [`view`] (what is shown), [`table`] and [`drawing`] (how it is
//! written).

mod action_benchmark;
mod annotations;
mod answer_lines;
mod axis;
mod bencher;
mod benchstat;
mod between_servers;
pub mod chart;
mod chart_scale;
mod csv;
pub mod dated_lines;
mod dated_page;
mod dated_tables;
mod dated_words;
pub mod drawing;
mod formats;
mod gnuplot;
pub mod history;
pub mod html;
mod joint_report;
pub mod json;
mod junit;
mod lines;
pub mod live_server;
mod load_charts;
mod markdown;
mod markup;
mod page;
mod page_charts;
mod page_template;
mod paint;
pub mod palette;
mod picture;
mod plot_rows;
mod plots;
mod processes;
mod result_columns;
mod screen;
mod screen_table;
pub mod series;
pub mod several;
pub mod study;
mod table;
pub mod terminal;
mod tracked;
mod view;
mod wire_table;

pub use answer_lines::finding_line;
pub use formats::{Format, Joint, Options, Report};
pub use several::{FolderReport, SeveralFolders};

use base::error::{Error, Result};
use study::StudyReport;

/// Every format of a report, in the order of `--help`.
pub const FORMATS: [Format; 13] = [
    terminal::FORMAT,
    html::FORMAT,
    markdown::FORMAT,
    json::FORMAT,
    csv::FORMAT,
    series::FORMAT,
    benchstat::FORMAT,
    action_benchmark::FORMAT,
    bencher::FORMAT,
    annotations::FORMAT,
    junit::FORMAT,
    picture::FORMAT,
    gnuplot::FORMAT,
];

impl Format {
    pub fn named(name: &str) -> Option<Self> {
        FORMATS.into_iter().find(|format| format.name == name)
    }
}

impl FolderReport<'_> {
    /// # Errors
    /// A format that there is not of such a folder; samples that cannot be read.
    pub fn text(&self, format: Format) -> Result<Vec<u8>> {
        match self {
            Self::Experiment(report) => Ok(report.text(format)?.into_bytes()),
            Self::Joint(joint) => Ok(joint.text(format)?.into_bytes()),
            Self::Study(report, options) => study_text(*report, format.name, options),
        }
    }
}

/// The report of a study, in the format of this name.
///
/// # Errors
/// A format that studies do not have; samples that cannot be read.
pub fn study_text(report: &dyn StudyReport, format: &str, options: &Options) -> Result<Vec<u8>> {
    let found = Format::named(format).and_then(|format| format.study);
    let write = found.ok_or_else(|| {
        let known = FORMATS.into_iter().filter(|format| format.study.is_some());
        let known: Vec<&str> = known.map(|format| format.name).collect();
        Error::usage("a study has no such format", format!("it has {}", known.join(", ")))
    })?;
    let mut out = Vec::new();
    write(report, options, &mut out)?.expect("writing to memory");
    Ok(out)
}
