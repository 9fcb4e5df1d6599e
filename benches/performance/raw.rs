//! Commands as bytes and a connection without a driver: round trips that cost the client next to
//! nothing.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use bson::{Document, RawDocument, RawDocumentBuf, doc, oid::ObjectId};
use wire::{HEADER_BYTES, Header, OpCode};

/// Behind flags and the kind of its section.
const BODY_AT: usize = HEADER_BYTES + 5;
/// Stands in a template for the `_id` of each request; its last eight bytes are the key.
const ID: [u8; 12] = [0xa5; 12];
/// Stands in a template for the number of each request.
const NUMBER: i64 = 0x5a5a_5a5a_5a5a_5a5a;

pub struct Raw {
    stream: TcpStream,
    reply: Vec<u8>,
}

/// A command that is the same each time, but for a key and a number.
pub struct Command {
    pub name: &'static str,
    message: Vec<u8>,
    keys_at: Vec<usize>,
    numbers_at: Vec<usize>,
}

impl Raw {
    pub fn connect(address: &str) -> Result<Self, String> {
        let stream = TcpStream::connect(address).map_err(|error| format!("{address}: {error}"))?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        Ok(Self { stream, reply: vec![0; 1 << 16] })
    }

    /// Sends a message and waits for the whole answer.
    pub fn exchange(&mut self, message: &[u8]) -> Result<&[u8], String> {
        let failed = |error: std::io::Error| format!("no answer: {error}");
        self.stream.write_all(message).map_err(failed)?;
        let (mut have, mut length) = (0, HEADER_BYTES);
        while have < length {
            match self.stream.read(&mut self.reply[have..]).map_err(failed)? {
                0 => return Err("the connection was closed instead of an answer".to_owned()),
                more => have += more,
            }
            if have >= 4 {
                let announced = self.reply[..4].try_into().expect("4 bytes");
                length = u32::from_le_bytes(announced) as usize;
                self.reply.resize(self.reply.len().max(length), 0);
            }
        }
        Ok(&self.reply[..length])
    }

    /// Sends a command with a key; answers its time in us.
    pub fn time(&mut self, command: &mut Command, key: u64) -> Result<f64, String> {
        let message = command.message(key);
        let began = Instant::now();
        self.exchange(message)?;
        Ok(began.elapsed().as_secs_f64() * 1e6)
    }

    /// The document of the answer to a command.
    pub fn answer(&mut self, command: &mut Command, key: u64) -> Result<Document, String> {
        let reply = self.exchange(command.message(key))?;
        document(reply).map_err(|error| format!("{}: {error}", command.name))
    }
}

/// The body of an OP_MSG.
pub fn document(message: &[u8]) -> Result<Document, String> {
    let body = message.get(BODY_AT..).unwrap_or_default();
    let body = RawDocument::from_bytes(body).map_err(|error| error.to_string())?;
    Document::try_from(body).map_err(|error| error.to_string())
}

/// An OP_MSG as drivers send it; `sequence` becomes a document sequence.
pub fn message(body: &Document, sequence: Option<(&str, &Document)>) -> Vec<u8> {
    let raw = |document: &Document| RawDocumentBuf::try_from(document).expect("BSON");
    let mut message = vec![0; BODY_AT]; // no flags; a section of kind 0
    message.extend_from_slice(raw(body).as_bytes());
    if let Some((name, document)) = sequence {
        let document = raw(document);
        let length = 4 + name.len() + 1 + document.as_bytes().len();
        message.push(1);
        message.extend_from_slice(&(length as u32).to_le_bytes());
        message.extend_from_slice(name.as_bytes());
        message.push(0);
        message.extend_from_slice(document.as_bytes());
    }
    let length = message.len();
    let header = Header { length, request_id: 1, response_to: 0, opcode: OpCode::Msg };
    message[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
    message
}

impl Command {
    fn new(name: &'static str, body: &Document, sequence: Option<(&str, &Document)>) -> Self {
        let message = message(body, sequence);
        let places = |pattern: &[u8]| -> Vec<usize> {
            let windows = message.windows(pattern.len()).enumerate();
            windows.filter(|(_, it)| *it == pattern).map(|(at, _)| at).collect()
        };
        let keys_at = places(&ID).into_iter().map(|at| at + ID.len() - 8).collect();
        let numbers_at = places(&NUMBER.to_le_bytes());
        Self { name, message, keys_at, numbers_at }
    }

    /// ping; and one command of each kind on documents of 275 bytes in `collection`.
    pub fn all(database: &str, collection: &str) -> [Self; 5] {
        let id = ObjectId::from_bytes(ID);
        let at = |name: &str| doc! { name: collection, "ordered": true, "$db": database };
        let document = doc! {
            "_id": id, "number": 1_i64, "name": "x".repeat(24), "group": 7, "price": 99.5,
            "active": true, "changed": 0_i64, "note": "y".repeat(130),
        };
        let find = doc! {
            "find": collection, "filter": { "_id": id }, "limit": 1, "singleBatch": true,
            "$db": database,
        };
        let update = doc! { "q": { "_id": id }, "u": { "$set": { "changed": NUMBER } } };
        let delete = doc! { "q": { "_id": id }, "limit": 1 };
        [
            Self::new("ping", &doc! { "ping": 1, "$db": "admin" }, None),
            Self::new("insert", &at("insert"), Some(("documents", &document))),
            Self::new("find", &find, None),
            Self::new("update", &at("update"), Some(("updates", &update))),
            Self::new("delete", &at("delete"), Some(("deletes", &delete))),
        ]
    }

    /// The message with this key; its number is different every time.
    pub fn message(&mut self, key: u64) -> &[u8] {
        for at in &self.keys_at {
            self.message[*at..at + 8].copy_from_slice(&key.to_be_bytes());
        }
        for at in &self.numbers_at {
            let number = u64::from_le_bytes(self.message[*at..at + 8].try_into().expect("8 bytes"));
            self.message[*at..at + 8].copy_from_slice(&number.wrapping_add(1).to_le_bytes());
        }
        &self.message
    }
}
