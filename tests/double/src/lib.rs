//! A deterministic adapter for tests: it speaks the contract and only pretends.
//!
//! Every operation takes `op_ns` of pretended time, so that orders, verdicts, texts and faults can
//! be tested without a database and without luck. A manifest that starts it says `simulated`. A
//! turn lasts as long as its operations pretend to, for turns must not overlap in the samples; to
//! be quick it does a few of them (`turn_operations`) and answers before its deadline.

mod behaviour;
mod driver;
mod open_loop;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, Write};
use std::path::Path;
use std::time::Duration;

use bson::Document;
use serde_json::{Value, json};

use adapter::protocol::{
    AdapterAnswer, AdapterPacing, AdapterRequest, Capabilities, Clock, Driver, ErrorEntry, FRAME,
    Hello, Opened, PROTOCOL, PhaseEnd, Prepare, ReadTotals, Runtime, TurnDone, UriKind,
    WorkerPrepare,
};
use base::clock::Epoch;
use base::error::Result;
use base::say;
use base::strings::hex;
use behaviour::Behaviour;
use driver::Driver as Sending;
use open_loop::OpenLoop;
use record::samples::{SAMPLE_BYTES, Sample};
use workload::plan::Stamp;
use workload::schedule::Schedule;
use workload::stamp;

/// Operations that every adapter has; each is a pretended no-op.
const OPERATIONS: [&str; 8] =
    ["noop", "insert_one", "insert_many", "find_one", "find", "update_one", "delete_one", "count"];
/// Longest pretended phase: a test that asks for more is wrong.
const OPERATIONS_MAX: u64 = 10_000_000;
/// Most memory that `memory` takes: no limit is so wide.
const MEMORY_MIB_MAX: usize = 1024;

/// Size of the file of samples with `holes`.
const HOLES_BYTES: u64 = 4 << 40;
/// How far its turns begin in the future with `ahead`.
const AHEAD_NS: u64 = 3_600_000_000_000;

struct Fake<'a> {
    behaviour: Behaviour,
    answers: &'a mut dyn Write,
    epoch: Option<Epoch>,
    phase: Option<Phase>,
    sending: Option<Sending>,
    seen: BTreeMap<&'static str, u32>,
}

struct Phase {
    prepare: WorkerPrepare,
    /// None in a closed loop.
    open_loop: Option<OpenLoop>,
    done: Vec<u64>,
    /// Samples of the present turn.
    records: Vec<u8>,
    errors: u64,
    turns: u64,
}

impl Phase {
    /// The core measures the bookkeeping of one operation, or the making of a document, and no
    /// driver.
    fn calibrates(&self) -> bool {
        let schedule = &self.prepare.schedule;
        schedule.ends_with("noop.schedule") || schedule.ends_with("documents.schedule")
    }

    /// Pretended time of an operation in this turn, ns.
    fn op_ns(&self, behaviour: &Behaviour) -> u64 {
        if self.calibrates() {
            return behaviour.noop_ns.max(1);
        }
        // A triangle wave: deterministic, with a mean of nothing over four turns.
        let wave = [0.0, 1.0, 0.0, -1.0][(self.turns % 4) as usize];
        let factor = 1.0 + behaviour.noise_percent / 100.0 * wave;
        let others = f64::from(self.prepare.workers.saturating_sub(1));
        let contention = 1.0 + behaviour.contention_percent / 100.0 * others;
        ((behaviour.op_ns as f64 * factor * contention) as u64).max(1)
    }

    /// Operations a worker still has to do.
    fn left(&self, worker: usize) -> u64 {
        let limits = self.prepare.limits.as_ref();
        limits.map_or(u64::MAX, |limits| limits[worker] - self.done[worker])
    }

    /// Writes down the samples of one worker in one turn.
    fn pretend(&mut self, worker: usize, count: u64, began_ns: u64, op_ns: u64, fails: bool) {
        for number in 0..count {
            let start_ns = began_ns + number * op_ns;
            let sample = Sample {
                intended_ns: start_ns,
                start_ns,
                service_ns: op_ns,
                index: (self.done[worker] + number) as u32,
                operation: 0,
                outcome: if fails { 2 } else { 0 },
                worker: (self.prepare.first_worker + worker as u32) as u16,
            };
            self.records.extend_from_slice(&sample.to_bytes());
        }
        self.done[worker] += count;
    }
}

