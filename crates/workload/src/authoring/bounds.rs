//! What values of some keys may be: for the reader, and for the JSON Schema.

use base::units::duration_pattern;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// The sample's worker number is a u16.
pub const WORKERS_MAX: u32 = 65_536;
pub const RATE_MAX: f64 = 10_000_000.0;
pub const WINDOW_MAX: u32 = 10_000;

/// A value of a parameter.
pub fn scalar(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "additionalProperties": {
        "type": ["string", "number", "boolean"]
    }})
}

/// A number of seconds, or a text that `parse_duration` reads.
pub fn time() -> Value {
    let text = format!(r"{}|\$\{{[^}}]+\}}", duration_pattern());
    json!({"anyOf": [{"type": "number"}, {"type": "string", "pattern": text}]})
}
