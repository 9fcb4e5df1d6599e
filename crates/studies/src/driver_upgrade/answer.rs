//! The tables in sentences.

use super::factors::{self, SMALL, not_shown, words};
use super::types::{Correlation, Ratio, Row, UpgradeAnalysis};
use super::{CONCERN, CONNECTIONS, GROWING, REVERSE, UNWAITED, VERSIONS, WIRE};
use crate::doubts::{Basis, Doubts};
use crate::evidence::{Evidence, Shown};
use crate::study::Outcome;
use format::{count, figure, fixed, time};
use judge::analysis::types::{ChangeRow, Finding, Metric, SinceRow};
use judge::diagnosis::NO_CAUSE;
use stats::descriptive::OverRounds;

/// No study decides by fewer rounds (methodology 8).
const ROUNDS_MIN: u32 = 5;

pub fn all(outcome: &Outcome<'_>, analysis: &UpgradeAnalysis, doubts: &[Doubts]) -> Vec<Evidence> {
    let judged = |part: &str| {
        let made = outcome.part(part)?;
        // Torn lines and the like are told by the report of that experiment.
        let judged = judge::analyse(made.folder, made.experiment).ok()?.analysis;
        Some((judged.since, judged.diagnosis))
    };
    let (since, _) = judged(VERSIONS).unwrap_or_default();
    let (_, found) = judged(WIRE).unwrap_or_default();
    let noise = |phase: &str| doubts.iter().find(|it| it.is_of(VERSIONS))?.noise_percent(phase);
    let mut evidence = vec![first_slow(&since, noise)];
    evidence.extend(factors::original(rows(analysis, VERSIONS)));
    evidence.push(factors::concern(&analysis.ratios, rows(analysis, VERSIONS)));
    evidence.extend(factors::api(&analysis.ratios));
    evidence.push(response(&analysis.ratios));
    evidence.push(traffic(&analysis.correlations));
    evidence.push(against(
        &analysis.ratios,
        REVERSE,
        "order",
        "Does the order of the versions make the difference?",
        "in reverse order",
        of_order,
    ));
    evidence.push(against(
        &analysis.ratios,
        GROWING,
        "growing",
        "Does the difference come from a database that grows?",
        "in a collection that keeps what earlier versions wrote",
        of_growing,
    ));
    evidence.push(connections(rows(analysis, VERSIONS), rows(analysis, CONNECTIONS)));
    evidence.push(missed(rows(analysis, UNWAITED)));
    evidence.push(cause(&found));
    evidence
}

/// The runs that an answer is made of.
pub fn basis<'a>(answer: &Evidence, ratios: &'a [Ratio]) -> Vec<Basis<'a>> {
    let of = |part: &'static str| {
        let own = ratios.iter().filter(|it| it.part == part);
        let arms = own.flat_map(|it| [it.first.as_str(), it.last.as_str()]);
        Basis { part, arms: Some(arms.collect()) }
    };
    let line = || Basis { part: VERSIONS, arms: Some(Vec::new()) };
    match answer.id.as_str() {
        "since" | "traffic" | "original" => vec![line()],
        "concern" => vec![of(VERSIONS), of(CONCERN)],
        "api" => vec![of(CONCERN)],
        "order" => vec![of(VERSIONS), of(REVERSE)],
        "growing" => vec![of(VERSIONS), of(GROWING)],
        "connections" => vec![Basis { part: CONNECTIONS, arms: None }],
        "missed" => vec![Basis { part: UNWAITED, arms: None }],
        "cause" => vec![of(WIRE)],
        _ => vec![of(VERSIONS)],
    }
}

fn rows<'a>(analysis: &'a UpgradeAnalysis, part: &str) -> &'a [Row] {
    let part = analysis.parts.iter().find(|it| it.part == part);
    part.map_or(&[], |part| &part.rows)
}

