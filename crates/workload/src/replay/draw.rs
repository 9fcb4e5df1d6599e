//! Draws the records of a schedule: operation, key and document.

use super::dealing::{Dealing, Keyed};
use super::deletions::Deletions;
use super::key_choice::{KeyChooser, KeyRequest};
use super::population::Population;
use super::random::{Random, guid_of};
use super::schedule_file::Record;
use super::schedule_request::ScheduleRequest;
use super::selected_documents::{key_space, takes_guid};
use crate::operations::{about, deletes};
use crate::plan::{
    Collection, Count, Expectable, KeyChoice, OperationKind, OperationPart, Pacing, Phase, Plan,
};

/// What is needed to draw the records of one phase.
pub struct Draw<'a> {
    pub plan: &'a Plan,
    pub phase: &'a Phase,
    pub request: &'a ScheduleRequest,
    /// Per operation.
    pub collections: Vec<Option<&'a Collection>>,
    pub populations: Vec<Population>,
    pub keys: Vec<KeyChooser>,
    /// Documents of its pool.
    pub pools: Vec<u64>,
    pub guids: bool,
    /// How keys are dealt to new documents, and their collection.
    pub inserted: Option<(Dealing, &'a str)>,
    pub deletions: Option<Deletions>,
}

/// Where one sequence of records has got to.
pub struct Sequence {
    random: Random,
    /// Number of the sequence and of all of them: positions are dealt in turn.
    number: u64,
    of: u64,
    position: u64,
    /// Documents.
    pub inserted: u64,
    deleted: u64,
    /// Records of inserts, where somebody looks for what they insert.
    newest: Vec<Record>,
}

impl Sequence {
    /// How many of an insert's first documents are the last ones of the insert before it.
    fn duplicates(&mut self, share: Option<f64>, documents: u32) -> u32 {
        let Some(share) = share else { return 0 };
        let mean = share * f64::from(documents);
        let more = self.random.unit() < mean.fract();
        let drawn = mean as u32 + u32::from(more);
        drawn.min(u32::try_from(self.inserted).unwrap_or(u32::MAX))
    }

    fn asked(&self, position: u64) -> KeyRequest {
        KeyRequest { sequence: self.number, of: self.of, position }
    }
}

impl<'a> Draw<'a> {
    pub fn new(plan: &'a Plan, phase: &'a Phase, request: &'a ScheduleRequest) -> Self {
        let collections: Vec<_> =
            phase.operations.iter().map(|made| plan.collection(made)).collect();
        let population = |collection: Option<&Collection>| match collection {
            Some(collection) => Population::before(plan, request.phase, collection),
            None => Population::loaded(plan.seed, 1),
        };
        let populations: Vec<_> = collections.iter().copied().map(population).collect();
        let operations = || phase.operations.iter().zip(&collections).zip(&populations);
        let keys = operations().map(|((made, collection), population)| {
            KeyChooser::new(phase.keys, key_space(made, *collection, population.len()))
        });
        let pool = |made| plan.pool(phase, made).map_or(0, |it| u64::from(it.pool_documents));
        let inserting = || operations().filter(|((made, _), _)| about(made.kind).inserts());
        // Several operations that insert share one deal, so that one pair of steps fits all.
        let first = inserting().map(|(_, population)| population.next_key()).max().unwrap_or(0);
        let inserted = inserting().next().map(|((made, _), _)| {
            (Dealing::new(plan, phase, made, first), made.collection.as_str())
        });
        let guids = phase.operations.iter().any(takes_guid);
        let deleting = operations().filter(|((made, _), _)| deletes(made));
        let deleting = deleting.map(|((made, collection), population)| {
            let length = collection.and_then(|it| population.deleted_at_once(made, it));
            (population, length.unwrap_or(1).max(1))
        });
        let deletions = deleting.min_by_key(|(population, _)| population.len());
        let deletions = deletions.map(|it| Deletions::new(plan, phase, request.round, it, guids));
        Self {
            keys: keys.collect(),
            pools: phase.operations.iter().map(pool).collect(),
            inserted,
            guids,
            deletions,
            collections,
            populations,
            plan,
            phase,
            request,
        }
    }

    pub fn sequence(&self, number: u64, of: u64) -> Sequence {
        let label = format!("schedule/{}", self.phase.name);
        let random = Random::new(self.plan.seed, &label, &[self.request.round, number]);
        let newest = Vec::new();
        Sequence { random, number, of, position: 0, inserted: 0, deleted: 0, newest }
    }

    /// The next record; None where nothing is left to delete or to insert.
    pub fn record(&self, sequence: &mut Sequence, parts: &mut Vec<Record>) -> Option<Record> {
        let operation = match &self.phase.weights[..] {
            [_] => 0,
            weights => sequence.random.weighted(weights),
        };
        if self.phase.operations[operation].parts.is_empty() {
            self.one(sequence, operation)
        } else {
            self.of_parts(sequence, operation, parts)
        }
    }

