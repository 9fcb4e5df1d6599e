//! The phases that a sequence consists of.

use std::borrow::Cow;
use std::ops::Range;

use crate::plan::{Phase, Plan};

impl Phase {
    /// Phases that go on with one another; itself, where it is no sequence.
    pub fn stretches(&self) -> Vec<Cow<'_, Phase>> {
        if self.sequence.is_empty() {
            return vec![Cow::Borrowed(self)];
        }
        // Arms may distribute their workers over more processes.
        let Phase { workers, processes, .. } = *self;
        let stretch = |stretch: &Phase| Cow::Owned(Phase { workers, processes, ..stretch.clone() });
        self.sequence.iter().map(stretch).collect()
    }
}

impl Plan {
    /// The plan in which the stretches of a phase are phases, and their numbers.
    pub fn unrolled(&self, number: usize) -> (Plan, Range<usize>) {
        let mut plan = self.clone();
        let stretches = self.phases[number].stretches();
        let numbers = number..number + stretches.len();
        plan.phases.splice(number..=number, stretches.into_iter().map(Cow::into_owned));
        (plan, numbers)
    }
}
