//! One connection through the tap: bytes are read, written on, and then accounted for.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, send};

use base::clock::sharpen_sleeps;
use wire::{OpCode, WireError};

use super::exchange::{EXCHANGE_BYTES, Exchange, flags};
use super::framing::{Follower, Passed, PassedMessage};
use super::link::{SimulatedLink, sleep_until};
use super::pipe::{LinkChunk, Pipe};
use super::recording::ConnectionRecord;
use super::reply_body::{Carried, ReplyBody};
use super::request_body::RequestBody;
use super::tapped_arm::{TappedArm, spawn};

/// Buffer of one read without a link, bytes. Only what is read touches memory.
const READ_BYTES: usize = 64 << 10;
/// Records that a connection keeps before it hands them on: a write of 20 KiB each.
const RECORDS: usize = 256;
/// Maximum number of commands that wait for an answer. Drivers of 2013 write a million inserts onto
/// five connections before they read answers; no driver sends more.
const WAITING_MAX: usize = 1 << 18;
/// Answers remembered until the thread that sent their request has accounted for it.
const EARLY_MAX: usize = 16;
/// How long a flush waits for a thread between its write and its account.
const SETTLE: Duration = Duration::from_millis(200);

/// To the server.
pub(super) const OUT: usize = 0;
/// To the client.
pub(super) const IN: usize = 1;

pub(super) struct Connection {
    number: u32,
    /// Client, server: direction `way` reads from `sockets[way]` and writes to the other.
    sockets: [TcpStream; 2],
    arm: Arc<TappedArm>,
    account: Mutex<Account>,
    /// Whether each direction is between a write and its account.
    busy: [AtomicBool; 2],
    bytes: [AtomicU64; 2],
    encrypted: AtomicBool,
    opened_ns: u64,
    dropped: Mutex<Option<String>>,
}

/// Requests and answers that wait for each other, and what came of those that met.
///
/// The two directions are accounted for by two threads, each after it has written on, so that an
/// answer may be known here before its request.
#[derive(Debug, Default)]
struct Account {
    waiting: VecDeque<(i32, Exchange)>,
    early: VecDeque<ReplyEnd>,
    /// Shape of the request whose replies follow each other without further requests.
    streaming: Option<u32>,
    records: Vec<u8>,
}

/// A reply that has passed.
#[derive(Debug, Clone, Copy)]
struct ReplyEnd {
    message: PassedMessage,
    /// Whether others follow without a request.
    more: bool,
    carried: Option<Carried>,
}

impl Account {
    fn request(&mut self, id: i32, mut exchange: Exchange, answered: bool) {
        if !answered {
            return self.record(&exchange);
        }
        if let Some(at) = self.early.iter().position(|it| it.message.header.response_to == id) {
            let reply = self.early.remove(at).expect("just found");
            self.streaming = reply.more.then_some(exchange.shape);
            complete(&mut exchange, &reply);
            return self.record(&exchange);
        }
        if self.waiting.len() == WAITING_MAX {
            let (_, oldest) = self.waiting.pop_front().expect("full");
            self.record(&oldest);
        }
        self.waiting.push_back((id, exchange));
    }

    fn reply(&mut self, connection: u32, reply: ReplyEnd) {
        let id = reply.message.header.response_to;
        if let Some(at) = self.waiting.iter().position(|(it, _)| *it == id) {
            let (_, mut exchange) = self.waiting.remove(at).expect("just found");
            self.streaming = reply.more.then_some(exchange.shape);
            complete(&mut exchange, &reply);
            self.record(&exchange);
        } else if let Some(shape) = self.streaming {
            self.streaming = reply.more.then_some(shape);
            let mut exchange = Exchange {
                request_in_ns: reply.message.first_ns,
                request_out_ns: reply.message.first_ns,
                connection,
                shape,
                flags: flags::STREAMED,
                ..Exchange::default()
            };
            complete(&mut exchange, &reply);
            self.record(&exchange);
        } else {
            if self.early.len() == EARLY_MAX {
                self.early.pop_front();
            }
            self.early.push_back(reply);
        }
    }

    fn record(&mut self, exchange: &Exchange) {
        self.records.extend_from_slice(&exchange.to_bytes());
    }
}

fn complete(exchange: &mut Exchange, ReplyEnd { message, carried, .. }: &ReplyEnd) {
    exchange.reply_first_ns = message.first_ns;
    exchange.reply_last_ns = message.read_ns;
    exchange.reply_out_ns = message.written_ns;
    exchange.bytes_in = message.header.length as u32;
    exchange.flags |= flags::ANSWERED;
    if message.header.opcode == OpCode::Compressed {
        exchange.flags |= flags::COMPRESSED;
    }
    if let Some(carried) = carried {
        exchange.set_mark(carried.mark);
        exchange.documents_in = carried.documents;
    }
}

/// Follows one direction.
enum Watch {
    Requests { follower: Box<Follower<RequestBody>>, key: Vec<u8> },
    Replies(Follower<ReplyBody>),
}

