//! MongoDB's wire protocol: headers, requests, replies, and the BSON in them, from bytes to bytes.
//!
//! Source: the MongoDB wire protocol reference and `OP_MSG.md` of the driver specifications. The
//! legacy opcodes are those that drivers before 2017 use.

pub mod raw;
pub mod reply_messages;
pub mod request_messages;
pub mod walk;

use std::io::{self, ErrorKind, Read};

pub const HEADER_BYTES: usize = 16;
/// Longest message that the absorber takes and mongod announces (`maxMessageSizeBytes`).
pub const MESSAGE_BYTES_MAX: usize = 48_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OpCode {
    Reply,
    Update,
    Insert,
    Query,
    GetMore,
    Delete,
    KillCursors,
    Compressed,
    Msg,
    Other(i32),
}

impl From<i32> for OpCode {
    fn from(number: i32) -> Self {
        match number {
            1 => Self::Reply,
            2001 => Self::Update,
            2002 => Self::Insert,
            2004 => Self::Query,
            2005 => Self::GetMore,
            2006 => Self::Delete,
            2007 => Self::KillCursors,
            2012 => Self::Compressed,
            2013 => Self::Msg,
            other => Self::Other(other),
        }
    }
}

impl From<OpCode> for i32 {
    fn from(opcode: OpCode) -> Self {
        match opcode {
            OpCode::Reply => 1,
            OpCode::Update => 2001,
            OpCode::Insert => 2002,
            OpCode::Query => 2004,
            OpCode::GetMore => 2005,
            OpCode::Delete => 2006,
            OpCode::KillCursors => 2007,
            OpCode::Compressed => 2012,
            OpCode::Msg => 2013,
            OpCode::Other(number) => number,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Length of the whole message, header included.
    pub length: usize,
    /// Chosen by the sender.
    pub request_id: i32,
    /// `request_id` of the message that this one answers; 0 in requests.
    pub response_to: i32,
    pub opcode: OpCode,
}

impl Header {
    /// Refuses a length that no message can have.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<Self, WireError> {
        let at = |at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let length = usize::try_from(at(0)).unwrap_or(0);
        if !(HEADER_BYTES..=MESSAGE_BYTES_MAX).contains(&length) {
            return Err(WireError::Length(at(0)));
        }
        Ok(Self { length, request_id: at(4), response_to: at(8), opcode: at(12).into() })
    }

    pub fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let length = i32::try_from(self.length).expect("messages have at most 48 MB");
        let numbers = [length, self.request_id, self.response_to, self.opcode.into()];
        let mut bytes = [0; HEADER_BYTES];
        for (place, number) in bytes.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }
}

/// Why bytes are no message. Their connection cannot be used any more, because the beginning of the
/// next message is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    #[error("a message of {0} bytes; at least 16 and at most 48000000 are allowed")]
    Length(i32),
    #[error("an opcode that is not understood: {0}")]
    OpCode(i32),
    #[error("a message that ends too early: {0}")]
    Short(&'static str),
    #[error("a message with {0} bytes too many")]
    Long(usize),
    #[error("OP_MSG with unknown required flags {0:#x}")]
    Flags(u32),
    #[error("OP_MSG with a section of kind {0}")]
    Section(u8),
    #[error("OP_MSG with {0} bodies; it must have one")]
    Bodies(usize),
    #[error("a document that is not BSON: {0}")]
    Bson(String),
    #[error("a name that is not UTF-8")]
    Utf8,
}

/// Reads one message, header included. The caller keeps `buffer`, so that its memory serves all
/// messages of a connection. Returns None if the other side closed between two messages.
///
/// Fails with `InvalidData` and a [`WireError`] for an impossible length, with `UnexpectedEof`
/// within a message.
pub fn read_message(from: &mut impl Read, buffer: &mut Vec<u8>) -> io::Result<Option<Header>> {
    let mut bytes = [0; HEADER_BYTES];
    let mut have = 0;
    while have < HEADER_BYTES {
        match from.read(&mut bytes[have..]) {
            Ok(0) if have == 0 => return Ok(None),
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(more) => have += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let header =
        Header::parse(&bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
    buffer.clear();
    buffer.extend_from_slice(&bytes);
    // `take` and not `resize`: a peer that announces 48 MB and sends nothing costs us nothing.
    let body = (header.length - HEADER_BYTES) as u64;
    if from.take(body).read_to_end(buffer)? as u64 != body {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(header))
}
