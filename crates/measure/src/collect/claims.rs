//! What the samples of a phase claim, held against what its workers can have done (gate G2): each
//! is an operation of its schedule, in the schedule's order, within its turn, and no worker does
//! two at a time. One pass, a few comparisons a sample, memory by the number of workers.

use adapter::protocol::{AdapterPacing, Prepare};
use record::samples::Sample;

/// Two readings of a clock take longer: bounds what is read of a turn.
const OPERATION_NS_MIN: u64 = 10;
/// The outcomes of the contract are 0 to 3.
const OUTCOME_MAX: u8 = 3;

/// The claims of one process in one phase.
pub struct Claims {
    order: Dealt,
    first_worker: u16,
    /// When each worker is free again.
    free_ns: Vec<u64>,
    /// By slice of the schedule.
    begun: Vec<Numbered>,
    /// Most operations of a slice.
    limits: Vec<u64>,
}

/// In which order a process does its operations (SPEC section 5).
#[derive(Clone, Copy, PartialEq)]
enum Dealt {
    /// Each worker claims those of its slice, one after the other.
    Awaited,
    /// The same with some in flight at a time.
    Window,
    /// All workers those of one queue, each worker one after the other.
    Rate,
    /// The same, maybe all at a time.
    Burst,
    /// A consumer's, which are messages of other workers (SPEC section 9).
    Messages,
}

/// The operations of one slice so far.
#[derive(Clone, Copy, Default)]
struct Numbered {
    count: u64,
    /// 0 where the numbers are those from 0 up to `count`, each once, in any order: a sum over all
    /// that came, less that over those which should. Rejected: a bit for each, which would grow
    /// with the operations.
    difference: u64,
}

impl Numbered {
    fn take(&mut self, index: u64) {
        let expected = self.count;
        self.difference = self.difference.wrapping_add(mixed(index)).wrapping_sub(mixed(expected));
        self.count += 1;
    }
}

/// Splitmix64's last step: no two small sets of numbers have the same sum.
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A turn of a process, by its own beginning and the core's clock after its answer.
#[derive(Clone, Copy)]
pub struct TurnTimes {
    pub began_ns: u64,
    pub answered_ns: u64,
}

impl Claims {
    pub fn of(prepare: &Prepare) -> Self {
        let (order, first, workers, limits) = match prepare {
            Prepare::Consumer(_) => (Dealt::Messages, 0, 1, None),
            Prepare::Worker(it) => {
                let order = match it.pacing {
                    AdapterPacing::Awaited { .. } => Dealt::Awaited,
                    AdapterPacing::Window { .. } => Dealt::Window,
                    AdapterPacing::Rate {} => Dealt::Rate,
                    AdapterPacing::Burst {} => Dealt::Burst,
                };
                (order, it.first_worker, it.workers, it.limits.clone())
            }
        };
        let slices = match order {
            Dealt::Awaited | Dealt::Window => workers as usize,
            Dealt::Rate | Dealt::Burst | Dealt::Messages => 1,
        };
        Self {
            order,
            first_worker: first as u16,
            free_ns: vec![0; workers as usize],
            begun: vec![Numbered::default(); slices],
            limits: limits.unwrap_or_else(|| vec![u64::MAX; slices]),
        }
    }

    /// The most operations that its workers can do in a turn.
    pub fn most(&self, span: TurnTimes) -> u64 {
        let ns = span.answered_ns.saturating_sub(span.began_ns);
        (ns / OPERATION_NS_MIN + 1).saturating_mul(self.free_ns.len() as u64)
    }

    /// Takes one more sample, in the order of the file.
    ///
    /// # Errors
    /// Why it cannot be, as the end of a sentence.
    pub fn take(&mut self, sample: &Sample, span: TurnTimes) -> Result<(), String> {
        let of = || format!("operation {} of worker {}", sample.index, sample.worker);
        let ended_ns = sample.end_ns();
        if sample.start_ns < span.began_ns || ended_ns > span.answered_ns {
            return Err(format!("{} lies outside of its turn", of()));
        }
        let right = match self.order {
            Dealt::Awaited | Dealt::Window => sample.intended_ns == sample.start_ns,
            Dealt::Rate | Dealt::Burst | Dealt::Messages => sample.intended_ns <= sample.start_ns,
        };
        if !right {
            return Err(format!("{} was not intended for its start", of()));
        }
        if sample.outcome > OUTCOME_MAX {
            return Err(format!("{} has the outcome {}", of(), sample.outcome));
        }
        if self.order == Dealt::Messages {
            return Ok(());
        }
        let worker = usize::from(sample.worker.wrapping_sub(self.first_worker));
        let Some(free_ns) = self.free_ns.get_mut(worker) else {
            return Err(format!("worker {} is none of its process", sample.worker));
        };
        if matches!(self.order, Dealt::Awaited | Dealt::Rate) {
            if sample.start_ns < *free_ns {
                return Err(format!("{} begins before its last one has ended", of()));
            }
            *free_ns = ended_ns;
        }
        let slice = if self.begun.len() == 1 { 0 } else { worker };
        let (begun, index) = (&mut self.begun[slice], u64::from(sample.index));
        if self.order == Dealt::Awaited && index != begun.count {
            return Err(format!("{} stands where its schedule has {}", of(), begun.count));
        }
        begun.take(index);
        if begun.count > self.limits[slice] {
            return Err(format!("{} is one more than its schedule has", of()));
        }
        Ok(())
    }