impl Watch {
    fn of(way: usize, arm: &TappedArm) -> Self {
        let marks = arm.marks.as_ref();
        if way == OUT {
            let follower = Box::new(Follower::new(RequestBody::new(marks)));
            Self::Requests { follower, key: Vec::new() }
        } else {
            Self::Replies(Follower::new(ReplyBody::new(marks)))
        }
    }

    fn follow(
        &mut self,
        connection: &Connection,
        bytes: &[u8],
        passed: Passed,
    ) -> Result<(), WireError> {
        let encrypted = match self {
            Self::Requests { follower, key } => {
                follower.follow(bytes, passed, |message, body| {
                    connection.request(message, body, key);
                })?;
                follower.encrypted
            }
            Self::Replies(follower) => {
                follower.follow(bytes, passed, |message, reply| {
                    let (more, carried) = (reply.more_to_come(), reply.carried());
                    connection.reply(ReplyEnd { message, more, carried });
                })?;
                follower.encrypted
            }
        };
        if encrypted {
            connection.encrypted.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Connection {
    pub fn new(arm: Arc<TappedArm>, client: TcpStream, server: TcpStream) -> Self {
        Self {
            number: arm.next_number(),
            sockets: [client, server],
            account: Mutex::default(),
            busy: Default::default(),
            bytes: Default::default(),
            encrypted: AtomicBool::new(false),
            opened_ns: arm.epoch.now_ns(),
            dropped: Mutex::default(),
            arm,
        }
    }

    pub fn number(&self) -> u32 {
        self.number
    }

    /// Serves the connection until both sides have ended.
    pub fn serve(self: &Arc<Self>) {
        let other = self.clone();
        let back = spawn(move || other.way(IN));
        if let Err(error) = back.and_then(|back| {
            self.way(OUT);
            back.join().map_err(|_| io::Error::other("a bug in the tap"))
        }) {
            self.drop_with(&error.to_string());
        }
        let mut account = self.account.lock().expect("no panic");
        let open = std::mem::take(&mut account.waiting);
        for (_, exchange) in &open {
            account.record(exchange);
        }
        drop(account);
        self.hand_on();
    }

    /// One direction, to its end.
    fn way(self: &Arc<Self>, way: usize) {
        let ended = match &self.arm.link {
            None => self.direct(way),
            Some(link) => self.linked(way, link),
        };
        match ended {
            // The other direction may continue: a half-close is passed on as one.
            Ok(()) => drop(self.sockets[1 - way].shutdown(Shutdown::Write)),
            Err(_) => self.end(),
        }
    }

    /// Shuts both sockets down, so that both sides see an end and no thread stays in a read or
    /// write.
    fn end(&self) {
        for socket in &self.sockets {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    fn drop_with(&self, why: &str) {
        let mut dropped = self.dropped.lock().expect("no panic");
        if dropped.is_none() {
            self.arm.log(&format!("connection {} dropped: {why}", self.number));
            *dropped = Some(why.to_owned());
        }
    }

    fn direct(&self, way: usize) -> io::Result<()> {
        let mut watch = Watch::of(way, &self.arm);
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let count = read(&self.sockets[way], &mut buffer)?;
            if count == 0 {
                return Ok(());
            }
            let read_ns = self.arm.epoch.now_ns();
            self.write_on(
                way,
                &mut watch,
                &buffer[..count],
                Passed { read_ns, ..Passed::default() },
            )?;
        }
    }

    fn linked(self: &Arc<Self>, way: usize, link: &SimulatedLink) -> io::Result<()> {
        let pipe = Arc::new(Pipe::new(link.spec.buffer_bytes()));
        let (it, end) = (self.clone(), pipe.clone());
        let writer = spawn(move || {
            let written = it.deliver(way, &end);
            if written.is_err() {
                end.break_off();
                it.end(); // wakes the reader
            }
            written
        })?;
        let was_read = self.take_in(way, link, &pipe);
        if was_read.is_ok() {
            pipe.end();
        } else {
            pipe.break_off();
            self.end(); // wakes a writer whose peer does not read
        }
        let written = writer.join().map_err(|_| io::Error::other("a bug in the tap"))?;
        // If both failed, the writer's failure is the cause.
        written.and(was_read)
    }

    /// Reads onto the link.
    fn take_in(&self, way: usize, link: &SimulatedLink, pipe: &Pipe) -> io::Result<()> {
        let chunk_bytes = link.spec.chunk_bytes();
        let mut held_ns = 0;
        loop {
            let mut memory = pipe.memory(chunk_bytes);
            let count = read(&self.sockets[way], &mut memory)?;
            if count == 0 {
                return Ok(());
            }
            let read_ns = self.arm.epoch.now_ns();
            if !pipe.room(count) {
                return Err(ErrorKind::BrokenPipe.into());
            }
            let now_ns = self.arm.epoch.now_ns();
            let delivery_ns = link.ways[way].delivery_ns(count, now_ns);
            pipe.push(LinkChunk { memory, count, read_ns, held_ns, delivery_ns });
            held_ns += now_ns - read_ns;
        }
    }

    /// Writes what the link delivers.
    fn deliver(&self, way: usize, pipe: &Pipe) -> io::Result<()> {
        sharpen_sleeps();
        let mut watch = Watch::of(way, &self.arm);
        while let Some(chunk) = pipe.next() {
            sleep_until(self.arm.epoch, chunk.delivery_ns);
            let passed = Passed { read_ns: chunk.read_ns, written_ns: 0, held_ns: chunk.held_ns };
            self.write_on(way, &mut watch, &chunk.memory[..chunk.count], passed)?;
            pipe.through(chunk);
        }
        Ok(())
    }

    /// Writes bytes on and accounts for them afterwards.
    fn write_on(
        &self,
        way: usize,
        watch: &mut Watch,
        bytes: &[u8],
        mut passed: Passed,
    ) -> io::Result<()> {
        // Set before the write: whoever has these bytes can rely on a flush that finds this
        // direction busy.
        self.busy[way].store(true, Ordering::SeqCst);
        let result = self.send(way, bytes);
        self.bytes[way].fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let followed = result.and_then(|written_ns| {
            passed.written_ns = written_ns;
            watch.follow(self, bytes, passed).map_err(|error| {
                self.drop_with(&error.to_string());
                io::Error::new(ErrorKind::InvalidData, error)
            })
        });
        self.busy[way].store(false, Ordering::SeqCst);
        followed
    }

    /// Sends all bytes, and returns when the kernel was given the last one, ns.
    ///
    /// The clock is read before a `send` that does not wait, and not after one that may: the
    /// process that these bytes wake can answer before this thread runs again.
    fn send(&self, way: usize, mut bytes: &[u8]) -> io::Result<u64> {
        let socket = &self.sockets[1 - way];
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        loop {
            let now_ns = self.arm.epoch.now_ns();
            match send(socket.as_raw_fd(), bytes, flags) {
                Ok(count) if count == bytes.len() => return Ok(now_ns),
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::EAGAIN) => {
                    let mut wanted = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
                    match poll(&mut wanted, PollTimeout::NONE) {
                        Err(Errno::EINTR) | Ok(_) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn request(&self, message: PassedMessage, body: &RequestBody, key: &mut Vec<u8>) {
        let opcode = message.header.opcode;
        let unanswered = [OpCode::Insert, OpCode::Update, OpCode::Delete, OpCode::KillCursors];
        let legacy = !matches!(opcode, OpCode::Msg | OpCode::Compressed);
        let flag = |is: bool, flag: u32| if is { flag } else { 0 };
        let mut exchange = Exchange {
            request_in_ns: message.read_ns,
            request_out_ns: message.written_ns,
            bytes_out: message.header.length as u32,
            documents: body.command.documents,
            connection: self.number,
            shape: self.arm.shapes.number(opcode, body, key),
            flags: flag(body.more_to_come, flags::MORE_TO_COME)
                | flag(legacy, flags::LEGACY)
                | flag(opcode == OpCode::Compressed, flags::COMPRESSED)
                | flag(body.unreadable, flags::UNREADABLE),
            ..Exchange::default()
        };
        if let Some(mark) = body.mark() {
            exchange.set_mark(mark);
        }
        let answered = !body.more_to_come && !unanswered.contains(&opcode);
        let mut account = self.account.lock().expect("no panic");
        account.request(message.header.request_id, exchange, answered);
        self.hand_on_if_many(account);
    }

    fn reply(&self, reply: ReplyEnd) {
        let mut account = self.account.lock().expect("no panic");
        account.reply(self.number, reply);
        self.hand_on_if_many(account);
    }

    fn hand_on_if_many(&self, mut account: std::sync::MutexGuard<'_, Account>) {
        if account.records.len() >= RECORDS * EXCHANGE_BYTES {
            let records = std::mem::take(&mut account.records);
            drop(account);
            (self.arm.sink)(&records);
        }
    }

    fn hand_on(&self) {
        let records = std::mem::take(&mut self.account.lock().expect("no panic").records);
        if !records.is_empty() {
            (self.arm.sink)(&records);
        }
    }

    /// Hands on the records of everything that either side has received so far.
    pub fn settle(&self) {
        let began = Instant::now();
        // A thread that waits in its write for a slow peer is busy too, hence the limit. What that
        // peer has not received yet is not missed.
        while self.busy.iter().any(|it| it.load(Ordering::SeqCst)) && began.elapsed() < SETTLE {
            std::thread::sleep(Duration::from_micros(50));
        }
        self.hand_on();
    }

    pub fn record(&self, closed_ns: Option<u64>) -> ConnectionRecord {
        ConnectionRecord {
            number: self.number,
            opened_ns: self.opened_ns,
            closed_ns,
            bytes_out: self.bytes[OUT].load(Ordering::Relaxed),
            bytes_in: self.bytes[IN].load(Ordering::Relaxed),
            encrypted: self.encrypted.load(Ordering::Relaxed),
            dropped: self.dropped.lock().expect("no panic").clone(),
        }
    }
}

fn read(mut socket: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match socket.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
