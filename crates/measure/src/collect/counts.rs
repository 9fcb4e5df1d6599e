//! Outcomes by operation, and the times of successful ones.

use record::records::{OperationRun, Quantiles};
use record::samples::Sample;
use stats::histogram::Histogram;
use workload::plan::Phase;

pub struct Counts {
    operations: Vec<CountedOperation>,
}

struct CountedOperation {
    name: String,
    wrong: u64,
    failed: u64,
    service: Histogram,
    /// None in a closed loop.
    response: Option<Histogram>,
}

impl Counts {
    pub fn new(phase: &Phase) -> Self {
        let operations = phase.operations.iter().map(|operation| CountedOperation {
            name: operation.name.clone(),
            wrong: 0,
            failed: 0,
            service: Histogram::new(),
            response: phase.pacing.is_open().then(Histogram::new),
        });
        Self { operations: operations.collect() }
    }

    /// Adds a sample of an operation that the phase has.
    pub fn take(&mut self, sample: &Sample) {
        let operation = &mut self.operations[usize::from(sample.operation)];
        match sample.outcome {
            0 => {
                operation.service.record(sample.service_ns);
                if let Some(response) = &mut operation.response {
                    response.record(sample.response_ns());
                }
            }
            // Counted but not timed: a refusal may be quick, a timeout slow.
            1 => operation.wrong += 1,
            _ => operation.failed += 1,
        }
    }

    /// Number of successful operations, by operation.
    pub fn done(&self) -> Vec<u64> {
        self.operations.iter().map(|it| it.service.count()).collect()
    }

    /// `checked` says of each operation whether the core checks its answers.
    pub fn by_operation(&self, checked: &[bool]) -> Vec<OperationRun> {
        let run = |(it, checked): (&CountedOperation, &bool)| OperationRun {
            operation: it.name.clone(),
            count: it.service.count() + it.wrong + it.failed,
            wrong: it.wrong,
            failed: it.failed,
            service: Quantiles::of(&it.service),
            response: it.response.as_ref().map(Quantiles::of),
            answer_checked: Some(*checked),
        };
        self.operations.iter().zip(checked).map(run).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{phase, sample};
    use super::*;

    #[test]
    fn failed_operations_are_counted_and_not_timed() {
        let mut counts = Counts::new(&phase("rate: 10", 2));
        counts.take(&sample(1, 100, 140, 10));
        counts.take(&Sample { outcome: 1, ..sample(1, 0, 0, 1_000) });
        counts.take(&Sample { outcome: 2, ..sample(1, 0, 0, 2_000) });
        counts.take(&Sample { outcome: 3, ..sample(1, 0, 0, 3_000) });
        assert_eq!(counts.done(), [0, 1]);
        let run = &counts.by_operation(&[true; 2])[1];
        assert_eq!((run.count, run.wrong, run.failed), (4, 1, 2));
        assert_eq!((run.service.min_us, run.service.max_us), (0.01, 0.01));
        assert_eq!(run.response.map(|it| it.max_us), Some(0.05));
        let closed = Counts::new(&phase("think: 1ms", 2));
        assert_eq!(closed.by_operation(&[true; 2])[0].response, None);
    }
}
