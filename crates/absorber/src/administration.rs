//! Commands that are about the server and not about documents.

use std::sync::atomic::{AtomicI64, Ordering};

use bson::{Bson, DateTime, Document, RawDocument, RawDocumentBuf, doc};

use super::engine::{WriteOutcome, code_name};
use super::handshake;
use super::server_counters::Opcounter;
use super::shared_state::Caller;

/// Function that answers a command: takes the caller, the database, the command's name and the
/// command.
pub(super) type ServerCommand = fn(&Caller, &str, &str, &RawDocument) -> Document;

/// Returns the function for a command about the server; None for other commands.
pub(super) fn find(caller: &Caller, name: &str) -> Option<ServerCommand> {
    let answers: ServerCommand = match name {
        "hello" if !caller.server.wire.has_hello() => return None,
        "hello" | "isMaster" | "ismaster" => |caller, _, name, command| {
            let server = &caller.server;
            let mut answer = handshake::hello(server.wire, caller.connection, name, command);
            if let Some(set) = &server.replica_set {
                handshake::join(&mut answer, set, &server.address.to_string());
            }
            answer
        },
        "ping" | "endSessions" | "refreshSessions" | "resetError" | "logout" => {
            |_, _, _, _| doc! { "ok": 1.0 }
        }
        "buildInfo" | "buildinfo" => |caller, _, _, _| handshake::build_info(caller.server.wire),
        "serverStatus" => |caller, _, _, _| server_status(caller),
        "whatsmyuri" => |caller, _, _, _| doc! { "you": caller.address.to_string(), "ok": 1.0 },
        "getLastError" | "getlasterror" => |caller, _, _, _| last_error(caller),
        "fsync" => fsync,
        "saslStart" | "saslContinue" | "authenticate" => {
            |_, _, _, _| refusal_document(18, "the absorber has no users; connect without a name")
        }
        _ => return None,
    };
    Some(answers)
}

pub(super) fn refusal(code: i32, message: &str) -> RawDocumentBuf {
    raw(&refusal_document(code, message))
}

pub(super) fn refusal_document(code: i32, message: &str) -> Document {
    doc! { "ok": 0.0, "errmsg": message, "code": code, "codeName": code_name(code) }
}

pub(super) fn raw(document: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(document).expect("keys of ours hold no zero byte")
}

/// Does nothing: the absorber has no disk to write to and no files to lock.
fn fsync(_: &Caller, database: &str, _: &str, command: &RawDocument) -> Document {
    if database != "admin" {
        return refusal_document(13, "fsync may only be run against the admin database.");
    }
    if command.get_bool("lock").unwrap_or(false) {
        return refusal_document(20, "the absorber has no files that could be locked");
    }
    doc! { "numFiles": 1, "ok": 1.0 }
}

/// Outcome of this connection's last legacy request, in mongod's order of fields.
fn last_error(caller: &Caller) -> Document {
    let mut answer = doc! { "connectionId": caller.connection };
    let good = doc! {
        "syncMillis": 0, "writtenTo": null, "writeConcern": { "w": 1, "wtimeout": 0 },
        "err": null, "ok": 1.0,
    };
    match &caller.last_write {
        None => {
            answer.insert("n", 0);
            answer.extend(good);
        }
        Some(WriteOutcome { error: Some((code, message)), .. }) => {
            answer.insert("err", message);
            let names = caller.server.wire.has_hello().then(|| duplicate(message)).flatten();
            if let Some((namespace, index)) = names {
                answer.extend(doc! { "ns": namespace, "index": index });
            }
            let name = code_name(*code);
            answer.extend(doc! { "code": *code, "codeName": name, "n": 0, "ok": 1.0 });
        }
        Some(outcome) => {
            if let Some(existing) = outcome.updated_existing {
                answer.insert("updatedExisting", existing);
            }
            if let Some(Ok(upserted)) = outcome.upserted.clone().map(Bson::try_from) {
                answer.insert("upserted", upserted);
            }
            answer.insert("n", i32::try_from(outcome.n).unwrap_or(i32::MAX));
            answer.extend(good);
        }
    }
    answer
}

/// Namespace and index of a duplicate key's message, which getLastError of MongoDB 4.4 has as
/// fields. Older servers lack them: libmongoclient takes `index` for the number of the document,
/// and crashes.
fn duplicate(message: &str) -> Option<(&str, &str)> {
    let rest = message.strip_prefix("E11000 duplicate key error collection: ")?;
    let (namespace, rest) = rest.split_once(" index: ")?;
    Some((namespace, rest.split_once(" dup key: ")?.0))
}

fn server_status(caller: &Caller) -> Document {
    let server = &*caller.server;
    let counters = &server.counters;
    let uptime_ns = base::clock::monotonic_ns().saturating_sub(server.began_ns);
    let count = |counted| counters.operations(counted);
    let gauge = |gauge: &AtomicI64| gauge.load(Ordering::Relaxed);
    // mongod's types: connections are 32 bits wide, the others 64.
    let connections = |number: i64| i32::try_from(number).unwrap_or(i32::MAX);
    let [bytes_in, bytes_out, requests] = counters.network();
    let current = gauge(&counters.connections_current);
    let resident_bytes = base::child::rss_bytes(nix::unistd::getpid()).map_or(0, |it| it.0);
    doc! {
        "host": server.address.to_string(),
        "version": server.wire.release_text(),
        "process": "mongod",
        "pid": i64::from(std::process::id()),
        "uptime": (uptime_ns / 1_000_000_000) as f64,
        "uptimeMillis": (uptime_ns / 1_000_000).cast_signed(),
        "localTime": DateTime::now(),
        "connections": {
            "current": connections(current),
            "available": connections(server.connections_max.saturating_sub(current)),
            "totalCreated": connections(gauge(&counters.connections_created)),
            "active": connections(gauge(&counters.connections_active)),
        },
        "network": {
            "bytesIn": bytes_in,
            "bytesOut": bytes_out,
            "numRequests": requests,
        },
        "opcounters": {
            "insert": count(Opcounter::Insert),
            "query": count(Opcounter::Query),
            "update": count(Opcounter::Update),
            "delete": count(Opcounter::Delete),
            "getmore": count(Opcounter::GetMore),
            "command": count(Opcounter::Command),
        },
        "storageEngine": { "name": "mongodynoAbsorber" },
        "mem": { "bits": 64, "resident": (resident_bytes >> 20) as i32, "supported": true },
        "ok": 1.0,
    }
}
