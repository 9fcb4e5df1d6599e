//! Issue rate against capacity: the slope of one saturated queue (methodology 8.2).

use super::{AGREEING, BURST, Course, evidence, over, phase, with_course};
use crate::broker::types::{Evidence, PhaseAnalysis, RoundCurve, Row, Shown};

/// Tolerance between the measured slope and the predicted one. Both come from the same times, but
/// one from block medians and the other from the ends.
const SLOPE_TOLERANCE: f64 = 0.1;
/// Whoever makes messages so much faster than they are received has a queue somewhere.
const OUTPACES: f64 = 1.2;
/// Rounds of either kind, without which nothing is said.
const ROUNDS_MIN: usize = 3;

/// Is the growth that of one saturated queue?
pub fn slope(phases: &[PhaseAnalysis]) -> Option<Evidence> {
    let rows = &phase(phases, BURST)?.rows;
    let growing = with_course(rows, Course::Grows, |row| &row.curves);
    let both = growing
        .iter()
        .filter_map(|row| Some((*row, row.slope_us?.median, row.slope_predicted_us?.median)));
    let both: Vec<_> = both.collect();
    if both.is_empty() {
        return None;
    }
    let agrees = |row: &&(&Row, stats::descriptive::Interval, stats::descriptive::Interval)| {
        let (_, measured, predicted) = row;
        let near = (measured.estimate / predicted.estimate - 1.0).abs() <= SLOPE_TOLERANCE;
        near || (measured.low <= predicted.high && predicted.low <= measured.high)
    };
    let agreeing = both.iter().filter(agrees).count();
    let question = "Is it one queue: does each message wait 1/capacity - 1/issue rate longer?";
    let (shown, first) = match agreeing {
        all if all == both.len() => (
            Shown::Shown,
            format!("The slope of latency is 1/capacity - 1/issue rate for all {all} that grow."),
        ),
        most if most as f64 >= AGREEING * both.len() as f64 => (
            Shown::Shown,
            format!(
                "The slope of latency is 1/capacity - 1/issue rate for {most} of {} that grow.",
                both.len()
            ),
        ),
        0 => (
            Shown::Refuted,
            format!("The slope is not 1/capacity - 1/issue rate for any of {}.", both.len()),
        ),
        some => (
            Shown::NotShown,
            format!(
                "The slope is 1/capacity - 1/issue rate for {some} of {} that grow.",
                both.len()
            ),
        ),
    };
    let mut sentences = vec![first];
    sentences.extend(both.iter().map(|(row, ..)| {
        format!(
            "{}: {} us a message measured, {} predicted from {} made and {} received a second.",
            row.arm,
            over(row.slope_us),
            over(row.slope_predicted_us),
            over(row.made_per_s),
            over(row.received_per_s),
        )
    }));
    Some(evidence("slope", question, shown, sentences))
}

/// Does an arm stay flat that makes messages no faster than they are taken? Asked of each round: a
/// driver may keep pace in one and not in the next.
pub fn issue_against_capacity(phases: &[PhaseAnalysis]) -> Option<Evidence> {
    let rows = &phase(phases, BURST)?.rows;
    let ratio = |curve: &RoundCurve| Some(curve.made_per_s? / curve.received_per_s?);
    let rounds: Vec<(&Row, &RoundCurve, f64)> = rows
        .iter()
        .flat_map(|row| row.curves.iter().map(move |curve| (row, curve)))
        .filter_map(|(row, curve)| Some((row, curve, ratio(curve)?)))
        .collect();
    if rounds.is_empty() {
        return None;
    }
    let (keep, outpace): (Vec<_>, Vec<_>) =
        rounds.iter().partition(|(_, _, ratio)| *ratio < OUTPACES);
    let growing =
        |of: &[&(&Row, &RoundCurve, f64)]| of.iter().filter(|(_, curve, _)| curve.grows()).count();
    let share = |of: &[&(&Row, &RoundCurve, f64)]| growing(of) as f64 / of.len().max(1) as f64;
    let said = format!(
        "{} of {} rounds in which messages are made at least {OUTPACES} times as fast as they are \
         received, and {} of {} in which they are not",
        growing(&outpace),
        outpace.len(),
        growing(&keep),
        keep.len()
    );
    let enough = keep.len() >= ROUNDS_MIN && outpace.len() >= ROUNDS_MIN;
    let (shown, first) = match () {
        () if !enough => {
            (Shown::NotShown, format!("There are too few of both kinds: {said} grow."))
        }
        () if share(&outpace) >= AGREEING && share(&keep) <= 1.0 - AGREEING => {
            (Shown::Shown, format!("Latency grows in {said}."))
        }
        () => (Shown::Refuted, format!("It does not go with the issue rate: {said} grow.")),
    };
    let mut sentences = vec![first];
    // Arms that keep pace now and then explain the answer "not every time".
    let keepers = rows.iter().filter(|row| {
        row.curves.iter().any(|curve| ratio(curve).is_some_and(|ratio| ratio < OUTPACES))
    });
    sentences.extend(keepers.map(|row| {
        let each = row.curves.iter().filter_map(|curve| {
            let course = if curve.grows() { "grows" } else { "does not grow" };
            Some(format!("{} times {course}", format::fixed(ratio(curve)?, 2)))
        });
        format!("{}, round by round: {}.", row.arm, each.collect::<Vec<_>>().join(", "))
    }));
    let question = "Does a driver that sends while it is being called keep pace and not grow?";
    Some(evidence("keeps_pace", question, shown, sentences))
}