/// A step within what two copies of one version differ by (`noise`, percent by phase) is none.
pub fn first_slow(since: &[SinceRow], noise: impl Fn(&str) -> Option<f64>) -> Evidence {
    let (id, question) = ("since", "Since which version is it slow?");
    let since: Vec<_> = since.iter().filter(|row| row.metric == Metric::Throughput).collect();
    let Some(rounds) = since.iter().map(|row| row.rounds).min() else {
        return not_shown(id, question, "Fewer than four versions of a driver are no line.");
    };
    let few = rounds < ROUNDS_MIN;
    let within = |row: &SinceRow, step: &ChangeRow| {
        noise(&row.phase).is_some_and(|noise| step.change_percent.abs() <= noise)
    };
    let slower =
        |row: &&SinceRow| row.changes.iter().any(|it| it.change_percent > 0.0 && !within(row, it));
    let mut sentences = Vec::new();
    if few {
        sentences.push(format!("{rounds} rounds are too few to decide: it takes {ROUNDS_MIN}."));
    }
    for row in &since {
        sentences.push(format!("{}, {}: {}", row.adapter, row.phase, row.sentence));
        for step in row.changes.iter().filter(|it| within(row, it)) {
            sentences.push(format!(
                "{}, {}: the step at {} is no larger than the A/A difference.",
                row.adapter, row.phase, step.after
            ));
        }
    }
    let doubtful = since.iter().any(|row| row.changes.iter().any(|it| within(row, it)));
    let shown = match since.iter().any(slower) {
        _ if few => Shown::NotShown,
        true => Shown::Shown,
        false if doubtful => Shown::NotShown,
        false => Shown::Refuted,
    };
    Evidence { id: id.to_owned(), question: question.to_owned(), shown, sentences }
}

/// The diagnosis of the experiment that went through the tap.
fn cause(found: &[Finding]) -> Evidence {
    let question = "Does the tap show where the time goes?";
    let mut told = not_shown("cause", question, "No rule of the diagnosis applies.");
    if !found.is_empty() {
        let words = |it: &Finding| {
            let about: Vec<&String> = [&it.arm, &it.phase].into_iter().flatten().collect();
            about.into_iter().chain([&it.sentence]).cloned().collect::<Vec<_>>().join(": ")
        };
        told.sentences = found.iter().map(words).collect();
    }
    if found.iter().any(|it| it.rule != NO_CAUSE) {
        told.shown = Shown::Shown;
    }
    told
}

/// The ratio of a driver in `versions` beside that in another experiment.
fn pairs<'a>(ratios: &'a [Ratio], part: &'a str) -> impl Iterator<Item = (&'a Ratio, &'a Ratio)> {
    let other = ratios.iter().filter(move |it| it.part == part);
    other.filter_map(|other| {
        let same = |it: &&Ratio| it.part == VERSIONS && it.adapter == other.adapter;
        Some((ratios.iter().find(same)?, other))
    })
}

/// The 99th percentile of an operation of the last version to that of the first.
fn response(ratios: &[Ratio]) -> Evidence {
    let (id, question) = ("response", "Do response times grow (99th percentile)?");
    let (mut sentences, mut all) = (Vec::new(), Vec::new());
    for ratio in ratios.iter().filter(|it| it.part == VERSIONS) {
        let of = [("creation", &ratio.create_p99), ("read", &ratio.read_p99)];
        let of = of.into_iter().filter_map(|(name, it)| Some((name, it.as_ref()?)));
        let said: Vec<String> = of
            .clone()
            .map(|(name, it)| format!("that of a {name} is {} times as long", words(it)))
            .collect();
        if !said.is_empty() {
            sentences.push(format!(
                "{}: {}, as with {}.",
                ratio.last,
                said.join(", "),
                ratio.first
            ));
        }
        all.extend(of.map(|(_, it)| difference(it)));
    }
    if sentences.is_empty() {
        return not_shown(id, question, "Too few operations for a 99th percentile.");
    }
    let shown = if all.contains(&Some(Difference::Slower)) {
        Shown::Shown
    } else if all.contains(&None) {
        Shown::NotShown
    } else {
        Shown::Refuted
    };
    Evidence { id: id.to_owned(), question: question.to_owned(), shown, sentences }
}

