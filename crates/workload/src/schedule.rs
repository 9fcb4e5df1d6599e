//! Computes the schedules of a phase: which key, which document, which operation, when.

use super::keys::Keys;
use super::meaning::{key_space, needs_one_lap, takes_guid};
use super::operations::{about, inserts};
use super::plan::{Collection, Counter, KeyChoice, KeySource, Limit, Pacing, Phase, Plan};
use super::random::{Random, guid_of};
pub use super::schedule_file::{Record, Schedule};

/// Records of a slice and of a file, at most: 6 MB and 25 MB.
const SLICE_RECORDS_MAX: u64 = 262_144;
const FILE_RECORDS_MAX: u64 = 1_048_576;
/// Keys of one deleting phase, at most: beyond what fits its files, only memory would grow.
const DELETED_MAX: u64 = 1 << 24;
/// More than any worker does in a second: a slice rarely comes to its second lap.
const OPERATIONS_PER_SECOND: f64 = 20_000.0;
/// The core cannot know the keys of an open loop's inserts. Their guids are made of numbers from
/// here on, where no key lies.
const GUID_NUMBERS: u64 = 1 << 60;

/// Which schedule is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    pub phase: usize,
    pub process: u32,
    /// Number of the round (or of the warm-up): other numbers give other keys.
    pub round: u64,
    /// Seconds measured, where the phase is not limited by operations.
    pub seconds: f64,
}

/// A schedule and the limits that go with it into `prepare`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheduled {
    pub schedule: Schedule,
    /// Largest number of operations per slice; None: none.
    pub limits: Option<Vec<u64>>,
}

/// Keys of the documents that a phase inserts.
pub fn counter(plan: &Plan, phase: &Phase) -> Counter {
    let used = || phase.operations.iter().filter_map(|made| plan.collection(made));
    let inserted = phase.operations.iter().find(|made| made.key == KeySource::Counter);
    let loaded = inserted.and_then(|made| plan.collection(made));
    Counter {
        first: used().map(|collection| collection.loaded).max().unwrap_or(0),
        stride: u64::from(phase.workers) * u64::from(phase.processes),
        loaded: loaded.map_or(0, |collection| collection.loaded),
    }
}

pub fn schedule(plan: &Plan, request: &Request) -> Scheduled {
    let phase = &plan.phases[request.phase];
    let maker = Maker::new(plan, phase, request);
    if phase.pacing.is_open() { maker.open() } else { maker.closed() }
}

struct Maker<'a> {
    plan: &'a Plan,
    phase: &'a Phase,
    request: &'a Request,
    counter: Counter,
    /// Per operation: its collection, its keys.
    collections: Vec<Option<&'a Collection>>,
    keys: Vec<Keys>,
    guids: bool,
    one_lap: bool,
    /// Keys to delete, in order; None where nothing is deleted.
    deleted: Option<Vec<u64>>,
}

/// Where one sequence of records has got to.
struct Sequence {
    random: Random,
    /// Number of the sequence and of all of them: positions are dealt in turn.
    number: u64,
    of: u64,
    position: u64,
    inserted: u64,
    deleted: u64,
}

impl<'a> Maker<'a> {
    fn new(plan: &'a Plan, phase: &'a Phase, request: &'a Request) -> Self {
        let collections: Vec<_> =
            phase.operations.iter().map(|made| plan.collection(made)).collect();
        let keys = phase
            .operations
            .iter()
            .zip(&collections)
            .map(|(made, collection)| Keys::new(phase.keys, key_space(made, *collection)));
        let deletes = phase.operations.iter().zip(&collections);
        let deletes = deletes.filter(|(made, _)| about(made.kind).deletes);
        let deletable =
            deletes.filter_map(|(_, collection)| Some(collection.as_ref()?.loaded)).min();
        Self {
            keys: keys.collect(),
            counter: counter(plan, phase),
            guids: phase.operations.iter().any(takes_guid),
            one_lap: phase.operations.iter().any(needs_one_lap),
            deleted: deletable.map(|loaded| deletion_order(plan, phase, request, loaded)),
            collections,
            plan,
            phase,
            request,
        }
    }

    fn sequence(&self, number: u64, of: u64) -> Sequence {
        let label = format!("schedule/{}", self.phase.name);
        let random = Random::new(self.plan.seed, &label, &[self.request.round, number]);
        Sequence { random, number, of, position: 0, inserted: 0, deleted: 0 }
    }

