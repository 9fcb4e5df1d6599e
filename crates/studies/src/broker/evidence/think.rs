//! The pause after each message: does it take the rate and leave latency alone?

use super::{AWAITED, THINK, evidence, over, phase};
use crate::broker::types::{Evidence, PhaseAnalysis, Row, Shown};
use format::time;

/// `halves`: the rate with the pause lies between these parts of the rate without.
const HALVED: std::ops::RangeInclusive<f64> = 0.3..=0.7;
/// Latency is left alone: it changes by less than this, either way.
const ALONE: f64 = 0.25;

pub fn rule(phases: &[PhaseAnalysis]) -> Option<Evidence> {
    let (awaited, think) = (phase(phases, AWAITED)?, phase(phases, THINK)?);
    let pairs: Vec<(&Row, &Row)> = think
        .rows
        .iter()
        .filter_map(|with| Some((awaited.rows.iter().find(|it| it.arm == with.arm)?, with)))
        .collect();
    // Where the original slept, its own program is the question.
    let original: Vec<_> = pairs.iter().filter(|(_, with)| with.original).collect();
    let asked: Vec<_> = if original.is_empty() { pairs.iter().collect() } else { original };
    let mut sentences = Vec::new();
    let (mut asked_of, mut halved, mut alone) = (0, 0, 0);
    for (without, with) in &asked {
        let change = |of: fn(&Row) -> Option<f64>| Some(of(with)? / of(without)?);
        let rate = change(|row| Some(row.received_per_s?.median.estimate));
        let latency = change(|row| Some(row.latency_p50_us?.median.estimate));
        let (Some(rate), Some(latency)) = (rate, latency) else { continue };
        halved += usize::from(HALVED.contains(&rate));
        alone += usize::from((latency - 1.0).abs() < ALONE);
        sentences.push(format!(
            "{}: {} messages a second with the pause, {} without ({} times); median latency {} us \
             with it, {} without ({} times).",
            with.arm,
            over(with.received_per_s),
            over(without.received_per_s),
            format::fixed(rate, 2),
            over(with.latency_p50_us),
            over(without.latency_p50_us),
            format::fixed(latency, 2),
        ));
        if let (Some(fast), Some(slow)) = (without.received_per_s, with.received_per_s) {
            let each_us = 1e6 / fast.median.estimate;
            let added_us = 1e6 / slow.median.estimate - each_us;
            sentences.push(format!(
                "The pause adds {} to a message that takes {} without it; it halves the rate where \
                 the two are equal.",
                time(added_us),
                time(each_us)
            ));
        }
        asked_of += 1;
    }
    let all = asked_of;
    if all == 0 {
        return None;
    }
    let (shown, first) = match (halved == all, alone == all) {
        (true, true) => {
            (Shown::Shown, "The pause takes about half of the rate and leaves latency alone.")
        }
        (true, false) => {
            (Shown::Refuted, "The pause takes about half of the rate, but latency changes as well.")
        }
        (false, true) => {
            (Shown::Refuted, "Latency is left alone, but the pause takes another part of the rate.")
        }
        (false, false) => {
            (Shown::Refuted, "The pause takes another part of the rate, and latency changes.")
        }
    };
    sentences.insert(0, first.to_owned());
    let question =
        "Does a pause of 1 ms after each message halve the rate and leave latency alone?";
    Some(evidence("think", question, shown, sentences))
}
