//! A tap of a test's own, driven as the core does it, and messages to send through it by hand.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use bson::{RawDocument, RawDocumentBuf};
use record::records::Tap as Summary;
use tap::control::{ControlCommand, Event};
use tap::exchange::Exchange;
use tap::message_ways::LatencyParts;
use tap::recording::{Recording, read};
use tap::tap_summary::summarise;
use tempfile::TempDir;
use wire::{Header, OpCode, read_message};

use crate::support;

/// Longer than anything that works takes.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// `host:port` of a URI of ours.
pub fn host_of(uri: &str) -> String {
    let rest = uri.strip_prefix("mongodb://").expect("a URI");
    rest[..rest.find(['/', '?']).unwrap_or(rest.len())].to_owned()
}

pub struct Tap {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    pub addresses: Vec<SocketAddr>,
    folder: TempDir,
}

impl Tap {
    pub fn start(to: &str, arms: usize, more: &[&str]) -> Self {
        let arms_text = arms.to_string();
        let words = [&["tap", "--to", to, "--arms", &arms_text, "--epoch-ns", "0"], more].concat();
        let mut command = support::mongodyno(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let folder = tempfile::tempdir().expect("a folder");
        let mut tap = Self { child, stdin, stdout, addresses: Vec::new(), folder };
        let Event::Listening { addresses } = tap.answer() else { panic!("not the first line") };
        assert_eq!(addresses.len(), arms);
        tap.addresses = addresses;
        tap
    }

    fn answer(&mut self) -> Event {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    pub fn uri(&self) -> String {
        format!("mongodb://{}/?directConnection=true", self.addresses[0])
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    fn prefix(&self, name: &str) -> PathBuf {
        self.folder.path().join("made/by/the/tap").join(name)
    }

    pub fn rotate(&mut self, name: Option<&str>) {
        let command = ControlCommand::Rotate { prefix: name.map(|name| self.prefix(name)) };
        let line = serde_json::to_string(&command).expect("serialises");
        writeln!(self.stdin.as_mut().expect("open"), "{line}").expect("it listens");
        assert_eq!(self.answer(), Event::Rotated);
    }

    pub fn recorded(&self, name: &str, arm: usize) -> (Vec<Exchange>, Recording) {
        read(&self.prefix(name), arm).expect("both files")
    }

    /// The summary of one arm's files, all in one turn and without samples.
    pub fn summary(&self, name: &str, operations: u64) -> Summary {
        let (exchanges, recording) = self.recorded(name, 0);
        summarise(&exchanges, &recording, &[(0, u64::MAX)], Vec::new(), operations)
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_none()
    }

    /// Ends it as the core's end does; returns its stderr.
    pub fn end(mut self) -> String {
        drop(self.stdin.take());
        let mut text = String::new();
        let mut stderr = self.child.stderr.take().expect("piped");
        stderr.read_to_string(&mut text).expect("text");
        assert!(self.child.wait().expect("ends").success(), "{text}");
        text
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A socket that gives up after [`PATIENCE`].
pub fn connect(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).expect("it listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("an option");
    socket.set_write_timeout(Some(PATIENCE)).expect("an option");
    socket.set_nodelay(true).expect("an option");
    socket
}

pub fn message(id: i32, opcode: OpCode, body: &[u8]) -> Vec<u8> {
    let header = Header { length: 16 + body.len(), request_id: id, response_to: 0, opcode };
    [&header.to_bytes()[..], body].concat()
}

/// OP_MSG with one body.
pub fn msg(id: i32, flags: u32, body: &RawDocument) -> Vec<u8> {
    message(id, OpCode::Msg, &[&flags.to_le_bytes()[..], &[0], body.as_bytes()].concat())
}

/// Sends a request and reads its answer: opcode and the last document in it.
pub fn ask(socket: &mut TcpStream, request: &[u8]) -> (OpCode, RawDocumentBuf) {
    socket.write_all(request).expect("it reads");
    answer(socket)
}

pub fn answer(socket: &mut TcpStream) -> (OpCode, RawDocumentBuf) {
    let mut buffer = Vec::new();
    let header = read_message(socket, &mut buffer).expect("an answer").expect("no end");
    let at = if header.opcode == OpCode::Msg { 21 } else { 36 };
    let end = at + i32::from_le_bytes(*buffer[at..].first_chunk().expect("a document")) as usize;
    (header.opcode, RawDocumentBuf::from_bytes(buffer[at..end].to_vec()).expect("a document"))
}

/// Whether the other side ends the connection, be it by a reset.
pub fn is_ended(socket: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    match socket.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

/// Time from a message's begin to its arrival, the sum of its parts.
pub fn total_ns(parts: &LatencyParts) -> u64 {
    parts.program_ns + parts.driver_ns + parts.wire_ns + parts.server_ns + parts.consumer_ns
}
