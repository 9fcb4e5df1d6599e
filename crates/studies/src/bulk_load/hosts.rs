//! Batches that go to several hosts in turn: at once, or to one after the other.

use super::finding::evidence;
use super::parts::BY_HOSTS;
use super::types::Load;
use crate::evidence::{Evidence, Shown};
use format::figure;
use stats::descriptive::OverRounds;

/// Hosts that have a batch in flight at a time, of a load that uses several at once.
const PARALLEL: f64 = 1.5;

/// "Still sequential." None where no such part was made.
pub fn at_once(loads: &[Load]) -> Option<Evidence> {
    const QUESTION: &str = "Do several threads keep several hosts at work at once?";
    loads.iter().find(|it| it.part == BY_HOSTS)?;
    let of_part = loads.iter().filter(|it| it.part == BY_HOSTS);
    let mut known: Vec<(&Load, OverRounds)> =
        of_part.filter_map(|it| Some((it, it.hosts_at_once?))).collect();
    // One thread waits for each batch: a fact beside the answer.
    let is_alone = |load: &Load| load.phase == "threads_1";
    known.sort_by_key(|(load, _)| is_alone(load));
    let judged: Vec<Shown> = known
        .iter()
        .filter(|(load, _)| !is_alone(load))
        .map(|(_, at_once)| judge(at_once).0)
        .collect();
    let shown = match &judged[..] {
        [first, others @ ..] if others.iter().all(|it| it == first) => *first,
        _ => Shown::NotShown,
    };
    let sentences = known.iter().map(|(load, at_once)| words(load, at_once)).collect();
    Some(evidence("hosts-at-once", QUESTION, shown, sentences))
}

fn judge(at_once: &OverRounds) -> (Shown, &'static str) {
    match at_once.median {
        _ if !at_once.is_sure() => (Shown::NotShown, "too few rounds to decide"),
        it if it.low >= PARALLEL => (Shown::Shown, "in parallel"),
        it if it.high < PARALLEL => (Shown::Refuted, "one host after the other"),
        _ => (Shown::NotShown, "its interval holds both"),
    }
}

fn words(load: &Load, at_once: &OverRounds) -> String {
    let it = at_once.median;
    let most = load.hosts_over_time.iter().flatten().copied().fold(0.0, f64::max);
    format!(
        "{}, {}: {} ({} to {}) of {} hosts have a batch in flight: {}. One host takes at most {} % \
         of a tenth of the load's time.",
        load.arm,
        load.phase,
        figure(it.estimate),
        figure(it.low),
        figure(it.high),
        load.by_host.len(),
        judge(at_once).1,
        figure(most)
    )
}
