//! Checks an adapter against the contract: vectors and signals offline, then answers, bytes and
//! faults on a server. Some operations fail on purpose: an adapter that ignores answers does not
//! pass.

mod absorbers;
mod altered;
pub mod bench;
mod consumed;
mod consumer;
mod conversation;
mod expectations;
pub mod offline;
pub mod online;
mod opening;
mod sampled;
mod vectors;

use std::path::Path;
use std::time::Duration;

use adapter::adapter_process::{AdapterProcess, Failure};
use adapter::environment::Environment;
use adapter::protocol::{AdapterAnswer, AdapterRequest};
use base::clock::Epoch;

/// Limit for any answer outside of turns.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    pub name: String,
    /// Problem that was found; None if the check succeeded.
    pub problem: Option<String>,
}

impl CheckResult {
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
    AdapterProcess::start(environment, &log, epoch).await.map_err(|error| error.to_string())
}

/// Sends a request and expects a certain answer.
async fn ask(
    process: &mut AdapterProcess,
    request: &AdapterRequest,
    wanted: &str,
    timeout: Duration,
) -> Result<AdapterAnswer, String> {
    let answer = process.request(request, timeout).await.map_err(|error| error.to_string())?;
    if answer.name() == wanted {
        return Ok(answer);
    }
    Err(Failure::Unexpected { request: request.name(), answer: answer.name() }.to_string())
}

/// Fails with a sentence unless two values are equal.
fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, wanted: &T) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("{what}: {found:?}, expected {wanted:?}")) }
}
