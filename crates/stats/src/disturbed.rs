//! Disturbed rounds: which are made again, which are compared (section 3.4, gate G4). The measuring
//! loop and the analysis ask the same functions, so they cannot disagree.

use std::collections::BTreeMap;

use super::comparison::rounds_for_an_interval;
use super::descriptive::median;
use format::fixed;

/// A disturbed round has a larger fraction of the machine's CPU time stolen by the hypervisor.
const STEAL_LIMIT: f64 = 0.02;
/// The same for processes that are not ours.
const FOREIGN_LIMIT: f64 = 0.10;
/// A smaller share of such processes gets no caution.
const FOREIGN_CAUTION: f64 = 0.03;
/// Fewer rounds say nothing about the machine as such.
const ROUNDS_TO_KNOW: usize = 4;
/// In one sentence.
const NAMES_MAX: usize = 3;

/// Load of the machine during a round that is not ours.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignLoad<'a> {
    /// CPU time stolen by the hypervisor, 0 to 1 of the machine.
    pub steal_fraction: f64,
    /// CPU time of processes that are not ours, 0 to 1 of the machine.
    pub foreign_fraction: f64,
    /// The largest of these processes, with their fractions.
    pub processes: Vec<(&'a str, f64)>,
}

impl ForeignLoad<'_> {
    /// The criterion reads no result of ours, so it selects on nothing that is compared.
    pub fn is_disturbed(&self) -> bool {
        self.steal_fraction > STEAL_LIMIT || self.foreign_fraction > FOREIGN_LIMIT
    }

    /// Not disturbed, yet not alone.
    pub fn is_restless(&self) -> bool {
        !self.is_disturbed() && self.foreign_fraction > FOREIGN_CAUTION
    }
}

/// The next step after the finished rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundStep {
    /// Make a planned round, or one in the place of a disturbed one.
    Make,
    Look,
}

/// Decides from the finished rounds, in their order, and the number planned for the next look.
///
/// A disturbed round is made again, up to as many as were planned. Once more than half of at least
/// four rounds are disturbed no more are replaced: this machine is like that.
pub fn step(disturbed: &[bool], planned: u32) -> RoundStep {
    let (made, planned, quiet) = (disturbed.len(), planned as usize, count_quiet(disturbed));
    let hopeless = made >= ROUNDS_TO_KNOW && 2 * (made - quiet) > made;
    let spent = made >= 2 * planned;
    if quiet >= planned || (made >= planned && (hopeless || spent)) {
        RoundStep::Look
    } else {
        RoundStep::Make
    }
}

/// Whether the undisturbed rounds are compared, or all: at least 80 % of the planned rounds must be
/// undisturbed, and they must give an interval where all rounds do. Of an interrupted experiment,
/// those made count as planned.
pub fn only_quiet(disturbed: &[bool], planned: u32, alpha: f64) -> bool {
    let (made, quiet) = (disturbed.len(), count_quiet(disturbed));
    let needed = rounds_for_an_interval(alpha);
    5 * quiet >= 4 * made.min(planned as usize) && (quiet >= needed || made < needed)
}

fn count_quiet(disturbed: &[bool]) -> usize {
    disturbed.iter().filter(|disturbed| !**disturbed).count()
}

/// `other processes used 49 %: rustc, chrome`, `the hypervisor took 20 %`: medians of the rounds.
pub fn words(rounds: &[ForeignLoad<'_>]) -> String {
    let of = |value: fn(&ForeignLoad<'_>) -> f64| {
        median(&rounds.iter().map(value).collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let (steal, foreign) = (of(|it| it.steal_fraction), of(|it| it.foreign_fraction));
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, fraction) in rounds.iter().flat_map(|round| &round.processes) {
        *sums.entry(name).or_default() += fraction;
    }
    let mut names: Vec<(&str, f64)> = sums.into_iter().collect();
    names.sort_by(|a, b| b.1.total_cmp(&a.1));
    let names: Vec<&str> = names.into_iter().take(NAMES_MAX).map(|(name, _)| name).collect();
    let names = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    let mut parts = Vec::new();
    if foreign > FOREIGN_CAUTION {
        parts.push(format!("other processes used {} %{names}", fixed(100.0 * foreign, 0)));
    }
    if steal > STEAL_LIMIT || parts.is_empty() {
        parts.push(format!("the hypervisor took {} %", fixed(100.0 * steal, 0)));
    }
    parts.join("; ")
}
