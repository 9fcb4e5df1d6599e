//! The corpus of the differential test: reading it, replaying it, and making answers comparable.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;

use bson::{Bson, Document, doc};
use serde_json::Value;
use wire::{HEADER_BYTES, Header, OpCode};

use crate::absorber_support::{Raw, bytes, delete, get_more, insert, kill_cursors, msg, update};
use crate::support::root;

/// Stands in a command for the id of the scenario's last cursor.
const CURSOR: &str = "CURSOR";
/// The only ObjectId of the corpus: others are made by servers.
const OBJECT_ID: &str = "0123456789abcdef01234567";

/// One line of the corpus: a message, within a scenario that has a separate database.
#[derive(Debug, Clone)]
pub struct Step {
    /// Place of the line, for messages: `writes.jsonl:12`.
    pub place: String,
    pub text: String,
    pub scenario: String,
    /// Servers that understand it, by version.
    pub servers: Vec<String>,
    /// The difference that it shows.
    pub label: Option<String>,
    what: Document,
}

/// All steps of `tests/data/absorber`, in their order.
pub fn corpus() -> Vec<Step> {
    let folder = root().join("tests/data/absorber");
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("the corpus")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    let mut steps = Vec::new();
    for file in files {
        let (mut scenario, mut servers) = (String::new(), Vec::new());
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        for (number, line) in (1..).zip(fs::read_to_string(&file).expect("text").lines()) {
            if line.trim().is_empty() {
                continue;
            }
            let place = format!("{name}:{number}");
            let value: Value =
                serde_json::from_str(line).unwrap_or_else(|it| panic!("{place}: {it}"));
            let what = match Bson::try_from(value) {
                Ok(Bson::Document(what)) => what,
                other => panic!("{place}: {other:?}"),
            };
            if let Ok(name) = what.get_str("scenario") {
                name.clone_into(&mut scenario);
                servers = match what.get_array("servers") {
                    Ok(list) => list.iter().filter_map(Bson::as_str).map(str::to_owned).collect(),
                    Err(_) => vec!["4.4".to_owned(), "6.0".to_owned()],
                };
                continue;
            }
            let label = what.get_str("as").ok().map(str::to_owned);
            let (text, scenario, servers) = (line.to_owned(), scenario.clone(), servers.clone());
            steps.push(Step { place, text, scenario, servers, label, what });
        }
    }
    steps
}

struct Replay {
    address: SocketAddr,
    raw: Raw,
    database: String,
    cursor: i64,
    sent: i32,
}

/// Sends every step that `version` understands (None: all). Returns the answers by place,
/// comparable with those of other servers.
pub fn replay(
    address: SocketAddr,
    version: Option<&str>,
    steps: &[Step],
) -> BTreeMap<String, String> {
    let mut answers = BTreeMap::new();
    let raw = Raw::connect(address);
    let mut server = Replay { address, raw, database: String::new(), cursor: 0, sent: 0 };
    let mut scenario = "";
    for step in steps {
        if version.is_some_and(|version| !step.servers.iter().any(|it| it == version)) {
            continue;
        }
        if step.scenario != scenario {
            server.end();
            scenario = &step.scenario;
            server.begin(scenario);
        }
        let answer = server.step(&step.what);
        answers.insert(step.place.clone(), answer);
    }
    server.end();
    answers
}

impl Replay {
    fn begin(&mut self, scenario: &str) {
        self.database = format!("mdyn_diff_{}", scenario.replace(' ', "_"));
        self.cursor = 0;
        self.end();
        // getLastError is asked of the connection: each scenario has its own.
        self.raw = Raw::connect(self.address);
    }

    fn end(&mut self) {
        if !self.database.is_empty() {
            self.raw.command(&doc! { "dropDatabase": 1, "$db": &self.database });
        }
    }

    /// Sends a step and returns its comparable answer.
    fn step(&mut self, what: &Document) -> String {
        let what = self.with_cursor(what);
        self.sent += 1;
        let mut answer = if let Ok(command) = what.get_document("run") {
            self.run(&what, command)
        } else if let Ok(command) = what.get_document("command") {
            self.raw.legacy_command(&self.database, command)
        } else {
            self.legacy(&what)
        };
        self.remember(&answer);
        comparable(&mut answer, &self.database);
        Bson::Document(answer).into_canonical_extjson().to_string()
    }

    fn run(&mut self, what: &Document, command: &Document) -> Document {
        let mut command = command.clone();
        command.insert("$db", what.get_str("database").unwrap_or(&self.database));
        let sequences = what.get_document("sequence").cloned().unwrap_or_default();
        let sequences: Vec<(String, Vec<Document>)> =
            sequences.into_iter().map(|(name, list)| (name, documents(&list))).collect();
        let sequences: Vec<(&str, &[Document])> =
            sequences.iter().map(|(name, list)| (name.as_str(), list.as_slice())).collect();
        self.raw.send(&msg(self.sent, 0, &command, &sequences));
        self.raw.receive().1.pop().expect("a body")
    }

    fn legacy(&mut self, what: &Document) -> Document {
        let kind = what.get_str("legacy").expect("run, command or legacy");
        let collection = what.get_str("collection").expect("a collection");
        let namespace = format!("{}.{collection}", self.database);
        let number = |name: &str| what.get_i32(name).unwrap_or_default();
        let document = |name: &str| what.get_document(name).cloned().unwrap_or_default();
        let flags = number("flags").cast_unsigned();
        let (id, cursor) = (self.sent, self.cursor);
        let message = match kind {
            "query" => return self.query(&query(id, &namespace, what)),
            "getMore" => {
                return self.query(&get_more(id, &namespace, number("return"), cursor));
            }
            "killCursors" => {
                self.raw.send(&kill_cursors(id, &[cursor]));
                return doc! {};
            }
            "insert" => {
                let mut message =
                    insert(id, &namespace, &documents(what.get("documents").expect("a list")));
                message[HEADER_BYTES..HEADER_BYTES + 4].copy_from_slice(&flags.to_le_bytes());
                message
            }
            "update" => update(id, &namespace, flags, &document("filter"), &document("update")),
            "delete" => delete(id, &namespace, flags, &document("filter")),
            other => panic!("{other}"),
        };
        self.raw.send(&message);
        self.raw.legacy_command(&self.database, &doc! { "getLastError": 1 })
    }

