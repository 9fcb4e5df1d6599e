//! The rules that make an answer of the tables: each asks one question of the figures, and is
//! silent where they were not measured.

mod answer;
mod pacing;
mod parts;
mod pool;
mod rates;
mod replay;
#[cfg(test)]
mod tests;
mod think;

use crate::report::number::{signed_figure, time};
use crate::stats::curve::Class;
use crate::stats::descriptive::OverRounds;
use crate::study::broker::types::{Evidence, PhaseAnalysis, RoundCurve, Row, Shown};

/// Phases of the study's workload.
const AWAITED: &str = "awaited";
const BURST: &str = "burst";
const RATE: &str = "rate";
const THINK: &str = "think";

/// So large a share of its rounds must agree before anything is said of an arm: with five rounds,
/// one may be otherwise.
const AGREEING: f64 = 0.8;

/// Every finding, in the order in which they are told; the answer first.
#[must_use]
pub fn all(phases: &[PhaseAnalysis]) -> Vec<Evidence> {
    let rules = [
        replay::rule,
        pacing::awaited,
        pacing::burst,
        pacing::rate,
        rates::slope,
        rates::issue_against_capacity,
        parts::rule,
        pool::pools,
        pool::processes,
        think::rule,
    ];
    let mut evidence: Vec<Evidence> = rules.iter().filter_map(|rule| rule(phases)).collect();
    if let Some(answer) = answer::rule(&evidence) {
        evidence.insert(0, answer);
    }
    evidence
}

/// What the rounds of an arm agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Course {
    Flat,
    Grows,
    /// They do not agree, or have no class.
    Mixed,
}

/// None without rounds.
fn course(curves: &[RoundCurve]) -> Option<Course> {
    let all = curves.len() as f64;
    let share = |of: &[Class]| {
        curves.iter().filter(|it| of.contains(&it.class)).count() as f64 / all.max(1.0)
    };
    if curves.is_empty() {
        return None;
    }
    Some(match () {
        () if share(&[Class::Flat]) >= AGREEING => Course::Flat,
        () if share(&[Class::Linear, Class::Logarithmic]) >= AGREEING => Course::Grows,
        () => Course::Mixed,
    })
}

fn phase<'a>(phases: &'a [PhaseAnalysis], name: &str) -> Option<&'a PhaseAnalysis> {
    phases.iter().find(|phase| phase.phase == name)
}

/// Rows whose rounds agree on a course, of the curves that `of` takes from them.
fn with_course<'a>(
    rows: impl IntoIterator<Item = &'a Row>,
    wanted: Course,
    of: impl Fn(&Row) -> &[RoundCurve],
) -> Vec<&'a Row> {
    rows.into_iter().filter(|row| course(of(row)) == Some(wanted)).collect()
}

/// `a, b and c`.
fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match &names[..] {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

fn names(rows: &[&Row]) -> String {
    list(rows.iter().map(|row| row.arm.as_str()))
}

/// `linear in 4 of 5 rounds, unclear in 1`.
fn classes(curves: &[RoundCurve]) -> String {
    let named = [
        (Class::Flat, "flat"),
        (Class::Linear, "linear"),
        (Class::Logarithmic, "logarithmic"),
        (Class::Unclear, "unclear"),
    ];
    let counts = named
        .map(|(class, name)| (curves.iter().filter(|curve| curve.class == class).count(), name));
    let mut some: Vec<(usize, &str)> = counts.into_iter().filter(|(count, _)| *count > 0).collect();
    some.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let mut words = Vec::new();
    for (at, (count, name)) in some.iter().enumerate() {
        words.push(match at {
            0 => format!("{name} in {count} of {} rounds", curves.len()),
            _ => format!("{name} in {count}"),
        });
    }
    words.join(", ")
}

/// Median growth over the run, with its sign; empty without any.
fn growth(curves: &[RoundCurve]) -> String {
    let mut grown: Vec<f64> = curves.iter().filter_map(|it| it.growth_us).collect();
    grown.sort_by(f64::total_cmp);
    let Some(median) = grown.get(grown.len() / 2) else { return String::new() };
    let sign = if *median < 0.0 { "-" } else { "+" };
    format!("{sign}{} over the run", time(median.abs()))
}

/// `0.20 [0.19, 0.22]`.
fn over(value: Option<OverRounds>) -> String {
    value.map_or("?".to_owned(), |it| {
        format!(
            "{} [{}, {}]",
            signed_figure(it.median.estimate),
            signed_figure(it.median.low),
            signed_figure(it.median.high)
        )
    })
}

fn evidence(id: &str, question: &str, shown: Shown, sentences: Vec<String>) -> Evidence {
    Evidence { id: id.to_owned(), question: question.to_owned(), shown, sentences }
}
