//! Two ways to be told of the same messages: a tailable cursor and a change stream.

use super::{evidence, over, phase};
use crate::broker::types::{Evidence, PhaseAnalysis, RoundCurve, Row, Shown};
use stats::descriptive::{OverRounds, over_rounds};

const CURSOR: &str = "tailable_cursor";
const STREAM: &str = "change_stream";
/// So many times the latency is worth a word.
const LATER: f64 = 1.05;

pub fn rule(phases: &[PhaseAnalysis]) -> Option<Evidence> {
    let (cursors, streams) = (phase(phases, CURSOR)?, phase(phases, STREAM)?);
    let pairs = streams.rows.iter().filter_map(|stream| {
        let cursor = cursors.rows.iter().find(|it| it.arm == stream.arm)?;
        Some((cursor, stream, ratios(cursor, stream)))
    });
    let pairs: Vec<(&Row, &Row, Vec<f64>)> = pairs.filter(|(.., it)| !it.is_empty()).collect();
    if pairs.is_empty() {
        return None;
    }
    let over_all = pairs.iter().filter_map(|(_, _, ratios)| over_rounds(ratios));
    let sure: Vec<OverRounds> = over_all.filter(OverRounds::is_sure).collect();
    let later = sure.iter().filter(|it| it.median.low > LATER).count();
    let alike = sure.iter().filter(|it| it.median.high < LATER).count();
    let all = pairs.len();
    let way = "By a change stream a message arrives";
    let (shown, first) = match () {
        () if later == all => (Shown::Shown, format!("{way} more than 5 % later for all {all}.")),
        () if alike == all => (Shown::Refuted, format!("{way} less than 5 % later for all {all}.")),
        () if sure.len() < all => (
            Shown::NotShown,
            format!("There are fewer than five rounds for {} of {all}.", all - sure.len()),
        ),
        () => (
            Shown::NotShown,
            format!("{way} more than 5 % later for {later} of {all}, and less for {alike}."),
        ),
    };
    let mut sentences = vec![first];
    sentences.extend(pairs.iter().map(|(cursor, stream, ratios)| {
        format!(
            "{}: {} times the latency by a tailable cursor; median latency {} us by a change \
             stream, {} us by a tailable cursor.",
            stream.arm,
            over(over_rounds(ratios)),
            over(stream.latency_p50_us),
            over(cursor.latency_p50_us),
        )
    }));
    let question =
        "How much later does a message arrive by a change stream than by a tailable cursor?";
    Some(evidence("streams", question, shown, sentences))
}

/// Median latency by the stream against that by the cursor, in each round that has both.
fn ratios(cursor: &Row, stream: &Row) -> Vec<f64> {
    let ratio = |late: &RoundCurve| {
        let early = cursor.curves.iter().find(|it| it.round == late.round)?;
        let early_us = early.latency_p50_us.filter(|us| *us > 0.0)?;
        Some(late.latency_p50_us? / early_us)
    };
    stream.curves.iter().filter_map(ratio).collect()
}