    /// OP_REPLY, as a document.
    fn query(&mut self, message: &[u8]) -> Document {
        self.raw.send(message);
        let mut bytes = Vec::new();
        let read = wire::read_message(&mut self.raw.stream, &mut bytes);
        let header = read.expect("a message").expect("an open connection");
        assert_eq!(header.opcode, OpCode::Reply);
        let int = |at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let cursor = i64::from_le_bytes(bytes[20..28].try_into().expect("8 bytes"));
        let mut rest = &bytes[36..];
        let mut documents = Vec::new();
        while !rest.is_empty() {
            documents.push(Document::from_reader(&mut rest).expect("BSON"));
        }
        doc! {
            "flags": int(16), "cursor": { "id": cursor }, "startingFrom": int(28),
            "count": int(32), "documents": documents,
        }
    }

    fn with_cursor(&self, document: &Document) -> Document {
        let replaced = |value: &Bson| self.value_with_cursor(value);
        document.iter().map(|(name, value)| (name.clone(), replaced(value))).collect()
    }

    fn value_with_cursor(&self, value: &Bson) -> Bson {
        match value {
            Bson::String(text) if text == CURSOR => Bson::Int64(self.cursor),
            Bson::Document(document) => Bson::Document(self.with_cursor(document)),
            Bson::Array(list) => list.iter().map(|it| self.value_with_cursor(it)).collect(),
            other => other.clone(),
        }
    }

    fn remember(&mut self, answer: &Document) {
        let wrapped =
            answer.get_array("documents").ok().and_then(|list| list.first()?.as_document());
        let cursor = |answer: &Document| answer.get_document("cursor").ok()?.get_i64("id").ok();
        let id = cursor(answer).filter(|id| *id != 0).or_else(|| cursor(wrapped?));
        self.cursor = id.filter(|id| *id != 0).unwrap_or(self.cursor);
    }
}

fn documents(list: &Bson) -> Vec<Document> {
    let list = list.as_array().expect("a list").iter();
    list.map(|it| it.as_document().expect("a document").clone()).collect()
}

/// OP_QUERY with all its options.
fn query(id: i32, namespace: &str, what: &Document) -> Vec<u8> {
    let number = |name: &str| what.get_i32(name).unwrap_or_default().to_le_bytes();
    let fields = what.get_document("fields").map(bytes).unwrap_or_default();
    let query = bytes(what.get_document("query").expect("a query"));
    let namespace = [namespace.as_bytes(), &[0]].concat();
    let parts: [&[u8]; 6] =
        [&number("flags"), &namespace, &number("skip"), &number("return"), &query, &fields];
    let body = parts.concat();
    let length = HEADER_BYTES + body.len();
    let header = Header { length, request_id: id, response_to: 0, opcode: OpCode::Query };
    [&header.to_bytes()[..], &body].concat()
}

/// Removes the differences between two runs of the same server: ids, times, sizes of storage.
fn comparable(answer: &mut Document, database: &str) {
    // Facts of a storage engine and of the disk.
    for name in [
        "wiredTiger",
        "indexDetails",
        "freeStorageSize",
        "sleepCount",
        "sleepMS",
        "fsUsedSize",
        "fsTotalSize",
    ] {
        answer.remove(name);
    }
    if let Ok(list) = answer.get_array_mut("databases") {
        let own =
            |it: &Bson| it.as_document().and_then(|it| it.get_str("name").ok()) == Some(database);
        list.retain(own);
    }
    let collections = answer
        .get_document_mut("cursor")
        .ok()
        .filter(|cursor| cursor.get_str("ns").is_ok_and(|ns| ns.ends_with("$cmd.listCollections")));
    if let Some(list) = collections.and_then(|cursor| cursor.get_array_mut("firstBatch").ok()) {
        list.sort_by_key(ToString::to_string); // the order of collections means nothing
    }
    for (name, value) in answer.iter_mut() {
        blur(name, value);
    }
}

fn blur(name: &str, value: &mut Bson) {
    let size = [
        "storageSize",
        "totalIndexSize",
        "totalSize",
        "totalSizeMb",
        "sizeOnDisk",
        "indexSize",
        "_id_",
        "a_1",
        "b_1",
        "c.d_-1_e_1",
    ];
    match value {
        _ if name == "uuid" => *value = "UUID".into(),
        Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) if size.contains(&name) => {
            *value = "SIZE".into();
        }
        Bson::Int32(_) if name == "connectionId" => *value = "CONNECTION".into(),
        Bson::Int64(id) if name == "id" && *id != 0 => *value = CURSOR.into(),
        Bson::Array(list) if name == "cursorsKilled" => *value = format!("{}", list.len()).into(),
        Bson::ObjectId(id) if id.to_hex() != OBJECT_ID => *value = "OBJECTID".into(),
        // Codes are compared; the words are each server's own.
        Bson::String(text) if ["errmsg", "$err", "err"].contains(&name) => "WORDS".clone_into(text),
        Bson::Document(document) => document.iter_mut().for_each(|(name, it)| blur(name, it)),
        Bson::Array(list) => list.iter_mut().for_each(|it| blur("", it)),
        _ => {}
    }
}
