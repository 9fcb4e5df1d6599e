//! Little's law as a check of the samples: mean in flight against rate x mean time (section 8.1).

/// An active stretch (a turn, or a whole window): [start, end) in monotonic nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub start_ns: u64,
    pub end_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LittlesLawResult {
    /// N̄: mean number of operations in flight over the active time, from starts and ends.
    pub in_flight: f64,
    /// X R̄: operations per second times mean seconds per operation.
    pub rate_times_time: f64,
    pub samples: u64,
    /// Samples that touch no active stretch, or end before they start: mixed clocks.
    pub outside: u64,
}

impl LittlesLawResult {
    /// |N̄ - X R̄| / N̄ in percent; None when nothing was in flight.
    pub fn discrepancy_percent(&self) -> Option<f64> {
        (self.in_flight > 0.0)
            .then(|| 100.0 * (self.in_flight - self.rate_times_time).abs() / self.in_flight)
    }
}

/// Checks samples, in any order, against the active stretches, in constant memory.
///
/// N̄ is the time in flight inside the stretches over their length. For X an operation with both
/// ends inside counts one. One with a single end inside counts one half, as on average half of it
/// lies inside: cut operations keep the law. One that spans whole stretches counts by its share.
/// Times outside the stretches or of another clock break the law, as they should.
#[derive(Debug)]
pub struct LittlesLaw {
    stretches: Vec<Stretch>,
    samples: u64,
    outside: u64,
    inside_ns: f64,
    counted: f64,
    counted_ns: f64,
}

impl LittlesLaw {
    /// The stretches must be sorted and disjoint.
    pub fn over(stretches: Vec<Stretch>) -> Self {
        Self { stretches, samples: 0, outside: 0, inside_ns: 0.0, counted: 0.0, counted_ns: 0.0 }
    }

    /// Start and end in monotonic nanoseconds.
    pub fn add(&mut self, start_ns: u64, end_ns: u64) {
        self.samples += 1;
        let overlap = overlap_ns(start_ns, end_ns, &self.stretches);
        let ends_inside = [start_ns, end_ns].map(|at| contains(&self.stretches, at));
        let weight = match ends_inside.iter().filter(|&&inside| inside).count() {
            2 => 1.0,
            1 => 0.5,
            _ if overlap > 0 => overlap as f64 / (end_ns - start_ns) as f64,
            _ => 0.0,
        };
        self.outside += u64::from(weight == 0.0 || end_ns < start_ns);
        self.inside_ns += overlap as f64;
        self.counted += weight;
        self.counted_ns += weight * end_ns.saturating_sub(start_ns) as f64;
    }

    /// None when the stretches have no length.
    ///
    /// `claimed` is the number of operations that the workers reported. With it lost samples show;
    /// without it the samples vouch for themselves.
    pub fn check(&self, claimed: Option<u64>) -> Option<LittlesLawResult> {
        let length_ns = |it: &Stretch| it.end_ns.saturating_sub(it.start_ns);
        let active_ns: u64 = self.stretches.iter().map(length_ns).sum();
        if active_ns == 0 {
            return None;
        }
        // Samples lost on the way are missing from N̄ but not from the claims of the workers.
        let claimed = claimed.filter(|_| self.samples > 0);
        let scale = claimed.map_or(1.0, |claimed| claimed as f64 / self.samples as f64);
        let mean_ns = if self.counted > 0.0 { self.counted_ns / self.counted } else { 0.0 };
        Some(LittlesLawResult {
            in_flight: self.inside_ns / active_ns as f64,
            rate_times_time: scale * self.counted / active_ns as f64 * mean_ns,
            samples: self.samples,
            outside: self.outside,
        })
    }
}

/// Number of stretches that end before `at`: the index of the only one that can hold it.
fn ended_before(stretches: &[Stretch], at: u64) -> usize {
    stretches.partition_point(|stretch| stretch.end_ns < at)
}

/// Both edges count as inside: an operation may end in the very nanosecond that ends its turn.
fn contains(stretches: &[Stretch], at: u64) -> bool {
    stretches.get(ended_before(stretches, at)).is_some_and(|stretch| stretch.start_ns <= at)
}

fn overlap_ns(start: u64, end: u64, stretches: &[Stretch]) -> u64 {
    stretches[ended_before(stretches, start)..]
        .iter()
        .take_while(|stretch| stretch.start_ns < end)
        .map(|s| s.end_ns.min(end).saturating_sub(s.start_ns.max(start)))
        .sum()
}