    /// The next record; None where nothing is left to delete.
    fn record(&self, sequence: &mut Sequence) -> Option<Record> {
        let operation = match &self.phase.weights[..] {
            [_] => 0,
            weights => sequence.random.weighted(weights),
        };
        let made = &self.phase.operations[operation];
        let position = sequence.number + sequence.of * sequence.position;
        let pool = self.collections[operation].map_or(0, |it| u64::from(it.pool_documents));
        let mut record = Record { operation: operation as u8, ..Record::default() };
        match made.key {
            KeySource::Counter => {
                // In a shared queue no one knows which worker takes it: the key is a number only.
                let shared = sequence.of == 1 && self.phase.pacing.is_open();
                let key = position_key(&self.counter, sequence, shared);
                record.key = if shared { 0 } else { key };
                record.document = (sequence.inserted % pool.max(1)) as u32;
                record.guid = guid_of(self.plan.seed, key);
                sequence.inserted += inserts(made);
            }
            KeySource::Latest => record.key = self.keys[operation].offset(&mut sequence.random),
            KeySource::Schedule if about(made.kind).deletes => {
                let at = sequence.number + sequence.of * sequence.deleted;
                record.key = *self.deleted.as_ref()?.get(at as usize)?;
                sequence.deleted += 1;
            }
            KeySource::Schedule => {
                record.key = self.keys[operation].key(&mut sequence.random, position);
            }
        }
        if made.key == KeySource::Schedule {
            record.guid = guid_of(self.plan.seed, record.key);
            if made.documents.is_some() {
                record.document = sequence.random.below(pool) as u32;
            }
        }
        if !self.guids {
            record.guid = [0; 16];
        }
        sequence.position += 1;
        Some(record)
    }

    /// Closed loop: a slice for each worker of this process.
    fn closed(&self) -> Scheduled {
        let workers = u64::from(self.phase.workers);
        let all = workers * u64::from(self.phase.processes);
        let wanted = self.slice_records(all);
        let mut slices = Vec::new();
        let mut ends = Vec::new();
        for worker in 0..workers {
            let number = u64::from(self.request.process) * workers + worker;
            let mut sequence = self.sequence(number, all);
            let slice: Vec<Record> =
                (0..wanted).map_while(|_| self.record(&mut sequence)).collect();
            let asked = match self.phase.limit {
                Limit::Operations { count, .. } => {
                    Some(count / all + u64::from(number < count % all))
                }
                Limit::Duration { .. } => None,
            };
            let ends_once = self.deleted.is_some() || self.one_lap;
            let once = ends_once.then_some(slice.len() as u64);
            ends.push(asked.into_iter().chain(once).min());
            slices.push(slice);
        }
        let length = slices.iter().map(Vec::len).max().unwrap_or(0).max(1);
        for slice in &mut slices {
            // Slices are equally long; what is filled in lies behind the slice's limit.
            slice.resize(length, Record::default());
        }
        let schedule = Schedule {
            slices: self.phase.workers,
            lap_ns: 0,
            guids: self.guids,
            records: slices.concat(),
        };
        Scheduled { schedule, limits: ends.into_iter().collect() }
    }

    /// Records of a slice: enough for the phase, and so many that laps join seamlessly.
    fn slice_records(&self, all: u64) -> u64 {
        let workers = u64::from(self.phase.workers);
        let most = SLICE_RECORDS_MAX.min(FILE_RECORDS_MAX / workers).max(1);
        if let Some(deleted) = &self.deleted {
            let single = self.phase.operations.len() == 1;
            let keys = (deleted.len() as u64).div_ceil(all).max(1);
            // One slice more than fits would leave documents undeleted: the file's bound alone.
            return if single { keys.min(FILE_RECORDS_MAX / workers).max(1) } else { most };
        }
        let wanted = match self.phase.limit {
            Limit::Operations { count, .. } if count.div_ceil(all) <= most => {
                return count.div_ceil(all).max(1);
            }
            Limit::Operations { .. } => most,
            Limit::Duration { .. } => {
                let records = (self.request.seconds * OPERATIONS_PER_SECOND).ceil();
                (records as u64).clamp(1024, most.max(1024)).min(most)
            }
        };
        let period = self.period(all);
        let rounded = wanted.div_ceil(period) * period;
        let fitting = if rounded <= most { rounded } else { most / period * period };
        if fitting == 0 { wanted } else { fitting }
    }

