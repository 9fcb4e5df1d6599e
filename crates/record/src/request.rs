//! What an experiment was asked for: its part of `experiment.json` that `resume` reads.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was asked for and stands nowhere else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// Options of every arm's connection string (`--option`); the value only of those that an arm
    /// may set as well, for others may be secret.
    pub options: BTreeMap<String, Option<String>>,
    /// Load and faults of an absorber, as its own command line takes them.
    pub absorber: Vec<String>,
    /// Whether the data of a server of ours outlives it.
    pub keep_data: bool,
}

/// The question an experiment was made for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Study {
    /// `broker`.
    pub name: String,
    /// Its size, as a part of the original's.
    pub scale: f64,
    /// By arm: the phase that issues as the program did whose result the study replays.
    pub originals: BTreeMap<String, String>,
    /// By arm: the phases that it takes part in; arms that are not named take part in all.
    #[serde(default)]
    pub phases: BTreeMap<String, Vec<String>>,
}