    fn of_parts(
        &self,
        sequence: &mut Sequence,
        operation: usize,
        parts: &mut Vec<Record>,
    ) -> Option<Record> {
        let made = &self.phase.operations[operation];
        let weights: Vec<u32> = made.parts.iter().map(|part| part.weight).collect();
        let count = made.count.map_or(1, Count::most);
        let first = parts.len();
        let in_order = made.kind == OperationKind::Transaction;
        for number in 0..count as usize {
            let drawn = if in_order { number } else { sequence.random.weighted(&weights) };
            let OperationPart { operation, .. } = made.parts[drawn];
            let Some(part) = self.one(sequence, usize::from(operation)) else {
                parts.truncate(first);
                return None;
            };
            parts.push(part);
        }
        let (document, operation) = (first as u32, operation as u8);
        Some(Record { document, count, operation, ..Record::default() })
    }

    fn one(&self, sequence: &mut Sequence, operation: usize) -> Option<Record> {
        let made = &self.phase.operations[operation];
        let about = about(made.kind);
        let pool = self.pools[operation].max(1);
        let mut record = Record { operation: operation as u8, ..Record::default() };
        record.count = match made.count {
            Some(Count::Fixed { count }) => count,
            Some(Count::Drawn { low, high }) => {
                low + sequence.random.below(u64::from(high - low) + 1) as u32
            }
            Some(Count::Rest { batch, .. }) => {
                let share = self.dealing()?.documents(sequence.number);
                let rest = share - sequence.inserted;
                rest.min(u64::from(batch)) as u32
            }
            None => u32::from(about.inserts()),
        };
        let keyed = if about.inserts() {
            if record.count == 0 {
                return None;
            }
            let dealing = self.dealing()?;
            record.duplicates = sequence.duplicates(made.duplicates, record.count);
            let mut n = sequence.inserted - u64::from(record.duplicates);
            if self.phase.keys == KeyChoice::Hashed {
                n = dealing.scattered(sequence.number, n);
            }
            let key = dealing.key(sequence.number, n);
            record.advances = true;
            record.document = (n % pool) as u32;
            Keyed { key, guid: guid_of(self.plan.seed, key) }
        } else if deletes(made) {
            let deletions = self.deletions.as_ref()?;
            let number =
                deletions.number(self.phase, sequence.number, sequence.of, sequence.deleted)?;
            record.advances = deletions.advance;
            sequence.deleted += 1;
            self.populations[operation].nth(number)
        } else {
            let (keyed, advances) = self.looked_for(sequence, operation);
            record.advances = advances;
            if made.documents.is_some() {
                record.document = sequence.random.below(pool) as u32;
            }
            keyed
        };
        record.key = keyed.key;
        if self.guids {
            record.guid = keyed.guid;
        }
        if about.inserts() {
            sequence.inserted += u64::from(record.count - record.duplicates);
            if matches!(self.phase.keys, KeyChoice::Latest { .. }) {
                sequence.newest.push(record);
            }
        }
        sequence.position += 1;
        Some(record)
    }

    /// The document that an operation works on, and whether it is another one in each lap.
    fn looked_for(&self, sequence: &mut Sequence, operation: usize) -> (Keyed, bool) {
        let (keys, population) = (&self.keys[operation], &self.populations[operation]);
        let made = &self.phase.operations[operation];
        if made.expect == Some(Expectable::Missing) {
            let asked = sequence.asked(sequence.position);
            let key = population.next_key() + keys.number(&mut sequence.random, asked);
            return (Keyed { key, guid: guid_of(self.plan.seed, key) }, false);
        }
        let fresh = self.inserted.as_ref().filter(|(_, collection)| *collection == made.collection);
        let (Some((dealing, _)), KeyChoice::Latest { .. }) = (fresh, self.phase.keys) else {
            let asked = sequence.asked(sequence.position);
            return (population.nth(keys.number(&mut sequence.random, asked)), false);
        };
        let back = keys.offset(&mut sequence.random);
        let there = (sequence.newest.len() as u64).saturating_sub(self.in_flight());
        let Some(at) = there.checked_sub(back + 1) else {
            // Nothing so new yet: as many more back from the newest loaded one.
            return (population.nth(keys.back(back - there)), false);
        };
        let batch = sequence.newest[at as usize];
        let item = match batch.count {
            // A guid moved by item and lap at once is none that an adapter could make of a record.
            count if count > 1 && !self.guids => sequence.random.below(count.into()),
            _ => 0,
        };
        (Keyed { key: batch.key + item * dealing.item_step(), guid: batch.guid }, true)
    }

    /// The newest inserts that may not have come to their end.
    fn in_flight(&self) -> u64 {
        match self.phase.pacing {
            Pacing::Awaited { .. } => 0,
            Pacing::Window { size } => size.into(),
            Pacing::Rate { .. } | Pacing::Burst {} => self.phase.all_workers(),
        }
    }

    pub fn dealing(&self) -> Option<&Dealing> {
        self.inserted.as_ref().map(|(dealing, _)| dealing)
    }
}
