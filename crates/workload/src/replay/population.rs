//! The documents of a collection when a phase begins, by pure arithmetic: those that were loaded,
//! and those that the phases of its story before it inserted, less those deleted.

use std::ops::Range;

use super::dealing::{Dealing, Keyed, sequences};
use super::key_choice::{behind, range_of};
use super::random::guid_of;
use super::selected_documents::{Meaning, meaning};
use crate::operations::{about, deletes};
use crate::plan::{Collection, KeyChoice, Limit, Operation, OperationKind, Phase, Plan};

/// The documents of a collection, each by its number in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Population {
    seed: u64,
    loaded: u64,
    inserted: Vec<Dealing>,
    /// Numbers of those that are gone, as if none were; in order.
    deleted: Vec<Range<u64>>,
    next_key: u64,
    known: bool,
}

impl Population {
    pub fn before(plan: &Plan, phase: usize, collection: &Collection) -> Self {
        let mut population = Self::loaded(plan.seed, collection.loaded);
        let story = plan.story(phase);
        let runs = if collection.kept { plan.runs_before } else { 0 };
        let whole = (0..runs).flat_map(|_| &plan.phases[story.clone()]);
        for earlier in whole.chain(&plan.phases[story.start..phase]) {
            population.go_on(plan, earlier, collection);
        }
        population
    }

    pub fn after(plan: &Plan, phase: usize, collection: &Collection) -> Self {
        let mut population = Self::before(plan, phase, collection);
        population.go_on(plan, &plan.phases[phase], collection);
        population
    }

    /// Makes a population of loaded documents, whose keys begin at 0.
    pub fn loaded(seed: u64, loaded: u64) -> Self {
        let (inserted, deleted) = (Vec::new(), Vec::new());
        Self { seed, loaded, inserted, deleted, next_key: loaded, known: true }
    }

