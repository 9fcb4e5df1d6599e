//! Requests and replies of one connection: bytes in, bytes out, no socket.

use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::Arc;

use bson::{RawArray, RawBson, RawDocument, RawDocumentBuf, rawdoc};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::administration::{self, refusal};
use super::engine::{Engine, LegacyBatch, WriteOutcome};
use super::faults::Struck;
use super::server_counters::Opcounter;
use super::shared_state::{Caller, SharedState};
use super::simulated_load::Admission;
use base::clock::monotonic_ns;
use wire::raw::{Value, fields, get};
use wire::request_messages::{Msg, Query};
use wire::{HEADER_BYTES, Header, WireError, reply_messages, request_messages::RequestMessage};
use workload::random::Random;

/// Document sequences of an OP_MSG.
type Sequences<'a> = [(&'a str, Vec<&'a RawDocument>)];

/// One connection's state.
#[derive(Debug)]
pub struct Session {
    caller: Caller,
    draws: Option<Random>,
    /// Number of commands on documents so far.
    commands: u64,
    replies: i32,
    /// The answer under way, as far as it is known.
    delivery: Delivery,
    /// Socket of the client; None for a client that has none and cannot go away.
    pub(super) socket: Option<Arc<TcpStream>>,
}

/// Fate of the bytes of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivery {
    /// How long they are held back.
    pub hold: Option<PendingHold>,
    /// Whether the connection is closed after them.
    pub close: bool,
    garbage: bool,
}

/// A hold that is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingHold {
    /// CLOCK_MONOTONIC, ns.
    pub arrival_ns: u64,
    /// When service begins, and when the answer is due.
    pub admission: Admission,
}

impl Session {
    pub fn new(server: Arc<SharedState>, connection: i32, address: SocketAddr) -> Self {
        let number = u64::from(connection.cast_unsigned());
        let draws = server.load.as_ref().map(|load| load.draws(number));
        Self {
            caller: Caller { server, connection, address, last_write: None },
            draws,
            commands: 0,
            replies: 0,
            delivery: Delivery::default(),
            socket: None,
        }
    }

