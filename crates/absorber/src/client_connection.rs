//! One connection: its thread reads a message, has it answered, waits, writes, and reads the next.
//!
//! It answers in order and one message at a time, as mongod does: old drivers send many requests
//! before they read the first answer.

use std::io::{self, BufReader, ErrorKind, Read, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use super::engine::Share;
use super::holds::{Hold, HoldLog};
use super::server_counters::Raised;
use super::session::{PendingHold, Session};
use super::shared_state::SharedState;
use base::clock::{monotonic_ns, sharpen_sleeps, sleep_until};
use wire::read_message;

/// Bytes of one read: many small requests, or the beginning of a large one.
const READ_BYTES: usize = 16 << 10;
/// A buffer that grew beyond this gives its memory back with the next small message.
const KEPT_BYTES: usize = 1 << 20;
const SMALL_BYTES: usize = 64 << 10;

/// Answers a client until it closes the connection.
pub(super) fn serve(
    stream: &Arc<TcpStream>,
    server: &Arc<SharedState>,
    number: i32,
) -> io::Result<()> {
    let counters = &server.counters;
    let _current = Raised::new(&counters.connections_current);
    let holds = server.holds.as_ref().map(HoldLog::connection);
    sharpen_sleeps();
    stream.set_nodelay(true)?;
    let mut session = Session::new(Arc::clone(server), number, stream.peer_addr()?);
    session.socket = Some(Arc::clone(stream));
    let stream = &**stream;
    let reader = BufReader::with_capacity(READ_BYTES, stream);
    let mut reader =
        MeteredReader { reader, share: Share::of(server.engine.memory()), bytes: 0, kept: 0 };
    let (mut message, mut reply) = (Vec::new(), Vec::new());
    while let Some(header) = read_message(&mut reader, &mut message)? {
        let _active = Raised::new(&counters.connections_active);
        counters.received(message.len());
        let answer = session
            .answer(&header, &message, &mut reply)
            .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        reader.keep(held_bytes(&message) + held_bytes(&reply))?;
        let held = answer.hold.map(wait);
        let log = holds.as_ref().zip(held);
        if let Some((holds, hold)) = log {
            holds.push(hold);
        }
        if !reply.is_empty() {
            counters.sent(reply.len());
            let mut stream = stream;
            stream.write_all(&reply)?;
        }
        if let Some((holds, _)) = log {
            holds.write_if_many();
        }
        if answer.close {
            return Ok(());
        }
        for buffer in [&mut message, &mut reply] {
            if buffer.capacity() > KEPT_BYTES && buffer.len() < SMALL_BYTES {
                buffer.shrink_to(SMALL_BYTES);
            }
        }
        reader.begin(&mut [&mut message, &mut reply])?;
    }
    Ok(())
}

/// Bytes that a buffer counts for: its content, and the room it keeps for the next message. The
/// room that every connection needs is free.
fn held_bytes(buffer: &Vec<u8>) -> u64 {
    buffer.len().max(buffer.capacity().min(KEPT_BYTES)).saturating_sub(SMALL_BYTES) as u64
}

/// Reader that charges a message to the memory budget while its bytes arrive.
struct MeteredReader<R> {
    reader: R,
    share: Share,
    /// Bytes of the message so far.
    bytes: usize,
    /// Bytes that buffers keep from earlier messages.
    kept: u64,
}

impl<R> MeteredReader<R> {
    /// Begins the next message. Frees the buffers for which the budget has no room.
    fn begin(&mut self, buffers: &mut [&mut Vec<u8>]) -> io::Result<()> {
        self.bytes = 0;
        self.kept = buffers.iter().map(|buffer| held_bytes(buffer)).sum();
        if self.keep(self.kept).is_ok() {
            return Ok(());
        }
        for buffer in buffers {
            **buffer = Vec::new();
        }
        self.kept = 0;
        self.keep(0)
    }

    fn keep(&mut self, bytes: u64) -> io::Result<()> {
        self.share.set(bytes).map_err(|_| io::Error::other("the memory is full (--memory)"))
    }
}

impl<R: Read> Read for MeteredReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.bytes += count;
        self.keep(self.kept.max(self.bytes.saturating_sub(SMALL_BYTES) as u64))?;
        Ok(count)
    }
}

fn wait(held: PendingHold) -> Hold {
    let PendingHold { arrival_ns, admission } = held;
    sleep_until(admission.due_ns);
    Hold {
        arrival_ns,
        start_ns: admission.start_ns,
        due_ns: admission.due_ns,
        released_ns: monotonic_ns(),
    }
}
