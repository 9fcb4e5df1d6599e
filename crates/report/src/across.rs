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
    let same_arms = |a: &DifferenceRow, b: &DifferenceRow| {
        (&a.to, &a.phase, &a.arm) == (&b.to, &b.phase, &b.arm)
    };
    for rows in analysis.differences.chunk_by(same_arms) {
        let title = format!("{}: from {} to {}", rows[0].phase, rows[0].from, rows[0].to);
        let title = clean(&title);
        let lines = lines(rows);
        match lists.last_mut().filter(|(last, _)| *last == title) {
            Some((_, all)) => all.extend(lines),
            None => lists.push((title, lines)),
        }
    }
    if lists.is_empty() {
        lists.push(("Between servers".to_owned(), vec![NONE.to_owned()]));
    }
    let (_, last) = lists.last_mut().expect("one at least");
    last.push(NOT_INTERLEAVED.to_owned());
    lists
}

/// Of one arm: throughput and whatever differs in a sentence, all other metrics in one line.
fn lines(rows: &[DifferenceRow]) -> Vec<String> {
    let is_told = |row: &&DifferenceRow| {
        row.metric == Metric::Throughput || row.verdict == AcrossVerdict::Differs
    };
    let (told, others): (Vec<_>, Vec<_>) = rows.iter().partition(is_told);
    let sentence = |row: &DifferenceRow| {
        let sentence = clean(&row.sentence);
        let names = sentence.contains(row.arm.as_str());
        if names { sentence } else { format!("{}: {sentence}", clean(&row.arm)) }
    };
    let mut lines: Vec<String> = told.into_iter().map(sentence).collect();
    let others: Vec<String> = others.into_iter().map(short).collect();
    if !others.is_empty() {
        lines.push(clean(&format!("{}, also {}", rows[0].arm, others.join("; "))));
    }
    lines
}

/// `p99 of find: SAME, +0.4 % (-1.0 to +1.9 %)`.
fn short(row: &DifferenceRow) -> String {
    let change = figures::change(row.estimate_percent, row.low_percent, row.high_percent);
    let change = change.map_or(String::new(), |change| format!(", {change}"));
    let of = format!(" of {}", row.operation);
    let of = if row.operation == row.phase { "" } else { &of };
    format!("{}{of}: {}{change}", metric_label(row.metric), row.verdict.word())
}
