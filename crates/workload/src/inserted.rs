//! The documents of a collection when a phase begins, by pure arithmetic: those that were loaded,
//! and those that the phases of its story before it inserted, less those deleted.

use std::ops::Range;

use super::keys::{behind, range_of, scattered};
use super::operations::{about, inserts};
use super::plan::{Collection, Count, KeyChoice, Kind, Limit, Operation, Phase, Plan};
use super::random::guid_of;
use super::schedule::insert_records;
use super::steps::{self, Steps};

/// What a record says of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keyed {
    pub key: u64,
    pub guid: [u8; 16],
}

/// The workers of a phase, or its one queue.
fn sequences(phase: &Phase) -> u64 {
    if phase.pacing.is_open() { 1 } else { phase.all_workers() }
}

/// How a phase deals keys to the documents that one operation inserts. Of the sequences (workers,
/// or one queue) the w-th gets the keys `first + w`, `first + w + of`, …, or a range of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dealing {
    first: u64,
    of: u64,
    contiguous: bool,
    /// Documents of one operation, but for a short last one.
    batch: u64,
    /// Documents of one lap of a sequence.
    lap: u64,
    /// What is dealt evenly: `units` of `unit` documents each.
    units: u64,
    unit: u64,
}

impl Dealing {
    /// Without a number of operations, `units` is 0: only what needs none may be asked.
    pub fn new(plan: &Plan, phase: &Phase, made: &Operation, first: u64) -> Self {
        let of = sequences(phase);
        let batch = inserts(made).max(1);
        let (units, unit) = match (made.count, phase.limit) {
            (Some(Count::Rest { documents, .. }), _) => (documents, 1),
            (_, Limit::Operations { count, .. }) => (count, batch),
            (_, Limit::Duration { .. }) => (0, batch),
        };
        let lap = match made.count {
            Some(Count::Rest { documents, .. }) => documents.div_ceil(of).max(1),
            _ => insert_records(plan, phase, made) * batch,
        };
        let contiguous = matches!(phase.keys, KeyChoice::Contiguous { .. }) && of > 1;
        Self { first, of, contiguous, batch, lap, units, unit }
    }

    pub fn item_step(&self) -> u64 {
        if self.contiguous { 1 } else { self.of }
    }

    /// The key of a sequence's n-th document.
    pub fn key(&self, sequence: u64, n: u64) -> u64 {
        let begin = if self.contiguous { self.before(sequence) } else { sequence };
        self.first + begin + n * self.item_step()
    }

    /// Another place for the batch that begins at the n-th document, but for a short last one.
    pub fn scattered(&self, sequence: u64, n: u64) -> u64 {
        let batches = self.documents(sequence) / self.batch;
        let batch = n / self.batch;
        if batch < batches { scattered(batch, batches) * self.batch } else { n }
    }

    /// Documents of a sequence, all laps together.
    pub fn documents(&self, sequence: u64) -> u64 {
        self.before(sequence + 1) - self.before(sequence)
    }

    fn len(&self) -> u64 {
        self.units * self.unit
    }

    /// Documents of all sequences before this one.
    fn before(&self, sequence: u64) -> u64 {
        let units = sequence * (self.units / self.of) + sequence.min(self.units % self.of);
        units * self.unit
    }

    /// The sequence of a document and its number there.
    fn place(&self, number: u64) -> (u64, u64) {
        let (unit, item) = (number / self.unit, number % self.unit);
        if !self.contiguous {
            return (unit % self.of, unit / self.of * self.unit + item);
        }
        let (share, more) = (self.units / self.of, self.units % self.of);
        let sequence = if unit < more * (share + 1) {
            unit / (share + 1)
        } else {
            more + (unit - more * (share + 1)) / share.max(1)
        };
        (sequence, number - self.before(sequence))
    }

    /// The number of the document with a key, if there is one.
    fn number(&self, key: u64) -> Option<u64> {
        let offset = key.checked_sub(self.first)?;
        if self.contiguous {
            return Some(offset).filter(|number| *number < self.len());
        }
        let (sequence, n) = (offset % self.of, offset / self.of);
        let number = (n / self.unit * self.of + sequence) * self.unit + n % self.unit;
        Some(number).filter(|_| n < self.documents(sequence))
    }

    /// A document by its number, and its number in the lap of its sequence.
    fn nth(&self, seed: u64, number: u64) -> (Keyed, u64) {
        let (sequence, n) = self.place(number);
        let in_lap = n % self.lap;
        // A record has the guid of its first document in the first lap; the others follow from it.
        let base = self.key(sequence, in_lap - in_lap % self.batch);
        let key = self.key(sequence, n);
        (Keyed { key, guid: steps::guid(guid_of(seed, base), key - base) }, in_lap)
    }

