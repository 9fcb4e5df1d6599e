//! Where a load that outgrows the server's cache becomes slow.

use super::parts::OVER_CACHE;
use super::tenths::PARTS;
use super::types::Load;
use crate::evidence::{Evidence, Shown};
use figures::{bytes, count, figure};
use stats::changes::{Split, splits, steps};
use stats::ratio::percent;

/// Half the rate is a cliff; less is a slope that nobody falls off.
const CLIFF: f64 = std::f64::consts::LN_2;
/// Rounds that the test of a step takes at least, as an interval of 95 % does.
const ROUNDS_MIN: usize = 6;
const SEED: u64 = 1;
/// Whose machine had more memory than ours has cache.
const ORIGINAL: &str = "The original's slowed down at 200 or 300 million documents.";

/// Whether the rate falls to half while `what` outgrows the cache; None without such a load.
pub fn evidence(loads: &[Load], phase: &str, what: &str) -> Option<Evidence> {
    let mut of_phase =
        loads.iter().filter(|it| it.part == OVER_CACHE && it.phase == phase).peekable();
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
        sentences.push(words(load, &split));
    }
    sentences.push(ORIGINAL.to_owned());
    let first = shown[0];
    let shown = if shown.iter().all(|it| *it == first) { first } else { Shown::NotShown };
    let question = format!("Is there a cliff where the {what} outgrows the cache?");
    Some(Evidence { id: format!("cliff-{what}"), question, shown, sentences })
}

/// The first step to half the rate or less.
pub fn cliff(rates: &[Vec<f64>]) -> Option<Split> {
    let costs: Vec<Vec<f64>> =
        rates.iter().map(|round| round.iter().map(|rate| -rate.ln()).collect()).collect();
    let found = steps(&costs, &splits(&costs, CLIFF, SEED), CLIFF);
    found.into_iter().find(|it| it.change.estimate > 0.0)
}

fn words(load: &Load, split: &Split) -> String {
    let documents = load.documents * split.at as u64 / PARTS;
    let data_bytes = documents as f64 * load.document_bytes;
    let cache_bytes = load.cache_bytes.unwrap_or_default();
    let slower = percent(-split.change.estimate);
    format!(
        "{}: from {} documents on, which are {} or {} times the cache, the rate is {} % lower \
         (p = {}).",
        load.arm,
        count(documents),
        bytes(data_bytes as u64),
        figure(data_bytes / cache_bytes.max(1) as f64),
        figure(-slower),
        figure(split.p_value),
    )
}
