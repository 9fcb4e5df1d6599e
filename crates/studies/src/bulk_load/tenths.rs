//! The rate of a load over its course.

use base::error::Result;
use record::samples::Sample;

/// Fewer calls have no tenths to speak of.
const CALLS_MIN: u64 = 50;

/// Calls a second in the last tenth of `calls` against the first, percent. Of one worker's samples,
/// which come in their order; reads them once and keeps four of them.
///
/// None with too few calls, and where the samples are not those of all calls.
pub fn last_tenth_percent(
    calls: u64,
    samples: impl IntoIterator<Item = Result<Sample>>,
) -> Option<f64> {
    let tenth = calls / 10;
    if calls < CALLS_MIN {
        return None;
    }
    let (mut began, mut first, mut before_last, mut ended) = (0, 0, 0, 0);
    let mut count = 0;
    for sample in samples {
        let sample = sample.ok()?;
        if count == 0 {
            began = sample.start_ns;
        }
        count += 1;
        ended = sample.end_ns();
        if count == tenth {
            first = ended;
        }
        if count == calls - tenth {
            before_last = ended;
        }
    }
    let (first, last) = (first.checked_sub(began)?, ended.checked_sub(before_last)?);
    let is_whole = count == calls && last > 0;
    is_whole.then(|| 100.0 * (first as f64 / last as f64 - 1.0))
}

/// Parts of a load that are told apart where it outgrows a cache.
pub const PARTS: u64 = 20;

/// Calls a second in each twentieth of `calls`, of one worker's samples; empty as above.
pub fn twentieths(calls: u64, samples: impl IntoIterator<Item = Result<Sample>>) -> Vec<f64> {
    let mut rates = Vec::new();
    let (mut count, mut began, mut before) = (0, None, 0);
    for sample in samples {
        let Ok(sample) = sample else { return Vec::new() };
        let from_ns = *began.get_or_insert(sample.start_ns);
        count += 1;
        if count >= (rates.len() as u64 + 1) * calls / PARTS {
            let ns = sample.end_ns().saturating_sub(from_ns).max(1);
            rates.push((count - before) as f64 * 1e9 / ns as f64);
            (began, before) = (Some(sample.end_ns()), count);
        }
    }
    let is_whole = calls >= CALLS_MIN && count == calls;
    if is_whole { rates } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenths_are_those_of_all_calls() {
        // Calls of 10 ns, the last ten of 20 ns.
        let samples = |count: u32| {
            let mut at = 5;
            (0..count).map(move |index| {
                let service_ns = if index < 90 { 10 } else { 20 };
                let sample = Sample {
                    intended_ns: at,
                    start_ns: at,
                    service_ns,
                    index,
                    operation: 0,
                    outcome: 0,
                    worker: 0,
                };
                at += service_ns;
                Ok(sample)
            })
        };
        let slower = last_tenth_percent(100, samples(100)).expect("tenths");
        assert!((slower + 50.0).abs() < 1e-9, "{slower}");
        assert_eq!(last_tenth_percent(100, samples(99)), None, "one was lost");
        assert_eq!(last_tenth_percent(49, samples(49)), None, "too few");
    }

    #[test]
    fn a_twentieth_is_as_fast_as_its_calls() {
        let samples = (0..100_u64).map(|index| {
            let service_ns = if index < 50 { 10 } else { 20 };
            let start_ns = if index < 50 { 10 * index } else { 500 + 20 * (index - 50) };
            let (index, operation, outcome, worker) = (index as u32, 0, 0, 0);
            Ok(Sample {
                intended_ns: start_ns,
                start_ns,
                service_ns,
                index,
                operation,
                outcome,
                worker,
            })
        });
        let rates = twentieths(100, samples);
        assert_eq!(rates.len(), 20);
        assert!((rates[0] - 1e8).abs() < 1.0 && (rates[19] - 5e7).abs() < 1.0, "{rates:?}");
        assert_eq!(twentieths(100, []), [0.0; 0]);
    }
}
