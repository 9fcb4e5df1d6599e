//! Clients that are many, rude or broken: the absorber drops them one by one and goes on.

use nix::sys::socket::{setsockopt, sockopt};
use std::io::Write as _;
use std::net::{Shutdown, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::absorber_support::{
    Absorber, bytes, delete, get_more, insert, insert_command, kill_cursors, msg, nested, query,
    update,
};
use crate::support::wait_until;
use absorber::faults::FaultOptions;
use absorber::handshake::WireVersions;
use absorber::session::Session;
use absorber::shared_state::{AbsorberOptions, SharedState};
use absorber::simulated_load::LoadOptions;
use bson::{Document, doc};
use wire::read_message;

/// Mutated messages; some seconds of work.
const MUTATIONS: u64 = 200_000;
/// Stack of the absorber's own threads: a recursion too deep for it must show here.
const STACK_BYTES: usize = 512 << 10;

/// Messages as drivers of all ages send them.
fn corpus() -> Vec<Vec<u8>> {
    let documents: Vec<Document> = (0..4)
        .map(|id| doc! { "_id": id, "x": 1.5, "s": "text", "a": [1, 2], "d": { "e": null } })
        .collect();
    let oid = bson::oid::ObjectId::from_bytes([7; 12]);
    let updates = [
        doc! { "q": { "_id": 1 }, "u": { "$set": { "x": 2, "n.m": 3 } } },
        doc! { "q": { "_id": { "$gt": 1 } }, "u": { "y": true }, "upsert": true },
    ];
    let deletes = [doc! { "q": { "x": { "$lt": 3 } }, "limit": 1 }];
    let mut corpus: Vec<Vec<u8>> = [
        doc! { "hello": 1, "helloOk": true, "client": { "driver": { "name": "x" } } },
        doc! { "ping": 1, "lsid": { "id": oid } },
        doc! { "buildInfo": 1 },
        doc! { "serverStatus": 1 },
        doc! { "getLastError": 1, "w": 1 },
        doc! { "insert": "c", "documents": documents.clone(), "ordered": false },
        doc! { "find": "c", "filter": { "_id": { "$gte": 0, "$lt": 3 } }, "sort": { "_id": -1 } },
        doc! { "find": "c", "filter": { "s": "text" }, "limit": 2, "skip": 1, "batchSize": 1 },
        doc! { "getMore": 1_i64, "collection": "c", "batchSize": 2 },
        doc! { "killCursors": "c", "cursors": [1_i64] },
        doc! { "count": "c", "query": { "x": { "$in": [1, 2] } }, "limit": 5 },
        doc! { "aggregate": "c", "cursor": {}, "pipeline": [
            { "$match": { "x": 1 } }, { "$group": { "_id": null, "n": { "$sum": 1 } } },
        ] },
        doc! { "create": "k", "capped": true, "size": 4096, "max": 10 },
        doc! { "createIndexes": "c", "indexes": [{ "key": { "x": 1 }, "name": "x_1" }] },
        doc! { "listCollections": 1, "filter": { "name": "c" } },
        doc! { "listDatabases": 1 },
        doc! { "collStats": "c" },
        doc! { "dbStats": 1 },
        doc! { "drop": "k" },
        doc! { "endSessions": [{ "id": oid }] },
        doc! { "noSuchCommand": "c" },
    ]
    .into_iter()
    .map(|mut body| {
        body.insert("$db", "t");
        msg(1, 0, &body, &[])
    })
    .collect();
    let body = |name: &str| doc! { name: "c", "$db": "t" };
    corpus.extend([
        msg(2, 0, &body("insert"), &[("documents", &documents)]),
        msg(3, 1, &body("update"), &[("updates", &updates)]),
        msg(4, 2, &body("delete"), &[("deletes", &deletes)]),
        query(5, 4, "admin.$cmd", -1, &doc! { "$query": { "isMaster": 1 }, "$readPreference": {} }),
        query(6, 0, "t.c", 2, &doc! { "$query": { "x": 1.5 }, "$orderby": { "_id": 1 } }),
        query(7, 2, "t.k", 0, &doc! {}),
        insert(8, "t.c", &documents),
        update(9, "t.c", 1, &doc! { "_id": 9 }, &doc! { "$set": { "x": 1 } }),
        delete(10, "t.c", 0, &doc! { "x": 1 }),
        get_more(11, "t.c", 2, 1),
        kill_cursors(12, &[1, 2]),
        insert(13, "t.c", &[]),
    ]);
    corpus
}

/// A generator with a seed (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        usize::try_from(high).expect("32 bits") % bound
    }

    /// Makes one to four changes. Half of the time the header's length is corrected, so that the
    /// content behind it is reached.
    fn mutate(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        const NUMBERS: [i32; 8] = [0, 1, -1, 5, 16, 0x7fff_ffff, i32::MIN, 48_000_001];
        let mut message = corpus[self.below(corpus.len())].clone();
        for _ in 0..=self.below(4) {
            let at = self.below(message.len());
            match self.below(7) {
                0 => message[at] ^= 1 << self.below(8),
                1 => message[at] = u8::try_from(self.below(256)).expect("a byte"),
                2 => message.truncate(at.max(1)),
                3 => {
                    let number = NUMBERS[self.below(NUMBERS.len())].to_le_bytes();
                    let end = (at + 4).min(message.len());
                    message[at..end].copy_from_slice(&number[..end - at]);
                }
                4 => {
                    let other = &corpus[self.below(corpus.len())];
                    let from = self.below(other.len());
                    message.extend_from_slice(&other[from..]);
                }
                5 => {
                    let end = (at + self.below(32)).min(message.len());
                    message.drain(at..end.min(message.len()));
                    message.push(0);
                }
                _ => {
                    let copy: Vec<u8> = message[at..].iter().take(16).copied().collect();
                    message.splice(at..at, copy);
                }
            }
        }
        if self.below(2) == 0 && message.len() >= 4 {
            let length = i32::try_from(message.len()).expect("short").to_le_bytes();
            message[..4].copy_from_slice(&length);
        }
        message
    }
}

