//! How the keys of new documents are dealt to workers.

use super::key_choice::scattered;
use super::random::guid_of;
use super::schedule_length::insert_records;
use super::steps::{self, Steps};
use crate::operations::inserts;
use crate::plan::{Count, KeyChoice, Limit, Operation, Phase, Plan};

/// Key and guid of a document, as a record has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keyed {
    pub key: u64,
    pub guid: [u8; 16],
}

/// The workers of a phase, or its one queue.
pub fn sequences(phase: &Phase) -> u64 {
    if phase.pacing.is_open() { 1 } else { phase.all_workers() }
}

/// How a phase deals keys to the documents that one operation inserts. Of the sequences (workers,
/// or one queue) the w-th gets the keys `first + w`, `first + w + of`, …, or a separate range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dealing {
    first: u64,
    of: u64,
    contiguous: bool,
    /// Documents of one operation, but for a short last one.
    batch: u64,
    /// Documents of one lap of a sequence.
    lap: u64,
    /// Dealt evenly: `units` of `unit` documents each.
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

    pub fn len(&self) -> u64 {
        self.units * self.unit
    }

    /// Keys from the first to the last.
    pub fn keys(&self) -> u64 {
        // The last keys of an uneven deal lie a little apart.
        let even = self.contiguous || self.units.is_multiple_of(self.of);
        self.len() + if even { 0 } else { self.of * self.unit }
    }

    /// Documents of all sequences before this one.
    pub fn before(&self, sequence: u64) -> u64 {
        let units = sequence * (self.units / self.of) + sequence.min(self.units % self.of);
        units * self.unit
    }

    /// The sequence of a document and its number there.
    pub fn place(&self, number: u64) -> (u64, u64) {
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
    pub fn number(&self, key: u64) -> Option<u64> {
        let offset = key.checked_sub(self.first)?;
        if self.contiguous {
            return Some(offset).filter(|number| *number < self.len());
        }
        let (sequence, n) = (offset % self.of, offset / self.of);
        let number = (n / self.unit * self.of + sequence) * self.unit + n % self.unit;
        Some(number).filter(|_| n < self.documents(sequence))
    }

    /// A document by its number, and its number in the lap of its sequence.
    pub fn nth(&self, seed: u64, number: u64) -> (Keyed, u64) {
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

/// Three sequences, batches of 4, laps of 8.
#[cfg(test)]
pub fn dealing(first: u64, contiguous: bool, units: u64, unit: u64) -> Dealing {
    Dealing { first, of: 3, contiguous, batch: 4, lap: 8, units, unit }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_document_has_a_key_and_is_found_by_it() {
        for contiguous in [false, true] {
            for (units, unit) in [(10, 4), (1, 4), (17, 1), (9, 1), (2, 1)] {
                let dealing = dealing(100, contiguous, units, unit);
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
        let dealing = dealing(100, false, 30, 4);
        // Sequence 1, lap 2, second batch, third document: n = 2 × 8 + 4 + 2.
        let (keyed, in_lap) = dealing.nth(7, dealing.number(100 + 1 + 3 * 22).expect("inserted"));
        let record = 100 + 1 + 3 * 4;
        assert_eq!((keyed.key, in_lap), (record + 2 * 3 * 8 + 2 * 3, 6));
        assert_eq!(keyed.guid, steps::guid(guid_of(7, record), keyed.key - record));
    }
}
