//! The same arms on several servers: the lines below their reports.

use super::format::Options;
use super::lines::Page;
use super::markdown;
use super::paint::Ink;
use super::view::metric_label;
use base::say::clean;
use judge::analysis::across::ServersAnalysis;
use judge::analysis::types::Metric;
use stats::across::AcrossVerdict;
use stats::verdict::Verdict;

const NONE: &str = "No driver has figures of two servers.";
const BY_ROUNDS: &str = "Rounds alternate between servers, and no round holds two of them: a \
    driver against itself scatters as whole runs do.";

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

/// One figure of an arm between two servers.
struct Found<'a> {
    title: String,
    arm: &'a str,
    metric: Metric,
    /// The metric, with its operation where the phase has another name.
    label: String,
    verdict: &'static str,
    /// Its sentence is worth a line.
    is_told: bool,
    /// Its sentence names the arm.
    is_named: bool,
    sentence: &'a str,
    change: Option<String>,
}

/// A title and its lines for each phase and server, and what the whole means.
fn lists(analysis: &ServersAnalysis) -> Vec<(String, Vec<String>)> {
    let label = |metric: Metric, phase: &str, operation: &str| {
        let of = format!(" of {operation}");
        format!("{}{}", metric_label(metric), if phase == operation { "" } else { &of })
    };
    let differences = analysis.differences.iter().map(|row| Found {
        title: format!("{}: from {} to {}", row.phase, row.from, row.to),
        arm: &row.arm,
        metric: row.metric,
        label: label(row.metric, &row.phase, &row.operation),
        verdict: row.verdict.word(),
        is_told: row.verdict == AcrossVerdict::Differs,
        is_named: row.verdict != AcrossVerdict::NotComparable && row.level.is_some(),
        sentence: &row.sentence,
        change: figures::change(row.estimate_percent, row.low_percent, row.high_percent),
    });
    let itself = analysis.itself.iter().map(|row| Found {
        title: format!("{}: each driver on {} against itself on {}", row.phase, row.to, row.from),
        arm: &row.arm,
        metric: row.metric,
        label: label(row.metric, &row.phase, &row.operation),
        verdict: row.verdict.word(),
        is_told: matches!(row.verdict, Verdict::Slower | Verdict::Faster) && !row.direction_only,
        is_named: row.verdict.names_arms(row.direction_only),
        sentence: &row.sentence,
        change: figures::change(row.estimate_percent, row.low_percent, row.high_percent),
    });
    let all: Vec<Found<'_>> = differences.chain(itself).collect();
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
    let change = it.change.as_ref().map_or(String::new(), |change| format!(", {change}"));
    format!("{}: {}{change}", it.label, it.verdict)
}