    /// Does what a message asks for, and writes the answer into `reply`, which stays empty where
    /// none is wanted.
    pub fn answer(
        &mut self,
        header: &Header,
        message: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<Delivery, WireError> {
        reply.clear();
        let request = RequestMessage::parse(header, message)?;
        self.delivery = Delivery::default();
        self.replies = self.replies.wrapping_add(1);
        let ids = (self.replies, header.request_id);
        match request {
            RequestMessage::Msg(msg) => {
                let body = self.msg(&msg);
                if !msg.more_to_come {
                    reply_messages::msg(reply, ids.0, ids.1, &told(msg.body, body));
                }
            }
            RequestMessage::Query(query) => match query.namespace.strip_suffix(".$cmd") {
                Some(database) => {
                    let body = self.legacy_command(database, unwrapped(query.query));
                    let flags = reply_messages::AWAIT_CAPABLE;
                    reply_messages::legacy(reply, ids.0, ids.1, flags, 0, 0, [&*body]);
                }
                None => self.find(&query, ids, reply),
            },
            RequestMessage::GetMore { namespace, number_to_return, cursor } => {
                self.caller.last_write = None;
                self.caller.server.counters.add(Opcounter::GetMore, 1);
                let client = self.socket.clone();
                let is_there = || is_there(client.as_deref());
                let batch = self.on_documents(true, |struck, engine| match struck.error {
                    Some(code) => Err(code),
                    None => {
                        Ok(engine.legacy_get_more(namespace, number_to_return, cursor, &is_there))
                    }
                });
                write_batch(reply, ids, batch);
            }
            RequestMessage::KillCursors { cursors } => {
                self.caller.server.engine.kill_cursors(&cursors);
            }
            RequestMessage::Insert { flags, namespace, documents } => {
                let tried = self.write(|engine| engine.legacy_insert(flags, namespace, &documents));
                self.caller.server.counters.add(Opcounter::Insert, tried);
            }
            RequestMessage::Update { flags, namespace, filter, update } => {
                self.caller.server.counters.add(Opcounter::Update, 1);
                self.write(|engine| engine.legacy_update(flags, namespace, filter, update));
            }
            RequestMessage::Delete { flags, namespace, filter } => {
                self.caller.server.counters.add(Opcounter::Delete, 1);
                self.write(|engine| engine.legacy_delete(flags, namespace, filter));
            }
        }
        if self.delivery.garbage {
            // The header stays right: a wrong length would have the driver wait for bytes.
            reply.iter_mut().skip(HEADER_BYTES).for_each(|byte| *byte = 0xff);
        }
        Ok(self.delivery)
    }

    fn msg(&mut self, msg: &Msg<'_>) -> RawDocumentBuf {
        match msg.body.get_str("$db") {
            Ok(database) => self.command(database, msg.body, &msg.sequences),
            Err(_) => refusal(40571, "OP_MSG requests require a $db argument"),
        }
    }

    /// Runs a command that came by OP_QUERY. getLastError reports the outcome of a write or a
    /// failure again. Clients that send OP_MSG do not ask for it, so their answers are not read.
    fn legacy_command(&mut self, database: &str, command: &RawDocument) -> RawDocumentBuf {
        let answer = self.command(database, command, &[]);
        if let Some(last_write) = last_write(command, &answer) {
            self.caller.last_write = Some(last_write);
        }
        told(command, answer)
    }

    fn command(
        &mut self,
        database: &str,
        body: &RawDocument,
        sequences: &Sequences<'_>,
    ) -> RawDocumentBuf {
        let name = match body.iter().next() {
            Some(Ok((name, _))) => name.as_str(),
            Some(Err(_)) => return refusal(22, "the command is not BSON"),
            None => "",
        };
        let answered = match kind(name) {
            Some(counted) => {
                self.caller.last_write = None;
                let client = self.socket.clone();
                let is_there = || is_there(client.as_deref());
                let answered =
                    self.on_documents(name == "getMore", |struck, engine| match struck.error {
                        Some(code) => Some(asked_for(code, body)),
                        None => engine.command(database, body, sequences, &is_there),
                    });
                if let Some(answer) = &answered {
                    let operations = operations(counted, body, sequences, answer);
                    self.caller.server.counters.add(counted, operations);
                }
                answered
            }
            None => self.on_the_server(database, name, body, sequences),
        };
        answered.unwrap_or_else(|| refusal(59, &format!("no such command: '{name}'")))
    }

    /// Runs a command that is never held back nor struck by faults.
    fn on_the_server(
        &mut self,
        database: &str,
        name: &str,
        body: &RawDocument,
        sequences: &Sequences<'_>,
    ) -> Option<RawDocumentBuf> {
        if !name.eq_ignore_ascii_case("getLastError") {
            self.caller.last_write = None;
        }
        let counters = &self.caller.server.counters;
        if let Some(answers) = administration::find(&self.caller, name) {
            // Counted before it is answered, as in mongod: serverStatus counts itself.
            counters.add(Opcounter::Command, 1);
            return Some(administration::raw(&answers(&self.caller, database, name, body)));
        }
        let answer = self.caller.server.engine.command(database, body, sequences, &|| true)?;
        counters.add(Opcounter::Command, 1);
        Some(answer)
    }

    fn find(&mut self, query: &Query<'_>, ids: (i32, i32), reply: &mut Vec<u8>) {
        self.caller.last_write = None;
        self.caller.server.counters.add(Opcounter::Query, 1);
        let batch = self.on_documents(false, |struck, engine| match struck.error {
            Some(code) => Err(code),
            None => Ok(engine.legacy_find(query)),
        });
        write_batch(reply, ids, batch);
    }

    /// Does a write without an answer. Returns how many documents of an insert were tried.
    fn write(&mut self, write: impl FnOnce(&Engine) -> WriteOutcome) -> usize {
        let outcome = self.on_documents(false, |struck, engine| match struck.error {
            Some(code) => {
                WriteOutcome { error: Some((code, ASKED_FOR.to_owned())), ..Default::default() }
            }
            None => write(engine),
        });
        let tried = outcome.tried;
        self.caller.last_write = Some(outcome);
        tried
    }

    /// Does a command on documents, with the load and the faults that were asked for.
    ///
    /// It is admitted to the queue before it is done, so that doing it is part of its service time.
    /// A getMore, which may wait for documents, is admitted once they are there.
    fn on_documents<T>(&mut self, waits: bool, does: impl FnOnce(Struck, &Engine) -> T) -> T {
        let Self { caller: Caller { server, .. }, draws, delivery, commands, .. } = self;
        let struck = server.faults.strike();
        *commands += 1;
        if !waits {
            delivery.hold = admit(server, draws.as_mut(), struck.slow_ns);
        }
        let done = does(struck, &server.engine);
        if waits {
            delivery.hold = admit(server, draws.as_mut(), struck.slow_ns);
        }
        delivery.garbage = struck.garbage;
        delivery.close = server.faults.closes_after(*commands);
        done
    }
}

fn admit(server: &SharedState, draws: Option<&mut Random>, slow_ns: u64) -> Option<PendingHold> {
    let load = server.load.as_ref().zip(draws);
    if load.is_none() && slow_ns == 0 {
        return None;
    }
    let arrival_ns = monotonic_ns();
    let mut admission = match load {
        Some((load, draws)) => load.admit(arrival_ns, draws),
        None => Admission { start_ns: arrival_ns, due_ns: arrival_ns },
    };
    // The delay is not part of the service: a worker that is slow on purpose would hold up the
    // others.
    admission.due_ns = admission.due_ns.saturating_add(slow_ns);
    Some(PendingHold { arrival_ns, admission })
}

/// Whether a client still waits for its answer. One that only ended its sending counts as gone, as
/// it does with mongod.
fn is_there(client: Option<&TcpStream>) -> bool {
    // nix has no name for it. poll reports errors and hang-ups without being asked.
    let ended = PollFlags::from_bits_retain(nix::libc::POLLRDHUP);
    client.is_none_or(|stream| {
        let mut watched = [PollFd::new(stream.as_fd(), ended)];
        poll(&mut watched, PollTimeout::ZERO) != Ok(1)
    })
}

const ASKED_FOR: &str = "an error that --error of the absorber asked for";

/// Errors after which a driver may try a transaction again.
const TRANSIENT: [i32; 9] = [91, 112, 189, 262, 10107, 11600, 11602, 13435, 13436];

/// The error in place of a command, with mongod's label if that belongs to a transaction.
fn asked_for(code: i32, command: &RawDocument) -> RawDocumentBuf {
    let mut error = administration::refusal_document(code, ASKED_FOR);
    if TRANSIENT.contains(&code) && get(command.as_bytes(), b"autocommit").is_some() {
        error.insert("errorLabels", ["TransientTransactionError"].to_vec());
    }
    administration::raw(&error)
}

/// Outcome of a command for getLastError, if it has one. For several updates or deletes in one
/// command mongod reports the outcome of the last one, and this function that of all.
fn last_write(command: &RawDocument, answer: &RawDocument) -> Option<WriteOutcome> {
    let error_of =
        |it: &RawDocument| Some((it.get_i32("code").ok()?, it.get_str("errmsg").ok()?.to_owned()));
    let failed = write_errors(answer).and_then(|errors| errors.into_iter().last()?.ok());
    let failed = failed.as_ref().and_then(|error| error.as_document());
    let error = failed.and_then(error_of).or_else(|| error_of(answer));
    let (name, _) = command.iter().next()?.ok()?;
    let is_update = name == "update";
    if error.is_none() && !is_update && name != "delete" {
        return None; // an insert's n is 0
    }
    let n = i64::from(answer.get_i32("n").unwrap_or(0));
    let upserts = answer.get_array("upserted").ok();
    let upsert = upserts.and_then(|upserts| upserts.into_iter().next()?.ok());
    let upserted = upsert.and_then(|it| it.as_document()?.get("_id").ok()?);
    let updated_existing = is_update.then_some(upserted.is_none() && n > 0);
    let upserted = upserted.map(RawBson::from);
    Some(WriteOutcome { n, updated_existing, upserted, error, ..WriteOutcome::default() })
}

/// Part of an answer that is sent. A write of w:0 that waits for an answer learns only that it was
/// read: drivers without moreToCome would report a later error as the operation's.
fn told(command: &RawDocument, answer: RawDocumentBuf) -> RawDocumentBuf {
    let was_done = get(answer.as_bytes(), b"n").is_some();
    if was_done && is_unacknowledged(command) {
        rawdoc! { "ok": 1.0 }
    } else {
        answer
    }
}

/// Whether a command, which was checked, is a write of w:0.
fn is_unacknowledged(command: &RawDocument) -> bool {
    let mut all = fields(command.as_bytes());
    let writes = all.next().is_some_and(|it| matches!(it.name, b"insert" | b"update" | b"delete"));
    let concern = all.find(|field| writes && field.name == b"writeConcern");
    let Some(concern) = concern.and_then(|it| it.value.document()) else { return false };
    let journal = get(concern, b"j").is_some_and(Value::truth);
    !journal && get(concern, b"w").and_then(Value::whole_number) == Some(0)
}

/// The opcounter of commands on documents; None: a command on anything else.
fn kind(name: &str) -> Option<Opcounter> {
    Some(match name {
        "insert" => Opcounter::Insert,
        "find" => Opcounter::Query,
        "update" => Opcounter::Update,
        "delete" => Opcounter::Delete,
        "getMore" => Opcounter::GetMore,
        "count" | "distinct" | "aggregate" | "findAndModify" | "findandmodify"
        | "commitTransaction" | "abortTransaction" => Opcounter::Command,
        _ => return None,
    })
}

/// How many operations a command counts as: inserted documents and statements of updates and
/// deletes one by one as far as they were tried, everything else as one.
fn operations(
    counted: Opcounter,
    body: &RawDocument,
    sequences: &Sequences<'_>,
    answer: &RawDocument,
) -> usize {
    let field = match counted {
        Opcounter::Insert => {
            let inserted = answer.get_i32("n").map_or(0, |n| usize::try_from(n).unwrap_or(0));
            return inserted + write_errors(answer).map_or(0, |it| it.into_iter().count());
        }
        Opcounter::Update => "updates",
        Opcounter::Delete => "deletes",
        _ => return 1,
    };
    if answer.get("n").ok().flatten().is_none() {
        return 0; // refused as a whole
    }
    if body.get_bool("ordered").unwrap_or(true)
        && let Some(errors) = write_errors(answer)
        && let Some(Ok(last)) = errors.into_iter().last()
        && let Some(last) = last.as_document()
    {
        return last.get_i32("index").map_or(0, |index| usize::try_from(index).unwrap_or(0) + 1);
    }
    let sequence = sequences.iter().find(|(name, _)| *name == field);
    let statements = sequence.map(|(_, statements)| statements.len());
    let in_body = || body.get_array(field).map_or(0, |array| array.into_iter().count());
    statements.unwrap_or_else(in_body)
}

fn write_errors(answer: &RawDocument) -> Option<&RawArray> {
    answer.get_array("writeErrors").ok()
}

/// The command itself: over OP_QUERY it may be in a `$query`, beside a `$readPreference`.
fn unwrapped(query: &RawDocument) -> &RawDocument {
    match query.iter().next() {
        Some(Ok((name, value))) if ["$query", "query"].contains(&name.as_str()) => {
            value.as_document().unwrap_or(query)
        }
        _ => query,
    }
}

fn write_batch(reply: &mut Vec<u8>, ids: (i32, i32), batch: Result<LegacyBatch, i32>) {
    match batch {
        Ok(batch) => {
            let LegacyBatch { flags, cursor, starting_from, documents } = batch;
            let documents = documents.iter().map(|it| &**it);
            reply_messages::legacy(reply, ids.0, ids.1, flags, cursor, starting_from, documents);
        }
        Err(code) => {
            let error = rawdoc! { "$err": ASKED_FOR, "code": code };
            reply_messages::legacy(
                reply,
                ids.0,
                ids.1,
                reply_messages::QUERY_FAILURE,
                0,
                0,
                [&*error],
            );
        }
    }
}
