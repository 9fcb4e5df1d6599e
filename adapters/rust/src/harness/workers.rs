//! The workers of a phase: what they take from the schedule, when, and what they record.

use std::collections::VecDeque;
use std::fs::File;
use std::future::Future;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::{json, Value};
use tokio::task::{coop::consume_budget, JoinHandle};

use super::documents::{read_pool, Pool};
use super::operations::{Answer, Given, Operation};
use super::protocol::{count_error, Deal, ErrorEntry, Failure, Session};
use super::samples::{Sample, Samples};
use super::schedule::{Job, Schedule};
use super::timing::{Alarm, Clock, Stop};
use crate::dialect;

#[derive(Deserialize)]
struct Prepare {
    samples: PathBuf,
    schedule: PathBuf,
    pools: Vec<PathBuf>,
    workers: usize,
    first_worker: u16,
    limits: Option<Vec<u64>>,
    pacing: Pacing,
    lap_step: u64,
    item_step: u64,
    errors_consecutive_max: u32,
    operations: Vec<Operation>,
}

#[derive(Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
enum Pacing {
    Awaited {
        #[serde(default)]
        think_ns: u64,
    },
    Window {
        size: NonZeroUsize,
    },
    Rate,
    Burst,
}

/// Shared by all workers. Only the positions in the slices change.
struct Plan {
    clock: Clock,
    stop: Arc<Stop>,
    schedule: Schedule,
    slices: Vec<Slice>,
    operations: Vec<Arc<Operation>>,
    clients: usize,
    deal: Deal,
    pacing: Pacing,
    errors_consecutive_max: u32,
}

/// A worker's part of the schedule, or the queue of all workers.
struct Slice {
    next: AtomicU64,
    limit: u64,
}

struct Timed {
    start_ns: u64,
    end_ns: u64,
    answer: dialect::Result<Answer>,
}

impl Plan {
    async fn call(&self, job: &Job, given: Given) -> Timed {
        let operation = &self.operations[job.operation];
        let start_ns = self.clock.now_ns();
        let answer = operation.call(job.client, given).await;
        let end_ns = self.clock.now_ns();
        Timed { start_ns, end_ns, answer }
    }
}

struct Worker {
    plan: Arc<Plan>,
    /// In this process, from 0.
    worker: usize,
    slice: usize,
    /// In all processes.
    number: u16,
    alarm: Option<Alarm>,
    samples: Samples,
    errors_consecutive: u32,
    gave_up: bool,
    /// T0 of the phase.
    origin_ns: u64,
    until_ns: u64,
    /// The last reading of the clock, to be compared with the deadline.
    last_ns: u64,
    documents: u64,
    sum: i64,
    errors: Vec<ErrorEntry>,
}

impl Worker {
    fn new(
        plan: &Arc<Plan>,
        file: &Arc<Mutex<File>>,
        first_worker: u16,
        worker: usize,
    ) -> io::Result<Worker> {
        // A worker that never sleeps needs no file descriptor for a timer.
        let sleeps = matches!(plan.pacing, Pacing::Rate | Pacing::Awaited { think_ns: 1.. });
        Ok(Worker {
            plan: Arc::clone(plan),
            worker,
            slice: if plan.slices.len() == 1 { 0 } else { worker },
            number: first_worker + worker as u16,
            alarm: sleeps.then(|| Alarm::new(plan.clock, &plan.stop)).transpose()?,
            samples: Samples::new(file),
            errors_consecutive: 0,
            gave_up: false,
            origin_ns: 0,
            until_ns: 0,
            last_ns: 0,
            documents: 0,
            sum: 0,
            errors: Vec::new(),
        })
    }

    /// Runs a turn; the task ends with it. Rejected: a task that waits on a barrier between turns.
    /// To wake it costs more than to spawn one, and the worker's state would need a lock.
    async fn turn(mut self, origin_ns: u64, began_ns: u64, until_ns: u64) -> io::Result<Worker> {
        (self.origin_ns, self.last_ns, self.until_ns) = (origin_ns, began_ns, until_ns);
        self.samples.begin(began_ns);
        match self.plan.pacing {
            Pacing::Awaited { think_ns } => self.one_by_one(think_ns).await?,
            Pacing::Rate => self.one_by_one(0).await?,
            Pacing::Window { size } => self.side_by_side(size.get()).await?,
            Pacing::Burst => self.side_by_side(usize::MAX).await?,
        }
        self.samples.flush()?;
        Ok(self)
    }