    /// Whether the operations up to the end of a turn are the first ones of the schedule.
    ///
    /// # Errors
    /// As above.
    pub fn ended(&self) -> Result<(), String> {
        match self.begun.iter().find(|begun| begun.difference != 0) {
            Some(Numbered { count, .. }) => {
                Err(format!("its {count} operations are not the first {count} of its schedule"))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{prepare, sample};
    use super::*;

    const TIMES: TurnTimes = TurnTimes { began_ns: 100, answered_ns: 1_000 };

    fn of(worker: u16, index: u32, start_ns: u64, service_ns: u64) -> Sample {
        Sample { worker, index, ..sample(0, start_ns, start_ns, service_ns) }
    }

    /// Workers 2 and 3, at most 5 operations each or together.
    fn judged(pacing: AdapterPacing, samples: &[Sample]) -> Result<(), String> {
        let mut prepared = prepare(pacing, 2);
        prepared.first_worker = 2;
        let slices =
            if matches!(pacing, AdapterPacing::Rate {} | AdapterPacing::Burst {}) { 1 } else { 2 };
        prepared.limits = Some(vec![5; slices]);
        let mut claims = Claims::of(&Prepare::Worker(prepared));
        samples.iter().try_for_each(|sample| claims.take(sample, TIMES))?;
        claims.ended()
    }

    #[test]
    fn what_workers_can_do_passes() {
        let own = [of(2, 0, 100, 50), of(3, 0, 120, 30), of(3, 1, 150, 0), of(2, 1, 150, 850)];
        let awaited = AdapterPacing::Awaited { think_ns: 0 };
        assert_eq!(judged(awaited, &own), Ok(()));
        let flying = [of(2, 1, 110, 10), of(2, 0, 100, 50), of(3, 0, 100, 900)];
        assert_eq!(judged(AdapterPacing::Window { size: 2 }, &flying), Ok(()));
        let late = |worker, index, start_ns| Sample {
            intended_ns: 100,
            ..of(worker, index, start_ns, 40)
        };
        let queue = [late(3, 1, 110), late(3, 3, 150), late(2, 0, 100), late(2, 2, 200)];
        assert_eq!(judged(AdapterPacing::Rate {}, &queue), Ok(()));
        let all = [late(3, 1, 110), late(3, 2, 111), late(2, 0, 100)];
        assert_eq!(judged(AdapterPacing::Burst {}, &all), Ok(()));
    }

    #[test]
    fn what_no_worker_can_do_is_named() {
        let awaited = AdapterPacing::Awaited { think_ns: 0 };
        let (first, second) = (of(2, 0, 100, 50), of(2, 1, 200, 50));
        let negative = Sample { service_ns: 5_u64.wrapping_neg(), ..second };
        let early = Sample { intended_ns: 199, ..second };
        let outcome = Sample { outcome: 4, ..second };
        let wrong = [
            (vec![first, first], "begins before its last one has ended"),
            (vec![first, Sample { start_ns: 149, intended_ns: 149, ..second }], "begins before"),
            (vec![first, Sample { index: 0, ..second }], "stands where its schedule has 1"),
            (vec![first, Sample { index: 2, ..second }], "operation 2 of worker 2 stands where"),
            (vec![first, of(2, 1, 99, 0)], "operation 1 of worker 2 lies outside of its turn"),
            (vec![first, of(2, 1, 200, 801)], "lies outside of its turn"),
            (vec![first, negative], "lies outside of its turn"),
            (vec![Sample::from_bytes(&[0; 32])], "lies outside of its turn"),
            (vec![first, early], "was not intended for its start"),
            (vec![first, outcome], "has the outcome 4"),
            (vec![of(4, 0, 100, 1)], "worker 4 is none of its process"),
            (vec![of(1, 0, 100, 1)], "worker 1 is none of its process"),
            ((0..6).map(|it| of(3, it, 100 + u64::from(it), 1)).collect(), "one more than"),
        ];
        for (samples, expected) in wrong {
            let found = judged(awaited, &samples).expect_err(expected);
            assert!(found.contains(expected), "{found}; {expected}");
        }
        let twice = [of(2, 0, 100, 50), of(2, 0, 110, 50)];
        let skips = [of(2, 0, 100, 50), of(2, 2, 160, 50)];
        for pacing in [AdapterPacing::Window { size: 2 }, AdapterPacing::Burst {}] {
            for samples in [twice, skips] {
                let found = judged(pacing, &samples).expect_err("not the schedule's");
                assert_eq!(found, "its 2 operations are not the first 2 of its schedule");
            }
        }
        let together = judged(AdapterPacing::Rate {}, &[of(2, 0, 100, 50), of(2, 1, 149, 50)]);
        assert!(together.expect_err("two at a time").contains("begins before"));
        let claims = Claims::of(&Prepare::Worker(prepare(awaited, 2)));
        assert_eq!(claims.most(TIMES), 182);
    }
}
