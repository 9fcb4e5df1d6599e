//! Messages, and the errors that answers tell.

use std::error::Error;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::documents::{Input, Stamp};
use crate::dialect::Client;

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message {
    Hello { protocol: u32, epoch_ns: String },
    Clock,
    Open { clients: Vec<ClientTarget>, deal: String, database: String },
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
#[derive(Default)]
pub struct Session {
    pub clients: Vec<Client>,
    /// Dealt by operation, not by worker.
    pub by_operation: bool,
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
