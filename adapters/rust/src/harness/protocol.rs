//! Messages, and the parts of answers that workers and consumer have in common.

use std::error::Error;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};

use super::documents::{Input, Stamp};
use crate::dialect::Client;

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message {
    Hello { protocol: u32, epoch_ns: String },
    Clock,
    Open { clients: Vec<ClientTarget>, deal: Deal, database: String },
    Prepare(Value),
    Turn { until_ns: u64 },
    End,
    Close,
    Render(Render),
}

#[derive(Deserialize)]
pub struct ClientTarget {
    pub uri: String,
    pub options: Map<String, Value>,
}

/// How operations are dealt to clients.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deal {
    #[default]
    Worker,
    Operation,
}

#[derive(Deserialize)]
pub struct Render {
    #[serde(deserialize_with = "hex::deserialize")]
    pub template: Vec<u8>,
    pub stamps: Vec<Stamp>,
    pub input: Input,
}

/// Parses one line, into a map first: serde alone would accept `["clock"]`.
pub fn parse(line: &[u8]) -> Result<Message, Failure> {
    let fields = serde_json::from_slice::<Map<_, _>>(line);
    let message = fields.and_then(|fields| Message::deserialize(Value::Object(fields)));
    message.map_err(|error| Failure::new("protocol", error))
}

/// From `open`: all phases have it in common.
#[derive(Clone, Default)]
pub struct Session {
    pub clients: Vec<Client>,
    pub deal: Deal,
}

/// An answer of type `error`.
pub struct Failure {
    pub code: &'static str,
    pub message: String,
}

impl Failure {
    pub fn new(code: &'static str, message: impl ToString) -> Failure {
        Failure { code, message: message.to_string() }
    }

    pub fn of_file<E: Error>(path: &Path) -> impl Fn(E) -> Failure + '_ {
        move |error| Failure::new("internal", format!("{}: {error}", path.display()))
    }
}

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::new("internal", error)
    }
}

/// A message as it is told: that of a batch holds all of its write errors.
pub fn cut(message: &str) -> String {
    message.chars().take(4096).collect()
}

/// A kind of failure of operations, and how often it was met.
#[derive(Serialize)]
pub struct ErrorEntry {
    pub code: i32,
    pub name: String,
    pub count: u64,
    pub message: String,
    /// Of a sample.
    #[serde(skip)]
    pub outcome: u8,
}

impl ErrorEntry {
    /// A wrong answer: the adapter itself sees it.
    pub fn own(name: &str, message: String) -> ErrorEntry {
        ErrorEntry { code: 0, name: name.to_owned(), count: 1, message, outcome: 1 }
    }
}

/// What `ended` tells, and failures in a row.
#[derive(Default)]
pub struct Tally {
    pub documents: u64,
    pub sum: i64,
    errors: Vec<ErrorEntry>,
    consecutive: u32,
    pub gave_up: bool,
}

impl Tally {
    pub fn right(&mut self, documents: u64, sum: i64) {
        self.documents += documents;
        self.sum += sum;
        self.consecutive = 0;
    }

    pub fn failed(&mut self, entry: ErrorEntry, consecutive_max: u32) {
        self.consecutive += 1;
        self.gave_up |= self.consecutive >= consecutive_max;
        self.count(entry);
    }

    fn count(&mut self, found: ErrorEntry) {
        let alike =
            |entry: &&mut ErrorEntry| (entry.code, &entry.name) == (found.code, &found.name);
        match self.errors.iter_mut().find(alike) {
            Some(entry) => entry.count += found.count,
            None => self.errors.push(found),
        }
    }

    pub fn merge(mut self, other: Tally) -> Tally {
        self.right(other.documents, other.sum);
        other.errors.into_iter().for_each(|entry| self.count(entry));
        self
    }

    pub fn ended(&self) -> Value {
        let Tally { documents, sum, errors, .. } = self;
        let totals = json!({ "documents": documents, "sum": sum });
        json!({ "type": "ended", "totals": totals, "errors": errors })
    }
}

pub fn turn_done(began_ns: u64, exhausted: bool, gave_up: bool) -> Value {
    json!({
        "type": "turn_done",
        "began_ns": began_ns,
        "exhausted": exhausted,
        "gave_up": gave_up,
    })
}
