//! Replies of servers.

use bson::RawDocument;

use super::{HEADER_BYTES, Header, OpCode};

/// OP_REPLY: the cursor is not known (any more).
pub const CURSOR_NOT_FOUND: u32 = 1;
/// OP_REPLY: the only document describes the failure of the query.
pub const QUERY_FAILURE: u32 = 1 << 1;
/// OP_REPLY: the server can await data on tailable cursors.
pub const AWAIT_CAPABLE: u32 = 1 << 3;

/// Writes an OP_MSG with one body into `buffer`, which is cleared first.
pub fn msg(buffer: &mut Vec<u8>, request_id: i32, response_to: i32, body: &RawDocument) {
    begin(buffer);
    buffer.extend_from_slice(&[0; 5]); // no flags; a section of kind 0
    buffer.extend_from_slice(body.as_bytes());
    finish(buffer, request_id, response_to, OpCode::Msg);
}

/// Writes an OP_REPLY into `buffer`, which is cleared first.
pub fn legacy<'a>(
    buffer: &mut Vec<u8>,
    request_id: i32,
    response_to: i32,
    flags: u32,
    cursor: i64,
    starting_from: i32,
    documents: impl IntoIterator<Item = &'a RawDocument>,
) {
    begin(buffer);
    buffer.extend_from_slice(&flags.to_le_bytes());
    buffer.extend_from_slice(&cursor.to_le_bytes());
    buffer.extend_from_slice(&starting_from.to_le_bytes());
    let count_at = buffer.len();
    buffer.extend_from_slice(&[0; 4]);
    let mut count = 0_u32;
    for document in documents {
        buffer.extend_from_slice(document.as_bytes());
        count += 1;
    }
    buffer[count_at..count_at + 4].copy_from_slice(&count.to_le_bytes());
    finish(buffer, request_id, response_to, OpCode::Reply);
}

fn begin(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.extend_from_slice(&[0; HEADER_BYTES]);
}

fn finish(buffer: &mut [u8], request_id: i32, response_to: i32, opcode: OpCode) {
    let header = Header { length: buffer.len(), request_id, response_to, opcode };
    buffer[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
}