fn session() -> Session {
    let options = AbsorberOptions {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        wire: WireVersions::parse("0..17").expect("versions"),
        replica_set: None,
        memory_bytes: 4 << 20,
        load: LoadOptions::default(),
        faults: FaultOptions::default(),
        holds: None,
    };
    let server = SharedState::new(&options).expect("no file");
    Session::new(server, 1, SocketAddr::from(([127, 0, 0, 1], 1)))
}

/// Feeds bytes to a session as a connection does.
fn feed(session: &mut Session, mut bytes: &[u8]) {
    let (mut message, mut reply) = (Vec::new(), Vec::new());
    while let Ok(Some(header)) = read_message(&mut bytes, &mut message) {
        if session.answer(&header, &message, &mut reply).is_err() {
            break;
        }
    }
}

/// On a stack as small as the absorber's own threads have.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    thread.spawn(work).expect("a thread").join().expect("no panic");
}

#[test]
fn mutated_messages_never_panic() {
    on_a_small_stack(|| {
        let corpus = corpus();
        let mut random = Random(0x6d64_796e);
        let mut session = session();
        for number in 0..MUTATIONS {
            let bytes = random.mutate(&corpus);
            let fed = catch_unwind(AssertUnwindSafe(|| feed(&mut session, &bytes)));
            assert!(fed.is_ok(), "mutation {number}: {bytes:02x?}");
        }
    });
}

#[test]
fn the_corpus_itself_is_understood() {
    let mut session = session();
    let (mut message, mut reply) = (Vec::new(), Vec::new());
    for bytes in corpus() {
        let header = read_message(&mut &bytes[..], &mut message).expect("a message");
        let answered = session.answer(&header.expect("a header"), &message, &mut reply);
        assert!(answered.is_ok(), "{answered:?}: {bytes:02x?}");
    }
}

