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
use tokio::task::coop::consume_budget;
use tokio::task::JoinSet;

use crate::calls::{Answer, Calls, Operation};
use crate::documents::{read_pool, Input, Pool};
use crate::errors::{count_error, ErrorEntry, Failure};
use crate::operations::{self, is_timeout, Database};
use crate::protocol::{Deal, Sample, Samples, Schedule};
use crate::timing::{Alarm, Clock, Stop};

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
    operations: Vec<Value>,
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
    operations: Vec<Operation>,
    clients: usize,
    deal: Deal,
    pacing: Pacing,
    item_step: u64,
    errors_consecutive_max: u32,
}

/// A worker's part of the schedule. If there is one slice alone, all workers share it as a queue.
struct Slice {
    next: AtomicU64,
    limit: u64,
}

#[derive(Clone, Copy)]
struct Turn {
    /// T0 of the phase.
    origin_ns: u64,
    until_ns: u64,
}

/// An operation that was taken from the schedule.
pub struct Job {
    index: u64,
    operation: usize,
    client: usize,
    pub document: usize,
    pub count: u32,
    /// None in a closed loop, where it is due whenever it starts.
    intended_ns: Option<u64>,
    pub input: Input,
}

struct Timed {
    start_ns: u64,
    end_ns: u64,
    answer: operations::Result<Answer>,
}

impl Plan {
    fn make(&self, job: &Job) -> Calls {
        self.operations[job.operation].make(job)
    }

    async fn call(&self, job: &Job, calls: Calls) -> Timed {
        let operation = &self.operations[job.operation];
        let start_ns = self.clock.now_ns();
        let answer = operation.call(job.client, calls).await;
        let end_ns = self.clock.now_ns();
        Timed { start_ns, end_ns, answer }
    }