fn traffic(correlations: &[Correlation]) -> Evidence {
    let (id, question) = ("traffic", "Does the server's traffic fall as versions get slower?");
    let of = |name: &'static str, with: &'static str| {
        correlations.iter().filter(move |it| it.of == name && it.with == with)
    };
    let said = |it: &Correlation| {
        let rho = it.rho?;
        Some(format!(
            "{}: Spearman's rho of {} and {} is {} ({} to {}, {} versions).",
            it.adapter,
            it.of,
            it.with,
            fixed(rho.estimate, 2),
            fixed(rho.low, 2),
            fixed(rho.high, 2),
            it.versions
        ))
    };
    let mut sentences: Vec<String> =
        of("traffic", "time").chain(of("traffic", "version")).filter_map(said).collect();
    if sentences.is_empty() {
        return not_shown(
            id,
            question,
            "Fewer than five versions of a driver have no correlation.",
        );
    }
    let bounds: Vec<_> = of("traffic", "time").filter_map(|it| it.rho).collect();
    let shown = if bounds.iter().all(|it| it.high < 0.0) {
        Shown::Shown
    } else if bounds.iter().all(|it| it.low > 0.0) {
        Shown::Refuted
    } else {
        Shown::NotShown
    };
    sentences.extend(of("bytes an operation", "time").filter_map(said));
    let original = "2014: 7 MB in and 5 MB out a second with C# 1.6.1, 3 MB and 1 MB with 1.9.2.";
    sentences.push(original.to_owned());
    sentences.push(
        "Traffic a second is bytes an operation divided by the time of an operation: it falls \
         wherever time grows and the bytes stay. It is no cause."
            .to_owned(),
    );
    Evidence { id: id.to_owned(), question: question.to_owned(), shown, sentences }
}

/// Between the last version and the first.
#[derive(Clone, Copy, PartialEq)]
enum Difference {
    Small,
    Slower,
    Faster,
}

/// Nothing where the interval leaves it open. Two experiments are compared by this, not by their
/// ratios: they were made one after the other, and a ratio moves with the machine's state.
fn difference(ratio: &OverRounds) -> Option<Difference> {
    match ratio.median {
        _ if !ratio.is_sure() => None,
        it if it.low > SMALL => Some(Difference::Slower),
        it if it.high < 1.0 / SMALL => Some(Difference::Faster),
        it if it.low >= 1.0 / SMALL && it.high <= SMALL => Some(Difference::Small),
        _ => None,
    }
}

/// The order makes the difference where the reverse order has another one.
fn of_order(usual: Option<Difference>, reverse: Option<Difference>) -> Shown {
    match (usual, reverse) {
        (Some(usual), Some(reverse)) if usual == reverse => Shown::Refuted,
        (Some(_), Some(_)) => Shown::Shown,
        _ => Shown::NotShown,
    }
}

/// A difference that fresh collections have does not come from one that grows.
fn of_growing(fresh: Option<Difference>, growing: Option<Difference>) -> Shown {
    match (fresh, growing) {
        (Some(Difference::Slower | Difference::Faster), _)
        | (Some(Difference::Small), Some(Difference::Small)) => Shown::Refuted,
        (Some(Difference::Small), Some(_)) => Shown::Shown,
        _ => Shown::NotShown,
    }
}

