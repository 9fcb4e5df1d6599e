//! A deterministic adapter for tests: it speaks the contract and only pretends.
//!
//! Every operation takes `op_ns` of pretended time, so that orders, verdicts, texts and faults can
//! be tested without a database and without luck. A manifest that starts it says `simulated`. A
//! turn lasts as long as its operations pretend to, for turns must not overlap in the samples; to
//! be quick it does a few of them (`turn_operations`) and answers before its deadline.

mod open_loop;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, Write};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use adapter::messages::{
    Answer, Capabilities, Clock, Concurrency, Driver, Ended, ErrorEntry, Hello, Opened,
    PROTOCOL_VERSION, Prepare, Request, Role, Runtime, Totals, Turned,
};
use base::clock::Epoch;
use base::error::{Error, Result};
use base::say;
use base::words::hex;
use open_loop::OpenLoop;
use record::samples::{Sample, WARMUP};
use workload::plan::{Pacing, Stamp};
use workload::schedule::Schedule;
use workload::stamp;

/// Longest pretended phase: a test that asks for more is wrong.
const OPERATIONS_MAX: u64 = 10_000_000;

/// Orders to the fake, `key=value` on its command line.
#[derive(Debug, Clone)]
struct Behaviour {
    /// Pretended time of an operation, ns.
    op_ns: u64,
    /// The same in the calibration, where the core measures what recording costs.
    noop_ns: u64,
    /// Operations of one turn and worker, at most.
    turn_operations: u64,
    /// Largest pretended deviation of a turn from it, percent.
    noise_percent: f64,
    /// Addition of every worker beside it to an operation's pretended time, percent.
    contention_percent: f64,
    /// Open loop: every `stall_every`th operation takes so much longer, ns.
    stall_ns: u64,
    /// See `stall_ns`.
    stall_every: u64,
    /// Open loop: how late it wakes up for an operation, ns.
    lag_ns: u64,
    /// Its word for a worker; `loop`: tasks of one thread.
    concurrency: String,
    /// The write concern it claims to have resolved.
    w: Option<u32>,
    /// Version it reports.
    version: String,
    /// At which message it does `fault`: `turn:3` is the third turn, `turn` each of them.
    at: String,
    /// `crash`, `hang`, `garbage`, `chatter`, `lie`, `errors`, `clock`, `refuse`, `no_samples`, or
    /// a `folder` in place of the samples.
    fault: String,
    /// The fault happens to the process alone that makes this file.
    once: Option<PathBuf>,
    /// A line is appended to this file for each message.
    trace: Option<PathBuf>,
}

const KEYS: [&str; 15] = [
    "op_ns",
    "noop_ns",
    "turn_operations",
    "noise_percent",
    "contention_percent",
    "stall_ns",
    "stall_every",
    "lag_ns",
    "concurrency",
    "w",
    "version",
    "at",
    "fault",
    "once",
    "trace",
];

impl Behaviour {
    fn parse(words: &[String]) -> Result<Self> {
        let mut known: BTreeMap<&str, &str> = BTreeMap::new();
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            if !KEYS.contains(&key) || value.is_empty() {
                let hint = format!("key=value, with one of {}", KEYS.join(", "));
                return Err(Error::usage(format!("fake-adapter does not know {word}"), hint));
            }
            known.insert(key, value);
        }
        let number = |key: &str, default: f64| {
            known.get(key).and_then(|value| value.parse().ok()).unwrap_or(default)
        };
        let text = |key: &str, default: &str| (*known.get(key).unwrap_or(&default)).to_owned();
        let path = |key: &str| known.get(key).map(PathBuf::from);
        Ok(Self {
            op_ns: number("op_ns", 100_000.0) as u64,
            noop_ns: number("noop_ns", 50.0) as u64,
            turn_operations: number("turn_operations", 1e7) as u64,
            noise_percent: number("noise_percent", 0.0),
            contention_percent: number("contention_percent", 0.0),
            stall_ns: number("stall_ns", 0.0) as u64,
            stall_every: number("stall_every", 1000.0) as u64,
            lag_ns: number("lag_ns", 0.0) as u64,
            concurrency: text("concurrency", "threads"),
            w: known.get("w").and_then(|value| value.parse().ok()),
            version: text("version", "1.0.0"),
            at: text("at", ""),
            fault: text("fault", ""),
            once: path("once"),
            trace: path("trace"),
        })
    }

    fn concurrency(&self) -> Concurrency {
        match self.concurrency.as_str() {
            "loop" => Concurrency { kind: "tasks".to_owned(), max: None, threads: Some(1) },
            kind => Concurrency { kind: kind.to_owned(), max: None, threads: None },
        }
    }

    /// Whether this message, the `count`th of its name, is the one to go wrong at.
    fn strikes(&self, name: &str, count: u32) -> bool {
        let (message, number) = self.at.split_once(':').unwrap_or((&self.at, ""));
        let meant = message == name && (number.is_empty() || number == count.to_string());
        meant && self.once.as_ref().is_none_or(|path| fs::File::create_new(path).is_ok())
    }
}

