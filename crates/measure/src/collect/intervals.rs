//! The histograms of each second, for the `.hlog` of a phase.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::turn::ArmTurn;
use base::error::Result;
use record::folder::Folder;
use record::samples::Sample;
use stats::histogram::Histogram;
use stats::hlog::{Interval, IntervalLog};
use workload::plan::{Pacing, Phase};

/// Most intervals of one `.hlog`. They last one second, longer in a longer phase.
const INTERVALS_MAX: u64 = 64;
const NS_PER_S: u64 = 1_000_000_000;

pub struct Intervals {
    began_ns: u64,
    length_ns: u64,
    /// In the order of an interval of the log.
    tags: Vec<String>,
    /// Indexes in `tags`, by operation.
    places: Vec<TurnPlaces>,
    histograms: BTreeMap<(u64, usize), Histogram>,
}

struct TurnPlaces {
    service: usize,
    response: Option<usize>,
    /// Tag of the adapter's own lateness.
    timer: Option<usize>,
}

impl Intervals {
    pub fn new(phase: &Phase, turns: &[ArmTurn]) -> Self {
        let began_ns = turns.first().map_or(0, |turn| turn.turned.began_ns);
        let ended_ns = turns.last().map_or(0, |turn| turn.turned.ended_ns);
        let seconds = (ended_ns - began_ns).div_ceil(NS_PER_S).div_ceil(INTERVALS_MAX).max(1);
        let is_paced = matches!(phase.pacing, Pacing::Rate { .. });
        let names = phase.operations.iter().map(|it| {
            let response = phase.pacing.is_open().then(|| format!("{}-response", it.name));
            let timer = is_paced.then(|| format!("{}-timer", it.name));
            (it.name.clone(), response, timer)
        });
        let names: Vec<_> = names.collect();
        let tags: BTreeSet<&String> = names
            .iter()
            .flat_map(|(service, response, timer)| {
                [Some(service), response.as_ref(), timer.as_ref()]
            })
            .flatten()
            .collect();
        let tags: Vec<String> = tags.into_iter().cloned().collect();
        let place = |tag: &String| tags.binary_search(tag).expect("all are there");
        let places = names.iter().map(|(service, response, timer)| TurnPlaces {
            service: place(service),
            response: response.as_ref().map(place),
            timer: timer.as_ref().map(place),
        });
        Self {
            began_ns,
            length_ns: seconds * NS_PER_S,
            places: places.collect(),
            tags,
            histograms: BTreeMap::new(),
        }
    }

    /// Adds a successful sample of an operation that the phase has. `own_lag_ns` is None where it
    /// had no intended start.
    pub fn take(&mut self, sample: &Sample, own_lag_ns: Option<u64>) {
        let interval = sample.start_ns.saturating_sub(self.began_ns) / self.length_ns;
        let TurnPlaces { service, response, timer } = self.places[usize::from(sample.operation)];
        let values = [
            (Some(service), Some(sample.service_ns)),
            (response, Some(sample.response_ns())),
            (timer, own_lag_ns),
        ];
        for (tag, value_ns) in values {
            if let (Some(tag), Some(value_ns)) = (tag, value_ns) {
                self.histograms.entry((interval, tag)).or_default().record(value_ns);
            }
        }
    }

    pub fn write(self, folder: &Folder, name: &str) -> Result<()> {
        let length = Duration::from_nanos(self.length_ns);
        let interval = |((number, tag), histogram): ((u64, usize), Histogram)| Interval {
            tag: Some(self.tags[tag].clone()),
            start: length * u32::try_from(number).unwrap_or(u32::MAX),
            length,
            histogram,
        };
        let intervals = self.histograms.into_iter().map(interval).collect();
        let mut bytes = Vec::new();
        let written = IntervalLog { start_time: None, intervals }.write(&mut bytes);
        written.expect("writing to memory; tags are operation names");
        folder.write_whole(name, &bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{phase, sample, turn};
    use super::*;

    const S: u64 = NS_PER_S;

    fn written(intervals: Intervals) -> Vec<(String, u64, u64)> {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = Folder::create(&scratch.path().join("results")).expect("a folder");
        intervals.write(&folder, "hlog/x.hlog").expect("a file");
        let bytes = folder.read("hlog/x.hlog", 1 << 20).expect("a file");
        let log = IntervalLog::read(&bytes).expect("a log");
        let line = |it: Interval| (it.tag.unwrap(), it.start.as_secs(), it.histogram.count());
        log.intervals.into_iter().map(line).collect()
    }

    #[test]
    fn each_second_has_its_tags_in_order() {
        let mut intervals = Intervals::new(&phase("rate: 10", 2), &[turn(S, 4 * S)]);
        for at in [3 * S, 1, S, S + 1] {
            intervals.take(&sample(1, at, at, 5), Some(9));
        }
        intervals.take(&sample(0, S, S, 5), Some(9));
        let line = |tag: &str, second, count| (tag.to_owned(), second, count);
        let expected = [
            line("op0", 0, 1),
            line("op0-response", 0, 1),
            line("op0-timer", 0, 1),
            line("op1", 0, 3),
            line("op1-response", 0, 3),
            line("op1-timer", 0, 3),
            line("op1", 2, 1),
            line("op1-response", 2, 1),
            line("op1-timer", 2, 1),
        ];
        assert_eq!(written(intervals), expected);
    }

    #[test]
    fn a_long_phase_has_longer_intervals() {
        let mut intervals = Intervals::new(&phase("think: 1ms", 1), &[turn(0, 130 * S)]);
        for at in [0, 2 * S, 3 * S, 129 * S] {
            intervals.take(&sample(0, at, at, 5), None);
        }
        let line = |second, count| ("op0".to_owned(), second, count);
        assert_eq!(written(intervals), [line(0, 2), line(3, 1), line(129, 1)]);
    }
}
