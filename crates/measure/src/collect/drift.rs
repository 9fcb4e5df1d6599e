//! Drift of service times from the first half of a phase to the second (gate G5).

use crate::turn::ArmTurn;
use record::samples::Sample;
use stats::histogram::Histogram;

pub struct TurnDrift {
    middle_ns: u64,
    /// By operation: in a mix, a later operation would look like a drift of all.
    halves: Vec<[Histogram; 2]>,
}

impl TurnDrift {
    /// Where there are several turns, the second half begins with a turn.
    pub fn new(operations: usize, turns: &[ArmTurn]) -> Self {
        let middle_ns = match turns {
            [] => 0,
            [only] => u64::midpoint(only.turned.began_ns, only.turned.ended_ns),
            many => many[many.len() / 2].turned.began_ns,
        };
        Self { middle_ns, halves: vec![[Histogram::new(), Histogram::new()]; operations] }
    }

    /// Adds a successful sample of an operation that the phase has.
    pub fn take(&mut self, sample: &Sample) {
        let half = usize::from(sample.start_ns >= self.middle_ns);
        self.halves[usize::from(sample.operation)][half].record(sample.service_ns);
    }

    /// ln(median of the second half / of the first) of each operation, weighted by its share of the
    /// time. The weights keep the draw of operations out of it.
    pub fn ratio(&self) -> Option<f64> {
        let median = |half: &Histogram| Some(half.percentile_ns(50.0)? as f64);
        let (mut sum, mut weights) = (0.0, 0.0);
        for [first, second] in &self.halves {
            let mut all = first.clone();
            all.add(second);
            let Some((first, second)) = median(first).zip(median(second)) else { continue };
            let weight = all.mean_ns().unwrap_or(0.0) * all.count() as f64;
            sum += weight * (second / first).ln();
            weights += weight;
        }
        (weights > 0.0).then(|| sum / weights).filter(|ratio| ratio.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{sample, turn};
    use super::*;

    #[test]
    fn an_operation_that_comes_later_is_no_drift() {
        let turns = [turn(0, 100), turn(200, 300), turn(1_000, 1_100)];
        let mut drift = TurnDrift::new(2, &turns);
        assert_eq!(drift.ratio(), None);
        for at in [10, 50, 90] {
            drift.take(&sample(0, at, at, 1_000));
            drift.take(&sample(0, at + 200, at + 200, 1_000));
        }
        // The second turn of three begins the second half; slow ones there are another operation.
        drift.take(&sample(1, 210, 210, 50_000));
        assert_eq!(drift.ratio(), Some(0.0));
        // The operation with the largest share of the time doubles.
        drift.take(&sample(1, 20, 20, 25_000));
        let ratio = drift.ratio().expect("both halves");
        let expected = 2_f64.ln() * 75.0 / 81.0;
        assert!((ratio - expected).abs() < 1e-3, "{ratio}, {expected}");
    }
}