    fn exhausted(&self) -> bool {
        self.slices.iter().all(|slice| slice.next.load(Relaxed) >= slice.limit)
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
            last_ns: 0,
            documents: 0,
            sum: 0,
            errors: Vec::new(),
        })
    }

    /// Runs a turn; the task ends with it. Rejected: a task that waits on a barrier between turns.
    /// To wake it costs more than to spawn one, and the worker's state would need a lock.
    async fn turn(mut self, began_ns: u64, turn: Turn) -> io::Result<Worker> {
        self.last_ns = began_ns;
        self.samples.begin(began_ns);
        match self.plan.pacing {
            Pacing::Awaited { think_ns } => self.one_by_one(turn, think_ns).await?,
            Pacing::Rate => self.one_by_one(turn, 0).await?,
            Pacing::Window { size } => self.side_by_side(turn, size.get()).await?,
            Pacing::Burst => self.all_at_once(turn).await?,
        }
        self.samples.flush()?;
        Ok(self)
    }

    async fn one_by_one(&mut self, turn: Turn, think_ns: u64) -> io::Result<()> {
        while let Some(job) = self.take(turn) {
            if let Some(intended_ns) = job.intended_ns.filter(|at_ns| *at_ns > self.last_ns) {
                self.sleep_until(intended_ns).await?;
                if self.plan.stop.is_raised() {
                    break;
                }
            }
            let calls = self.plan.make(&job);
            let timed = self.plan.call(&job, calls).await;
            self.record(&job, timed)?;
            if think_ns > 0 {
                // A worker whose think time ends after the deadline stops at once.
                self.last_ns += think_ns;
                if self.last_ns < turn.until_ns {
                    self.sleep_until(self.last_ns).await?;
                }
            }
            // A noop never yields: the other workers of this thread, and SIGTERM, would wait.
            consume_budget().await;
        }
        Ok(())
    }

    /// Spawns a task per operation, as an application does that does not await each.
    async fn side_by_side(&mut self, turn: Turn, size: usize) -> io::Result<()> {
        let mut in_flight = VecDeque::new();
        while let Some(job) = self.take(turn) {
            in_flight.push_back(tokio::spawn(self.issued(job)));
            if in_flight.len() == size {
                if let Some(oldest) = in_flight.pop_front() {
                    let (timed, job) = oldest.await?;
                    self.record(&job, timed)?;
                }
            }
            consume_budget().await;
        }
        for task in in_flight {
            let (timed, job) = task.await?;
            self.record(&job, timed)?;
        }
        Ok(())
    }

    /// The same without a window. Tasks that have ended are taken off in between, so that memory
    /// holds only those in flight.
    async fn all_at_once(&mut self, turn: Turn) -> io::Result<()> {
        let mut in_flight = JoinSet::new();
        while let Some(job) = self.take(turn) {
            in_flight.spawn(self.issued(job));
            while let Some(ended) = in_flight.try_join_next() {
                let (timed, job) = ended?;
                self.record(&job, timed)?;
            }
            // Without a sample, nothing else has read the clock yet.
            self.last_ns = self.plan.clock.now_ns();
            consume_budget().await;
        }
        while let Some(ended) = in_flight.join_next().await {
            let (timed, job) = ended?;
            self.record(&job, timed)?;
        }
        Ok(())
    }

    /// The call as a future for a task of its own. Its documents are made by now.
    fn issued(&self, job: Job) -> impl Future<Output = (Timed, Job)> + Send + 'static {
        let plan = Arc::clone(&self.plan);
        let calls = plan.make(&job);
        async move { (plan.call(&job, calls).await, job) }
    }

    async fn sleep_until(&self, at_ns: u64) -> io::Result<()> {
        match &self.alarm {
            Some(alarm) => alarm.sleep_until(at_ns).await,
            None => Ok(()),
        }
    }

    /// The next operation; None if the worker has to stop before it.
    fn take(&self, turn: Turn) -> Option<Job> {
        let plan = &*self.plan;
        if self.gave_up || self.last_ns >= turn.until_ns || plan.stop.is_raised() {
            return None;
        }
        let slice = &plan.slices[self.slice];
        let rate = matches!(plan.pacing, Pacing::Rate);
        let intended_ns =
            |number| turn.origin_ns + plan.schedule.record(self.slice, number).intended_ns;
        // A record that is due after this turn stays in the queue for the next one.
        let due = |number| !rate || intended_ns(number) < turn.until_ns;
        let take = |number| (number < slice.limit && due(number)).then_some(number + 1);
        let index = slice.next.fetch_update(Relaxed, Relaxed, take).ok()?;
        let record = plan.schedule.record(self.slice, index);
        // Workers that share a queue have one slice, number 0.
        let client = match plan.deal {
            Deal::Worker => self.worker,
            Deal::Operation => self.slice + index as usize,
        };
        Some(Job {
            index,
            operation: record.operation,
            client: client % plan.clients,
            document: record.document,
            count: record.count,
            intended_ns: match plan.pacing {
                Pacing::Rate => Some(turn.origin_ns + record.intended_ns),
                Pacing::Burst => Some(turn.origin_ns),
                _ => None,
            },
            input: Input {
                key: record.key,
                guid: record.guid,
                shift: record.shift,
                item_step: plan.item_step,
                sequence: index as i64,
                producer: i64::from(self.number),
                clock: Some(plan.clock),
                ..Input::default()
            },
        })
    }

    fn record(&mut self, job: &Job, timed: Timed) -> io::Result<()> {
        let outcome = match &timed.answer {
            Ok(answer) if answer.right => {
                self.documents += answer.documents;
                self.sum += answer.sum;
                0
            }
            Ok(_) => 1,
            Err(error) if is_timeout(error) => 3,
            Err(_) => 2,
        };
        if outcome == 0 {
            self.errors_consecutive = 0;
        } else {
            self.errors_consecutive += 1;
            self.gave_up |= self.errors_consecutive >= self.plan.errors_consecutive_max;
            let entry = match &timed.answer {
                Err(error) => ErrorEntry::of(error),
                Ok(_) => {
                    let name = &self.plan.operations[job.operation].name;
                    ErrorEntry::own("WrongAnswer", format!("{name}: not the answer expected"))
                }
            };
            count_error(&mut self.errors, entry);
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
    pub fn prepare(
        message: &Value,
        clients: &[Database],
        deal: Deal,
        clock: Clock,
        stop: &Arc<Stop>,
    ) -> Result<Phase, Failure> {
        // The core's messages are right, but for a pacing that is not known here.
        let message = Prepare::deserialize(message).map_err(Failure::unsupported)?;
        let schedule = Schedule::read(&message.schedule, message.lap_step)?;
        let pools = message.pools.iter().map(|path| read_pool(path));
        let pools: Vec<Pool> = pools.collect::<Result<_, _>>()?;
        let operations = message.operations.iter();
        let operations = operations.map(|operation| Operation::prepare(operation, clients, &pools));
        let operations = operations.collect::<Result<_, _>>()?;
        let limits = message.limits.unwrap_or_else(|| vec![u64::MAX; schedule.slices]);
        let slice = |limit: &u64| Slice {
            next: AtomicU64::new(0),
            limit: if schedule.is_empty() { 0 } else { *limit },
        };
        let plan = Plan {
            clock,
            stop: Arc::clone(stop),
            slices: limits.iter().map(slice).collect(),
            schedule,
            operations,
            clients: clients.len().max(1),
            deal,
            pacing: message.pacing,
            item_step: message.item_step,
            errors_consecutive_max: message.errors_consecutive_max,
        };
        let (plan, file) = (Arc::new(plan), Samples::create(&message.samples)?);
        let workers = (0..message.workers)
            .map(|worker| Worker::new(&plan, &file, message.first_worker, worker));
        let workers = workers.collect::<io::Result<_>>().map_err(Failure::internal)?;
        Ok(Phase { plan, workers, origin_ns: None })
    }

    pub async fn turn(&mut self, until_ns: u64) -> Result<Value, Failure> {
        let began_ns = self.plan.clock.now_ns();
        let turn = Turn { origin_ns: *self.origin_ns.get_or_insert(began_ns), until_ns };
        let tasks = self.workers.drain(..).map(|worker| tokio::spawn(worker.turn(began_ns, turn)));
        for task in tasks.collect::<Vec<_>>() {
            let worker = task.await.map_err(Failure::internal)?.map_err(Failure::internal)?;
            self.workers.push(worker);
        }
        Ok(json!({
            "type": "turn_done",
            "began_ns": began_ns,
            "exhausted": self.plan.exhausted(),
            "gave_up": self.workers.iter().any(|worker| worker.gave_up),
        }))
    }

    /// The samples are written by now. The file closes here.
    pub fn end(self) -> Value {
        let mut errors = Vec::new();
        let (mut documents, mut sum) = (0, 0);
        for worker in self.workers {
            documents += worker.documents;
            sum += worker.sum;
            worker.errors.into_iter().for_each(|entry| count_error(&mut errors, entry));
        }
        json!({
            "type": "ended",
            "totals": { "documents": documents, "sum": sum },
            "errors": errors,
        })
    }
}
