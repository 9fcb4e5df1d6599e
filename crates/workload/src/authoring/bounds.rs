//! What values of some keys may be: for the reader, and for the JSON Schema.

use base::units::duration_pattern;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// The sample's worker number is a u16.
pub const WORKERS_MAX: u32 = 65_536;
pub const RATE_MAX: f64 = 10_000_000.0;
pub const WINDOW_MAX: u32 = 10_000;
/// So many operations have indices that fit a sample.
pub const OPERATIONS_MAX: u64 = u32::MAX as u64;
pub const DAY_S: f64 = 86_400.0;
/// Each is split and moved before every phase.
pub const CHUNKS_MAX: u32 = 1024;
/// Digits of a stamped string.
pub const WIDTH_MAX: u32 = 1000;
pub const MEMBERS_MAX: i64 = 50;
/// Operations of a phase.
pub const MIX_MAX: usize = 256;
pub const CAPPED_BYTES_MIN: u64 = 4096;
pub const CAPPED_BYTES_MAX: u64 = 1 << 50;

/// A value of a parameter.
pub fn scalar(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "additionalProperties": {
        "type": ["string", "number", "boolean"]
    }})
}

/// A number of seconds, or a text that `parse_duration` reads.
pub fn time() -> Value {
    let text = format!(r"{}|\$\{{[^}}]+\}}", duration_pattern());
    let seconds = json!({"type": "number", "minimum": 0, "maximum": DAY_S});
    json!({"anyOf": [seconds, {"type": "string", "pattern": text}]})
}

/// The `w` of a write concern.
pub fn members(_: &mut SchemaGenerator) -> Schema {
    let number = json!({"type": "integer", "minimum": 0, "maximum": MEMBERS_MAX});
    json_schema!({"anyOf": [number, {"type": ["string", "null"]}]})
}
