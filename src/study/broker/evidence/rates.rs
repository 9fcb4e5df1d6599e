//! Issue rate against capacity: the slope of one saturated queue (methodology 8.2).

use super::{BURST, Course, evidence, names, over, phase, with_course};
use crate::study::broker::types::{Evidence, PhaseAnalysis, Row, Shown};

/// How far the measured slope may lie from the predicted one: both come from the same times, but
/// one from block medians and the other from the ends.
const SLOPE_TOLERANCE: f64 = 0.1;
/// Who makes messages so much faster than they are received has a queue somewhere.
const OUTPACES: f64 = 1.2;

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
    let agrees = |row: &&(
        &Row,
        crate::stats::descriptive::Interval,
        crate::stats::descriptive::Interval,
    )| {
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

/// Does whoever makes messages no faster than they are taken stay flat?
pub fn issue_against_capacity(phases: &[PhaseAnalysis]) -> Option<Evidence> {
    let rows = &phase(phases, BURST)?.rows;
    let ratio =
        |row: &Row| Some(row.made_per_s?.median.estimate / row.received_per_s?.median.estimate);
    let flat = with_course(rows, Course::Flat, |row| &row.curves);
    let grow = with_course(rows, Course::Grows, |row| &row.curves);
    let line = |row: &&Row| {
        let ratio = ratio(row)?;
        let made = over(row.made_per_s);
        let received = over(row.received_per_s);
        Some(format!("{}: {made} made, {received} received a second, {ratio:.2} times.", row.arm))
    };
    let keeps = |row: &&Row| ratio(row).is_some_and(|ratio| ratio < OUTPACES);
    let question = "Does a driver that sends while it is being called keep pace and stay flat?";
    if flat.is_empty() || grow.is_empty() {
        let missing = if flat.is_empty() { "stays flat" } else { "grows" };
        if rows.is_empty() {
            return None;
        }
        let sentence = format!("No producer {missing} when all inserts are issued at once.");
        return Some(evidence("keeps_pace", question, Shown::NotShown, vec![sentence]));
    }
    let right = flat.iter().all(keeps) && !grow.iter().any(keeps);
    let (shown, first) = if right {
        let first = format!(
            "{} make messages no faster than they are received, and stay flat from the moment a \
             message is made; {} make them faster, and grow.",
            names(&flat),
            names(&grow)
        );
        (Shown::Shown, first)
    } else {
        let not = "Flat and growing producers do not part by their issue rate".to_owned();
        (Shown::Refuted, format!("{not} at {OUTPACES} times the rate received."))
    };
    let mut sentences = vec![first];
    sentences.extend(flat.iter().chain(&grow).filter_map(line));
    Some(evidence("keeps_pace", question, shown, sentences))
}
