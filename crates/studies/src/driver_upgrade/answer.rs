//! The tables in sentences.

use super::types::{Correlation, Ratio, Row, UpgradeAnalysis};
use super::{ACKNOWLEDGED, CONNECTIONS, GROWING, REVERSE, VERSIONS};
use crate::evidence::{Evidence, Shown};
use crate::study::Outcome;
use figures::{count, figure, fixed, time};
use judge::analysis::types::{Metric, SinceRow};
use stats::descriptive::OverRounds;

/// A change of the ratio by less is none that anybody would ask about.
const SMALL: f64 = 1.1;

pub fn all(outcome: &Outcome<'_>, analysis: &UpgradeAnalysis) -> Vec<Evidence> {
    let since = outcome.part(VERSIONS).and_then(|made| {
        // Torn lines and the like are told by the report of that experiment.
        let judged = judge::analyse(made.folder, made.experiment).ok()?;
        let since = judged.analysis.since.into_iter();
        Some(since.filter(|row| row.metric == Metric::Throughput).collect::<Vec<_>>())
    });
    let mut evidence = vec![first_slow(&since.unwrap_or_default()), concern(&analysis.ratios)];
    evidence.push(traffic(&analysis.correlations));
    evidence.push(against(
        &analysis.ratios,
        REVERSE,
        "order",
        "Does the order of the versions make the difference?",
        "in reverse order",
    ));
    evidence.push(against(
        &analysis.ratios,
        GROWING,
        "growing",
        "Does the difference come from a database that grows?",
        "in a collection that keeps what earlier versions wrote",
    ));
    evidence.push(connections(rows(analysis, CONNECTIONS)));
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

fn first_slow(since: &[SinceRow]) -> Evidence {
    let (id, question) = ("since", "Since which version is it slow?");
    if since.is_empty() {
        return not_shown(id, question, "Fewer than four versions of a driver are no line.");
    }
    let slower = |row: &SinceRow| row.changes.iter().any(|it| it.change_percent > 0.0);
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

/// `2.04 (1.98 to 2.11)`.
fn words(ratio: &OverRounds) -> String {
    let it = ratio.median;
    format!("{} ({} to {})", fixed(it.estimate, 2), fixed(it.low, 2), fixed(it.high, 2))
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
        apart |= a.median.low > 1.0 || a.median.high < 1.0;
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
    sentences.push(
        "Traffic a second is bytes an operation divided by the time of an operation: it falls \
         wherever time grows and the bytes stay. It is no cause."
            .to_owned(),
    );
    Evidence { id: id.to_owned(), question: question.to_owned(), shown, sentences }
}

/// Whether a ratio differs between two experiments. They were made one after the other, so that
/// only intervals that lie apart show it.
fn against(ratios: &[Ratio], part: &str, id: &str, question: &str, how: &str) -> Evidence {
    let (mut sentences, mut differ, mut small) = (Vec::new(), false, true);
    for (usual, other) in pairs(ratios, part) {
        let (Some(a), Some(b)) = (&usual.create, &other.create) else { continue };
        let apart = a.median.high < b.median.low || b.median.high < a.median.low;
        let widest = (a.median.high / b.median.low).max(b.median.high / a.median.low);
        differ |= apart;
        small &= widest < SMALL;
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
    let shown = match (differ, small) {
        (true, _) => Shown::Shown,
        (false, true) => Shown::Refuted,
        (false, false) => Shown::NotShown,
    };
    Evidence { id: id.to_owned(), question: question.to_owned(), shown, sentences }
}

fn connections(rows: &[Row]) -> Evidence {
    let (id, question) = ("connections", "Who waits and who fails when connections run out?");
    let said = |row: &Row| {
        let peak = row.connections_peak?;
        let failed = match row.failed {
            0 => "no operation failed".to_owned(),
            1 => "one operation failed".to_owned(),
            some => format!("{} operations failed", count(some)),
        };
        let p99 = row.create_p99_us.map_or(String::new(), |it| format!(", p99 {}", time(it)));
        let total = row.total_ms.as_ref().map(|it| figure(it.median.estimate));
        let total = total.map_or(String::new(), |it| format!("; all took {it} ms"));
        Some(format!("{}: at most {} connections, {failed}{p99}{total}.", row.arm, count(peak)))
    };
    let sentences: Vec<String> = rows.iter().filter_map(said).collect();
    if sentences.is_empty() {
        return not_shown(id, question, "The experiment with few connections was not made.");
    }
    Evidence { id: id.to_owned(), question: question.to_owned(), shown: Shown::Shown, sentences }
}
