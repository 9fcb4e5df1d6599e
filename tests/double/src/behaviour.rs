//! Orders to the fake, on its command line.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use adapter::protocol::Concurrency;
use base::error::{Error, Result};

/// Orders to the fake, `key=value` on its command line.
#[derive(Debug, Clone)]
pub struct Behaviour {
    /// Pretended time of an operation, ns.
    pub op_ns: u64,
    /// The same in the calibration, where the core measures what recording costs.
    pub noop_ns: u64,
    /// Operations of one turn and worker, at most.
    pub turn_operations: u64,
    /// Largest pretended deviation of a turn from it, percent.
    pub noise_percent: f64,
    /// Addition of every worker beside it to an operation's pretended time, percent.
    pub contention_percent: f64,
    /// Open loop: every `stall_every`th operation takes so much longer, ns.
    pub stall_ns: u64,
    /// See `stall_ns`.
    pub stall_every: u64,
    /// Open loop: how late it wakes up for an operation, ns.
    pub lag_ns: u64,
    /// Word of `hello` for a worker; `loop`: tasks of one thread.
    pub concurrency: String,
    /// Workers of a process, at most.
    max: Option<u32>,
    /// Declared time of a message that it reads; it reads none.
    pub consumer_ns: Option<u64>,
    /// The write concern it claims to have resolved.
    pub w: Option<u32>,
    /// JSON: it reports this instead, and sends a hello, and a command for each turn.
    pub resolved: Option<serde_json::Value>,
    /// Version it reports.
    pub version: String,
    /// At which message it does `fault`: `turn:3` is the third turn, `turn` each of them.
    pub at: String,
    /// `crash`, `hang`, `garbage`, `chatter`, `errors`, `clock`, `refuse`, `no_samples`, `memory`
    /// (all that there is), or a `folder` in place of the samples; `endless` work; samples `twice`,
    /// of times that run `backwards`, or that end in `holes`; a turn that begins `ahead` of now;
    /// `huge` totals.
    pub fault: String,
    /// The fault happens to the process alone that makes this file.
    pub once: Option<PathBuf>,
    /// A line is appended to this file for each message.
    pub trace: Option<PathBuf>,
}

const KEYS: [&str; 18] = [
    "op_ns",
    "noop_ns",
    "turn_operations",
    "noise_percent",
    "contention_percent",
    "stall_ns",
    "stall_every",
    "lag_ns",
    "concurrency",
    "max",
    "consumer_ns",
    "w",
    "resolved",
    "version",
    "at",
    "fault",
    "once",
    "trace",
];

impl Behaviour {
    pub fn parse(words: &[String]) -> Result<Self> {
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
            max: known.get("max").and_then(|value| value.parse().ok()),
            consumer_ns: known.get("consumer_ns").and_then(|value| value.parse().ok()),
            w: known.get("w").and_then(|value| value.parse().ok()),
            resolved: known.get("resolved").and_then(|it| serde_json::from_str(it).ok()),
            version: text("version", "1.0.0"),
            at: text("at", ""),
            fault: text("fault", ""),
            once: path("once"),
            trace: path("trace"),
        })
    }

    pub fn concurrency(&self) -> Concurrency {
        match self.concurrency.as_str() {
            "loop" => Concurrency { kind: "tasks".to_owned(), max: None, threads: Some(1) },
            kind => Concurrency { kind: kind.to_owned(), max: self.max, threads: None },
        }
    }

    /// Whether this message, the `count`th of its name, is the one to go wrong at.
    pub fn strikes(&self, name: &str, count: u32) -> bool {
        let (message, number) = self.at.split_once(':').unwrap_or((&self.at, ""));
        let meant = message == name && (number.is_empty() || number == count.to_string());
        meant && self.once.as_ref().is_none_or(|path| fs::File::create_new(path).is_ok())
    }
}
