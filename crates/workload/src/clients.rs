//! Clients of a process: a driver's object with a pool of its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the workers of a process share clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Clients {
    /// All use one, as drivers advise.
    #[default]
    Process,
    /// Each worker has one of its own.
    Worker,
    /// As many as workers; each next operation goes to the next client.
    Operation,
}

impl Clients {
    /// Clients of a process with so many workers.
    pub fn count(self, workers: u32) -> u32 {
        if self == Self::Process { 1 } else { workers.max(1) }
    }
}