struct Fake<'a> {
    behaviour: Behaviour,
    answers: &'a mut dyn Write,
    epoch: Option<Epoch>,
    phase: Option<Phase>,
    seen: BTreeMap<&'static str, u32>,
}

struct Phase {
    prepare: Prepare,
    /// None in a closed loop.
    open_loop: Option<OpenLoop>,
    done: Vec<u64>,
    records: Vec<u8>,
    errors: u64,
    turns: u64,
}

impl Phase {
    /// The core measures the bookkeeping of one operation and no driver.
    fn calibrates(&self) -> bool {
        self.prepare.schedule.ends_with("noop.schedule")
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
        let outcome = if fails { 2 } else { 0 };
        let warmup = if self.prepare.warmup { WARMUP } else { 0 };
        for number in 0..count {
            let start_ns = began_ns + number * op_ns;
            let sample = Sample {
                intended_ns: start_ns,
                start_ns,
                service_ns: op_ns,
                index: (self.done[worker] + number) as u32,
                operation: 0,
                outcome: outcome | warmup,
                worker: (self.prepare.first_worker + worker as u32) as u16,
            };
            self.records.extend_from_slice(&sample.to_bytes());
        }
        self.done[worker] += count;
    }
}

impl Phase {
    /// A turn of an open loop. It always takes its whole time: arrivals cannot be hurried.
    fn open_turn(
        &mut self,
        behaviour: &Behaviour,
        began_ns: u64,
        until_ns: u64,
        op_ns: u64,
    ) -> Turned {
        let stalls = |index: u64| (index + 1).is_multiple_of(behaviour.stall_every.max(1));
        let service_ns = |index| op_ns + if stalls(index) { behaviour.stall_ns } else { 0 };
        let queue = self.open_loop.as_mut().expect("an open loop");
        let (taken, exhausted) = queue.turn(began_ns, until_ns, service_ns);
        let mut ended_ns = began_ns;
        let mut in_time = 0;
        for one in &taken {
            let sample = Sample {
                intended_ns: one.intended_ns,
                start_ns: one.start_ns,
                service_ns: one.service_ns,
                index: one.index as u32,
                operation: 0,
                outcome: if self.prepare.warmup { WARMUP } else { 0 },
                worker: (self.prepare.first_worker + one.worker as u32) as u16,
            };
            self.records.extend_from_slice(&sample.to_bytes());
            self.done[one.worker] += 1;
            ended_ns = ended_ns.max(sample.end_ns());
            in_time += u64::from(sample.end_ns() <= until_ns);
        }
        Turned {
            began_ns,
            ended_ns,
            operations: taken.len() as u64,
            completed_by_deadline: in_time,
            errors: 0,
            exhausted,
            gave_up: false,
        }
    }
}

/// Runs the fake until its stdin ends; it writes its `answers`.
///
/// # Errors
/// A behaviour that is not `key=value`.
pub fn run(behaviour: &[String], answers: &mut dyn Write) -> Result<()> {
    let behaviour = Behaviour::parse(behaviour)?;
    let mut fake = Fake { behaviour, answers, epoch: None, phase: None, seen: BTreeMap::new() };
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let answer = match serde_json::from_str::<Request>(&line) {
            Ok(request) => fake.answer(&request),
            Err(_) if unsupported(&line) => error("unsupported", "the fake cannot do that"),
            Err(problem) => error("protocol", &problem.to_string()),
        };
        fake.say(&serde_json::to_string(&answer).expect("answers serialise"));
        if answer == Answer::Closed {
            break;
        }
    }
    Ok(())
}

