//! Lines about the whole experiment: gates, since which version, where the time goes.

use base::say::clean;
use judge::analysis::types::{Analysis, Finding, Metric, PhaseSummary, ResultRow, SinceRow};

/// `node@7.9.0, find_one: QUEUE GROWS: …`, of a rule of the diagnosis.
pub fn finding_line(finding: &Finding) -> String {
    let about: Vec<&str> =
        [&finding.arm, &finding.phase].into_iter().flatten().map(String::as_str).collect();
    let about = if about.is_empty() { String::new() } else { format!("{}: ", about.join(", ")) };
    clean(&format!("{about}{}", finding.sentence))
}

pub fn finding_lines(analysis: &Analysis) -> Vec<String> {
    analysis.diagnosis.iter().map(finding_line).collect()
}

/// `answer not checked`, with the operations of a mix by name.
pub fn unchecked_note(phase: &PhaseSummary) -> Option<String> {
    let names = &phase.answers_unchecked;
    let said = "answer not checked";
    match &names[..] {
        [] => None,
        [only] if *only == phase.phase => Some(said.to_owned()),
        _ => Some(clean(&format!("{said}: {}", names.join(", ")))),
    }
}

pub const GATES: &str = "Gates";

/// `p99 < 5ms: kept. node@7.9.0, find_one: 812 µs`.
pub fn gate_lines(analysis: &Analysis) -> Vec<String> {
    analysis.objectives.iter().map(|row| clean(&row.sentence)).collect()
}

/// `node, find_one: POSSIBLE CHANGE at 4.7.0 …`: throughput always, others where they change.
pub fn since_lines(analysis: &Analysis) -> Vec<String> {
    let told = |row: &&SinceRow| row.metric == Metric::Throughput || !row.changes.is_empty();
    let line = |row: &SinceRow| {
        let about = match row.metric {
            Metric::Throughput => row.operation.clone(),
            metric => format!("{} {}", row.operation, metric.word()),
        };
        clean(&format!("{}, {about}: {}", row.adapter, row.sentence))
    };
    analysis.since.iter().filter(told).map(line).collect()
}

/// Whether the documents per operation are a column, and a note in its place. A figure that all
/// arms of a phase share is a note: as a column it would cost the table its width.
pub fn documents(results: &[&ResultRow], is_mix: bool) -> (bool, Option<String>) {
    let each = results.iter().filter_map(|result| result.get(Metric::DocumentsPerOp));
    let mut figures: Vec<String> = each.map(format::figure).collect();
    figures.dedup();
    match &figures[..] {
        [] => (false, None),
        [figure] if !is_mix => (false, Some(format!("{figure} documents/op"))),
        _ => (true, None),
    }
}
