//! How a load is spread over hosts or shards: at its end, and from second to second.

use std::collections::BTreeMap;

use crate::study::Made;
use record::records::{PhaseRun, ServerSample};

/// Parts of a load's time.
pub const TENTHS: usize = 10;

/// Documents that each has got, in the order of their numbers or names; empty of one server.
pub fn by_host(run: &PhaseRun) -> Vec<u64> {
    let counted = |name: &String| Some(name.strip_suffix(".collStats.count")?.to_owned());
    let after = run.sizes.iter().filter_map(|(name, count)| {
        let place = counted(name)?.strip_prefix("after.")?.to_owned();
        let before = run.sizes.get(&format!("before.{place}.collStats.count"));
        Some((ordered(&place), count - before.copied().unwrap_or(0)))
    });
    let each: BTreeMap<_, i64> = after.collect();
    each.into_values().map(|it| it.max(0).cast_unsigned()).collect()
}

/// `host10` and `shard.s10` come after the ninth.
fn ordered(place: &str) -> (usize, String) {
    (place.len(), place.to_owned())
}

/// What the server told in each second of a phase; empty where several drivers share it.
pub fn seconds(made: &Made<'_>, phase: &str) -> Vec<ServerSample> {
    if made.experiment.arms.len() > 1 {
        return Vec::new();
    }
    let mut samples = made.folder.series().map_or(Vec::new(), |it| it.server);
    samples.retain(|it| it.phase == phase);
    samples
}

/// Of all documents that went in between two samples of a round. None of one server, and of a load
/// of few seconds.
pub fn busiest<'a>(samples: impl Iterator<Item = &'a ServerSample>) -> Option<f64> {
    let (mut most, mut all) = (0, 0);
    let mut last: Option<&ServerSample> = None;
    for sample in samples {
        if let Some(before) = last.replace(sample).filter(|it| it.round == sample.round) {
            // A collection that is made anew has fewer.
            let each =
                counters(sample).map(|(name, now)| now - before.values.get(name).unwrap_or(&0));
            let each: Vec<i64> = each.map(|it| it.max(0)).collect();
            most += each.iter().max().copied().unwrap_or(0);
            all += each.iter().sum::<i64>();
        }
    }
    (all > 0).then(|| 100.0 * most as f64 / all as f64)
}

/// Share of each in the tenths of a load, percent, by the samples of its seconds; empty of fewer
/// than ten.
pub fn over_time(seconds: &[&ServerSample]) -> Vec<Vec<f64>> {
    let last = seconds.len().saturating_sub(1);
    if last < TENTHS {
        return Vec::new();
    }
    let of_tenth = |tenth: usize| {
        let before = &seconds[tenth * last / TENTHS].values;
        let grown = |(name, now): (&String, i64)| {
            let grown = now.saturating_sub(*before.get(name).unwrap_or(&0)).max(0) as f64;
            (ordered(name), grown)
        };
        let each: BTreeMap<_, f64> =
            counters(seconds[(tenth + 1) * last / TENTHS]).map(grown).collect();
        shares(&each.into_values().collect::<Vec<_>>())
    };
    (0..TENTHS).map(of_tenth).collect()
}

/// Of the sum, percent.
pub fn shares(each: &[f64]) -> Vec<f64> {
    let all = each.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    each.iter().map(|it| 100.0 * it / all).collect()
}

fn counters(sample: &ServerSample) -> impl Iterator<Item = (&String, i64)> {
    let is_one = |name: &str| {
        (name.starts_with("host") && name.ends_with(".opcounters.insert"))
            || (name.starts_with("shard.") && name.ends_with(".dbStats.objects"))
    };
    sample.values.iter().filter(move |(name, _)| is_one(name)).map(|(name, it)| (name, *it))
}
