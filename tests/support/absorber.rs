//! An absorber in a separate process, and messages as drivers of all ages write them.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use bson::{Document, RawDocument, RawDocumentBuf, doc};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use wire::{HEADER_BYTES, Header, OpCode, read_message};

use crate::support::{comes_true, mongodyno};

/// A running absorber, ended on drop.
pub struct Absorber {
    child: Child,
    pub address: SocketAddr,
    stderr: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Absorber {
    pub fn start(arguments: &[&str]) -> Self {
        let words = ["absorber", "--listen", "127.0.0.1:0"].iter().chain(arguments);
        let program = mongodyno(words);
        // Started by nohup, these tests would hand on that SIGHUP is ignored.
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP").arg(program.get_program()).args(program.get_args());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        stdout.read_line(&mut line).expect("a line");
        let listening: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(listening["type"], "listening");
        let address = listening["address"].as_str().expect("text").parse().expect("an address");
        let stderr = Arc::new(Mutex::new(String::new()));
        let pipe = BufReader::new(child.stderr.take().expect("a pipe"));
        let said = Arc::clone(&stderr);
        let reader = std::thread::spawn(move || {
            for line in pipe.lines().map_while(Result::ok) {
                let mut said = said.lock().expect("no panic");
                said.push_str(&line);
                said.push('\n');
            }
        });
        Self { child, address, stderr, reader: Some(reader) }
    }

    pub fn uri(&self) -> String {
        format!("mongodb://{}", self.address)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn stderr(&self) -> String {
        self.stderr.lock().expect("no panic").clone()
    }

    /// Waits until its log names this number of dropped connections.
    pub fn wait_for_dropped(&self, count: usize) {
        let logged = comes_true(|| self.stderr().matches(" dropped: ").count() >= count);
        assert!(logged, "{count} dropped connections were to be logged:\n{}", self.stderr());
    }

    /// Ends it by a signal and returns all of stderr.
    pub fn end(&mut self, signal: Signal) -> (ExitStatus, String) {
        let pid = Pid::from_raw(i32::try_from(self.pid()).expect("a pid"));
        kill(pid, signal).expect("it runs");
        let status = self.child.wait().expect("it ends");
        self.reader.take().expect("ended once").join().expect("no panic");
        (status, self.stderr())
    }

    pub fn connect(&self) -> Raw {
        Raw::connect(self.address)
    }
}

impl Drop for Absorber {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection that sends and reads messages as they are.
pub struct Raw {
    pub stream: TcpStream,
    sent: i32,
}

impl Raw {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
        Self { stream, sent: 0 }
    }

    pub fn send(&mut self, message: &[u8]) {
        self.stream.write_all(message).expect("it reads");
    }

    pub fn receive(&mut self) -> (Header, Vec<Document>) {
        let mut bytes = Vec::new();
        let header = read_message(&mut self.stream, &mut bytes).expect("a message");
        let header = header.expect("an open connection");
        let mut rest = &bytes[HEADER_BYTES + if header.opcode == OpCode::Msg { 5 } else { 20 }..];
        let mut documents = Vec::new();
        while !rest.is_empty() {
            documents.push(Document::from_reader(&mut rest).expect("BSON"));
        }
        (header, documents)
    }

    /// Sends a command by OP_MSG and returns its answer.
    pub fn command(&mut self, command: &Document) -> Document {
        self.sent += 1;
        self.send(&msg(self.sent, 0, command, &[]));
        let (header, mut documents) = self.receive();
        assert_eq!((header.opcode, header.response_to), (OpCode::Msg, self.sent));
        documents.pop().expect("a body")
    }

    /// Sends a command by OP_QUERY and returns its answer.
    pub fn legacy_command(&mut self, database: &str, command: &Document) -> Document {
        self.sent += 1;
        self.send(&query(self.sent, 0, &format!("{database}.$cmd"), -1, command));
        let (header, mut documents) = self.receive();
        assert_eq!((header.opcode, header.response_to), (OpCode::Reply, self.sent));
        documents.pop().expect("a document")
    }

    pub fn is_closed(&mut self) -> bool {
        matches!(self.stream.read(&mut [0; 1]), Ok(0) | Err(_))
    }
}

fn message(request_id: i32, opcode: OpCode, parts: &[&[u8]]) -> Vec<u8> {
    let length = HEADER_BYTES + parts.iter().map(|part| part.len()).sum::<usize>();
    let header = Header { length, request_id, response_to: 0, opcode };
    [&header.to_bytes()[..], &parts.concat()].concat()
}

pub fn bytes(document: &Document) -> Vec<u8> {
    RawDocumentBuf::try_from(document).expect("BSON").into_bytes()
}

fn zero_ended(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

/// OP_MSG; `sequences` are document sequences.
pub fn msg(id: i32, flags: u32, body: &Document, sequences: &[(&str, &[Document])]) -> Vec<u8> {
    let mut parts = vec![flags.to_le_bytes().to_vec(), vec![0], bytes(body)];
    for (name, documents) in sequences {
        let mut section = zero_ended(name);
        documents.iter().for_each(|document| section.extend(bytes(document)));
        let length = u32::try_from(section.len() + 4).expect("short");
        parts.extend([vec![1], length.to_le_bytes().to_vec(), section]);
    }
    if flags & 1 != 0 {
        parts.push(vec![0xab; 4]); // a checksum, which no one verifies
    }
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    message(id, OpCode::Msg, &parts)
}

pub fn query(id: i32, flags: u32, namespace: &str, number: i32, query: &Document) -> Vec<u8> {
    let (flags, number) = (flags.to_le_bytes(), number.to_le_bytes());
    let parts: [&[u8]; 5] = [&flags, &zero_ended(namespace), &[0; 4], &number, &bytes(query)];
    message(id, OpCode::Query, &parts)
}

pub fn insert(id: i32, namespace: &str, documents: &[Document]) -> Vec<u8> {
    let documents: Vec<u8> = documents.iter().flat_map(bytes).collect();
    message(id, OpCode::Insert, &[&[0; 4], &zero_ended(namespace), &documents])
}

/// OP_UPDATE; flag 1 is an upsert, 2 many documents.
pub fn update(id: i32, namespace: &str, flags: u32, filter: &Document, by: &Document) -> Vec<u8> {
    let flags = flags.to_le_bytes();
    let parts: [&[u8]; 5] = [&[0; 4], &zero_ended(namespace), &flags, &bytes(filter), &bytes(by)];
    message(id, OpCode::Update, &parts)
}

/// OP_DELETE; flag 1 is one document at most.
pub fn delete(id: i32, namespace: &str, flags: u32, filter: &Document) -> Vec<u8> {
    let parts: [&[u8]; 4] = [&[0; 4], &zero_ended(namespace), &flags.to_le_bytes(), &bytes(filter)];
    message(id, OpCode::Delete, &parts)
}

pub fn get_more(id: i32, namespace: &str, number: i32, cursor: i64) -> Vec<u8> {
    let parts: [&[u8]; 4] =
        [&[0; 4], &zero_ended(namespace), &number.to_le_bytes(), &cursor.to_le_bytes()];
    message(id, OpCode::GetMore, &parts)
}

pub fn kill_cursors(id: i32, cursors: &[i64]) -> Vec<u8> {
    let count = i32::try_from(cursors.len()).expect("few").to_le_bytes();
    let cursors: Vec<u8> = cursors.iter().flat_map(|cursor| cursor.to_le_bytes()).collect();
    message(id, OpCode::KillCursors, &[&[0; 4], &count, &cursors])
}

/// An insert of one document with no other field than `_id`.
pub fn insert_command(database: &str, collection: &str, id: i32) -> Document {
    doc! { "insert": collection, "$db": database, "documents": [{ "_id": id, "x": id % 7 }] }
}

/// Documents within documents, without recursion.
pub fn nested(depth: usize) -> RawDocumentBuf {
    let mut inner = vec![5, 0, 0, 0, 0];
    // From the inside out is quadratic; so all lengths are computed first.
    let total = 5 + depth * 8;
    let mut bytes = Vec::with_capacity(total);
    for level in 0..depth {
        let length = i32::try_from(total - level * 8).expect("short");
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&[3, b'a', 0]);
    }
    bytes.append(&mut inner);
    bytes.resize(total, 0);
    let document: &RawDocument = RawDocument::from_bytes(&bytes).expect("BSON");
    document.to_owned()
}
