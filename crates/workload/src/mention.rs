//! Names of collections within pipelines and commands. They are part of the plan, and a file apart
//! from the check that finds them, which reads the plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A collection that a pipeline or a command names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mention {
    /// Place of the name in the template: field names, array elements by decimal index.
    pub path: Vec<String>,
    /// Name of the collection in the workload.
    pub collection: String,
    /// Whether the pipeline or command writes to it.
    pub writes: bool,
    /// Whether its indexes alone are, and its documents stay.
    #[serde(default)]
    pub indexes: bool,
}

impl Mention {
    /// Whether it changes the documents of a collection.
    pub fn changes(&self, collection: &str) -> bool {
        self.writes && !self.indexes && self.collection == collection
    }
}
