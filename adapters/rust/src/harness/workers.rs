//! The workers of a phase: what they take from the schedule, when, and what they record.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc::Receiver;
use tokio::task::{coop::consume_budget, JoinHandle};

use super::documents::{read_pool, Pool};
use super::files::{Job, Samples, Schedule};
use super::operations::Operation;
use super::phase::{turn_done, Phase, Tally, Turn};
use super::protocol::Session;
use super::timing::{now_ns, Alarm, STOP};
use crate::call::{Answer, ErrorEntry, Failure, Given, Kind};
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
struct Pacing {
    mode: Mode,
    #[serde(default)]
    think_ns: u64,
    size: Option<usize>,
}

#[derive(PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Awaited,
    Window,
    Rate,
    Burst,
}

/// Shared by all workers. Only the positions in the slices change.
struct Plan {
    clients: usize,
    by_operation: bool,
    schedule: Schedule,
    slices: Vec<Slice>,
    operations: Vec<Arc<Operation>>,
    pacing: Pacing,
    errors_consecutive_max: u32,
}

impl Plan {
    /// Makes what an operation is given, before its time begins.
    fn make(&self, job: &Job) -> Given {
        let operation = &self.operations[job.operation];
        if operation.kind != Kind::Transaction {
            return operation.make(job);
        }
        let parts = (0..job.count).map(|number| {
            let part = self.schedule.part(job, number);
            (part.operation, self.operations[part.operation].make(&part))
        });
        Given { parts: parts.collect(), ..Given::default() }
    }
}

/// A worker's part of the schedule, or the queue of all workers.
struct Slice {
    next: AtomicU64,
    limit: u64,
}

struct Timed {
    start_ns: u64,
    end_ns: u64,
    answer: mongodb::error::Result<Answer>,
    /// Attempts of a transaction, which its failure has as well.
    attempts: u64,
}

struct Worker {
    plan: Arc<Plan>,
    /// Number in this process, from 0.
    worker: usize,
    /// Number in all processes.
    number: u16,
    alarm: Option<Alarm>,
    samples: Samples,
    tally: Tally,
    /// T0 of the phase.
    origin_ns: u64,
    until_ns: u64,
    /// The last reading of the clock, or the end of think time, to be compared with the deadline.
    last_ns: u64,
}

impl Worker {
    /// Runs a turn; the task or thread ends with it. Rejected: a task that waits on a barrier
    /// between turns. Waking it costs more than spawning one, and the worker's state would need a
    /// lock.
    async fn turn(mut self, origin_ns: u64, began_ns: u64, until_ns: u64) -> io::Result<Worker> {
        (self.origin_ns, self.last_ns, self.until_ns) = (origin_ns, began_ns, until_ns);
        self.samples.written_ns = began_ns;
        match self.plan.pacing.mode {
            Mode::Window | Mode::Burst if !dialect::BLOCKS => self.side_by_side().await?,
            _ => self.one_by_one().await?,
        }
        self.samples.flush()?;
        Ok(self)
    }

    async fn one_by_one(&mut self) -> io::Result<()> {
        let mut clock_ns = self.last_ns;
        while let Some(job) = self.take() {
            let due_ns = job.intended_ns.unwrap_or(self.last_ns);
            if let (true, Some(alarm)) = (due_ns > clock_ns, &self.alarm) {
                alarm.sleep_until(due_ns).await?;
                if STOP.initialized() {
                    break;
                }
            }
            let operation = &self.plan.operations[job.operation];
            let mut given = self.plan.make(&job);
            let start_ns = now_ns();
            let answer = operation.call(&self.plan.operations, job.client, &mut given).await;
            let timed = Timed { start_ns, end_ns: now_ns(), answer, attempts: given.attempts };
            clock_ns = timed.end_ns;
            // A noop never yields: the other workers of this thread, and SIGTERM, would wait.
            if operation.kind == Kind::Noop {
                consume_budget().await;
            }
            self.record(&job, timed)?;
            // A worker whose think time ends after the deadline stops at once.
            self.last_ns += self.plan.pacing.think_ns;
        }
        Ok(())
    }

    /// Spawns a task per operation, as an application does that does not await each. Ended tasks at
    /// the front are collected, so that memory holds what is in flight.
    async fn side_by_side(&mut self) -> io::Result<()> {
        let mut in_flight = VecDeque::new();
        while let Some(job) = self.take() {
            in_flight.push_back(tokio::spawn(self.issued(job)));
            while Some(in_flight.len()) == self.plan.pacing.size
                || in_flight.front().is_some_and(JoinHandle::is_finished)
            {
                let Some(oldest) = in_flight.pop_front() else { break };
                let (job, timed) = oldest.await?;
                self.record(&job, timed)?;
            }
            if self.plan.pacing.mode == Mode::Burst {
                self.last_ns = now_ns();
            }
            consume_budget().await;
        }
        for task in in_flight {
            let (job, timed) = task.await?;
            self.record(&job, timed)?;
        }
        Ok(())
    }

