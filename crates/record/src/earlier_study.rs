//! What earlier versions kept of a study in the record of its experiment.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The study that an earlier version made an experiment for, and what it had to itself then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierStudy {
    /// `broker`.
    pub name: String,
    /// The part that it is, of a study of several experiments.
    #[serde(default)]
    pub part: Option<String>,
    /// By arm: the phase that issues as the original program did.
    #[serde(default)]
    pub originals: BTreeMap<String, String>,
    /// By arm: its phases; an arm without an entry takes part in all.
    #[serde(default)]
    pub phases: BTreeMap<String, Vec<String>>,
}
