//! A load through a mongos: against batches that are dealt to hosts by hand, and how it spreads.

use super::finding::evidence;
use super::parts::{BY_HOSTS, BY_SHARDS, SHARD_THREADS};
use super::types::Load;
use crate::evidence::{Evidence, Shown};
use format::{count, figure};
use stats::descriptive::Interval;

/// The original: "at least 3 times slower".
const TIMES: f64 = 3.0;
/// Ways to deal a collection evenly.
const EVEN: [&str; 2] = ["hashed", "split"];
/// Of a load that uses one shard at a time.
const ALONE_PERCENT: f64 = 90.0;

/// The original's claim. None where neither part was made.
pub fn slower(loads: &[Load]) -> Option<Evidence> {
    const QUESTION: &str =
        "Is a load through mongos at least 3 times slower than a manual even distribution?";
    let not_shown = |why: String| Some(evidence("mongos", QUESTION, Shown::NotShown, vec![why]));
    let of = |part: &str| loads.iter().find(|it| it.part == part);
    let (shards, hosts) = match (of(BY_SHARDS), of(BY_HOSTS)) {
        (None, None) => return None,
        (None, _) => return not_shown("No load went through a mongos with shards.".to_owned()),
        (_, None) => return not_shown("No load was dealt to several hosts by hand.".to_owned()),
        (Some(shards), Some(hosts)) => (shards, hosts),
    };
    if shards.server != hosts.server {
        let why = format!(
            "The shards are {}, the hosts {}: such times differ for other reasons as well.",
            shards.server, hosts.server
        );
        return not_shown(why);
    }
    let mut ratios: Vec<Interval> = Vec::new();
    let mut sentences = Vec::new();
    for (way, threads) in EVEN.iter().flat_map(|way| SHARD_THREADS.map(|threads| (way, threads))) {
        let phase = format!("{way}_{threads}");
        for load in loads.iter().filter(|it| it.part == BY_SHARDS && it.phase == phase) {
            let Some((ratio, others)) = by_hand(loads, load, threads) else { continue };
            sentences.push(format!(
                "{}, {phase}: {} times the time ({} to {}) of batches dealt by hand; {} shards, \
                 {others} hosts.",
                load.arm,
                figure(ratio.estimate),
                figure(ratio.low),
                figure(ratio.high),
                load.by_host.len()
            ));
            ratios.push(ratio);
        }
    }
    let shown = match &ratios[..] {
        [] => Shown::NotShown,
        all if all.iter().all(|it| it.low >= TIMES) => Shown::Shown,
        all if all.iter().all(|it| it.high < TIMES) => Shown::Refuted,
        _ => Shown::NotShown,
    };
    Some(evidence("mongos", QUESTION, shown, sentences))
}

/// Time of a load against that of the same driver and threads on the hosts, and their number. The
/// parts share no rounds.
fn by_hand(loads: &[Load], load: &Load, threads: u32) -> Option<(Interval, usize)> {
    let phase = format!("threads_{threads}");
    let is_same = |it: &&Load| (&*it.part, &it.phase, &it.arm) == (BY_HOSTS, &phase, &load.arm);
    let hosts = loads.iter().find(is_same)?;
    let (by_hand, through) = (hosts.documents_per_s?, load.documents_per_s?);
    let sure = by_hand.is_sure() && through.is_sure();
    Some((by_hand.over(through).filter(|_| sure)?, hosts.by_host.len()))
}

/// "Only uses the next shard, still sequential."
pub fn one_shard_at_a_time(loads: &[Load]) -> Option<Evidence> {
    const QUESTION: &str = "Does one thread use one shard at a time where ranges are placed?";
    loads.iter().find(|it| it.part == BY_SHARDS)?;
    let known: Vec<(&Load, f64)> = loads
        .iter()
        .filter(|it| it.part == BY_SHARDS && it.by_host.len() > 1)
        .filter_map(|it| Some((it, it.busiest_percent?)))
        .collect();
    let sentences = known.iter().map(|(load, percent)| {
        let each: Vec<String> = load.by_host.iter().map(|it| count(*it)).collect();
        format!(
            "{}, {}: in a second the busiest shard takes {} % of the documents; {} at the end.",
            load.arm,
            load.phase,
            figure(*percent),
            each.join(" / ")
        )
    });
    // The answer comes first.
    let mut sentences: Vec<String> = sentences.collect();
    sentences.sort_by_key(|it| !it.contains(", split_1: "));
    let shown = match known.iter().find(|(load, _)| load.phase == "split_1") {
        None => Shown::NotShown,
        Some((_, percent)) if *percent >= ALONE_PERCENT => Shown::Shown,
        Some(_) => Shown::Refuted,
    };
    Some(evidence("one-shard", QUESTION, shown, sentences))
}
