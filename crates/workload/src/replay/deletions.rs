//! The documents that a phase deletes, each once.

use super::key_choice::{behind, range_of};
use super::population::Population;
use super::random::Random;
use crate::operations::deletes;
use crate::plan::{KeyChoice, Phase, Plan};

/// Documents of one deleting phase that are shuffled, at most: beyond it, only memory would grow.
const SHUFFLED_MAX: u64 = 1 << 24;

/// The documents that a phase deletes.
pub struct Deletions {
    /// Stretches of documents, each deleted at once.
    pub stretches: u64,
    /// Documents of one.
    pub length: u64,
    /// None: one after the other.
    shuffled: Option<Vec<u64>>,
    /// Whether each lap deletes those behind the one before.
    pub advance: bool,
}

impl Deletions {
    pub fn new(
        plan: &Plan,
        phase: &Phase,
        round: u64,
        (population, length): (&Population, u64),
        guids: bool,
    ) -> Self {
        let in_turn = matches!(phase.keys, KeyChoice::Sequential | KeyChoice::Contiguous { .. });
        // The guids of two loaded documents have nothing to do with each other.
        let from_the_first = !matches!(phase.keys, KeyChoice::Contiguous { from } if from > 0.0);
        let advance = in_turn
            && from_the_first
            && !guids
            && !phase.pacing.is_open()
            && deletes_alone(phase)
            && population.is_dense();
        let stretches = population.len() / length;
        let shuffled = (!in_turn).then(|| shuffled(plan, phase, round, stretches));
        Self { stretches, length, shuffled, advance }
    }

    /// The number of the first document of a sequence's next deletion, after so many.
    pub fn number(&self, phase: &Phase, sequence: u64, of: u64, deleted: u64) -> Option<u64> {
        if deleted >= self.share(phase, sequence, of) {
            return None;
        }
        if let KeyChoice::Contiguous { from } = phase.keys {
            let own = range_of(self.stretches, sequence, of);
            let size = own.end - own.start;
            return Some((own.start + (behind(size, from) + deleted) % size) * self.length);
        }
        let at = sequence + of * deleted;
        let at = match &self.shuffled {
            Some(order) => *order.get(at as usize)?,
            None => at,
        };
        Some(at * self.length)
    }

    /// Deletions that are one sequence's.
    pub fn share(&self, phase: &Phase, number: u64, of: u64) -> u64 {
        if let KeyChoice::Contiguous { .. } = phase.keys {
            let own = range_of(self.stretches, number, of);
            return own.end - own.start;
        }
        (self.stretches + of - 1).saturating_sub(number) / of
    }
}

/// Whether a phase does nothing but delete one document after the other.
pub fn deletes_alone(phase: &Phase) -> bool {
    phase.single().is_some_and(|(_, made)| deletes(made))
}

/// The numbers of all documents in another order.
fn shuffled(plan: &Plan, phase: &Phase, round: u64, documents: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..documents.min(SHUFFLED_MAX)).collect();
    let label = format!("deletions/{}", phase.name);
    let mut random = Random::new(plan.seed, &label, &[round]);
    for last in (1..order.len()).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
    order
}