    async fn one_by_one(&mut self, think_ns: u64) -> io::Result<()> {
        while let Some(job) = self.take() {
            if let Some(intended_ns) = job.intended_ns.filter(|at_ns| *at_ns > self.last_ns) {
                self.sleep_until(intended_ns).await?;
                if self.plan.stop.is_raised() {
                    break;
                }
            }
            let given = self.plan.operations[job.operation].make(&job);
            let timed = self.plan.call(&job, given).await;
            self.record(&job, timed)?;
            if think_ns > 0 {
                // A worker whose think time ends after the deadline stops at once.
                self.last_ns += think_ns;
                if self.last_ns < self.until_ns {
                    self.sleep_until(self.last_ns).await?;
                }
            }
            // A noop never yields: the other workers of this thread, and SIGTERM, would wait.
            consume_budget().await;
        }
        Ok(())
    }

    /// Spawns a task per operation, as an application does that does not await each. Those at the
    /// front that have ended are taken off, so that memory holds what is in flight.
    async fn side_by_side(&mut self, size: usize) -> io::Result<()> {
        let mut in_flight = VecDeque::new();
        while let Some(job) = self.take() {
            in_flight.push_back(dialect::spawn(self.issued(job)));
            while in_flight.len() == size || in_flight.front().is_some_and(JoinHandle::is_finished)
            {
                let Some(oldest) = in_flight.pop_front() else { break };
                let (timed, job) = oldest.await?;
                self.record(&job, timed)?;
            }
            if matches!(self.plan.pacing, Pacing::Burst) {
                self.last_ns = self.plan.clock.now_ns();
            }
            consume_budget().await;
        }
        for task in in_flight {
            let (timed, job) = task.await?;
            self.record(&job, timed)?;
        }
        Ok(())
    }

    /// The call as a future for a task of its own. Its documents are made by now.
    fn issued(&self, job: Job) -> impl Future<Output = (Timed, Job)> + Send + 'static {
        let plan = Arc::clone(&self.plan);
        let given = plan.operations[job.operation].make(&job);
        async move { (plan.call(&job, given).await, job) }
    }

    async fn sleep_until(&self, at_ns: u64) -> io::Result<()> {
        match &self.alarm {
            Some(alarm) => alarm.sleep_until(at_ns).await,
            None => Ok(()),
        }
    }

    /// The next operation; None if the worker has to stop before it.
    fn take(&self) -> Option<Job> {
        let plan = &*self.plan;
        if self.gave_up || self.last_ns >= self.until_ns || plan.stop.is_raised() {
            return None;
        }
        let slice = &plan.slices[self.slice];
        let intended_ns = |index| self.origin_ns + plan.schedule.intended_ns(self.slice, index);
        // A record that is due after this turn stays in the queue for the next one.
        let rate = matches!(plan.pacing, Pacing::Rate);
        let due = |index| !rate || intended_ns(index) < self.until_ns;
        let after = |index| (index < slice.limit && due(index)).then_some(index + 1);
        let index = slice.next.fetch_update(Relaxed, Relaxed, after).ok()?;
        let mut job = plan.schedule.job(self.slice, index);
        // Workers that share a queue have one slice, number 0.
        let client = match plan.deal {
            Deal::Worker => self.worker,
            Deal::Operation => self.slice + index as usize,
        };
        job.client = client % plan.clients;
        job.intended_ns = match plan.pacing {
            Pacing::Rate => Some(intended_ns(index)),
            Pacing::Burst => Some(self.origin_ns),
            _ => None,
        };
        job.input.producer = i64::from(self.number);
        job.input.clock = Some(plan.clock);
        Some(job)
    }

    fn record(&mut self, job: &Job, timed: Timed) -> io::Result<()> {
        let error = match timed.answer {
            Ok(answer) if answer.right => {
                self.documents += answer.documents;
                self.sum += answer.sum;
                None
            }
            Ok(_) => {
                let name = &self.plan.operations[job.operation].name;
                let message = format!("{name}: not the answer expected");
                Some(ErrorEntry::own("WrongAnswer", message))
            }
            Err(error) => Some(ErrorEntry::from(error)),
        };
        let outcome = error.as_ref().map_or(0, |entry| entry.outcome);
        match error {
            Some(entry) => {
                self.errors_consecutive += 1;
                self.gave_up |= self.errors_consecutive >= self.plan.errors_consecutive_max;
                count_error(&mut self.errors, entry);
            }
            None => self.errors_consecutive = 0,
        }
        self.last_ns = self.last_ns.max(timed.end_ns);
        self.samples.push(&Sample {
            intended_ns: job.intended_ns.unwrap_or(timed.start_ns),
            start_ns: timed.start_ns,
            service_ns: timed.end_ns - timed.start_ns,
            index: job.index as u32,
            operation: job.operation as u8,
            outcome,
            worker: self.number,
        })
    }
}

