//! Where a load that outgrows the server's cache, or its memory, becomes slow.

use super::tenths::PARTS;
use super::types::Load;
use crate::evidence::{Evidence, Shown};
use format::{bytes, count, figure};
use stats::changes::{ChangePoint, splits, steps};
use stats::ratio::percent;

/// Half the rate is a cliff; less is a slope that nobody falls off.
const CLIFF: f64 = std::f64::consts::LN_2;
/// Rounds that the test of a step takes at least, as an interval of 95 % does.
const ROUNDS_MIN: usize = 6;
const SEED: u64 = 1;
const ORIGINAL: &str = "The original slowed down at 200 or 300 million documents. The memory of \
                        its machine is not known here: nobody can scale that.";

/// Whether the rate falls to half while `what` (data, index) outgrows what the part limits (cache,
/// memory); None without such a load.
pub fn evidence(loads: &[Load], part: &str, what: &str) -> Option<Evidence> {
    let phase = format!("{what}_over_cache");
    let mut of_phase = loads.iter().filter(|it| it.part == part && it.phase == phase).peekable();
    of_phase.peek()?;
    let mut shown = Vec::new();
    let mut sentences = Vec::new();
    for load in of_phase {
        if load.twentieths.len() < ROUNDS_MIN {
            shown.push(Shown::NotShown);
            let rounds = load.twentieths.len();
            sentences.push(format!("{}: {rounds} rounds are too few for a step.", load.arm));
            continue;
        }
        let Some(split) = cliff(&load.twentieths) else {
            shown.push(Shown::Refuted);
            sentences.push(format!("{}: no part of the load has half the rate.", load.arm));
            continue;
        };
        shown.push(Shown::Shown);
        sentences.push(words(load, what, &split));
    }
    sentences.push(ORIGINAL.to_owned());
    let first = shown[0];
    let shown = if shown.iter().all(|it| *it == first) { first } else { Shown::NotShown };
    let question = format!("Is there a cliff where the {what} outgrows the server's {part}?");
    Some(Evidence { id: format!("cliff-{what}-{part}"), question, shown, sentences })
}

/// The first step to half the rate or less.
pub fn cliff(rates: &[Vec<f64>]) -> Option<ChangePoint> {
    let costs: Vec<Vec<f64>> =
        rates.iter().map(|round| round.iter().map(|rate| -rate.ln()).collect()).collect();
    let found = steps(&costs, &splits(&costs, CLIFF, SEED), CLIFF);
    found.into_iter().find(|it| it.change.estimate > 0.0)
}

fn words(load: &Load, what: &str, split: &ChangePoint) -> String {
    let documents = load.documents * split.at as u64 / PARTS;
    let index_bytes = load.index_bytes.map(|it| it.median.estimate);
    let of_each = if what == "index" { index_bytes } else { Some(load.document_bytes) };
    let size = of_each.zip(load.room_bytes).map_or(String::new(), |(of_each, room_bytes)| {
        let bytes_there = documents as f64 * of_each;
        let times = figure(bytes_there / room_bytes as f64);
        format!(
            ", which have {} of {what}, {times} times the {},",
            bytes(bytes_there as u64),
            load.part
        )
    });
    let slower = percent(-split.change.estimate);
    format!(
        "{}: from {} documents on{size} the rate is {} % lower (p = {}).",
        load.arm,
        count(documents),
        figure(-slower),
        figure(split.p_value),
    )
}
