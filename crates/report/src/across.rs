//! The same arms on several servers: the lines below their reports.

use super::format::Options;
use super::lines::Page;
use super::markdown;
use super::paint::Ink;
use super::view::metric_label;
use base::say::clean;
use judge::analysis::across::{DifferenceRow, ServersAnalysis};
use judge::analysis::types::Metric;
use stats::across::AcrossVerdict;

const NONE: &str = "No driver could be held against the baseline on two servers.";
const NOT_INTERLEAVED: &str = "Rounds alternate between servers, and no round holds two of them: \
    ops/s of one server are not to be compared with those of another.";

/// A heading before the report of one server.
pub fn heading(server: &str) -> String {
    format!("── {} ──\n\n", clean(server))
}

/// For a terminal.
pub fn terminal(analysis: &ServersAnalysis, options: &Options) -> String {
    let mut bytes = Vec::new();
    let mut page = Page::new(options, &mut bytes);
    for (title, lines) in lists(analysis) {
        page.list(&title, Ink::Bold, &lines).expect("writing to memory");
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

pub fn markdown(analysis: &ServersAnalysis) -> String {
    let mut bytes = Vec::new();
    for (title, lines) in lists(analysis) {
        markdown::list(&mut bytes, &title, &lines).expect("writing to memory");
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A title and its lines for each phase and server, and what the whole means.
fn lists(analysis: &ServersAnalysis) -> Vec<(String, Vec<String>)> {
    let mut lists: Vec<(String, Vec<String>)> = Vec::new();
    for row in &analysis.differences {
        let title = format!("{}: from {} to {}", row.phase, row.from, row.to);
        let title = clean(&title);
        let line = line(row);
        match lists.last_mut().filter(|(last, _)| *last == title) {
            Some((_, lines)) => lines.push(line),
            None => lists.push((title, vec![line])),
        }
    }
    if lists.is_empty() {
        lists.push(("Between servers".to_owned(), vec![NONE.to_owned()]));
    }
    let (_, last) = lists.last_mut().expect("one at least");
    last.push(NOT_INTERLEAVED.to_owned());
    lists
}

/// Throughput in full; of other metrics the figures, and the sentence where they differ.
fn line(row: &DifferenceRow) -> String {
    let arm = &row.arm;
    if row.metric == Metric::Throughput || row.verdict == AcrossVerdict::Differs {
        let names = row.sentence.contains(arm.as_str());
        let sentence = clean(&row.sentence);
        return if names { sentence } else { format!("{}: {sentence}", clean(arm)) };
    }
    let change = figures::change(row.estimate_percent, row.low_percent, row.high_percent);
    let change = change.map_or(String::new(), |change| format!(", {change}"));
    let of = if row.operation == row.phase { "" } else { &row.operation };
    let label = metric_label(row.metric);
    clean(&format!("also {label} {of} of {arm}: {}{change}", row.verdict.word())).replace("  ", " ")
}
