//! Messages, and the errors that answers tell.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::documents::{Input, Stamp};
use super::timing::{Clock, Stop};
use crate::dialect::Client;

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message {
    Hello {
        protocol: u32,
        epoch_ns: String,
    },
    Clock,
    Open {
        clients: Vec<ClientTarget>,
        deal: Deal,
        database: String,
    },
    /// Workers' or a consumer's.
    Prepare(Value),
    Turn {
        until_ns: u64,
    },
    End,
    Close,
    Render {
        #[serde(deserialize_with = "hex::deserialize")]
        template: Vec<u8>,
        stamps: Vec<Stamp>,
        input: Input,
    },
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

/// Parses one line, into a map first: serde alone would accept `["clock"]`.
pub fn parse(line: &[u8]) -> Result<Message, Failure> {
    let fields: Map<String, Value> = serde_json::from_slice(line).map_err(Failure::protocol)?;
    Message::deserialize(Value::Object(fields)).map_err(Failure::protocol)
}

/// From `hello` and `open`: all phases have it in common.
#[derive(Default)]
pub struct Session {
    pub clock: Clock,
    pub stop: Arc<Stop>,
    pub clients: Vec<Client>,
    pub deal: Deal,
}

/// An answer of type `error`.
#[derive(Debug)]
pub struct Failure {
    pub code: &'static str,
    pub message: String,
}

impl Failure {
    pub fn protocol(message: impl ToString) -> Failure {
        Failure { code: "protocol", message: message.to_string() }
    }

    pub fn unsupported(message: impl ToString) -> Failure {
        Failure { code: "unsupported", message: message.to_string() }
    }

    pub fn internal(message: impl ToString) -> Failure {
        Failure { code: "internal", message: message.to_string() }
    }

    pub fn of_file<E: Error>(path: &Path) -> impl Fn(E) -> Failure + '_ {
        move |error| Failure::internal(format!("{}: {error}", path.display()))
    }
}

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::internal(error)
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
    /// A failure that the adapter itself sees: a wrong answer.
    pub fn own(name: &str, message: String) -> ErrorEntry {
        ErrorEntry { code: 0, name: name.to_owned(), count: 1, message, outcome: 1 }
    }
}

pub fn count_error(entries: &mut Vec<ErrorEntry>, found: ErrorEntry) {
    match entries.iter_mut().find(|entry| (entry.code, &entry.name) == (found.code, &found.name)) {
        Some(entry) => entry.count += found.count,
        None => entries.push(found),
    }
}
