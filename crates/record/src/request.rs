//! The part of `experiment.json` that `resume` reads.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options asked for that stand nowhere else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// Options of every arm's connection string (`--option`). A value is kept only where an arm may
    /// set that option as well: others may be secret.
    pub options: BTreeMap<String, Option<String>>,
    /// Load and faults of an absorber, as its own command line takes them.
    pub absorber: Vec<String>,
    /// Whether the data of a server of ours outlives it.
    pub keep_data: bool,
}

/// Limits of a mongod that mongodyno starts; None: its usual ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerOptions {
    /// `--wiredTigerCacheSizeGB`.
    pub cache_bytes: Option<u64>,
    /// `--maxConns`.
    pub connections: Option<u32>,
    /// By cgroup.
    pub memory_bytes: Option<u64>,
}

impl ServerOptions {
    /// Name and value of each that was asked for, for people.
    pub fn words(&self) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let bytes = |name, value: Option<u64>| value.map(|it| (name, figures::bytes(it)));
        let connections = self.connections.map(|it| ("server connections", it.to_string()));
        let cache = bytes("server cache", self.cache_bytes);
        let memory = bytes("server memory", self.memory_bytes);
        [cache, connections, memory].into_iter().flatten()
    }
}

/// The question for which an experiment was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Study {
    /// `broker`.
    pub name: String,
    /// The part that it is, of a study of several experiments.
    #[serde(default)]
    pub part: Option<String>,
    /// Its size, as a part of the original's.
    pub scale: f64,
    /// By arm: the phase that issues as the original program did.
    pub originals: BTreeMap<String, String>,
    /// By arm: its phases; an arm without an entry takes part in all.
    #[serde(default)]
    pub phases: BTreeMap<String, Vec<String>>,
}