impl Phase {
    /// A turn of a closed loop. Returns its last end, and whether nothing is left.
    fn closed_turn(
        &mut self,
        behaviour: &Behaviour,
        began_ns: u64,
        until_ns: u64,
        op_ns: u64,
        fails: bool,
    ) -> (u64, bool) {
        let fitting = until_ns.saturating_sub(began_ns).div_ceil(op_ns).max(1);
        let mut most = fitting.min(OPERATIONS_MAX);
        if !self.calibrates() {
            most = most.min(behaviour.turn_operations);
        }
        let (mut ended_ns, mut exhausted) = (began_ns, true);
        for worker in 0..self.prepare.workers as usize {
            let left = self.left(worker);
            let count = left.min(most);
            self.pretend(worker, count, began_ns, op_ns, fails);
            self.errors += if fails { count } else { 0 };
            ended_ns = ended_ns.max(began_ns + count * op_ns);
            exhausted &= count == left;
        }
        (ended_ns, exhausted)
    }

    /// A turn of an open loop. It always takes its whole time: arrivals cannot be hurried. Returns
    /// its last end, and whether nothing is left.
    fn open_turn(
        &mut self,
        behaviour: &Behaviour,
        began_ns: u64,
        until_ns: u64,
        op_ns: u64,
    ) -> (u64, bool) {
        let stalls = |index: u64| (index + 1).is_multiple_of(behaviour.stall_every.max(1));
        let service_ns = |index| op_ns + if stalls(index) { behaviour.stall_ns } else { 0 };
        let queue = self.open_loop.as_mut().expect("an open loop");
        let (taken, exhausted) = queue.turn(began_ns, until_ns, service_ns);
        let mut ended_ns = began_ns;
        for one in &taken {
            let sample = Sample {
                intended_ns: one.intended_ns,
                start_ns: one.start_ns,
                service_ns: one.service_ns,
                index: one.index as u32,
                operation: 0,
                outcome: 0,
                worker: (self.prepare.first_worker + one.worker as u32) as u16,
            };
            self.records.extend_from_slice(&sample.to_bytes());
            self.done[one.worker] += 1;
            ended_ns = ended_ns.max(sample.end_ns());
        }
        (ended_ns, exhausted)
    }

    /// Writes the samples of a turn behind those of the earlier ones.
    fn flush(&mut self) -> std::io::Result<()> {
        let mut file = fs::File::options().append(true).open(&self.prepare.samples)?;
        file.write_all(&self.records)?;
        self.records.clear();
        Ok(())
    }
}

/// Runs the fake until its stdin ends; it writes its `answers`.
///
/// # Errors
/// A behaviour that is not `key=value`.
pub fn run(behaviour: &[String], answers: &mut dyn Write) -> Result<()> {
    let behaviour = Behaviour::parse(behaviour)?;
    let (phase, sending, seen) = (None, None, BTreeMap::new());
    let mut fake = Fake { behaviour, answers, epoch: None, phase, sending, seen };
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let answer = match serde_json::from_str::<AdapterRequest>(&line) {
            Ok(request) => fake.answer(&request),
            Err(_) if unsupported(&line) => error("unsupported", "the fake cannot do that"),
            Err(problem) => error("protocol", &problem.to_string()),
        };
        fake.say(&serde_json::to_string(&answer).expect("answers serialise"));
        if answer == AdapterAnswer::Closed {
            break;
        }
    }
    Ok(())
}

/// A `prepare` that is well-formed but for an unknown operation or pacing.
fn unsupported(line: &str) -> bool {
    serde_json::from_str::<Value>(line).is_ok_and(|value| value["type"] == "prepare")
}

fn error(code: &str, message: &str) -> AdapterAnswer {
    AdapterAnswer::Error { code: code.to_owned(), message: message.to_owned() }
}

