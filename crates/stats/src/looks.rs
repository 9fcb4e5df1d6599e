//! When to look, how much error to spend at each look, and when to stop (section 2.6).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::compare::Comparison;
use super::disturbed::{Step, step};

/// One look at the data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Look {
    /// Undisturbed rounds made by then, counted from the start.
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

#[derive(Debug, Clone)]
pub struct Standing {
    pub round: u32,
    /// The look they have come to, or are on the way to.
    pub look: Look,
    pub step: Step,
    /// Numbers of the disturbed rounds, ascending.
    pub disturbed: Vec<u32>,
    /// Cause of the disturbance; None where no round was disturbed.
    pub disturbance: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Every comparison is settled, or this was the last look.
    Stop,
    /// Make rounds until there are so many, then look again.
    ContinueTo(u32),
}

impl LookPlan {
    /// Looks at 10, 20 and 40 rounds with errors 0.01, 0.02 and 0.02.
    pub fn standard() -> Self {
        let looks = [(10, 0.01), (20, 0.02), (40, 0.02)];
        Self { looks: looks.map(|(rounds, alpha)| Look { rounds, alpha }).to_vec(), quick: false }
    }

    /// One look at 6 rounds with error 0.05.
    pub fn quick() -> Self {
        Self { looks: vec![Look { rounds: 6, alpha: 0.05 }], quick: true }
    }

    /// `--rounds N`: one look at N with error 0.05. Below 6 every verdict is INCONCLUSIVE.
    pub fn fixed(rounds: u32) -> Self {
        Self { looks: vec![Look { rounds, alpha: 0.05 }], quick: false }
    }

    pub fn looks(&self) -> &[Look] {
        &self.looks
    }

    /// Rounds to the first look, for the estimate of time.
    pub fn first_rounds(&self) -> u32 {
        self.looks.first().map_or(0, |look| look.rounds)
    }

    /// The look that an experiment with these finished rounds has come to, or is on its way to.
    ///
    /// Rounds beyond a look mean that it left something open. An interrupted experiment is judged
    /// with the error of the look it was on its way to. A stop for a reason outside of the data
    /// spends no more than that.
    pub fn standing(&self, disturbed: &[bool]) -> (Look, Step) {
        let mut looks = self.looks.iter().copied();
        let mut look = looks.next().unwrap_or(Look { rounds: 0, alpha: 0.05 });
        for made in 0..disturbed.len() {
            if step(&disturbed[..made], look.rounds) == Step::Look {
                look = looks.next().unwrap_or(look);
            }
        }
        (look, step(disturbed, look.rounds))
    }

    /// Stops at the first look that settles all comparisons for which the experiment was made.
    pub fn after(&self, look: Look, comparisons: &[Comparison]) -> NextStep {
        let settled = comparisons.iter().all(Comparison::settled);
        match self.looks.iter().find(|next| next.rounds > look.rounds) {
            Some(next) if !settled => NextStep::ContinueTo(next.rounds),
            _ => NextStep::Stop,
        }
    }
}