    /// Whether the core knows which documents there are. It does not after a mix or a bulk_write
    /// that inserts or deletes, an upsert, a pipeline or a command that writes, or a phase that
    /// ends by its time.
    pub fn is_known(&self) -> bool {
        self.known
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn len(&self) -> u64 {
        self.made() - self.deleted.iter().map(|gone| gone.end - gone.start).sum::<u64>()
    }

    /// The first key that no document has had.
    pub fn next_key(&self) -> u64 {
        self.next_key
    }

    /// The key behind the last loaded document.
    pub fn next_key_loaded(&self) -> u64 {
        self.loaded
    }

    pub fn nth(&self, number: u64) -> Keyed {
        let mut number = number;
        for gone in &self.deleted {
            if gone.start > number {
                break;
            }
            number += gone.end - gone.start;
        }
        self.nth_made(number).map_or_else(|| self.of_loaded(number), |(keyed, _)| keyed)
    }

    pub fn contains(&self, key: u64) -> bool {
        self.number(key).is_some()
    }

    /// Guid of an inserted document, and its number in the lap that it was inserted in.
    pub fn inserted(&self, key: u64) -> Option<([u8; 16], u64)> {
        let (keyed, in_lap) = self.nth_made(self.number(key)?)?;
        Some((keyed.guid, in_lap))
    }

    /// Whether keys grow by 1 from document to document.
    pub fn is_dense(&self) -> bool {
        self.inserted.is_empty() && self.deleted.iter().all(|gone| gone.start == 0)
    }

    /// Documents that one deletion removes; None where the core does not know which.
    pub fn deleted_at_once(&self, made: &Operation, collection: &Collection) -> Option<u64> {
        let many = made.kind == OperationKind::DeleteMany && self.known;
        match meaning(made, collection) {
            Meaning::One => Some(1),
            Meaning::Range(length) if many && self.is_dense() => Some(length),
            Meaning::All if many => Some(self.len()),
            _ => None,
        }
    }

    fn made(&self) -> u64 {
        self.loaded + self.inserted.iter().map(Dealing::len).sum::<u64>()
    }

    fn of_loaded(&self, key: u64) -> Keyed {
        Keyed { key, guid: guid_of(self.seed, key) }
    }

    /// By its number among all that were ever made; None: a loaded one.
    fn nth_made(&self, number: u64) -> Option<(Keyed, u64)> {
        let mut number = number.checked_sub(self.loaded)?;
        for dealing in &self.inserted {
            if number < dealing.len() {
                return Some(dealing.nth(self.seed, number));
            }
            number -= dealing.len();
        }
        None
    }

    /// The number of a document that is there, among all that were ever made.
    fn number(&self, key: u64) -> Option<u64> {
        let mut before = self.loaded;
        let mut found = Some(key).filter(|key| *key < self.loaded);
        for dealing in &self.inserted {
            found = found.or_else(|| Some(before + dealing.number(key)?));
            before += dealing.len();
        }
        found.filter(|number| !self.deleted.iter().any(|gone| gone.contains(number)))
    }

    /// The collection as a phase leaves it.
    fn go_on(&mut self, plan: &Plan, phase: &Phase, collection: &Collection) {
        for stretch in phase.stretches() {
            self.through(plan, &stretch, collection);
        }
    }

    fn through(&mut self, plan: &Plan, phase: &Phase, collection: &Collection) {
        let single = phase.single().map(|(number, _)| number);
        let counted = match phase.limit {
            Limit::Operations { count, seconds_max: None } => Some(count),
            _ => None,
        };
        for (number, made) in phase.operations.iter().enumerate() {
            let about = about(made.kind);
            self.known &= !made.mentions().any(|mention| mention.changes(&collection.name));
            if made.collection != collection.name {
                continue;
            }
            // Parts of a bulk_write are drawn, as the operations of a mix are.
            let count = counted.filter(|_| single == Some(number));
            match count {
                _ if made.kind == OperationKind::Drop => {
                    *self = Self { next_key: self.next_key, ..Self::loaded(self.seed, 0) };
                }
                Some(_) if about.inserts() && made.expect.is_none() => {
                    let dealing = Dealing::new(plan, phase, made, self.next_key);
                    self.next_key += dealing.keys();
                    self.inserted.push(dealing);
                }
                Some(count) if deletes(made) => match self.deleted_at_once(made, collection) {
                    Some(length) => self.delete(phase, count, length.max(1)),
                    None => self.known = false,
                },
                _ => {
                    let changes = about.inserts()
                        || deletes(made)
                        || made.kind == OperationKind::BulkWrite
                        || made.upsert == Some(true);
                    self.known &= !changes;
                }
            }
        }
    }

    /// The documents that the first `count` deletions meet, each so many at once.
    fn delete(&mut self, phase: &Phase, count: u64, length: u64) {
        let stretches = self.len() / length;
        let mut gone = Vec::new();
        match phase.keys {
            KeyChoice::Contiguous { from } => {
                let of = sequences(phase);
                for worker in 0..of {
                    let own = range_of(stretches, worker, of);
                    let size = own.end - own.start;
                    let wanted = (count / of + u64::from(worker < count % of)).min(size);
                    let start = own.start + behind(size, from);
                    let end = (start + wanted).min(own.end);
                    gone.push(start..end);
                    gone.push(own.start..own.start + wanted - (end - start));
                }
            }
            KeyChoice::Sequential => gone.push(0..count.min(stretches)),
            // Shuffled: which ones are gone is known where all are.
            _ if count >= stretches => gone.push(0..stretches),
            _ => self.known = false,
        }
        let numbers = gone.into_iter().map(|it| it.start * length..it.end * length);
        let made: Vec<_> = numbers.flat_map(|numbers| self.made_ones(&numbers)).collect();
        self.deleted.extend(made);
        self.deleted.sort_by_key(|gone| gone.start);
    }

    /// Numbers of documents that are there, as numbers among all that were ever made.
    fn made_ones(&self, numbers: &Range<u64>) -> Vec<Range<u64>> {
        let mut pieces = Vec::new();
        let (mut begin, mut before) = (0, 0);
        let end = self.made();
        for gone in self.deleted.iter().cloned().chain(std::iter::once(end..end)) {
            // A stretch of documents that are there, from `begin` on.
            let there = gone.start - begin;
            let (low, high) = (numbers.start.max(before), numbers.end.min(before + there));
            if low < high {
                pieces.push(begin + (low - before)..begin + (high - before));
            }
            before += there;
            begin = gone.end;
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::super::dealing::dealing;
    use super::*;

    #[test]
    fn deletions_leave_the_others_in_order() {
        let mut population = Population::loaded(1, 10);
        population.deleted = vec![0..2, 5..6];
        let keys = |it: &Population| (0..it.len()).map(|n| it.nth(n).key).collect::<Vec<_>>();
        assert_eq!(keys(&population), [2, 3, 4, 6, 7, 8, 9]);
        assert_eq!(population.made_ones(&(2..5)), [4..5, 6..8]);
        assert!(population.contains(4) && !population.contains(5) && !population.contains(10));
        population.inserted.push(dealing(10, true, 5, 1));
        assert_eq!(keys(&population)[7..], [10, 11, 12, 13, 14]);
        assert_eq!(population.inserted(12).map(|(_, in_lap)| in_lap), Some(0));
        assert_eq!(population.inserted(3), None);
    }
}