/// Whether `part` changes the difference between the last version and the first.
fn against(
    ratios: &[Ratio],
    part: &str,
    id: &str,
    question: &str,
    how: &str,
    rule: fn(Option<Difference>, Option<Difference>) -> Shown,
) -> Evidence {
    let (mut sentences, mut shown) = (Vec::new(), Vec::new());
    for (usual, other) in pairs(ratios, part) {
        let phases = [
            ("Both", &usual.total, &other.total),
            ("Creations", &usual.create, &other.create),
            ("Reads", &usual.read, &other.read),
        ];
        for (name, a, b) in phases {
            let (Some(a), Some(b)) = (a, b) else { continue };
            shown.push(rule(difference(a), difference(b)));
            let (first, last) = (&usual.first, &usual.last);
            let (a, b) = (words(a), words(b));
            sentences
                .push(format!("{name}: {last} takes {a} times as long as {first}, {how} {b}."));
        }
    }
    if sentences.is_empty() {
        return not_shown(id, question, "Not both experiments have a first and a last version.");
    }
    let shown = if shown.contains(&Shown::Shown) {
        Shown::Shown
    } else if shown.contains(&Shown::NotShown) {
        Shown::NotShown
    } else {
        Shown::Refuted
    };
    Evidence { id: id.to_owned(), question: question.to_owned(), shown, sentences }
}

/// `usual` has no limit of connections.
fn connections(usual: &[Row], limited: &[Row]) -> Evidence {
    let (id, question) =
        ("connections", "Who waits, who fails and how long when connections run out?");
    let (mut sentences, mut shown) = (Vec::new(), Shown::NotShown);
    for row in limited {
        let Some(peak) = row.connections_peak else { continue };
        let usual = usual.iter().find(|it| it.arm == row.arm);
        let before = usual.and_then(|it| it.connections_peak);
        // They are counted once a second: one or two may be missed.
        if row.failed > 0 || before.is_some_and(|before| peak * 10 < before * 9) {
            shown = Shown::Shown;
        }
        let before = before.map_or(String::new(), |it| format!(" in place of {}", count(it)));
        let failed = match row.failed {
            0 => "no operation failed".to_owned(),
            some => format!("{} of {} operations failed", count(some), count(row.operations)),
        };
        let wait = |name: &str, which: fn(&Row) -> Option<f64>| {
            let usual = usual.and_then(which);
            let usual = usual.map_or(String::new(), |it| format!(" in place of {}", time(it)));
            which(row).map(|it| format!(", {name} {}{usual}", time(it)))
        };
        let waits = [
            wait("a creation takes p50", |it| it.create_p50_us),
            wait("p99", |it| it.create_p99_us),
            wait("a read p50", |it| it.read_p50_us),
            wait("p99", |it| it.read_p99_us),
        ];
        let waits: String = waits.into_iter().flatten().collect();
        let total = row.total_ms.as_ref().map(|it| figure(it.median.estimate));
        let total = total.map_or(String::new(), |it| format!("; all took {it} ms"));
        let (arm, peak) = (&row.arm, count(peak));
        sentences
            .push(format!("{arm}: at most {peak} connections{before}, {failed}{waits}{total}."));
    }
    if sentences.is_empty() {
        return not_shown(id, question, "The experiment with few connections was not made.");
    }
    if shown == Shown::NotShown {
        sentences.insert(0, "Nobody waited for a connection, and nothing failed.".to_owned());
    }
    Evidence { id: id.to_owned(), question: question.to_owned(), shown, sentences }
}

/// Reads right behind unanswered writes. That none misses is shown by no number of reads.
fn missed(unwaited: &[Row]) -> Evidence {
    let (id, question) = ("missed", "Do reads miss what unanswered writes have not yet written?");
    let tried = unwaited.iter().filter(|row| row.reads > 0);
    let said = |row: &Row| {
        let (missed, reads) = (count(row.reads_missed), count(row.reads));
        format!("{}: {missed} of {reads} reads missed.", row.arm)
    };
    let sentences: Vec<String> = tried.clone().map(said).collect();
    if sentences.is_empty() {
        return not_shown(id, question, "No driver here writes without an answer.");
    }
    let misses = tried.clone().any(|row| row.reads_missed > 0);
    let shown = if misses { Shown::Shown } else { Shown::NotShown };
    Evidence { id: id.to_owned(), question: question.to_owned(), shown, sentences }
}
