//! How the workers of a process share clients (driver objects with a connection pool each).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the workers of a process share clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClientSharing {
    /// All use one, as drivers advise.
    #[default]
    Process,
    /// Each worker has a separate one.
    Worker,
    /// One client for each worker; each next operation goes to the next client.
    Operation,
}

impl ClientSharing {
    /// Clients of a process with so many workers.
    pub fn count(self, workers: u32) -> u32 {
        if self == Self::Process { 1 } else { workers.max(1) }
    }
}
