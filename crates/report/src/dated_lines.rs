//! Experiments over time, in the formats of `history`: a sentence a step, then the lines.

use std::io::{self, Write};

use super::dated_words::{cautions, name, quiet, sentences, title};
use super::formats::Options;
use super::lines::Page;
use super::paint::Ink;
use super::{csv, dated_page, dated_tables, html, json, terminal};
use base::say::clean;
use judge::analysis::types::Metric;
use judge::over_time::{FigureLine, OnMachine, RequestOverTime};

/// A form in which `history` is written.
#[derive(Debug, Clone, Copy)]
pub struct DatedFormat {
    /// The name that `--format` knows it by.
    pub name: &'static str,
    /// Description in `--help`.
    pub about: &'static str,
    write: fn(&[RequestOverTime], &Options, &mut dyn Write) -> io::Result<()>,
}

/// Every format of `history`, in the order of `--help`.
pub const DATED_FORMATS: [DatedFormat; 5] = [
    DatedFormat { name: terminal::FORMAT.name, about: terminal::FORMAT.about, write: render },
    DatedFormat { name: html::FORMAT.name, about: html::FORMAT.about, write: dated_page::render },
    DatedFormat {
        name: json::FORMAT.name,
        about: json::FORMAT.about,
        write: |requests, _, out| {
            serde_json::to_writer_pretty(&mut *out, requests)?;
            writeln!(out)
        },
    },
    DatedFormat { name: csv::FORMAT.name, about: csv::FORMAT.about, write: dated_tables::csv },
    DatedFormat {
        name: "otava",
        about: "CSV with a row per experiment, for `otava analyze`",
        write: dated_tables::otava,
    },
];

impl DatedFormat {
    pub fn named(name: &str) -> Option<Self> {
        DATED_FORMATS.into_iter().find(|format| format.name == name)
    }

    /// # Errors
    /// Of writing, which memory has none of.
    pub fn text(self, requests: &[RequestOverTime], options: &Options) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        (self.write)(requests, options, &mut out)?;
        Ok(out)
    }
}

/// Bars of a line on a terminal: its last experiments.
const BARS_MAX: usize = 20;
/// Columns of a bar.
const BAR: f64 = 32.0;

fn render(requests: &[RequestOverTime], options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(options, out);
    for (number, request) in requests.iter().enumerate() {
        if number > 0 {
            page.line("")?;
        }
        page.wrapped(0, Ink::Bold, &title(request))?;
        for on in &request.machines {
            page.line("")?;
            page.wrapped(0, Ink::Plain, &clean(&format!("On {}:", on.machine)))?;
            for line in &on.lines {
                for sentence in sentences(line, on) {
                    page.wrapped(2, Ink::Plain, &format!("{} {sentence}.", name(line)))?;
                }
            }
            for sentence in quiet(on) {
                page.wrapped(2, Ink::Dim, &format!("{sentence}."))?;
            }
            // Without a step all of them show how far days differ.
            let stepped = on.lines.iter().any(|line| !line.steps.is_empty());
            let drawn = |line: &&FigureLine| {
                line.metric == Metric::Throughput && (!stepped || !line.steps.is_empty())
            };
            for line in on.lines.iter().filter(drawn) {
                page.line("")?;
                page.wrapped(2, Ink::Plain, &name(line))?;
                for bar in bars(line, on) {
                    page.line(&format!("    {bar}"))?;
                }
            }
        }
        page.line("")?;
        for caution in cautions(request) {
            page.wrapped(0, Ink::Dim, &caution)?;
        }
    }
    Ok(())
}

/// The last experiments of a line, with a mark where a step is.
fn bars(line: &FigureLine, on: &OnMachine) -> Vec<String> {
    let highest = line.values.iter().flatten().copied().fold(0.0, f64::max);
    let measured = line.values.iter().enumerate().filter_map(|(at, it)| Some((at, (*it)?)));
    let measured: Vec<(usize, f64)> = measured.collect();
    let bar = |(at, value): &(usize, f64)| {
        let bar = "█".repeat((BAR * value / highest).round() as usize);
        let steps = line.steps.iter().any(|step| step.at == *at);
        let against = line.against_percent[*at].zip(line.relative_to.as_ref());
        let against =
            against.map(|(percent, of)| format!("; cost {} % of {of}", format::fixed(percent, 1)));
        let version = line.versions[*at].as_deref().unwrap_or_default();
        let text = format!(
            "{} {} {bar:width$}  {}  {version}{}",
            on.experiments[*at].date,
            if steps { ">" } else { " " },
            line.metric.unit().words(*value),
            against.unwrap_or_default(),
            width = BAR as usize
        );
        clean(&text)
    };
    measured[measured.len().saturating_sub(BARS_MAX)..].iter().map(bar).collect()
}
