//! Computes the schedules of a phase: which key, which document, which operation, when.

use super::arrivals::Arrivals;
use super::dealing::{Dealing, Keyed};
use super::deletions::{Deletions, deletes_alone};
use super::key_choice::{Asked, Keys};
use super::schedule_length::{FILE_RECORDS_MAX, gcd, queue_records, slice_records, slice_records_max};
use crate::operations::{about, inserts};
use crate::plan::{Collection, Count, KeyChoice, Limit, Operation, Pacing, Part, Phase, Plan};
use super::population::Population;
use super::random::{Random, guid_of};
pub use super::schedule_file::{Record, Schedule};
use super::selected_documents::{key_space, takes_guid};
pub use super::steps::Steps;

/// Processes that a phase is split over, at most.
const PROCESSES_MAX: u32 = 64;

/// Which schedule is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    pub phase: usize,
    pub workers: Workers,
    /// Number of the round (or of the warm-up): other numbers give other keys.
    pub round: u64,
    /// Seconds measured, where the phase is not limited by operations.
    pub seconds: f64,
}

/// Which of the phase's workers one process has; all of them are `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workers {
    pub first: u32,
    pub count: u32,
    pub of: u32,
}

impl Workers {
    /// All of a phase's in one process.
    pub fn all(of: u32) -> Self {
        Self { first: 0, count: of, of }
    }

    /// Number of the process, and of all processes: each has equally many workers.
    fn process(self) -> (u64, u64) {
        (u64::from(self.first / self.count), u64::from(self.of / self.count))
    }
}

/// A schedule and what goes with it into `prepare`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheduled {
    pub schedule: Schedule,
    /// Largest number of operations per slice; None: none.
    pub limits: Option<Vec<u64>>,
    pub steps: Steps,
}

/// Splits a phase's workers over processes, equally many for each. Err: why the arm takes no part.
pub fn split(
    phase: &Phase,
    own_processes: Option<u32>,
    max: Option<u32>,
) -> Result<Vec<Workers>, String> {
    let of = phase.workers * own_processes.unwrap_or(phase.processes);
    let fits = |count: &u32| phase.workers.is_multiple_of(*count);
    let most = max.unwrap_or(phase.workers).clamp(1, phase.workers);
    let count = (1..=most).rev().find(fits).unwrap_or(1);
    let processes = of / count;
    if count < phase.workers && processes > PROCESSES_MAX {
        let worker = if most == 1 { "worker" } else { "workers" };
        return Err(format!(
            "takes {most} {worker} a process: {of} workers need {processes} processes, at most \
             {PROCESSES_MAX}"
        ));
    }
    Ok((0..processes).map(|process| Workers { first: process * count, count, of }).collect())
}

pub fn schedule(plan: &Plan, request: &Request) -> Scheduled {
    let phase = &plan.phases[request.phase];
    if !phase.sequence.is_empty() {
        return one_after_the_other(plan, request);
    }
    let maker = Maker::new(plan, phase, request);
    if phase.pacing.is_open() { maker.open() } else { maker.closed() }
}

/// The slices of a sequence's stretches, each within its first lap.
fn one_after_the_other(plan: &Plan, request: &Request) -> Scheduled {
    let (plan, numbers) = plan.unrolled(request.phase);
    let made = |phase| (phase, schedule(&plan, &Request { phase, ..*request }));
    let stretches: Vec<(usize, Scheduled)> = numbers.map(made).collect();
    let slice = |worker: usize| -> Vec<Record> {
        let share = |(operation, (_, stretch)): (usize, &(usize, Scheduled))| {
            let length = stretch.schedule.slice_records();
            let limit = stretch.limits.as_ref().map_or(length, |limits| limits[worker] as usize);
            let begin = worker * length;
            let records = stretch.schedule.records[begin..begin + limit.min(length)].iter();
            let in_sequence = move |record: &Record| Record {
                operation: operation as u8,
                advances: false,
                ..*record
            };
            records.map(in_sequence).collect::<Vec<_>>()
        };
        stretches.iter().enumerate().flat_map(share).collect()
    };
    let slices: Vec<Vec<Record>> = (0..request.workers.count as usize).map(slice).collect();
    let limits = slices.iter().map(|slice| slice.len() as u64).collect();
    let schedule = Schedule {
        slices: request.workers.count,
        lap_ns: 0,
        guids: stretches.iter().any(|(_, stretch)| stretch.schedule.guids),
        records: level(slices),
        parts: Vec::new(),
    };
    let batches = stretches.iter().find(|(it, _)| inserts(&plan.phases[*it].operations[0]) > 1);
    let item = batches.map_or(0, |(_, stretch)| stretch.steps.item);
    Scheduled { schedule, limits: Some(limits), steps: Steps { lap: 0, item } }
}

/// Slices are equally long; records that are filled in lie behind a slice's limit.
fn level(mut slices: Vec<Vec<Record>>) -> Vec<Record> {
    let length = slices.iter().map(Vec::len).max().unwrap_or(0).max(1);
    for slice in &mut slices {
        slice.resize(length, Record::default());
    }
    slices.concat()
}

