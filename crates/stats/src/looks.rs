//! When to look, how much error to spend at each look, and when to stop (section 2.6).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::comparison::{Comparison, rounds_for_an_interval};
use super::disturbed::{RoundStep, step};

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
    /// The looks after the first are for gates that are undecided, and for nothing else.
    #[serde(default)]
    pub for_gates: bool,
}

/// What was found at a look, as far as it decides whether more rounds are made.
#[derive(Debug, Clone, Default)]
pub struct Deciding {
    /// Throughput of every arm but its twins.
    pub comparisons: Vec<Comparison>,
    /// Comparisons that have a direction, which may be beyond the limit of a gate.
    pub gates_open: usize,
    /// Comparisons between servers that have too few pairs of rounds for an interval.
    pub pairs_short: usize,
}

impl Deciding {
    fn open(&self) -> usize {
        self.comparisons.iter().filter(|it| !it.settled()).count()
    }

    /// Rounds were lost to gates, or do not count on both servers.
    fn is_short(&self) -> bool {
        self.pairs_short > 0 || self.comparisons.iter().any(Comparison::is_short)
    }

    /// Why rounds are added: `2 of 3 comparisons open`.
    pub fn words(&self) -> String {
        let of = self.comparisons.len();
        let parts = [
            (self.open(), format!("{} of {of} comparisons open", self.open())),
            (self.gates_open, "a gate undecided".to_owned()),
            (self.pairs_short, "too few rounds that count on both servers".to_owned()),
        ];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, words)| words);
        parts.collect::<Vec<_>>().join(", ")
    }
}

#[derive(Debug, Clone)]
pub struct RoundsProgress {
    pub round: u32,
    /// The look they have come to, or are on the way to.
    pub look: Look,
    pub step: RoundStep,
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
        Self::of(&looks)
    }

    /// One look at 6 rounds with error 0.05.
    pub fn quick() -> Self {
        Self::fixed(6).quickly(true)
    }

    /// `--rounds N`: one look at N with error 0.05. Below 6 every verdict is INCONCLUSIVE.
    pub fn fixed(rounds: u32) -> Self {
        Self::of(&[(rounds, 0.05)])
    }

    /// The same plan in the quick form, or not.
    #[must_use]
    pub fn quickly(self, quick: bool) -> Self {
        Self { quick, ..self }
    }

    /// The same plan where a gate asks for a limit: its one look is followed by two more, at twice
    /// and at four times the rounds. The first has most of the error, so that six rounds still give
    /// an interval.
    #[must_use]
    pub fn with_gates(self) -> Self {
        let [Look { rounds, .. }] = self.looks[..] else { return self };
        let looks = [(rounds, 0.035), (2 * rounds, 0.0075), (4 * rounds, 0.0075)];
        Self { for_gates: true, ..Self::of(&looks) }.quickly(self.quick)
    }

    fn of(looks: &[(u32, f64)]) -> Self {
        let looks = looks.iter().map(|&(rounds, alpha)| Look { rounds, alpha }).collect();
        Self { looks, quick: false, for_gates: false }
    }

    pub fn looks(&self) -> &[Look] {
        &self.looks
    }

    pub fn first(&self) -> Look {
        self.looks.first().copied().unwrap_or(Look { rounds: 0, alpha: 0.05 })
    }

    /// Returns a warning if fewer rounds were asked for than an interval needs.
    pub fn caution(&self) -> Option<String> {
        let Look { rounds, alpha } = self.first();
        let needed = rounds_for_an_interval(alpha);
        ((rounds as usize) < needed).then(|| {
            let level = format::level(1.0 - alpha);
            let give = if rounds == 1 { "gives" } else { "give" };
            let rounds = format::counted(rounds, "round");
            format!("{rounds} {give} no {level} interval: at least {needed} are needed")
        })
    }

    /// Rounds to the first look, for the estimate of time.
    pub fn first_rounds(&self) -> u32 {
        self.first().rounds
    }

    /// The look that an experiment with these finished rounds has come to, or is on its way to.
    ///
    /// Rounds beyond a look mean that it left something open. An interrupted experiment is judged
    /// with the error of the look it was on its way to. A stop for a reason outside of the data
    /// spends no more than that.
    pub fn standing(&self, disturbed: &[bool]) -> (Look, RoundStep) {
        let (mut look, mut looks) = (self.first(), self.looks.iter().copied().skip(1));
        for made in 0..disturbed.len() {
            if step(&disturbed[..made], look.rounds) == RoundStep::Look {
                look = looks.next().unwrap_or(look);
            }
        }
        (look, step(disturbed, look.rounds))
    }

    /// Stops at the first look that settles all for which the experiment was made. After the last
    /// one rounds are added where lost ones leave no interval, until there are twice as many as
    /// were planned. `made` are all rounds, the disturbed ones as well.
    pub fn after(&self, look: Look, made: u32, found: &Deciding) -> NextStep {
        // No interval was to be expected from fewer rounds than one needs.
        let enough = look.rounds as usize >= rounds_for_an_interval(look.alpha);
        let short = enough && found.is_short();
        let is_open = short || found.gates_open > 0 || !self.for_gates && found.open() > 0;
        match self.looks.iter().find(|next| next.rounds > look.rounds) {
            Some(next) if is_open => NextStep::ContinueTo(next.rounds),
            None if short && made < 2 * look.rounds => NextStep::ContinueTo(made + 1),
            _ => NextStep::Stop,
        }
    }
}