    /// The call as a future for a separate task. Its documents are made by now.
    fn issued(&self, job: Job) -> impl Future<Output = (Job, Timed)> + Send + 'static {
        let plan = Arc::clone(&self.plan);
        let mut given = plan.make(&job);
        async move {
            let operation = &plan.operations[job.operation];
            let start_ns = now_ns();
            let answer = operation.call(&plan.operations, job.client, &mut given).await;
            let timed = Timed { start_ns, end_ns: now_ns(), answer, attempts: given.attempts };
            (job, timed)
        }
    }

    /// The next operation; None if the worker has to stop before it.
    fn take(&self) -> Option<Job> {
        let plan = &*self.plan;
        if self.tally.gave_up || self.last_ns >= self.until_ns || STOP.initialized() {
            return None;
        }
        let number = if plan.slices.len() == 1 { 0 } else { self.worker };
        let slice = &plan.slices[number];
        let intended_ns = |index| self.origin_ns + plan.schedule.intended_ns(number, index);
        // A record that is due after this turn stays in the queue for the next one.
        let rate = plan.pacing.mode == Mode::Rate;
        let due = |index| !rate || intended_ns(index) < self.until_ns;
        let after = |index| (index < slice.limit && due(index)).then_some(index + 1);
        let index = slice.next.fetch_update(Relaxed, Relaxed, after).ok()?;
        let mut job = plan.schedule.job(number, index);
        job.input.producer = i64::from(self.number);
        // Workers that share a queue have one slice, number 0.
        let client = if plan.by_operation { number + index as usize } else { self.worker };
        job.client = client % plan.clients;
        job.intended_ns = match plan.pacing.mode {
            Mode::Rate => Some(intended_ns(index)),
            Mode::Burst => Some(self.origin_ns),
            Mode::Awaited | Mode::Window => None,
        };
        Some(job)
    }

    fn record(&mut self, job: &Job, timed: Timed) -> io::Result<()> {
        let Timed { start_ns, end_ns, answer, attempts } = timed;
        self.tally.retries += attempts.saturating_sub(1);
        let outcome = match answer {
            Ok(Answer { right: true, documents, sum }) => {
                self.tally.right(documents, sum);
                0
            }
            wrong => {
                let name = &self.plan.operations[job.operation].name;
                let entry = wrong.map_or_else(ErrorEntry::from, |_| {
                    ErrorEntry::own("WrongAnswer", format!("{name}: not the answer expected"))
                });
                let outcome = entry.outcome;
                self.tally.failed(entry, self.plan.errors_consecutive_max);
                outcome
            }
        };
        self.last_ns = self.last_ns.max(end_ns);
        let times = [job.intended_ns.unwrap_or(start_ns), start_ns, end_ns - start_ns];
        self.samples.push(times, job.index, job.operation, outcome, self.number)
    }
}

pub fn prepare(message: Value, session: &Session) -> Result<Phase, Failure> {
    // The core's messages are right, except for a pacing or a kind that is not known here.
    let message = serde_json::from_value::<Prepare>(message);
    let message = message.map_err(|error| Failure::new("unsupported", error))?;
    let schedule = Schedule::read(&message.schedule, message.lap_step, message.item_step)?;
    let pools = message.pools.iter().map(|path| read_pool(path));
    let pools = Arc::new(pools.collect::<Result<Vec<Pool>, _>>()?);
    let operations = message.operations.into_iter();
    let operations = operations.map(|operation| operation.bind(&session.clients, &pools));
    let most = if schedule.slice_records == 0 { 0 } else { u64::MAX };
    let limits = message.limits.unwrap_or_else(|| vec![most; schedule.slices]);
    let slices = limits.iter().map(|limit| Slice { next: 0.into(), limit: most.min(*limit) });
    let plan = Arc::new(Plan {
        clients: session.clients.len().max(1),
        by_operation: session.by_operation,
        slices: slices.collect(),
        schedule,
        operations: operations.collect::<Result<_, _>>()?,
        pacing: message.pacing,
        errors_consecutive_max: message.errors_consecutive_max,
    });
    let file = Samples::create(&message.samples)?;
    // A worker that never sleeps needs no file descriptor for a timer.
    let sleeps = plan.pacing.mode == Mode::Rate || plan.pacing.think_ns > 0;
    let worker = |worker| -> io::Result<Worker> {
        Ok(Worker {
            plan: Arc::clone(&plan),
            worker,
            number: message.first_worker + worker as u16,
            alarm: sleeps.then(Alarm::new).transpose()?,
            samples: Samples::new(&file),
            tally: Tally::default(),
            origin_ns: 0,
            until_ns: 0,
            last_ns: 0,
        })
    };
    let workers = (0..message.workers).map(worker).collect::<io::Result<_>>()?;
    Ok(Phase::begin(|turns| run(plan, workers, turns)))
}

async fn run(
    plan: Arc<Plan>,
    mut workers: Vec<Worker>,
    mut turns: Receiver<Turn>,
) -> Result<Value, Failure> {
    let mut origin_ns = None;
    while let Some((until_ns, answer)) = turns.recv().await {
        let began_ns = now_ns();
        let origin_ns = *origin_ns.get_or_insert(began_ns);
        let turn = |worker: Worker| dialect::spawn(worker.turn(origin_ns, began_ns, until_ns));
        let tasks: Vec<_> = workers.drain(..).map(turn).collect();
        for task in tasks {
            workers.push(task.await??);
        }
        let exhausted = |slice: &Slice| slice.next.load(Relaxed) >= slice.limit;
        let exhausted = plan.slices.iter().all(exhausted);
        let gave_up = workers.iter().any(|worker| worker.tally.gave_up);
        // It is not received if the core has ended.
        let _ = answer.send(turn_done(began_ns, exhausted, gave_up));
    }
    let tallies = workers.into_iter().map(|worker| worker.tally);
    let all = tallies.fold(Tally::default(), Tally::merge);
    let mut ended = all.ended();
    if plan.operations.iter().any(|operation| operation.kind == Kind::Transaction) {
        ended["totals"]["retries"] = all.retries.into();
    }
    Ok(ended)
}
