//! The rules that turn the tables into an answer. Each asks one question of the figures, and is
//! silent where they were not measured.

mod answer;
mod pacing;
mod parts;
mod pool;
mod rates;
mod replay;
mod streams;
#[cfg(test)]
mod tests;
mod think;

use crate::broker::types::{Evidence, PhaseAnalysis, RoundCurve, Row, Shown, tally};
use format::{signed_figure, time};
use stats::curve::Class;
use stats::descriptive::{OverRounds, median, over_rounds};

const AWAITED: &str = "awaited";
const BURST: &str = "burst";
const RATE: &str = "rate";
const THINK: &str = "think";

/// An arm has a finding where at least this share of its rounds agree: four of five.
const AGREEING: f64 = 0.8;
/// Least level of an interval over rounds that anything rests on: five rounds have 0.9375.
const LEVEL_MIN: f64 = 0.9;

/// Every finding, in the order of the report; the answer first.
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
        streams::rule,
    ];
    let mut evidence: Vec<Evidence> = rules.iter().filter_map(|rule| rule(phases)).collect();
    if let Some(answer) = answer::rule(&evidence) {
        evidence.insert(0, answer);
    }
    evidence
}

/// The rounds of an arm taken together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Course {
    Flat,
    Grows,
    /// They do not agree, or have no class.
    Mixed,
}

/// The course of most rounds. Where single rounds are too short to show a level, that of the growth
/// over all. None without rounds.
fn course(curves: &[RoundCurve]) -> Option<Course> {
    if curves.is_empty() {
        return None;
    }
    let most = |of: &dyn Fn(&RoundCurve) -> bool| {
        curves.iter().filter(|it| of(it)).count() as f64 >= AGREEING * curves.len() as f64
    };
    Some(match () {
        () if most(&|it| it.class == Class::Flat) || level_over_rounds(curves) => Course::Flat,
        () if most(&RoundCurve::grows) => Course::Grows,
        () => Course::Mixed,
    })
}

/// Whether the median growth over the rounds is too small to be worth a word, either way.
fn level_over_rounds(curves: &[RoundCurve]) -> bool {
    let growths: Vec<f64> = curves.iter().filter_map(|it| Some(it.growth_us?.estimate)).collect();
    let thresholds: Vec<f64> = curves.iter().map(|it| it.threshold_us).collect();
    let (Some(growth), Some(limit)) = (over_rounds(&growths), median(&thresholds)) else {
        return false;
    };
    let inside = growth.median.low >= -limit && growth.median.high <= limit;
    inside && growth.level >= LEVEL_MIN && growths.len() == curves.len()
}

fn phase<'a>(phases: &'a [PhaseAnalysis], name: &str) -> Option<&'a PhaseAnalysis> {
    phases.iter().find(|phase| phase.phase == name)
}

/// Rows whose rounds agree on a course, by the curves that `of` takes from them.
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
    let all = curves.len();
    let words = tally(curves).into_iter().enumerate().map(|(at, (name, count))| match at {
        0 => format!("{name} in {count} of {all} rounds"),
        _ => format!("{name} in {count}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Median growth over the run, with its sign.
fn growth(curves: &[RoundCurve]) -> String {
    let grown: Vec<f64> = curves.iter().filter_map(|it| Some(it.growth_us?.estimate)).collect();
    let Some(median) = median(&grown) else { return "too few messages".to_owned() };
    let sign = if median < 0.0 { "-" } else { "+" };
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