/// A `prepare` that is well-formed but for an operation or pacing nobody knows.
fn unsupported(line: &str) -> bool {
    serde_json::from_str::<Value>(line).is_ok_and(|value| value["type"] == "prepare")
}

fn error(code: &str, message: &str) -> Answer {
    Answer::Error { code: code.to_owned(), message: message.to_owned() }
}

impl Fake<'_> {
    fn say(&mut self, line: &str) {
        let _ = writeln!(self.answers, "{line}").and_then(|()| self.answers.flush());
    }

    fn answer(&mut self, request: &Request) -> Answer {
        let count = self.seen.entry(request.name()).or_default();
        *count += 1;
        let faulty = self.behaviour.strikes(request.name(), *count);
        self.trace(request);
        if faulty && let Some(answer) = self.fault() {
            return answer;
        }
        match request {
            Request::Hello { protocol, epoch_ns } => {
                if !(protocol.min..=protocol.max).contains(&PROTOCOL_VERSION) {
                    return error("protocol", "no version in common");
                }
                self.epoch = epoch_ns.parse().ok();
                self.hello()
            }
            Request::Clock => {
                Answer::Clock { now_ns: self.now_ns() + if faulty { 3_600_000_000_000 } else { 0 } }
            }
            Request::Open { .. } => Answer::Opened(Box::new(Opened {
                resolved: json!({ "write_concern": { "w": self.behaviour.w } }),
                server: json!({ "version": null }),
            })),
            Request::Prepare(prepare) => self.prepare(prepare),
            Request::Turn { start_ns, until_ns } => self.turn(*start_ns, *until_ns, faulty),
            Request::End => self.end(faulty),
            Request::Close => Answer::Closed,
            Request::Stop => std::process::abort(), // declared "sigterm": never sent
            Request::Render { document, stamps, input } => render(document, stamps, input),
        }
    }

    /// Whose message, which, and where in the experiment, for tests of the order; no secrets.
    fn trace(&self, request: &Request) {
        let Some(path) = &self.behaviour.trace else { return };
        let prepare = match request {
            Request::Prepare(prepare) => Some(&**prepare),
            _ => self.phase.as_ref().map(|phase| &phase.prepare),
        };
        let collections = prepare.map(|prepare| {
            prepare.operations.iter().map(|it| it.collection.as_str()).collect::<Vec<_>>()
        });
        let line = json!({
            "pid": std::process::id(),
            "message": request.name(),
            "phase": prepare.map(|prepare| &prepare.phase),
            "warmup": prepare.map(|prepare| prepare.warmup),
            "first_worker": prepare.map(|prepare| prepare.first_worker),
            "collections": collections,
        });
        // One write: many processes append to the same file.
        let file = fs::File::options().create(true).append(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    }

    /// Faults that need no knowledge of the message.
    fn fault(&mut self) -> Option<Answer> {
        match self.behaviour.fault.as_str() {
            "crash" => {
                say!("the fake was told to crash");
                std::process::abort()
            }
            "hang" => loop {
                std::thread::sleep(Duration::from_secs(3600));
            },
            "garbage" => {
                for _ in 0..5000 {
                    self.say("%PDF-1.4 this is no message");
                }
                Some(error("internal", "unreachable: the core has given up"))
            }
            "chatter" => {
                self.say("driver: connection pool created");
                None
            }
            "refuse" => Some(error("internal", "the fake was told to refuse")),
            _ => None,
        }
    }

    fn now_ns(&self) -> u64 {
        self.epoch.map_or(0, |epoch| epoch.now_ns())
    }

    fn hello(&self) -> Answer {
        Answer::Hello(Box::new(Hello {
            protocol: PROTOCOL_VERSION,
            adapter: "fake".to_owned(),
            driver: Driver {
                name: "fake-driver".to_owned(),
                version: self.behaviour.version.clone(),
                native: None,
            },
            runtime: Runtime { name: "none".to_owned(), version: "0".to_owned(), flags: vec![] },
            clock: Clock { source: "CLOCK_MONOTONIC".to_owned(), resolution_ns: 1.0 },
            capabilities: Capabilities {
                operations: vec!["noop".to_owned()],
                roles: vec![Role::Worker],
                pacing: ["awaited", "rate", "burst"].map(str::to_owned).to_vec(),
                document_forms: vec!["native".to_owned()],
                concurrency: self.behaviour.concurrency(),
                stop: "sigterm".to_owned(),
                whole_doubles: true,
                noop_makes: false,
            },
        }))
    }

    fn prepare(&mut self, prepare: &Prepare) -> Answer {
        if matches!(prepare.pacing, Pacing::Window { .. }) || prepare.role != Role::Worker {
            return error("unsupported", "the fake pretends neither windows nor consumers");
        }
        if let Err(problem) = fs::metadata(&prepare.schedule) {
            return error("internal", &format!("{}: {problem}", prepare.schedule));
        }
        let mut open_loop = None;
        if !matches!(prepare.pacing, Pacing::Awaited { .. }) {
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
        self.phase = Some(Phase {
            prepare: prepare.clone(),
            open_loop,
            done: vec![0; prepare.workers as usize],
            records: Vec::new(),
            errors: 0,
            turns: 0,
        });
        Answer::Armed
    }

    fn turn(&mut self, start_ns: u64, until_ns: u64, faulty: bool) -> Answer {
        let began_ns = self.now_ns().max(start_ns);
        let fails = faulty && self.behaviour.fault == "errors";
        let Some(phase) = &mut self.phase else {
            return error("protocol", "turn before prepare");
        };
        phase.turns += 1;
        let op_ns = phase.op_ns(&self.behaviour);
        if phase.open_loop.is_some() {
            let turned = phase.open_turn(&self.behaviour, began_ns, until_ns, op_ns);
            std::thread::sleep(Duration::from_nanos(turned.ended_ns.saturating_sub(self.now_ns())));
            return Answer::Turned(turned);
        }
        let fitting = until_ns.saturating_sub(began_ns).div_ceil(op_ns).max(1);
        let mut most = fitting.min(OPERATIONS_MAX);
        if !phase.calibrates() {
            most = most.min(self.behaviour.turn_operations);
        }
        let (mut operations, mut ended_ns, mut exhausted) = (0, began_ns, true);
        for worker in 0..phase.prepare.workers as usize {
            let left = phase.left(worker);
            let count = left.min(most);
            phase.pretend(worker, count, began_ns, op_ns, fails);
            operations += count;
            ended_ns = ended_ns.max(began_ns + count * op_ns);
            exhausted &= count == left;
        }
        let errors = if fails { operations } else { 0 };
        phase.errors += errors;
        std::thread::sleep(Duration::from_nanos(ended_ns.saturating_sub(self.now_ns())));
        Answer::Turned(Turned {
            began_ns,
            ended_ns,
            operations,
            completed_by_deadline: operations,
            errors,
            exhausted,
            gave_up: fails,
        })
    }

    fn end(&mut self, faulty: bool) -> Answer {
        let Some(phase) = self.phase.take() else {
            return error("protocol", "end before prepare");
        };
        let path = &phase.prepare.samples;
        let written = match self.behaviour.fault.as_str() {
            "no_samples" if faulty => Ok(()),
            "folder" if faulty => fs::create_dir_all(path),
            _ => fs::write(path, &phase.records),
        };
        if let Err(problem) = written {
            return error("internal", &format!("{path}: {problem}"));
        }
        let samples: u64 = phase.done.iter().sum();
        let lie = if faulty && self.behaviour.fault == "lie" { 1000 } else { 0 };
        let entry = ErrorEntry {
            code: 11600,
            name: "InterruptedAtShutdown".to_owned(),
            count: phase.errors,
            message: "pretended".to_owned(),
        };
        Answer::Ended(Ended {
            operations: samples + lie,
            samples,
            totals: Totals::default(),
            errors: if phase.errors > 0 { vec![entry] } else { vec![] },
            consumer: None,
        })
    }
}

fn render(document: &Value, stamps: &[Stamp], input: &stamp::Input) -> Answer {
    match stamp::render(document, stamps, input) {
        Ok(bytes) => Answer::Rendered { bson: hex(&bytes) },
        Err(problem) => error("internal", &problem.to_string()),
    }
}
