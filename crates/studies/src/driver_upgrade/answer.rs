//! The tables in sentences.

use super::types::{Correlation, Ratio, Row, UpgradeAnalysis};
use super::{ACKNOWLEDGED, API, CONNECTIONS, GROWING, REVERSE, UNWAITED, VERSIONS, WIRE};
use crate::evidence::{Evidence, Shown};
use crate::study::Outcome;
use figures::{count, figure, fixed, time};
use judge::analysis::types::{Finding, Metric, SinceRow};
use judge::diagnosis::NO_CAUSE;
use stats::descriptive::OverRounds;

/// A change of the ratio by less is none that anybody would ask about.
const SMALL: f64 = 1.1;

pub fn all(outcome: &Outcome<'_>, analysis: &UpgradeAnalysis) -> Vec<Evidence> {
    let judged = |part: &str| {
        let made = outcome.part(part)?;
        // Torn lines and the like are told by the report of that experiment.
        let judged = judge::analyse(made.folder, made.experiment).ok()?.analysis;
        Some((judged.since, judged.diagnosis))
    };
    let (since, _) = judged(VERSIONS).unwrap_or_default();
    let (_, found) = judged(WIRE).unwrap_or_default();
    let (since_answered, _) = judged(ACKNOWLEDGED).unwrap_or_default();
    let mut slow = first_slow("since", "Since which version is it slow?", &since);
    slow.sentences.push("2014: the C# driver's cleanest step was from 1.8.3 to 1.9.0.".to_owned());
    let question = "Since which version is it slow where all write with w:1?";
    let answered = first_slow("since-acknowledged", question, &since_answered);
    let mut evidence = vec![slow, answered, concern(&analysis.ratios)];
    evidence.extend(api(&analysis.ratios));
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

fn rows<'a>(analysis: &'a UpgradeAnalysis, part: &str) -> &'a [Row] {
    let part = analysis.parts.iter().find(|it| it.part == part);
    part.map_or(&[], |part| &part.rows)
}

fn not_shown(id: &str, question: &str, why: &str) -> Evidence {
    let (id, question) = (id.to_owned(), question.to_owned());
    Evidence { id, question, shown: Shown::NotShown, sentences: vec![why.to_owned()] }
}

pub fn first_slow(id: &str, question: &str, since: &[SinceRow]) -> Evidence {
    let since: Vec<_> = since.iter().filter(|row| row.metric == Metric::Throughput).collect();
    if since.is_empty() {
        return not_shown(id, question, "Fewer than four versions of a driver are no line.");
    }
    let slower = |row: &&SinceRow| row.changes.iter().any(|it| it.change_percent > 0.0);
    Evidence {
        id: id.to_owned(),
        question: question.to_owned(),
        shown: if since.iter().any(slower) { Shown::Shown } else { Shown::Refuted },
        sentences: since
            .iter()
            .map(|row| format!("{}, {}: {}", row.adapter, row.phase, row.sentence))
            .collect(),
    }
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

/// `2.04 (1.98 to 2.11)`.
fn words(ratio: &OverRounds) -> String {
    let it = ratio.median;
    let few = if ratio.is_sure() { "" } else { ", too few rounds to decide" };
    format!("{} ({} to {}{few})", fixed(it.estimate, 2), fixed(it.low, 2), fixed(it.high, 2))
}

/// The ratio of a driver in `versions` beside that in another experiment.
fn pairs<'a>(ratios: &'a [Ratio], part: &'a str) -> impl Iterator<Item = (&'a Ratio, &'a Ratio)> {
    let other = ratios.iter().filter(move |it| it.part == part);
    other.filter_map(|other| {
        let same = |it: &&Ratio| it.part == VERSIONS && it.adapter == other.adapter;
        Some((ratios.iter().find(same)?, other))
    })
}

fn concern(ratios: &[Ratio]) -> Evidence {
    let (id, question) = ("concern", "How much is the default write concern, how much the driver?");
    let (mut sentences, mut apart) = (Vec::new(), false);
    for (usual, asked) in pairs(ratios, ACKNOWLEDGED) {
        let (Some(a), Some(b)) = (&usual.total, &asked.total) else { continue };
        let sure = a.is_sure() && b.is_sure();
        apart |= sure && (a.median.low > 1.0 || a.median.high < 1.0);
        let share = a.median.estimate.ln() - b.median.estimate.ln();
        sentences.push(format!(
            "{} takes {} times as long as {} at their defaults, {} times with w:1 for both: a \
             factor of {} is the default, {} the driver.",
            usual.last,
            words(a),
            usual.first,
            words(b),
            fixed(share.exp(), 2),
            fixed(b.median.estimate, 2),
        ));
    }
    if sentences.is_empty() {
        return not_shown(id, question, "Not both experiments have a first and a last version.");
    }
    // Where the versions take the same time there is nothing to divide.
    let shown = if apart { Shown::Shown } else { Shown::NotShown };
    Evidence { id: id.to_owned(), question: question.to_owned(), shown, sentences }
}

/// The newest version by its new API and by its old one: no version and no default between them.
fn api(ratios: &[Ratio]) -> Option<Evidence> {
    let ratio = ratios.iter().find(|it| it.part == API)?;
    let total = ratio.total.as_ref()?;
    let Ratio { first, last, .. } = ratio;
    let shown = match total.median {
        _ if !total.is_sure() => Shown::NotShown,
        it if it.low > SMALL => Shown::Shown,
        it if it.high <= SMALL => Shown::Refuted,
        _ => Shown::NotShown,
    };
    Some(Evidence {
        id: "api".to_owned(),
        question: "Is the driver slower by its new API, both with w:1?".to_owned(),
        shown,
        sentences: vec![format!("{last} takes {} times as long as {first}.", words(total))],
    })
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
        let (Some(a), Some(b)) = (&usual.create, &other.create) else { continue };
        shown.push(rule(difference(a), difference(b)));
        sentences.push(format!(
            "Creations of {} take {} times as long as those of {}, {how} {} times.",
            usual.last,
            words(a),
            usual.first,
            words(b)
        ));
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
    let (id, question) = ("connections", "Who waits and who fails when connections run out?");
    let (mut sentences, mut shown) = (Vec::new(), Shown::NotShown);
    for row in limited {
        let Some(peak) = row.connections_peak else { continue };
        let usual = usual.iter().find(|it| it.arm == row.arm).and_then(|it| it.connections_peak);
        // They are counted once a second: one or two may be missed.
        if row.failed > 0 || usual.is_some_and(|usual| peak * 10 < usual * 9) {
            shown = Shown::Shown;
        }
        let usual = usual.map_or(String::new(), |it| format!(" in place of {}", count(it)));
        let failed = match row.failed {
            0 => "no operation failed".to_owned(),
            1 => "one operation failed".to_owned(),
            some => format!("{} operations failed", count(some)),
        };
        let p99 = row.create_p99_us.map_or(String::new(), |it| format!(", p99 {}", time(it)));
        let total = row.total_ms.as_ref().map(|it| figure(it.median.estimate));
        let total = total.map_or(String::new(), |it| format!("; all took {it} ms"));
        let (arm, peak) = (&row.arm, count(peak));
        sentences.push(format!("{arm}: at most {peak} connections{usual}, {failed}{p99}{total}."));
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