    /// The steps of a phase whose longest sequence inserts so many documents in a lap.
    pub fn steps(&self, longest: u64) -> Steps {
        Steps { lap: self.item_step() * longest, item: self.item_step() }
    }
}

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

    /// With the keys from 0 on.
    pub fn loaded(seed: u64, loaded: u64) -> Self {
        let (inserted, deleted) = (Vec::new(), Vec::new());
        Self { seed, loaded, inserted, deleted, next_key: loaded, known: true }
    }

    /// Whether the core knows which documents there are. It does not after a mix or a bulk_write
    /// that inserts or deletes, an upsert, or a phase that ends by its time.
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

    /// What a phase leaves of the collection.
    fn go_on(&mut self, plan: &Plan, phase: &Phase, collection: &Collection) {
        let single = phase.single().map(|(number, _)| number);
        let counted = match phase.limit {
            Limit::Operations { count, seconds_max: None } => Some(count),
            _ => None,
        };
        for (number, made) in phase.operations.iter().enumerate() {
            let about = about(made.kind);
            if made.collection != collection.name {
                continue;
            }
            // Parts of a bulk_write are drawn, as the operations of a mix are.
            let count = counted.filter(|_| single == Some(number));
            match count {
                _ if made.kind == Kind::Drop => {
                    *self = Self { next_key: self.next_key, ..Self::loaded(self.seed, 0) };
                }
                Some(_) if about.inserts => {
                    let dealing = Dealing::new(plan, phase, made, self.next_key);
                    self.next_key += dealing.len();
                    if !dealing.contiguous && !dealing.units.is_multiple_of(dealing.of) {
                        // The last keys of an uneven deal lie a little apart.
                        self.next_key += dealing.of * dealing.unit;
                    }
                    self.inserted.push(dealing);
                }
                Some(count) if about.deletes => self.delete(phase, count),
                _ => {
                    let changes = about.inserts
                        || about.deletes
                        || made.kind == Kind::BulkWrite
                        || made.upsert == Some(true);
                    self.known &= !changes;
                }
            }
        }
    }

    /// The documents that the first `count` deletions meet.
    fn delete(&mut self, phase: &Phase, count: u64) {
        let documents = self.len();
        let mut gone = Vec::new();
        match phase.keys {
            KeyChoice::Contiguous { from } => {
                let of = sequences(phase);
                for worker in 0..of {
                    let own = range_of(documents, worker, of);
                    let size = own.end - own.start;
                    let wanted = (count / of + u64::from(worker < count % of)).min(size);
                    let start = own.start + behind(size, from);
                    let end = (start + wanted).min(own.end);
                    gone.push(start..end);
                    gone.push(own.start..own.start + wanted - (end - start));
                }
            }
            KeyChoice::Sequential => gone.push(0..count.min(documents)),
            // Shuffled: which ones are gone is known where all are.
            _ if count >= documents => gone.push(0..documents),
            _ => self.known = false,
        }
        let made: Vec<_> = gone.into_iter().flat_map(|numbers| self.made_ones(&numbers)).collect();
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
    use std::collections::BTreeSet;

    use super::*;

    fn dealing(contiguous: bool, units: u64, unit: u64) -> Dealing {
        Dealing { first: 100, of: 3, contiguous, batch: 4, lap: 8, units, unit }
    }

    #[test]
    fn every_document_has_a_key_and_is_found_by_it() {
        for contiguous in [false, true] {
            for (units, unit) in [(10, 4), (1, 4), (17, 1), (9, 1), (2, 1)] {
                let dealing = dealing(contiguous, units, unit);
                let keys: BTreeSet<u64> =
                    (0..dealing.len()).map(|number| dealing.nth(1, number).0.key).collect();
                assert_eq!(keys.len() as u64, units * unit, "{dealing:?}");
                let found = (0..1000).filter(|key| dealing.number(*key).is_some());
                assert_eq!(found.collect::<BTreeSet<u64>>(), keys, "{dealing:?}");
                for number in 0..dealing.len() {
                    assert_eq!(dealing.number(dealing.nth(1, number).0.key), Some(number));
                }
            }
        }
    }

    #[test]
    fn guids_are_made_of_the_records_key_and_the_shift() {
        let dealing = dealing(false, 30, 4);
        // Sequence 1, lap 2, second batch, third document: n = 2 × 8 + 4 + 2.
        let (keyed, in_lap) = dealing.nth(7, dealing.number(100 + 1 + 3 * 22).expect("inserted"));
        let record = 100 + 1 + 3 * 4;
        assert_eq!((keyed.key, in_lap), (record + 2 * 3 * 8 + 2 * 3, 6));
        assert_eq!(keyed.guid, steps::guid(guid_of(7, record), keyed.key - record));
    }

    #[test]
    fn deletions_leave_the_others_in_order() {
        let mut population = Population::loaded(1, 10);
        population.deleted = vec![0..2, 5..6];
        let keys = |it: &Population| (0..it.len()).map(|n| it.nth(n).key).collect::<Vec<_>>();
        assert_eq!(keys(&population), [2, 3, 4, 6, 7, 8, 9]);
        assert_eq!(population.made_ones(&(2..5)), [4..5, 6..8]);
        assert!(population.contains(4) && !population.contains(5) && !population.contains(10));
        population.inserted.push(Dealing { first: 10, ..dealing(true, 5, 1) });
        assert_eq!(keys(&population)[7..], [10, 11, 12, 13, 14]);
        assert_eq!(population.inserted(12).map(|(_, in_lap)| in_lap), Some(0));
        assert_eq!(population.inserted(3), None);
    }
}
