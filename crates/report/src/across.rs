//! The same arms on several servers: the comparisons between two of them.

use super::drawing::{Drawing, Role};
use super::plots::{self, Axis, ChangeInterval, Mark, Row};
use super::view::{hue, metric_label};
use base::say::clean;
use judge::analysis::across::ServersAnalysis;
use judge::analysis::types::Metric;
use stats::across_servers::AcrossVerdict;
use stats::verdict::Verdict;

const NONE: &str = "No driver has figures of two servers.";
const BY_ROUNDS: &str = "Rounds alternate between servers, and no round holds two of them: a \
    driver against itself scatters as whole runs do.";

/// One figure of an arm between two servers.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Found<'a> {
    title: String,
    pub from: &'a str,
    pub to: &'a str,
    /// Arm on the first server where it is compared with itself.
    pub baseline: &'a str,
    pub arm: &'a str,
    is_aa: bool,
    pub phase: &'a str,
    pub operation: &'a str,
    pub metric: Metric,
    pub verdict: &'static str,
    role: Role,
    pub direction_only: bool,
    /// Low, estimate, high, percent.
    pub ends: [Option<f64>; 3],
    pub level: Option<f64>,
    pub rounds: u32,
    pub threshold_percent: f64,
    pub floor_percent: f64,
    /// Where a bias is allowed for.
    pub bias_percent: Option<f64>,
    /// Its sentence is worth a line.
    is_told: bool,
    /// Its sentence names the arm.
    is_named: bool,
    pub sentence: &'a str,
}

/// Differences between arms, then each arm against itself.
pub fn found(analysis: &ServersAnalysis) -> Vec<Found<'_>> {
    let differences = analysis.differences.iter().map(|row| Found {
        title: format!("{}: from {} to {}", row.phase, row.from, row.to),
        from: &row.from,
        to: &row.to,
        baseline: &row.baseline,
        arm: &row.arm,
        is_aa: row.is_aa,
        phase: &row.phase,
        operation: &row.operation,
        metric: row.metric,
        verdict: row.verdict.word(),
        role: match row.verdict {
            AcrossVerdict::Differs => Role::Ink,
            AcrossVerdict::Same => Role::Blue,
            AcrossVerdict::Inconclusive | AcrossVerdict::NotComparable => Role::Amber,
        },
        direction_only: row.direction_only,
        ends: [row.low_percent, row.estimate_percent, row.high_percent],
        level: row.level,
        rounds: row.rounds,
        threshold_percent: row.threshold_percent,
        floor_percent: row.floor_percent,
        bias_percent: Some(row.bias_percent),
        is_told: row.verdict == AcrossVerdict::Differs,
        is_named: row.verdict != AcrossVerdict::NotComparable && row.level.is_some(),
        sentence: &row.sentence,
    });
    let itself = analysis.itself.iter().map(|row| Found {
        title: format!("{}: each driver on {} against itself on {}", row.phase, row.to, row.from),
        from: &row.from,
        to: &row.to,
        baseline: &row.arm,
        arm: &row.arm,
        is_aa: false,
        phase: &row.phase,
        operation: &row.operation,
        metric: row.metric,
        verdict: row.verdict.word(),
        role: Role::of_verdict(row.verdict),
        direction_only: row.direction_only,
        ends: [row.low_percent, row.estimate_percent, row.high_percent],
        level: row.level,
        rounds: row.rounds,
        threshold_percent: row.threshold_percent,
        floor_percent: row.floor_percent,
        bias_percent: None,
        is_told: matches!(row.verdict, Verdict::Slower | Verdict::Faster) && !row.direction_only,
        is_named: row.verdict.names_arms(row.direction_only),
        sentence: &row.sentence,
    });
    differences.chain(itself).collect()
}

/// A title and its lines for each phase and server, and what the whole means; none of one server.
pub fn lists(analysis: &ServersAnalysis) -> Vec<(String, Vec<String>)> {
    if analysis.servers.len() < 2 {
        return Vec::new();
    }
    let all = found(analysis);
    let mut lists: Vec<(String, Vec<String>)> = Vec::new();
    for of_arm in all.chunk_by(|a, b| (&a.title, a.arm) == (&b.title, b.arm)) {
        let (title, lines) = (clean(&of_arm[0].title), lines(of_arm));
        match lists.last_mut().filter(|(last, _)| *last == title) {
            Some((_, all)) => all.extend(lines),
            None => lists.push((title, lines)),
        }
    }
    if lists.is_empty() {
        lists.push(("Between servers".to_owned(), vec![NONE.to_owned()]));
    }
    let (_, last) = lists.last_mut().expect("one at least");
    last.push(BY_ROUNDS.to_owned());
    lists
}

/// Of one arm: throughput and whatever is told in a sentence, all other metrics in one line.
fn lines(found: &[Found<'_>]) -> Vec<String> {
    let is_told = |it: &&Found<'_>| it.metric == Metric::Throughput || it.is_told;
    let (told, others): (Vec<_>, Vec<_>) = found.iter().partition(is_told);
    let sentence = |it: &Found<'_>| {
        let sentence = clean(it.sentence);
        if it.is_named { sentence } else { format!("{}: {sentence}", clean(it.arm)) }
    };
    let mut lines: Vec<String> = told.into_iter().map(sentence).collect();
    let others: Vec<String> = others.into_iter().map(short).collect();
    if !others.is_empty() {
        lines.push(clean(&format!("{}, also {}", found[0].arm, others.join("; "))));
    }
    lines
}

/// `p99 of find: SAME, +0.4 % (-1.0 to +1.9 %)`.
fn short(it: &Found<'_>) -> String {
    let label = metric_label(it.metric);
    let of = if it.phase == it.operation { String::new() } else { format!(" of {}", it.operation) };
    let change = change(it).map_or(String::new(), |change| format!(", {change}"));
    format!("{label}{of}: {}{change}", it.verdict)
}

fn change(it: &Found<'_>) -> Option<String> {
    let [low, estimate, high] = it.ends;
    format::change(estimate, low, high)
}

/// Throughput between servers: a picture for each list that has an interval.
pub fn pictures(analysis: &ServersAnalysis) -> Vec<Drawing> {
    let all = found(analysis);
    let all: Vec<&Found<'_>> = all.iter().filter(|it| it.metric == Metric::Throughput).collect();
    let row = |it: &&Found<'_>| Row {
        label: clean(it.arm),
        hue: hue(it.arm),
        is_aa: it.is_aa,
        figures: change(it).unwrap_or_default(),
        word: it.verdict.to_owned(),
        role: it.role,
        mark: Mark::Interval(ChangeInterval {
            ends: it.ends,
            threshold_percent: it.threshold_percent,
            floor_percent: it.floor_percent,
        }),
    };
    let lists: Vec<(&str, Vec<Row<'_>>)> = all
        .chunk_by(|a, b| a.title == b.title)
        .map(|list| (list[0].title.as_str(), list.iter().map(row).collect()))
        .collect();
    // One axis: a length means the same everywhere in the picture.
    let Some(axis) = Axis::of_changes(lists.iter().flat_map(|(_, rows)| rows)) else {
        return Vec::new();
    };
    lists.iter().map(|(title, rows)| plots::plot(&clean(title), rows, &axis)).collect()
}
