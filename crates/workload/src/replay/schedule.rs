//! Computes the schedules of a phase: which key, which document, which operation, when.

use super::arrivals::Arrivals;
use super::deletions::deletes_alone;
use super::draw::Draw;
pub use super::schedule_file::{Record, Schedule};
use super::schedule_length::{
    FILE_RECORDS_MAX, gcd, queue_records, slice_records, slice_records_max,
};
pub use super::schedule_request::{ScheduleRequest, Workers, split};
use super::selected_documents::key_space;
pub use super::steps::Steps;
use crate::operations::{about, inserts};
use crate::plan::{Count, KeyChoice, Limit, Operation, Plan};

/// A schedule and what goes with it into `prepare`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheduled {
    pub schedule: Schedule,
    /// Largest number of operations per slice; None: none.
    pub limits: Option<Vec<u64>>,
    pub steps: Steps,
}

pub fn schedule(plan: &Plan, request: &ScheduleRequest) -> Scheduled {
    let phase = &plan.phases[request.phase];
    if !phase.sequence.is_empty() {
        return one_after_the_other(plan, request);
    }
    let draw = Draw::new(plan, phase, request);
    if phase.pacing.is_open() { draw.open() } else { draw.closed() }
}

/// The slices of a sequence's stretches, each within its first lap.
fn one_after_the_other(plan: &Plan, request: &ScheduleRequest) -> Scheduled {
    let (plan, numbers) = plan.unrolled(request.phase);
    let made = |phase| (phase, schedule(&plan, &ScheduleRequest { phase, ..*request }));
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

impl Draw<'_> {
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
                Steps { lap: apart * length * deletions.length, item: 0 }
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
            let keys = deletions.stretches.div_ceil(all).min(asked);
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
            _ if about(made.kind).inserts() => {
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
