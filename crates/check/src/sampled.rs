//! Contents that a file of samples must have: the keys of `protocol/vectors/README.md`. Pure, so
//! that tests can feed it the samples of broken adapters.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;

use serde::Deserialize;

use crate::equal;
use record::samples::{Sample, Samples};

/// Maximum number of samples: far more than any check asks for.
const SAMPLES_MAX: usize = 1 << 22;

/// The samples of a file, which an adapter may have made as large as it likes.
pub fn read(path: &Path) -> Result<Vec<Sample>, String> {
    let samples = Samples::open(path).map_err(|error| error.to_string())?;
    let count = samples.size_hint().0;
    if count > SAMPLES_MAX {
        return Err(format!("{count} samples: no check asks for more than {SAMPLES_MAX}"));
    }
    samples.take(SAMPLES_MAX).collect::<base::error::Result<_>>().map_err(|error| error.to_string())
}

/// `expect` of a line with `samples`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExpectedSamples {
    count: Option<u64>,
    count_min: Option<u64>,
    by_worker: Option<BTreeMap<u16, u64>>,
    operations: Option<BTreeMap<u8, u64>>,
    outcomes: Option<BTreeMap<u8, u64>>,
    workers: Option<[u16; 2]>,
    indices: Option<Indices>,
    intended: Option<Intended>,
    intended_ns: Option<Vec<u64>>,
    gap_ns_min: Option<u64>,
    in_flight_min: Option<usize>,
    in_flight_max: Option<usize>,
    together_min: Option<usize>,
    service_ns_min: Option<u64>,
    service_ns_max: Option<u64>,
    stops: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Indices {
    Word(IndicesWord),
    List(Vec<u32>),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum IndicesWord {
    PerWorker,
    Each,
    Shared,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Intended {
    Word(IntendedWord),
    /// After T0, by index.
    List(Vec<u64>),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum IntendedWord {
    Start,
    Began,
}

/// A turn of the phase: `began_ns` and `until_ns`.
pub type TurnSpan = (u64, u64);

/// Compares the samples of a file, in its order, with what must be there.
pub fn judge(
    wanted: &ExpectedSamples,
    samples: &[Sample],
    turns: &[TurnSpan],
    now_ns: u64,
) -> Result<(), String> {
    let began_ns = turns.first().map_or(0, |turn| turn.0);
    for sample in samples {
        let in_order = sample.intended_ns <= sample.start_ns
            && began_ns <= sample.start_ns
            && sample.end_ns() <= now_ns;
        if !in_order || sample.outcome > 3 {
            return Err(format!("{sample:?}; the first turn began at {began_ns}"));
        }
    }
    let mut workers: BTreeMap<u16, Vec<Sample>> = BTreeMap::new();
    for sample in samples {
        workers.entry(sample.worker).or_default().push(*sample);
    }
    for own in workers.values_mut() {
        own.sort_by_key(|sample| (sample.start_ns, sample.index));
    }
    counted(wanted, samples, &workers)?;
    numbered(wanted, samples, &workers)?;
    intended(wanted, samples, began_ns)?;
    timed(wanted, samples, &workers, turns)
}

/// How often each value occurs.
fn tally<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, u64> {
    let mut counts = BTreeMap::new();
    for key in keys {
        *counts.entry(key).or_default() += 1;
    }
    counts
}

/// Compares values if one is expected.
fn same<T: PartialEq + Debug>(what: &str, found: &T, wanted: Option<&T>) -> Result<(), String> {
    wanted.map_or(Ok(()), |wanted| equal(what, found, wanted))
}

fn counted(
    wanted: &ExpectedSamples,
    samples: &[Sample],
    workers: &BTreeMap<u16, Vec<Sample>>,
) -> Result<(), String> {
    let count = samples.len() as u64;
    same("samples", &count, wanted.count.as_ref())?;
    if let Some(least) = wanted.count_min.filter(|least| count < *least) {
        return Err(format!("{count} samples, not {least} at least"));
    }
    let by_worker = tally(samples.iter().map(|it| it.worker));
    same("samples by worker", &by_worker, wanted.by_worker.as_ref())?;
    let operations = tally(samples.iter().map(|it| it.operation));
    same("samples by operation", &operations, wanted.operations.as_ref())?;
    same(
        "samples by outcome",
        &tally(samples.iter().map(|it| it.outcome)),
        wanted.outcomes.as_ref(),
    )?;
    if let Some([first, last]) = wanted.workers {
        let odd: Vec<u16> =
            workers.keys().copied().filter(|it| !(first..=last).contains(it)).collect();
        equal("workers that are not of this process", &odd, &vec![])?;
    }
    Ok(())
}

fn numbered(
    wanted: &ExpectedSamples,
    samples: &[Sample],
    workers: &BTreeMap<u16, Vec<Sample>>,
) -> Result<(), String> {
    let indices = |samples: &[Sample]| samples.iter().map(|it| it.index).collect::<Vec<u32>>();
    let sorted = |samples: &[Sample]| {
        let mut indices = indices(samples);
        indices.sort_unstable();
        indices
    };
    let row = |samples: &[Sample]| (0..samples.len() as u32).collect::<Vec<u32>>();
    match &wanted.indices {
        None => Ok(()),
        Some(Indices::List(list)) => equal("indices in the file", &indices(samples), list),
        Some(Indices::Word(IndicesWord::Shared)) => {
            equal("indices", &sorted(samples), &row(samples))
        }
        Some(Indices::Word(IndicesWord::Each)) => workers.iter().try_for_each(|(worker, own)| {
            equal(&format!("indices of worker {worker}"), &sorted(own), &row(own))
        }),
        Some(Indices::Word(IndicesWord::PerWorker)) => {
            workers.iter().try_for_each(|(worker, own)| {
                equal(&format!("indices of worker {worker}"), &indices(own), &row(own))
            })
        }
    }
}

fn intended(wanted: &ExpectedSamples, samples: &[Sample], began_ns: u64) -> Result<(), String> {
    match &wanted.intended {
        None => {}
        Some(Intended::Word(word)) => {
            let right = |it: &&Sample| match word {
                IntendedWord::Start => it.intended_ns != it.start_ns,
                IntendedWord::Began => it.intended_ns != began_ns,
            };
            if let Some(sample) = samples.iter().find(right) {
                return Err(format!("intended start of {sample:?}; T0 is {began_ns}"));
            }
        }
        Some(Intended::List(list)) => {
            let after = |it: &Sample| (it.index, it.intended_ns.saturating_sub(began_ns));
            let found: BTreeMap<u32, u64> = samples.iter().map(after).collect();
            let wanted: BTreeMap<u32, u64> = (0..).zip(list.iter().copied()).collect();
            let found = found.into_iter().filter(|(index, _)| wanted.contains_key(index)).collect();
            equal("intended starts after T0, by index", &found, &wanted)?;
        }
    }
    let found: Vec<u64> = samples.iter().map(|it| it.intended_ns).collect();
    same("intended starts in the file", &found, wanted.intended_ns.as_ref())
}

fn timed(
    wanted: &ExpectedSamples,
    samples: &[Sample],
    workers: &BTreeMap<u16, Vec<Sample>>,
    turns: &[TurnSpan],
) -> Result<(), String> {
    for sample in samples {
        let least = wanted.service_ns_min.is_none_or(|least| sample.service_ns >= least);
        if !least || wanted.service_ns_max.is_some_and(|most| sample.service_ns > most) {
            return Err(format!("service time of {sample:?}"));
        }
    }
    if let Some(least) = wanted.together_min.filter(|least| peak(samples) < *least) {
        return Err(format!("at most {} in flight over all workers, not {least}", peak(samples)));
    }
    for (worker, own) in workers {
        let most = peak(own);
        if wanted.in_flight_min.is_some_and(|least| most < least)
            || wanted.in_flight_max.is_some_and(|limit| most > limit)
        {
            return Err(format!("at most {most} of worker {worker} were in flight at once"));
        }
        for pair in own.windows(2) {
            let (before, next) = (pair[0], pair[1]);
            let gap_ns = next.start_ns.saturating_sub(before.end_ns());
            if wanted.gap_ns_min.is_some_and(|least| gap_ns < least) {
                return Err(format!("{gap_ns} ns between two operations of worker {worker}"));
            }
            let turn = turns.iter().rfind(|turn| turn.0 <= next.start_ns);
            if let Some((began_ns, until_ns)) = turn.filter(|_| wanted.stops == Some(true))
                && before.start_ns >= *began_ns
                && before.end_ns() >= *until_ns
            {
                return Err(format!("operation {} began though its turn had ended", next.index));
            }
        }
    }
    Ok(())
}

/// Most operations in flight at once. One that begins when another ends does not overlap with it.
fn peak(samples: &[Sample]) -> usize {
    let begins = samples.iter().map(|it| (it.start_ns, 1));
    let mut changes: Vec<(u64, i64)> =
        begins.chain(samples.iter().map(|it| (it.end_ns(), -1))).collect();
    changes.sort_unstable();
    let (mut now, mut most) = (0, 0);
    for (_, change) in changes {
        now += change;
        most = most.max(now);
    }
    usize::try_from(most).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const TURNS: [TurnSpan; 2] = [(100, 150), (300, u64::MAX)];

    fn right() -> Vec<Sample> {
        let sample = |worker, index, start_ns| Sample {
            intended_ns: start_ns,
            start_ns,
            service_ns: 20,
            index,
            operation: 0,
            outcome: 0,
            worker,
        };
        vec![sample(4, 0, 100), sample(5, 0, 105), sample(4, 1, 130), sample(4, 2, 300)]
    }

    fn judged(wanted: Value, change: impl Fn(&mut Vec<Sample>)) -> Result<(), String> {
        let mut samples = right();
        change(&mut samples);
        judge(&serde_json::from_value(wanted).expect("keys"), &samples, &TURNS, 1_000)
    }

    #[test]
    fn what_holds_passes_and_each_key_finds_its_fault() {
        let wrong = |key: &str, holds: Value, fails: Value| {
            assert_eq!(judged(json!({ key: holds }), |_| {}), Ok(()), "{key}");
            assert!(judged(json!({ key: fails }), |_| {}).is_err(), "{key}");
        };
        wrong("count", json!(4), json!(5));
        wrong("count_min", json!(4), json!(5));
        wrong("by_worker", json!({"4": 3, "5": 1}), json!({"4": 4}));
        wrong("operations", json!({"0": 4}), json!({"0": 3, "1": 1}));
        wrong("outcomes", json!({"0": 4}), json!({"2": 4}));
        wrong("workers", json!([4, 5]), json!([5, 6]));
        wrong("indices", json!("per_worker"), json!("shared"));
        wrong("indices", json!("each"), json!([0, 1, 2, 3]));
        wrong("intended", json!("start"), json!("began"));
        wrong("intended", json!([5, 30, 200]), json!([5, 30, 200, 1]));
        wrong("intended_ns", json!([100, 105, 130, 300]), json!([100]));
        wrong("gap_ns_min", json!(10), json!(11));
        wrong("in_flight_max", json!(1), json!(0));
        wrong("in_flight_min", json!(1), json!(2));
        wrong("together_min", json!(2), json!(3));
        wrong("service_ns_min", json!(20), json!(21));
        wrong("service_ns_max", json!(20), json!(19));
    }

    #[test]
    fn a_file_of_holes_is_not_read() {
        let file = tempfile::NamedTempFile::new().expect("room");
        file.as_file().set_len(4 << 40).expect("holes take no room");
        let told = read(file.path()).expect_err("it is too large");
        assert_eq!(told, "137438953472 samples: no check asks for more than 4194304");
    }

    #[test]
    fn times_that_cannot_be_do_not_pass() {
        assert!(judged(json!({}), |it| it[1].intended_ns = 106).is_err());
        assert!(judged(json!({}), |it| it[0].start_ns = 99).is_err());
        assert!(judged(json!({}), |it| it[3].service_ns = 701).is_err());
        assert!(judged(json!({}), |it| it[0].outcome = 4).is_err());
        assert_eq!(judged(json!({ "stops": true }), |_| {}), Ok(()));
        let late = |it: &mut Vec<Sample>| (it[0].service_ns, it[2].start_ns) = (50, 151);
        assert!(judged(json!({ "stops": true }), late).is_err());
    }
}