#[test]
fn deep_documents_do_not_overflow_a_stack() {
    on_a_small_stack(|| {
        let mut session = session();
        let deep = nested(100_000).into_bytes();
        let document = Document::new();
        let empty = bytes(&document);
        // In the place of the last document of each message.
        for mut message in [
            insert(1, "t.c", std::slice::from_ref(&document)),
            query(2, 0, "t.c", 0, &document),
            update(3, "t.c", 1, &document, &document),
            delete(4, "t.c", 0, &document),
            msg(
                5,
                0,
                &doc! { "insert": "c", "$db": "t" },
                &[("documents", std::slice::from_ref(&document))],
            ),
        ] {
            message.truncate(message.len() - empty.len());
            message.extend_from_slice(&deep);
            if message[12..16] == 2013_i32.to_le_bytes() {
                let at = message.len() - deep.len() - "documents\0".len() - 4;
                let length = u32::try_from(message.len() - at).expect("short").to_le_bytes();
                message[at..at + 4].copy_from_slice(&length);
            }
            let length = i32::try_from(message.len()).expect("short").to_le_bytes();
            message[..4].copy_from_slice(&length);
            feed(&mut session, &message);
        }
    });
}

#[test]
fn bad_clients_are_dropped_with_one_line_each_and_the_good_one_goes_on() {
    let absorber = Absorber::start(&[]);
    let mut good = absorber.connect();
    let mut work = |id: i32| {
        let answer = good.command(&insert_command("t", "c", id));
        assert_eq!(answer.get_i32("n").ok(), Some(1), "{answer}");
    };
    work(0);
    let whole = msg(1, 0, &doc! { "ping": 1, "$db": "t" }, &[]);
    let mut dropped = 0;
    for round in 0..10 {
        // Too long, too short, no opcode, no BSON, no message at all, the middle of a message.
        let long = 50_000_000_i32.to_le_bytes();
        let short = 15_i32.to_le_bytes();
        let header = &whole[4..16];
        let mut no_opcode = whole.clone();
        no_opcode[12..16].copy_from_slice(&77_i32.to_le_bytes());
        let mut no_bson = whole.clone();
        let end = no_bson.len() - 1;
        no_bson[end] = 9;
        let text = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec();
        let bad = [[&long, header].concat(), [&short, header].concat(), no_opcode, no_bson, text];
        for bytes in bad {
            let mut raw = absorber.connect();
            raw.send(&bytes);
            assert!(raw.is_closed(), "{bytes:02x?}");
            dropped += 1;
        }
        // Half closed within a message; closed within one; reset with an answer under way.
        let mut raw = absorber.connect();
        raw.send(&whole[..20]);
        raw.stream.shutdown(Shutdown::Write).expect("a socket");
        assert!(raw.is_closed());
        let mut raw = absorber.connect();
        raw.send(&whole[..7]);
        drop(raw);
        let mut raw = absorber.connect();
        let linger = nix::libc::linger { l_onoff: 1, l_linger: 0 };
        setsockopt(&raw.stream, sockopt::Linger, &linger).expect("a socket");
        raw.send(&whole[..30]);
        drop(raw);
        dropped += 3;
        work(round + 1);
    }
    // Half closed between messages: everything is answered, and nothing is logged.
    let mut raw = absorber.connect();
    raw.send(&whole);
    raw.stream.shutdown(Shutdown::Write).expect("a socket");
    assert_eq!(raw.receive().1, [doc! { "ok": 1.0 }]);
    assert!(raw.is_closed());
    absorber.wait_for_dropped(dropped);
    let said = absorber.stderr();
    assert_eq!(said.lines().count(), dropped + 1, "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

/// Bytes of a process in memory.
fn resident(pid: u32) -> u64 {
    base::child::rss_bytes(nix::unistd::Pid::from_raw(pid.cast_signed())).expect("it lives").0
}

#[test]
fn unfinished_messages_and_answers_that_nobody_reads_are_bounded() {
    let absorber = Absorber::start(&["--memory", "64MiB"]);
    let before = resident(absorber.pid());
    let begun = [47_000_000_i32.to_le_bytes(), [0; 4], [0; 4], 2013_i32.to_le_bytes()].concat();
    let body = vec![0; 40 << 20];
    let held: Vec<_> = (0..6)
        .map(|_| {
            let mut raw = absorber.connect();
            raw.stream.write_all(&begun).expect("it reads");
            let _ = raw.stream.write_all(&body); // dropped in the middle of it
            raw
        })
        .collect();
    let grown = resident(absorber.pid()).saturating_sub(before);
    assert!(grown < 100 << 20, "{} MiB", grown >> 20);
    absorber.wait_for_dropped(5);
    let said = absorber.stderr();
    assert!(said.contains("dropped: the memory is full (--memory)"), "{said}");
    drop(held);
    absorber.wait_for_dropped(6);
    let mut good = absorber.connect();
    let large = doc! { "_id": 0, "t": "x".repeat(15 << 20) };
    good.send(&msg(1, 0, &doc! { "insert": "c", "$db": "t" }, &[("documents", &[large])]));
    assert_eq!(good.receive().1[0].get_i32("n").ok(), Some(1), "the memory was given back");
    let silent: Vec<_> = (0..20)
        .map(|_| {
            let mut raw = absorber.connect();
            raw.send(&msg(1, 0, &doc! { "find": "c", "$db": "t" }, &[]));
            raw
        })
        .collect();
    absorber.wait_for_dropped(6 + 15);
    let grown = resident(absorber.pid()).saturating_sub(before);
    assert!(grown < 200 << 20, "{} MiB", grown >> 20);
    drop(silent);
    assert_eq!(good.command(&doc! { "ping": 1, "$db": "t" }).get_f64("ok").ok(), Some(1.0));
}

#[test]
fn a_wait_for_documents_ends_with_its_client() {
    let absorber = Absorber::start(&[]);
    let mut good = absorber.connect();
    good.command(&doc! { "create": "k", "capped": true, "size": 4096, "$db": "t" });
    good.command(&insert_command("t", "k", 1));
    let mut raw = absorber.connect();
    let find = doc! { "find": "k", "tailable": true, "awaitData": true, "$db": "t" };
    let answer = raw.command(&find);
    let id = answer.get_document("cursor").and_then(|it| it.get_i64("id")).expect("a cursor");
    let wait = doc! { "getMore": id, "collection": "k", "maxTimeMS": 3_600_000_i64, "$db": "t" };
    raw.send(&msg(2, 0, &wait, &[]));
    let mut current = || {
        let status = good.command(&doc! { "serverStatus": 1, "$db": "admin" });
        status.get_document("connections").and_then(|it| it.get_i32("active")).expect("a number")
    };
    wait_until("it waits", || current() == 2);
    drop(raw);
    wait_until("nobody waits", || current() == 1);
}

#[test]
fn thousands_of_connections_are_served_at_once() {
    let name = "thousands_of_connections_are_served_at_once";
    if base::process_id::raise_file_limit() < 2200 {
        crate::support::skip(name, "this user may not open 2200 files");
        return;
    }
    let absorber = Absorber::start(&[]);
    let mut all: Vec<_> = (0..2000).map(|_| absorber.connect()).collect();
    let request = |id| msg(id, 0, &insert_command("t", "c", id), &[]);
    for (id, raw) in (0..).zip(&mut all) {
        raw.stream.write_all(&request(id)).expect("it reads");
    }
    for (id, raw) in (0..).zip(&mut all) {
        let (header, documents) = raw.receive();
        assert_eq!((header.response_to, documents[0].get_i32("n").ok()), (id, Some(1)));
    }
    let status = all[0].command(&doc! { "serverStatus": 1, "$db": "admin" });
    let connections = status.get_document("connections").expect("a section");
    assert_eq!(connections.get_i32("current").ok(), Some(2000), "{connections}");
    assert_eq!(all[0].command(&doc! { "count": "c", "$db": "t" }).get_i32("n").ok(), Some(2000));
}

#[test]
fn nothing_listens_beyond_loopback() {
    let absorber = Absorber::start(&[]);
    let mut sockets = Vec::new();
    for file in std::fs::read_dir(format!("/proc/{}/fd", absorber.pid())).expect("fds").flatten() {
        let target = std::fs::read_link(file.path()).unwrap_or_default();
        let target = target.to_string_lossy().into_owned();
        let inode = target.strip_prefix("socket:[").and_then(|it| it.strip_suffix(']'));
        sockets.extend(inode.map(str::to_owned));
    }
    let mut listening = Vec::new();
    for table in ["tcp", "tcp6"] {
        let text = std::fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            // Local address, state (0A is listening), inode.
            if fields[3] == "0A" && sockets.iter().any(|inode| inode == fields[9]) {
                listening.push(fields[1].to_owned());
            }
        }
    }
    assert_eq!(listening, [format!("0100007F:{:04X}", absorber.address.port())]);
}
