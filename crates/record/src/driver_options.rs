//! Options that drivers do not report.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a driver shows on the wire: its handshake, and the commands of one insert and one find.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Seen {
    /// The options that `resolved` lacks.
    pub options: BTreeMap<String, serde_json::Value>,
    /// `client` (metadata and the application's name), `compression` and `loadBalanced`, as sent.
    pub handshake: BTreeMap<String, serde_json::Value>,
    /// The compressor of its messages; None: they are not compressed.
    pub compressor: Option<String>,
    /// Why there is not more to see.
    pub reason: Option<String>,
}
