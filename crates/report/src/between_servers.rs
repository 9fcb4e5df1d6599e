//! The same arms on several servers: the comparisons between two of them.

use super::axis::Axis;
use super::drawing::{Drawing, Role};
use super::palette::Palette;
use super::plot_rows::{self, ChangeInterval, PlotMark, PlotRow};
use super::plots;
use base::say::clean;
use judge::analysis::across::ServersAnalysis;
use judge::analysis::types::{ComparisonRow, Metric};
use stats::verdict::Verdict;

const NONE: &str = "No driver has figures of two servers.";
const BY_ROUNDS: &str = "Rounds alternate between servers, and no round holds two of them: a \
    driver against itself scatters as whole runs do.";

/// Differences between arms, then each arm against itself.
pub fn found(analysis: &ServersAnalysis) -> impl Iterator<Item = &ComparisonRow> {
    analysis.differences.iter().chain(&analysis.itself)
}

/// From which server to which one.
pub fn between(row: &ComparisonRow) -> String {
    let [from, to] = [&row.from, &row.to].map(|it| it.as_deref().unwrap_or_default());
    format!("from {from} to {to}")
}

fn title(row: &ComparisonRow) -> String {
    match (&row.from, &row.to) {
        (Some(from), Some(to)) if row.is_of_itself() => {
            format!("{}: each driver on {to} against itself on {from}", row.phase)
        }
        _ => format!("{}: {}", row.phase, between(row)),
    }
}

/// A title and its lines for each phase and server, and what the whole means; none of one server.
pub fn lists(analysis: &ServersAnalysis) -> Vec<(String, Vec<String>)> {
    if analysis.servers.len() < 2 {
        return Vec::new();
    }
    let all: Vec<&ComparisonRow> = found(analysis).collect();
    let mut lists: Vec<(String, Vec<String>)> = Vec::new();
    for of_title in all.chunk_by(|a, b| title(a) == title(b)) {
        let mut arms: Vec<_> = of_title.chunk_by(|a, b| a.arm == b.arm).collect();
        // The terminal shows the first lines alone: what differs comes before what does not.
        arms.sort_by_key(|of_arm| !of_arm.iter().any(|row| is_clear(row)));
        lists.push((clean(&title(of_title[0])), arms.into_iter().flat_map(lines).collect()));
    }
    if lists.is_empty() {
        lists.push(("Between servers".to_owned(), vec![NONE.to_owned()]));
    }
    let (_, last) = lists.last_mut().expect("one at least");
    last.push(BY_ROUNDS.to_owned());
    lists
}

fn is_clear(row: &ComparisonRow) -> bool {
    match row.verdict {
        Verdict::Differs => true,
        Verdict::Slower | Verdict::Faster => !row.direction_only,
        _ => false,
    }
}

/// Lines of one arm: throughput and whatever is told in a sentence, all other metrics in one line.
fn lines(found: &[&ComparisonRow]) -> Vec<String> {
    let is_told = |row: &ComparisonRow| row.metric == Metric::Throughput || is_clear(row);
    let (told, others): (Vec<_>, Vec<_>) = found.iter().partition(|row| is_told(row));
    let sentence = |row: &ComparisonRow| {
        let sentence = clean(&row.sentence);
        if row.names_arms() { sentence } else { format!("{}: {sentence}", clean(&row.arm)) }
    };
    let mut lines: Vec<String> = told.into_iter().map(sentence).collect();
    let others: Vec<String> = others.into_iter().map(short).collect();
    if !others.is_empty() {
        lines.push(clean(&format!("{}, also {}", found[0].arm, others.join("; "))));
    }
    lines
}

/// `p99 of find: SAME, +0.4 % (-1.0 to +1.9 %)`.
fn short(row: &ComparisonRow) -> String {
    let label = row.metric.definition().label;
    let of =
        if row.phase == row.operation { String::new() } else { format!(" of {}", row.operation) };
    let change = change(row).map_or(String::new(), |change| format!(", {change}"));
    format!("{label}{of}: {}{change}", row.verdict.word())
}

fn change(row: &ComparisonRow) -> Option<String> {
    format::change(row.estimate_percent, row.low_percent, row.high_percent)
}

/// Throughput between servers: a picture for each list that has an interval.
pub fn pictures(analysis: &ServersAnalysis) -> Vec<Drawing> {
    let all: Vec<&ComparisonRow> =
        found(analysis).filter(|row| row.metric == Metric::Throughput).collect();
    let palette = Palette::of(all.iter().map(|row| row.arm.as_str()));
    let plotted = |row: &&ComparisonRow| PlotRow {
        label: clean(&row.arm),
        look: palette.look(&row.arm),
        figures: change(row).unwrap_or_default(),
        word: row.verdict.word().to_owned(),
        role: Role::of_verdict(row.verdict),
        mark: PlotMark::Interval(ChangeInterval::of(row)),
    };
    let lists: Vec<(String, Vec<PlotRow<'_>>)> = all
        .chunk_by(|a, b| title(a) == title(b))
        .map(|list| (title(list[0]), list.iter().map(plotted).collect()))
        .collect();
    // One axis: a length means the same everywhere in the picture.
    let Some(axis) = Axis::of_changes(lists.iter().flat_map(|(_, rows)| rows)) else {
        return Vec::new();
    };
    let plot = |title: &str, rows| plots::plot(&clean(title), rows, &axis, &plot_rows::WIDE);
    lists.iter().map(|(title, rows)| plot(title, rows)).collect()
}