/// A phase between `ready` and `ended`.
pub struct Phase {
    plan: Arc<Plan>,
    workers: Vec<Worker>,
    origin_ns: Option<u64>,
}

impl Phase {
    pub fn prepare(message: Value, session: &Session) -> Result<Phase, Failure> {
        // The core's messages are right, but for a pacing or a kind that is not known here.
        let message: Prepare = serde_json::from_value(message).map_err(Failure::unsupported)?;
        let schedule = Schedule::read(&message.schedule, message.lap_step, message.item_step)?;
        let pools = message.pools.iter().map(|path| read_pool(path));
        let pools = Arc::new(pools.collect::<Result<Vec<Pool>, _>>()?);
        let operations = message.operations.into_iter();
        let operations = operations.map(|operation| operation.bind(&session.clients, &pools));
        let most = if schedule.slice_records == 0 { 0 } else { u64::MAX };
        let limits = message.limits.unwrap_or_else(|| vec![most; schedule.slices]);
        let slices = limits.iter().map(|limit| Slice { next: 0.into(), limit: most.min(*limit) });
        let plan = Arc::new(Plan {
            clock: session.clock,
            stop: Arc::clone(&session.stop),
            slices: slices.collect(),
            schedule,
            operations: operations.collect::<Result<_, _>>()?,
            clients: session.clients.len().max(1),
            deal: session.deal,
            pacing: message.pacing,
            errors_consecutive_max: message.errors_consecutive_max,
        });
        let file = Samples::create(&message.samples)?;
        let workers = (0..message.workers)
            .map(|worker| Worker::new(&plan, &file, message.first_worker, worker));
        Ok(Phase { workers: workers.collect::<io::Result<_>>()?, plan, origin_ns: None })
    }

    pub async fn turn(&mut self, until_ns: u64) -> Result<Value, Failure> {
        let began_ns = self.plan.clock.now_ns();
        let origin_ns = *self.origin_ns.get_or_insert(began_ns);
        let workers = self.workers.drain(..);
        let tasks =
            workers.map(|worker| dialect::spawn(worker.turn(origin_ns, began_ns, until_ns)));
        for task in tasks.collect::<Vec<_>>() {
            self.workers.push(task.await??);
        }
        let exhausted = |slice: &Slice| slice.next.load(Relaxed) >= slice.limit;
        Ok(json!({
            "type": "turn_done",
            "began_ns": began_ns,
            "exhausted": self.plan.slices.iter().all(exhausted),
            "gave_up": self.workers.iter().any(|worker| worker.gave_up),
        }))
    }

    /// The samples are written by now. The file closes here.
    pub fn end(self) -> Value {
        let documents: u64 = self.workers.iter().map(|worker| worker.documents).sum();
        let sum: i64 = self.workers.iter().map(|worker| worker.sum).sum();
        let mut errors = Vec::new();
        let found = self.workers.into_iter().flat_map(|worker| worker.errors);
        found.for_each(|entry| count_error(&mut errors, entry));
        json!({
            "type": "ended",
            "totals": { "documents": documents, "sum": sum },
            "errors": errors,
        })
    }
}