    /// After so many records a phase of one operation is where it began: key and pool document.
    fn period(&self, all: u64) -> u64 {
        let ([made], [Some(collection)]) = (&self.phase.operations[..], &self.collections[..])
        else {
            return 1;
        };
        let pool = u64::from(collection.pool_documents).max(1);
        match (made.key, self.phase.keys) {
            (KeySource::Counter, _) => pool / gcd(inserts(made), pool),
            (KeySource::Schedule, KeyChoice::Sequential) => {
                let space = key_space(made, Some(collection));
                space / gcd(all, space)
            }
            _ => 1,
        }
    }

    /// Open loop: one queue for all processes, of which this one takes its share. Together they do
    /// as much as one would.
    fn open(&self) -> Scheduled {
        let processes = u64::from(self.phase.processes);
        let process = u64::from(self.request.process);
        let wanted = self.queue_records().max(processes);
        let mut sequence = self.sequence(0, 1);
        let mut arrivals = Arrivals::new(self);
        let mut records = Vec::new();
        let mut all = 0;
        while all < wanted {
            let Some(mut record) = self.record(&mut sequence) else { break };
            record.intended_ns = arrivals.next();
            let made = &self.phase.operations[usize::from(record.operation)];
            if self.guids && made.key == KeySource::Counter {
                record.guid = guid_of(self.plan.seed, GUID_NUMBERS + all);
            }
            if all % processes == process {
                records.push(record);
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
        let once = (self.deleted.is_some() || self.one_lap).then_some(length);
        let limits = asked.into_iter().chain(once).min().map(|limit| vec![limit]);
        if records.is_empty() {
            records.push(Record::default());
        }
        let lap_ns = arrivals.next();
        let schedule = Schedule { slices: 1, lap_ns, guids: self.guids, records };
        Scheduled { schedule, limits }
    }

    fn queue_records(&self) -> u64 {
        let wanted = match (self.phase.limit, self.phase.pacing) {
            (Limit::Operations { count, .. }, _) => count,
            (_, Pacing::Rate { per_second, .. }) => {
                // A little more than is due, so that the last of them is no lap's first.
                (per_second * self.request.seconds * 1.05).ceil() as u64
            }
            _ => 1,
        };
        wanted.clamp(1, FILE_RECORDS_MAX)
    }
}

fn position_key(counter: &Counter, sequence: &Sequence, shared: bool) -> u64 {
    if shared {
        return counter.first + sequence.inserted;
    }
    counter.first + sequence.number + counter.stride * sequence.inserted
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}

/// Every loaded key once: in order, or shuffled where keys are chosen at random.
fn deletion_order(plan: &Plan, phase: &Phase, request: &Request, loaded: u64) -> Vec<u64> {
    let most = (FILE_RECORDS_MAX * u64::from(phase.processes)).min(DELETED_MAX);
    let mut order: Vec<u64> = (0..loaded.min(most)).collect();
    if phase.keys != KeyChoice::Sequential {
        let label = format!("deletions/{}", phase.name);
        let mut random = Random::new(plan.seed, &label, &[request.round]);
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last as u64 + 1) as usize);
        }
    }
    order
}

/// Intended times of an open loop.
struct Arrivals {
    random: Random,
    number: u64,
    per_second: f64,
    poisson: bool,
    elapsed_s: f64,
}

impl Arrivals {
    fn new(maker: &Maker<'_>) -> Self {
        let label = format!("arrivals/{}", maker.phase.name);
        let random = Random::new(maker.plan.seed, &label, &[maker.request.round]);
        let (per_second, poisson) = match maker.phase.pacing {
            Pacing::Rate { per_second, poisson } => (per_second, poisson),
            _ => (f64::INFINITY, false),
        };
        Self { random, number: 0, per_second, poisson, elapsed_s: 0.0 }
    }

    fn next(&mut self) -> u64 {
        let intended_s =
            if self.poisson { self.elapsed_s } else { self.number as f64 / self.per_second };
        self.number += 1;
        if self.poisson {
            self.elapsed_s += self.random.exponential() / self.per_second;
        }
        (intended_s * 1e9).round() as u64
    }
}