impl Fake<'_> {
    fn say(&mut self, line: &str) {
        let _ = self.answers.write_all(&[FRAME]);
        self.chat(line);
    }

    /// A line that is no answer.
    fn chat(&mut self, line: &str) {
        let _ = writeln!(self.answers, "{line}").and_then(|()| self.answers.flush());
    }

    fn answer(&mut self, request: &AdapterRequest) -> AdapterAnswer {
        let count = self.seen.entry(request.name()).or_default();
        *count += 1;
        let faulty = self.behaviour.strikes(request.name(), *count);
        self.trace(request);
        if faulty && let Some(answer) = self.fault() {
            return answer;
        }
        match request {
            AdapterRequest::Hello { protocol, .. } if *protocol != PROTOCOL => {
                error("protocol", "the fake speaks another version")
            }
            AdapterRequest::Hello { epoch_ns, .. } => {
                self.epoch = epoch_ns.parse().ok();
                self.hello()
            }
            AdapterRequest::Clock => AdapterAnswer::Clock {
                now_ns: self.now_ns() + if faulty { 3_600_000_000_000 } else { 0 },
            },
            AdapterRequest::Open { clients, database, .. } => {
                let sends = self.behaviour.resolved.is_some();
                self.sending = sends.then(|| Sending::open(&clients[0].hosts[0], database));
                let told = self.behaviour.resolved.clone();
                AdapterAnswer::Opened(Box::new(Opened {
                    acknowledged: self.behaviour.w != Some(0),
                    resolved: told.unwrap_or(json!({ "write_concern": { "w": self.behaviour.w } })),
                }))
            }
            AdapterRequest::Prepare(prepare) => self.prepare(prepare),
            AdapterRequest::Turn { until_ns } => self.turn(*until_ns, faulty),
            AdapterRequest::End => self.end(faulty),
            AdapterRequest::Close => AdapterAnswer::Closed,
            AdapterRequest::Render { template, stamps, input } => render(template, stamps, input),
        }
    }

    /// Whose message, which, and where in the experiment, for tests of the order; no secrets.
    fn trace(&self, request: &AdapterRequest) {
        let Some(path) = &self.behaviour.trace else { return };
        let prepare = match request {
            AdapterRequest::Prepare(prepare) => match &**prepare {
                Prepare::Worker(prepare) => Some(prepare),
                Prepare::Consumer(_) => None,
            },
            _ => self.phase.as_ref().map(|phase| &phase.prepare),
        };
        let collections = prepare.map(|prepare| {
            prepare.operations.iter().map(|it| it.collection.as_str()).collect::<Vec<_>>()
        });
        let line = json!({
            "pid": std::process::id(),
            "message": request.name(),
            "samples": prepare.and_then(|it| Path::new(&it.samples).file_stem()?.to_str()),
            "first_worker": prepare.map(|prepare| prepare.first_worker),
            "collections": collections,
        });
        // One write: many processes append to the same file.
        let file = fs::File::options().create(true).append(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    }

    /// Faults that need no knowledge of the message.
    fn fault(&mut self) -> Option<AdapterAnswer> {
        match self.behaviour.fault.as_str() {
            "crash" => {
                say!("the fake was told to crash");
                std::process::abort()
            }
            "hang" => loop {
                std::thread::sleep(Duration::from_secs(3600));
            },
            "memory" => {
                let mut all = Vec::new();
                while all.len() < MEMORY_MIB_MAX {
                    all.push(vec![1_u8; 1 << 20]);
                }
                panic!("nobody has ended it at {MEMORY_MIB_MAX} MiB")
            }
            "garbage" => {
                self.say("%PDF-1.4 this is no message");
                Some(error("internal", "unreachable: the core has given up"))
            }
            "chatter" => {
                self.chat("driver: connection pool created");
                None
            }
            "endless" => loop {
                std::hint::spin_loop();
            },
            "refuse" => Some(error("internal", "the fake was told to refuse")),
            _ => None,
        }
    }

    fn now_ns(&self) -> u64 {
        self.epoch.map_or(0, |epoch| epoch.now_ns())
    }

    fn hello(&self) -> AdapterAnswer {
        AdapterAnswer::Hello(Box::new(Hello {
            protocol: PROTOCOL,
            adapter: "fake".to_owned(),
            driver: Driver {
                name: "fake-driver".to_owned(),
                version: self.behaviour.version.clone(),
                native: None,
            },
            runtime: Runtime { name: "none".to_owned(), version: "0".to_owned(), flags: vec![] },
            clock: Clock { source: "CLOCK_MONOTONIC".to_owned(), resolution_ns: 1.0 },
            capabilities: Capabilities {
                operations: OPERATIONS.map(str::to_owned).to_vec(),
                pacing: ["awaited", "think", "rate", "burst"].map(str::to_owned).to_vec(),
                extras: Vec::new(),
                shapes: Vec::new(),
                alters: Vec::new(),
                uri: UriKind::Standard,
                consumer_ns: self.behaviour.consumer_ns,
                concurrency: self.behaviour.concurrency(),
            },
        }))
    }

    fn prepare(&mut self, prepare: &Prepare) -> AdapterAnswer {
        let prepare = match prepare {
            Prepare::Worker(prepare) if !matches!(prepare.pacing, AdapterPacing::Window { .. }) => {
                prepare
            }
            _ => return error("unsupported", "the fake pretends neither windows nor consumers"),
        };
        if let Err(problem) = fs::metadata(&prepare.schedule) {
            return error("internal", &format!("{}: {problem}", prepare.schedule));
        }
        let mut open_loop = None;
        if !matches!(prepare.pacing, AdapterPacing::Awaited { .. }) {
            let limit = prepare.limits.as_ref().map(|limits| limits[0]);
            match Schedule::read(prepare.schedule.as_ref()) {
                Ok(schedule) => {
                    open_loop = Some(OpenLoop::new(
                        schedule,
                        prepare.workers as usize,
                        limit,
                        self.behaviour.lag_ns,
                    ));
                }
                Err(problem) => return error("internal", &problem.to_string()),
            }
        }
        if let Err(problem) = fs::write(&prepare.samples, []) {
            return error("internal", &format!("{}: {problem}", prepare.samples));
        }
        self.phase = Some(Phase {
            prepare: prepare.clone(),
            open_loop,
            done: vec![0; prepare.workers as usize],
            records: Vec::new(),
            errors: 0,
            turns: 0,
        });
        AdapterAnswer::Ready
    }

    fn turn(&mut self, until_ns: u64, faulty: bool) -> AdapterAnswer {
        let began_ns = self.now_ns();
        let fails = faulty && self.behaviour.fault == "errors";
        let Some(phase) = &mut self.phase else {
            return error("protocol", "turn before prepare");
        };
        phase.turns += 1;
        if let Some(sending) = &mut self.sending {
            sending.send(&phase.prepare.operations[0]);
        }
        let op_ns = phase.op_ns(&self.behaviour);
        let (ended_ns, exhausted) = if phase.open_loop.is_some() {
            phase.open_turn(&self.behaviour, began_ns, until_ns, op_ns)
        } else {
            phase.closed_turn(&self.behaviour, began_ns, until_ns, op_ns, fails)
        };
        let fault = if faulty { self.behaviour.fault.as_str() } else { "" };
        match fault {
            "twice" => {
                let each = phase.records.as_chunks::<SAMPLE_BYTES>().0;
                phase.records = each.iter().flat_map(|it| [*it, *it]).flatten().collect();
            }
            "backwards" => {
                for sample in phase.records.as_chunks_mut::<SAMPLE_BYTES>().0 {
                    let service_ns = op_ns.wrapping_neg();
                    *sample = Sample { service_ns, ..Sample::from_bytes(sample) }.to_bytes();
                }
            }
            _ => {}
        }
        let mut written = phase.flush().map_err(|problem| problem.to_string());
        if fault == "holes" {
            let file = fs::File::options().append(true).open(&phase.prepare.samples);
            let grown = file.and_then(|file| file.set_len(HOLES_BYTES));
            written = grown.map_err(|problem| problem.to_string());
        }
        let began_ns = if fault == "ahead" { began_ns + AHEAD_NS } else { began_ns };
        std::thread::sleep(Duration::from_nanos(ended_ns.saturating_sub(self.now_ns())));
        match written {
            Ok(()) => AdapterAnswer::TurnDone(TurnDone { began_ns, exhausted, gave_up: fails }),
            Err(problem) => error("internal", &problem),
        }
    }

    fn end(&mut self, faulty: bool) -> AdapterAnswer {
        let Some(phase) = self.phase.take() else {
            return error("protocol", "end before prepare");
        };
        let path = &phase.prepare.samples;
        let spoilt = match self.behaviour.fault.as_str() {
            "no_samples" if faulty => fs::remove_file(path),
            "folder" if faulty => fs::remove_file(path).and_then(|()| fs::create_dir(path)),
            _ => Ok(()),
        };
        if let Err(problem) = spoilt {
            return error("internal", &format!("{path}: {problem}"));
        }
        let entry = ErrorEntry {
            code: 11600,
            name: "InterruptedAtShutdown".to_owned(),
            count: phase.errors,
            message: "pretended".to_owned(),
        };
        let documents = if faulty && self.behaviour.fault == "huge" { u64::MAX } else { 0 };
        AdapterAnswer::Ended(PhaseEnd {
            totals: ReadTotals { documents, sum: 0, retries: None },
            errors: if phase.errors > 0 { vec![entry] } else { vec![] },
            runtime: None,
            consumer: None,
        })
    }
}

fn render(template: &str, stamps: &[Stamp], input: &stamp::Input) -> AdapterAnswer {
    let byte = |at: usize| u8::from_str_radix(template.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..template.len()).step_by(2).map(byte).collect();
    let template = Document::from_reader(&bytes.unwrap_or_default()[..]);
    let rendered = template
        .map_err(|problem| problem.to_string())
        .and_then(|it| stamp::render(&it, stamps, input).map_err(|problem| problem.to_string()));
    match rendered {
        Ok(bytes) => AdapterAnswer::Rendered { bson: hex(&bytes) },
        Err(problem) => error("internal", &problem),
    }
}
