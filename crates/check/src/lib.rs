//! Checks an adapter against the contract: vectors and signals offline, then answers, bytes and
//! faults on a server. Some operations fail on purpose: an adapter that ignores answers does not
//! pass.

pub mod bench;
mod consumed;
mod consumer;
pub mod offline;
pub mod online;
pub mod vectors;

use std::path::Path;
use std::time::Duration;

use bson::{Bson, Document};

use adapter::environment::Environment;
use adapter::messages::{Answer, Request};
use adapter::process::{AdapterProcess, Failure};
use base::clock::Epoch;

/// Limit for any answer outside of turns.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    pub name: String,
    /// None: the check holds.
    pub problem: Option<String>,
}

impl Checked {
    pub fn of(name: impl Into<String>, result: Result<(), String>) -> Self {
        Self { name: name.into(), problem: result.err() }
    }
}

async fn start(
    environment: &Environment,
    folder: &Path,
    epoch: &Epoch,
) -> Result<AdapterProcess, String> {
    let log = folder.join("adapter.log");
    AdapterProcess::start(environment, &log, epoch).await.map_err(|it| it.to_string())
}

/// Asks and expects a certain answer.
async fn ask(
    process: &mut AdapterProcess,
    request: &Request,
    wanted: &str,
    timeout: Duration,
) -> Result<Answer, String> {
    let answer = process.request(request, timeout).await.map_err(|it| it.to_string())?;
    if answer.name() == wanted {
        return Ok(answer);
    }
    Err(Failure::Unexpected { request: request.name(), answer: answer.name() }.to_string())
}

/// The document as a driver without a type for doubles sends it: whole values within int32 become
/// int32.
fn without_whole_doubles(document: Document) -> Document {
    document.into_iter().map(|(name, value)| (name, without_whole_double(value))).collect()
}

fn without_whole_double(value: Bson) -> Bson {
    let int32 = f64::from(i32::MIN)..=f64::from(i32::MAX);
    match value {
        Bson::Double(double) if double.fract() == 0.0 && int32.contains(&double) => {
            Bson::Int32(double as i32)
        }
        Bson::Document(inner) => Bson::Document(without_whole_doubles(inner)),
        Bson::Array(items) => Bson::Array(items.into_iter().map(without_whole_double).collect()),
        other => other,
    }
}

/// Fails with a sentence unless two values are equal.
fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, wanted: &T) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("{what}: {found:?}, expected {wanted:?}")) }
}
