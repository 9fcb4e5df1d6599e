//! The fake adapter's open loop: workers that pretend to drain the schedule's shared queue.

use workload::schedule::Schedule;

/// A shared queue and the workers that take from it.
pub struct OpenLoop {
    schedule: Schedule,
    /// T0: the schedule's times are offsets from it.
    zero_ns: Option<u64>,
    /// When each worker is free again.
    free_ns: Vec<u64>,
    /// Number of the next operation.
    next: u64,
    /// So many in all; None: no limit.
    limit: Option<u64>,
    /// How late it wakes up, ns.
    lag_ns: u64,
}

/// One operation that was pretended.
pub struct Taken {
    /// Number in the queue.
    pub index: u64,
    /// Worker of this process.
    pub worker: usize,
    /// When it should begin, when it begins, how long it takes, ns.
    pub intended_ns: u64,
    pub start_ns: u64,
    pub service_ns: u64,
}

impl OpenLoop {
    pub fn new(schedule: Schedule, workers: usize, limit: Option<u64>, lag_ns: u64) -> Self {
        Self { schedule, zero_ns: None, free_ns: vec![0; workers], next: 0, limit, lag_ns }
    }

    /// Takes operations until none can begin before `until_ns`; `service_ns` returns by its number
    /// how long one takes. Answers what was taken, and whether none is left.
    pub fn turn(
        &mut self,
        began_ns: u64,
        until_ns: u64,
        service_ns: impl Fn(u64) -> u64,
    ) -> (Vec<Taken>, bool) {
        let zero_ns = *self.zero_ns.get_or_insert(began_ns);
        let mut taken = Vec::new();
        loop {
            if self.limit.is_some_and(|limit| self.next >= limit) {
                return (taken, true);
            }
            let Some((record, lap)) = self.schedule.record(0, self.next) else {
                return (taken, true);
            };
            let intended_ns = zero_ns + lap * self.schedule.lap_ns + record.intended_ns;
            let free = self.free_ns.iter().enumerate().min_by_key(|(_, free)| **free);
            let (worker, free_ns) = free.map_or((0, 0), |(worker, free)| (worker, *free));
            let late_ns = if intended_ns > free_ns { self.lag_ns } else { 0 };
            let start_ns = intended_ns.max(free_ns).max(began_ns) + late_ns;
            if start_ns >= until_ns {
                return (taken, false);
            }
            let service_ns = service_ns(self.next);
            self.free_ns[worker] = start_ns + service_ns;
            taken.push(Taken { index: self.next, worker, intended_ns, start_ns, service_ns });
            self.next += 1;
        }
    }
}
