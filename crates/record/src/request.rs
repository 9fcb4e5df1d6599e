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

/// The question for which an experiment was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Study {
    /// `broker`.
    pub name: String,
    /// Its size, as a part of the original's.
    pub scale: f64,
    /// By arm: the phase that issues as the original program did.
    pub originals: BTreeMap<String, String>,
    /// By arm: its phases; an arm without an entry takes part in all.
    #[serde(default)]
    pub phases: BTreeMap<String, Vec<String>>,
}