struct Maker<'a> {
    plan: &'a Plan,
    phase: &'a Phase,
    request: &'a Request,
    /// Per operation.
    collections: Vec<Option<&'a Collection>>,
    populations: Vec<Population>,
    keys: Vec<Keys>,
    /// Documents of its pool.
    pools: Vec<u64>,
    guids: bool,
    /// How keys are dealt to new documents, and their collection.
    inserted: Option<(Dealing, &'a str)>,
    deletions: Option<Deletions>,
}

/// Where one sequence of records has got to.
struct Sequence {
    random: Random,
    /// Number of the sequence and of all of them: positions are dealt in turn.
    number: u64,
    of: u64,
    position: u64,
    /// Documents.
    inserted: u64,
    deleted: u64,
    /// Records of inserts, where somebody looks for what they insert.
    newest: Vec<Record>,
}

impl Sequence {
    fn asked(&self, position: u64) -> Asked {
        Asked { sequence: self.number, of: self.of, position }
    }
}

impl<'a> Maker<'a> {
    fn new(plan: &'a Plan, phase: &'a Phase, request: &'a Request) -> Self {
        let collections: Vec<_> =
            phase.operations.iter().map(|made| plan.collection(made)).collect();
        let population = |collection: Option<&Collection>| match collection {
            Some(collection) => Population::before(plan, request.phase, collection),
            None => Population::loaded(plan.seed, 1),
        };
        let populations: Vec<_> = collections.iter().copied().map(population).collect();
        let operations = || phase.operations.iter().zip(&collections).zip(&populations);
        let keys = operations().map(|((made, collection), population)| {
            Keys::new(phase.keys, key_space(made, *collection, population.len()))
        });
        let pool = |made| plan.pool(phase, made).map_or(0, |it| u64::from(it.pool_documents));
        let inserting = || operations().filter(|((made, _), _)| about(made.kind).inserts);
        // Several operations that insert share one deal, so that one pair of steps fits all.
        let first = inserting().map(|(_, population)| population.next_key()).max().unwrap_or(0);
        let inserted = inserting().next().map(|((made, _), _)| {
            (Dealing::new(plan, phase, made, first), made.collection.as_str())
        });
        let guids = phase.operations.iter().any(takes_guid);
        let deleting = operations().filter(|((made, _), _)| about(made.kind).deletes);
        let deletions = deleting.map(|(_, population)| population).min_by_key(|it| it.len());
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

    fn sequence(&self, number: u64, of: u64) -> Sequence {
        let label = format!("schedule/{}", self.phase.name);
        let random = Random::new(self.plan.seed, &label, &[self.request.round, number]);
        let newest = Vec::new();
        Sequence { random, number, of, position: 0, inserted: 0, deleted: 0, newest }
    }

    /// The next record; None where nothing is left to delete or to insert.
    fn record(&self, sequence: &mut Sequence, parts: &mut Vec<Record>) -> Option<Record> {
        let operation = match &self.phase.weights[..] {
            [_] => 0,
            weights => sequence.random.weighted(weights),
        };
        if self.phase.operations[operation].parts.is_empty() {
            self.one(sequence, operation)
        } else {
            self.bulk(sequence, operation, parts)
        }
    }

    fn bulk(
        &self,
        sequence: &mut Sequence,
        operation: usize,
        parts: &mut Vec<Record>,
    ) -> Option<Record> {
        let made = &self.phase.operations[operation];
        let weights: Vec<u32> = made.parts.iter().map(|part| part.weight).collect();
        let count = made.count.map_or(1, Count::most);
        let first = parts.len();
        for _ in 0..count {
            let Part { operation, .. } = made.parts[sequence.random.weighted(&weights)];
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
            None => u32::from(about.inserts),
        };
        let keyed = if about.inserts {
            if record.count == 0 {
                return None;
            }
            let dealing = self.dealing()?;
            let mut n = sequence.inserted;
            if self.phase.keys == KeyChoice::Hashed {
                n = dealing.scattered(sequence.number, n);
            }
            let key = dealing.key(sequence.number, n);
            record.advances = true;
            record.document = (n % pool) as u32;
            Keyed { key, guid: guid_of(self.plan.seed, key) }
        } else if about.deletes {
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
        if about.inserts {
            sequence.inserted += u64::from(record.count);
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

    fn dealing(&self) -> Option<&Dealing> {
        self.inserted.as_ref().map(|(dealing, _)| dealing)
    }

    /// Closed loop: a slice for each worker of this process.
    fn closed(&self) -> Scheduled {
        let Workers { first, count, of } = self.request.workers;
        let all = u64::from(of);
        let wanted = self.slice_records(all);
        let (mut slices, mut parts, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        let mut inserted = 0;
        for number in (first..first + count).map(u64::from) {
            let mut sequence = self.sequence(number, all);
            let record = |_| self.record(&mut sequence, &mut parts);
            let slice: Vec<Record> = (0..wanted).map_while(record).collect();
            inserted = inserted.max(sequence.inserted);
            let asked = match self.phase.limit {
                Limit::Operations { count, .. } => {
                    Some(count / all + u64::from(number < count % all))
                }
                Limit::Duration { .. } => None,
            };
            let once = self.ends_after(number, all, slice.len() as u64);
            ends.push(asked.into_iter().chain(once).min());
            slices.push(slice);
        }
        let (guids, records) = (self.guids, level(slices));
        let length = records.len() / count as usize;
        let schedule = Schedule { slices: count, lap_ns: 0, guids, records, parts };
        let steps = self.steps(inserted, all, length as u64);
        Scheduled { schedule, limits: ends.into_iter().collect(), steps }
    }

    /// Operations after which nothing is left to do; None where that never comes.
    fn ends_after(&self, number: u64, of: u64, slice: u64) -> Option<u64> {
        let rest = |made: &Operation| matches!(made.count, Some(Count::Rest { .. }));
        match &self.deletions {
            Some(deletions) if deletions.advance => Some(deletions.share(self.phase, number, of)),
            Some(_) => Some(slice),
            None => self.phase.operations.iter().any(rest).then_some(slice),
        }
    }

    fn steps(&self, inserted: u64, of: u64, length: u64) -> Steps {
        match (&self.inserted, &self.deletions) {
            (Some((dealing, _)), _) => dealing.steps(inserted),
            (None, Some(deletions)) if deletions.advance => {
                let apart = if self.phase.keys == KeyChoice::Sequential { of } else { 1 };
                Steps { lap: apart * length, item: 0 }
            }
            _ => Steps::default(),
        }
    }

    fn slice_records(&self, all: u64) -> u64 {
        let most = slice_records_max(self.phase);
        let single = self.phase.single();
        if let Some(deletions) = &self.deletions {
            if !deletes_alone(self.phase) {
                return most;
            }
            // One slice more than fits would leave documents undeleted: the file's bound alone.
            let file = FILE_RECORDS_MAX / u64::from(self.phase.workers);
            let asked = match self.phase.limit {
                Limit::Operations { count, .. } => count.div_ceil(all),
                Limit::Duration { .. } => u64::MAX,
            };
            let keys = deletions.documents.div_ceil(all).min(asked);
            return keys.min(file).max(1);
        }
        let Some((number, made)) = single else {
            return slice_records(self.phase, self.request.seconds, 1);
        };
        if let Some(Count::Rest { batch, .. }) = made.count {
            let share = self.dealing().map_or(0, |dealing| dealing.documents(0));
            return share.div_ceil(u64::from(batch)).max(1);
        }
        slice_records(self.phase, self.request.seconds, self.period(number, made, all))
    }

    /// After so many records a phase of one operation is where it began: key and pool document.
    fn period(&self, number: usize, made: &Operation, all: u64) -> u64 {
        let collection = self.collections[number];
        let space = key_space(made, collection, self.populations[number].len());
        match self.phase.keys {
            _ if about(made.kind).inserts => {
                let pool = self.pools[number].max(1);
                pool / gcd(inserts(made), pool)
            }
            _ if collection.is_none() => 1,
            KeyChoice::Sequential => space / gcd(all, space),
            KeyChoice::Contiguous { .. } if space.is_multiple_of(all) => space / all,
            _ => 1,
        }
    }

    /// Open loop: one queue for all processes, of which this one takes its share. Together they do
    /// as much as one would.
    fn open(&self) -> Scheduled {
        let (process, processes) = self.request.workers.process();
        let wanted = queue_records(self.phase, self.request.seconds).max(processes);
        let mut sequence = self.sequence(0, 1);
        let mut arrivals = Arrivals::new(self.plan.seed, self.phase, self.request.round);
        let (mut records, mut parts) = (Vec::new(), Vec::new());
        let mut all = 0;
        while all < wanted {
            let others = parts.len();
            let Some(mut record) = self.record(&mut sequence, &mut parts) else { break };
            record.intended_ns = arrivals.next();
            if all % processes == process {
                records.push(record);
            } else {
                parts.truncate(others);
            }
            all += 1;
        }
        let length = records.len() as u64;
        let asked = match self.phase.limit {
            Limit::Operations { count, .. } if all > 0 => {
                let rest = count % all;
                let share = rest / processes + u64::from(process < rest % processes);
                Some(count / all * length + share)
            }
            _ => None,
        };
        let once = self.deletions.is_some().then_some(length);
        let limits = asked.into_iter().chain(once).min().map(|limit| vec![limit]);
        if records.is_empty() {
            records.push(Record::default());
        }
        let lap_ns = arrivals.next();
        let schedule = Schedule { slices: 1, lap_ns, guids: self.guids, records, parts };
        let steps = self.dealing().map(|dealing| dealing.steps(sequence.inserted));
        Scheduled { schedule, limits, steps: steps.unwrap_or_default() }
    }
}
