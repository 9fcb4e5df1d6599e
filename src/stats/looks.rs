//! When to look, how much error to spend at each look and when to stop (section 2.6).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::compare::Comparison;

/// One look at the data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Look {
    /// Rounds made by then, counted from the start.
    pub rounds: u32,
    /// Error spent at this look.
    pub alpha: f64,
}

/// The looks of an experiment, fixed before it starts.
///
/// Bonferroni spending: the errors add up to 0.05, whatever the stopping.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LookPlan {
    looks: Vec<Look>,
    /// `--quick`: thresholds of at least 5 %, every sentence marked.
    pub quick: bool,
}

/// What to do after a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Every comparison is settled, or this was the last look.
    Stop,
    /// Make rounds until there are this many, then look again.
    ContinueTo(u32),
}

impl LookPlan {
    /// Looks at 10, 20 and 40 rounds with errors 0.01, 0.02 and 0.02.
    #[must_use]
    pub fn standard() -> Self {
        let looks = [(10, 0.01), (20, 0.02), (40, 0.02)];
        Self { looks: looks.map(|(rounds, alpha)| Look { rounds, alpha }).to_vec(), quick: false }
    }

    /// One look at 6 rounds with error 0.05.
    #[must_use]
    pub fn quick() -> Self {
        Self { looks: vec![Look { rounds: 6, alpha: 0.05 }], quick: true }
    }

    /// `--rounds N`: one look at N with error 0.05. Below 6 every verdict is INCONCLUSIVE.
    #[must_use]
    pub fn fixed(rounds: u32) -> Self {
        Self { looks: vec![Look { rounds, alpha: 0.05 }], quick: false }
    }

    /// All looks, by number of rounds.
    #[must_use]
    pub fn looks(&self) -> &[Look] {
        &self.looks
    }

    /// Rounds to the first look: what the estimate of time is for.
    #[must_use]
    pub fn first_rounds(&self) -> u32 {
        self.looks.first().map_or(0, |look| look.rounds)
    }

    /// Rounds to the last look: no comparison makes more.
    #[must_use]
    pub fn most_rounds(&self) -> u32 {
        self.looks.last().map_or(0, |look| look.rounds)
    }

    /// The look at exactly this many rounds made (lost ones included); None between looks.
    #[must_use]
    pub fn look_at(&self, rounds_made: u32) -> Option<Look> {
        self.looks.iter().copied().find(|look| look.rounds == rounds_made)
    }

    /// The look to judge an experiment by that ended after `rounds_made` rounds, early or not.
    ///
    /// An interrupted experiment is judged with the error of the next planned look: stopping for a
    /// reason outside the data spends no more than was set aside for that look.
    #[must_use]
    pub fn look_for_end(&self, rounds_made: u32) -> Option<Look> {
        let next = self.looks.iter().find(|look| look.rounds >= rounds_made);
        next.or(self.looks.last()).copied()
    }

    /// Stops at the first look that settles all the comparisons the experiment was made for.
    ///
    /// Between looks it only names the next one: nothing may be decided there.
    #[must_use]
    pub fn next(&self, rounds_made: u32, comparisons: &[Comparison]) -> NextStep {
        let at_a_look = self.look_at(rounds_made).is_some();
        if at_a_look && comparisons.iter().all(Comparison::settled) {
            return NextStep::Stop;
        }
        match self.looks.iter().find(|look| look.rounds > rounds_made) {
            Some(look) => NextStep::ContinueTo(look.rounds),
            None => NextStep::Stop,
        }
    }
}
