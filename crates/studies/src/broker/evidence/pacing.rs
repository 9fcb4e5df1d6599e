//! The same pacing for all: does the growth go with the driver, or with the pacing?

use super::{AWAITED, BURST, Course, RATE, classes, course, evidence, names, phase, with_course};
use crate::broker::types::{Evidence, PhaseAnalysis, RoundCurve, Row, Shown};
use stats::curve::Class;

/// Everybody awaits: is everybody flat?
pub fn awaited(phases: &[PhaseAnalysis]) -> Option<Evidence> {
    flat_for_all(
        phase(phases, AWAITED)?,
        "awaited",
        "Does the growth vanish when everybody awaits?",
        "When each insert awaits the one before it",
    )
}

/// Nobody awaits, and the server has time to spare: is everybody flat?
pub fn rate(phases: &[PhaseAnalysis]) -> Option<Evidence> {
    let phase = phase(phases, RATE)?;
    flat_for_all(
        phase,
        "rate",
        "Does it grow when nobody awaits, but no more is issued than the server can take?",
        &format!("At {}, awaited by nobody", phase.pacing),
    )
}

fn flat_for_all(
    phase: &PhaseAnalysis,
    id: &str,
    question: &str,
    condition: &str,
) -> Option<Evidence> {
    let rows: Vec<&Row> = phase.rows.iter().filter(|row| !row.curves.is_empty()).collect();
    if rows.len() < 2 {
        return None;
    }
    let of = |course: Course| with_course(rows.iter().copied(), course, |row| &row.curves);
    let (grow, flat) = (of(Course::Grows), of(Course::Flat));
    // A row without a class has not been seen to grow either; some such rows do not spoil the rest.
    let (shown, first) = match (grow.len(), flat.len()) {
        (0, all) if all == rows.len() => {
            (Shown::Shown, format!("{condition}, latency is flat for all {all}."))
        }
        (0, some) if some * 2 >= rows.len() => (
            Shown::Shown,
            format!(
                "{condition}, latency is flat for {some} of {} and grows for none.",
                rows.len()
            ),
        ),
        (0, some) => (
            Shown::NotShown,
            format!("{condition}, latency is flat for only {some} of {}.", rows.len()),
        ),
        _ => (Shown::Refuted, format!("{condition}, latency still grows for {}.", names(&grow))),
    };
    let mut sentences = vec![first];
    sentences.extend(others(&rows, Course::Flat, |row| &row.curves));
    Some(evidence(id, question, shown, sentences))
}

/// Everybody issues all at once: does everybody grow, from the moment of issue?
pub fn burst(phases: &[PhaseAnalysis]) -> Option<Evidence> {
    let phase = phase(phases, BURST)?;
    let rows: Vec<&Row> =
        phase.rows.iter().filter(|row| course(since_intended(row)).is_some()).collect();
    if rows.len() < 2 {
        return None;
    }
    let of = |course: Course| with_course(rows.iter().copied(), course, since_intended);
    let (grow, flat) = (of(Course::Grows), of(Course::Flat));
    let condition = "When all inserts are issued at once";
    let since = "from that moment to the consumer";
    let (shown, first) = match (grow.len(), flat.len()) {
        (all, _) if all == rows.len() => {
            (Shown::Shown, format!("{condition}, the time {since} grows for all {all}."))
        }
        (some, 0) if some * 2 >= rows.len() => (
            Shown::Shown,
            format!(
                "{condition}, the time {since} grows for {some} of {} and is flat for none.",
                rows.len()
            ),
        ),
        (some, 0) => (
            Shown::NotShown,
            format!("{condition}, the time {since} grows for only {some} of {}.", rows.len()),
        ),
        _ => {
            (Shown::Refuted, format!("{condition}, the time {since} is flat for {}.", names(&flat)))
        }
    };
    let mut sentences = vec![first];
    sentences.extend(others(&rows, Course::Grows, since_intended));
    let question = "Does every driver grow when everybody issues all at once?";
    Some(evidence("burst", question, shown, sentences))
}

fn since_intended(row: &Row) -> &[RoundCurve] {
    &row.curves_since_intended
}

/// The rows with another course, each with its classes.
fn others(rows: &[&Row], usual: Course, curves: impl Fn(&Row) -> &[RoundCurve]) -> Vec<String> {
    let other = rows.iter().filter(|row| course(curves(row)) != Some(usual));
    other
        .map(|row| {
            let curves = curves(row);
            // Why a round differs, not why another is as usual.
            let why = curves.iter().find(|it| (it.class == Class::Flat) != (usual == Course::Flat));
            let why =
                why.map_or(String::new(), |it| format!(" (round {}: {})", it.round, it.reason));
            format!("{}: {}{why}.", row.arm, classes(curves))
        })
        .collect()
}
