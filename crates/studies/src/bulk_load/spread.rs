//! How a load is spread over hosts or shards: at its end, and from second to second.

use std::collections::BTreeMap;

use crate::outcome::Made;
use record::records::{PhaseRun, ServerSample};

/// Parts of a load's time.
pub const TENTHS: usize = 10;
/// Documents of one call to a host.
const BATCH: u64 = 1_000;

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

/// Documents between the most and the least that one of them has, beyond a batch for each thread.
pub fn uneven_documents(by_host: &[u64], threads: u32) -> Option<u64> {
    let (most, least) = by_host.iter().max().zip(by_host.iter().min())?;
    Some((most - least).saturating_sub(BATCH * u64::from(threads)))
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

/// Share of all documents that went in between two samples. None for one server, and for a load
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

/// Shares of the sum, percent.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_is_that_of_each_second() {
        let named = |names: [&str; 2], round: u32, counts: [i64; 2]| {
            let names = names.map(str::to_owned);
            let mut values: BTreeMap<String, i64> = names.into_iter().zip(counts).collect();
            values.insert("opcounters.insert".to_owned(), 1_000 * counts[0]);
            let shares = BTreeMap::new();
            ServerSample { at_ns: 0, round, phase: "split_1".to_owned(), values, shares }
        };
        let shards = ["shard.s1.dbStats.objects", "shard.s2.dbStats.objects"];
        let sample = |round, counts| named(shards, round, counts);
        // One after the other, and as many on each at the end; a new round begins anew.
        let in_turn =
            [sample(1, [0, 0]), sample(1, [90, 10]), sample(1, [100, 100]), sample(2, [0, 0])];
        assert_eq!(busiest(in_turn.iter()), Some(90.0));
        let together = [sample(1, [0, 0]), sample(1, [50, 50]), sample(1, [100, 100])];
        assert_eq!(busiest(together.iter()), Some(50.0));
        assert_eq!(busiest(together[..1].iter()), None);
        let hosts = ["host1.opcounters.insert", "host2.opcounters.insert"];
        let dealt = [[0, 0], [30, 10], [60, 20]].map(|counts| named(hosts, 1, counts));
        assert_eq!(busiest(dealt.iter()), Some(75.0));
    }

    #[test]
    fn shards_have_the_tenths_of_ten_seconds() {
        let seconds: Vec<ServerSample> = (0..=20)
            .map(|second: i64| {
                // The first shard has all until the tenth second.
                let counts = [second.min(10), (second - 10).max(0)];
                let names = ["shard.s1.dbStats.objects", "shard.s2.dbStats.objects"];
                let values = names.map(str::to_owned).into_iter().zip(counts).collect();
                let (phase, shares) = ("split_1".to_owned(), BTreeMap::new());
                ServerSample { at_ns: 0, round: 1, phase, values, shares }
            })
            .collect();
        let seconds: Vec<&ServerSample> = seconds.iter().collect();
        let tenths = over_time(&seconds);
        let busiest: Vec<bool> = tenths.iter().map(|it| it[0] > 99.0 && it[1] < 1.0).collect();
        assert_eq!(busiest, [[true; 5], [false; 5]].concat(), "{tenths:?}");
        assert!(over_time(&seconds[..10]).is_empty(), "nine seconds lie between ten samples");
    }
}
