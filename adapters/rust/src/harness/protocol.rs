//! The core's messages.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::documents::{Input, Stamp};
use crate::call::Failure;
use crate::dialect::Opened;

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message {
    Hello { protocol: u32, epoch_ns: String },
    Clock,
    Open { clients: Vec<ClientTarget>, deal: String, database: String },
    Prepare(Value),
    Turn { until_ns: u64 },
    End,
    Close,
    Render(Render),
}

#[derive(Deserialize)]
pub struct ClientTarget {
    pub uri: String,
    pub options: Map<String, Value>,
}

#[derive(Deserialize)]
pub struct Render {
    #[serde(deserialize_with = "hex::deserialize")]
    pub template: Vec<u8>,
    pub stamps: Vec<Stamp>,
    pub input: Input,
}

/// Parses one line, into a map first: serde alone would accept `["clock"]`.
pub fn parse(line: &[u8]) -> Result<Message, Failure> {
    let fields = serde_json::from_slice::<Map<_, _>>(line);
    let message = fields.and_then(|fields| Message::deserialize(Value::Object(fields)));
    message.map_err(|error| Failure::new("protocol", error))
}

/// Received in `open`, and shared by all phases.
#[derive(Default)]
pub struct Session {
    pub clients: Vec<Opened>,
    /// Whether clients are dealt by operation, not by worker.
    pub by_operation: bool,
}
