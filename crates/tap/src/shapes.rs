//! Kinds of commands: one number for each name with its set of fields.

use std::collections::{BTreeSet, HashMap};
use std::sync::RwLock;

use serde::{Deserialize, Serialize};

use base::say::clean;
use wire::OpCode;

use super::request_body::RequestBody;

/// Maximum number of kinds; further ones count as [`OTHER`], because field names come from
/// elsewhere and could be endless.
const SHAPES_MAX: usize = 4096;
/// Maximum number of command names, each of which gets a histogram.
const COMMANDS_MAX: usize = 200;
/// Name of all kinds beyond the limits.
const OTHER: &str = "(other)";
/// Name of a command whose body could not be followed.
const UNREADABLE: &str = "(unreadable)";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandShape {
    /// Name of the command as sent; a legacy opcode such as `OP_INSERT`.
    pub command: String,
    /// `database.collection` of a legacy opcode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Top-level fields except the command itself, sorted.
    pub fields: Vec<String>,
}

/// All kinds that a proxy has seen. Number 0 is for all beyond the limits.
#[derive(Debug)]
pub(super) struct Shapes {
    known: RwLock<KnownShapes>,
}

#[derive(Debug)]
struct KnownShapes {
    numbers: HashMap<Box<[u8]>, u32>,
    shapes: Vec<CommandShape>,
    commands: BTreeSet<String>,
}

impl Shapes {
    pub fn new() -> Self {
        let other = CommandShape { command: OTHER.to_owned(), namespace: None, fields: Vec::new() };
        let known =
            KnownShapes { numbers: HashMap::new(), shapes: vec![other], commands: BTreeSet::new() };
        Self { known: RwLock::new(known) }
    }

    /// The number of a request's kind; `key` is a buffer of the caller's.
    pub fn number(&self, opcode: OpCode, body: &RequestBody, key: &mut Vec<u8>) -> u32 {
        key.clear();
        key.extend_from_slice(&i32::from(opcode).to_le_bytes());
        key.push(u8::from(body.unreadable));
        for part in [&body.command.name, &body.namespace, &body.command.names] {
            key.extend_from_slice(part);
            key.push(0);
        }
        if let Some(number) = self.known.read().expect("no panic").numbers.get(&key[..]) {
            return *number;
        }
        self.known.write().expect("no panic").add(opcode, body, key)
    }

    /// All kinds, by number.
    pub fn list(&self) -> Vec<CommandShape> {
        self.known.read().expect("no panic").shapes.clone()
    }
}

impl KnownShapes {
    fn add(&mut self, opcode: OpCode, body: &RequestBody, key: &[u8]) -> u32 {
        // Another thread may have been here between the two locks.
        if let Some(number) = self.numbers.get(key) {
            return *number;
        }
        let shape = shape(opcode, body);
        let named = self.commands.contains(&shape.command);
        if self.shapes.len() >= SHAPES_MAX || (!named && self.commands.len() >= COMMANDS_MAX) {
            return 0;
        }
        self.commands.insert(shape.command.clone());
        let number = u32::try_from(self.shapes.len()).expect("a few thousand");
        self.shapes.push(shape);
        self.numbers.insert(key.into(), number);
        number
    }
}

fn shape(opcode: OpCode, body: &RequestBody) -> CommandShape {
    let text = |bytes: &[u8]| clean(&String::from_utf8_lossy(bytes));
    let command = match opcode {
        _ if body.unreadable => UNREADABLE.to_owned(),
        _ if !body.command.name.is_empty() => text(&body.command.name),
        OpCode::Query => "OP_QUERY".to_owned(),
        OpCode::Insert => "OP_INSERT".to_owned(),
        OpCode::Update => "OP_UPDATE".to_owned(),
        OpCode::Delete => "OP_DELETE".to_owned(),
        OpCode::GetMore => "OP_GET_MORE".to_owned(),
        OpCode::KillCursors => "OP_KILL_CURSORS".to_owned(),
        OpCode::Compressed => "OP_COMPRESSED".to_owned(),
        _ => UNREADABLE.to_owned(),
    };
    let names = body.command.names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let fields: BTreeSet<String> = names.map(text).collect();
    let namespace = Some(&body.namespace).filter(|it| !it.is_empty()).map(|it| text(it));
    CommandShape { command, namespace, fields: fields.into_iter().collect() }
}
