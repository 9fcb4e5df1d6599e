//! The absorber as a process: its handshake, counters, load, log of holds and faults.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::absorber_support::{Absorber, Raw, delete, insert, insert_command, msg, query, update};
use crate::support::wait_until;
use absorber::holds::{Hold, HoldLog};
use bson::{Document, doc};
use nix::sys::signal::Signal;

/// Flag of OP_MSG: no answer is wanted.
const MORE_TO_COME: u32 = 2;

fn status(raw: &mut Raw) -> Document {
    raw.command(&doc! { "serverStatus": 1, "$db": "admin" })
}

fn counter(status: &Document, section: &str, field: &str) -> i64 {
    let value = status.get_document(section).expect("a section").get(field).expect("a field");
    value.as_i64().or(value.as_i32().map(i64::from)).expect("a number")
}

#[test]
fn it_says_hello_in_the_words_it_is_asked_in() {
    let absorber = Absorber::start(&["--wire", "0..8"]);
    let mut raw = absorber.connect();
    for name in ["isMaster", "ismaster"] {
        let answer = raw.legacy_command("admin", &doc! { name: 1 });
        assert_eq!(answer.get_bool("ismaster").ok(), Some(true), "{answer}");
        assert_eq!(answer.get_i32("maxWireVersion").ok(), Some(8), "{answer}");
    }
    let answer = raw.legacy_command("admin", &doc! { "$query": { "buildInfo": 1 } });
    assert_eq!(answer.get_i32("bits").ok(), Some(64), "{answer}");
    assert!(answer.get_str("version").expect("text").starts_with("4.2."), "{answer}");
    let answer = raw.command(&doc! { "hello": 1, "$db": "admin" });
    assert_eq!(answer.get_i32("code").ok(), Some(59), "4.2 knows no hello: {answer}");
}

#[test]
fn an_unknown_command_is_an_error_and_the_connection_stays() {
    let absorber = Absorber::start(&[]);
    let mut raw = absorber.connect();
    let answer = raw.command(&doc! { "makeCoffee": 1, "$db": "test" });
    let wanted = doc! {
        "ok": 0.0, "errmsg": "no such command: 'makeCoffee'", "code": 59,
        "codeName": "CommandNotFound",
    };
    assert_eq!(answer, wanted);
    let answer = raw.legacy_command("test", &doc! { "makeCoffee": 1 });
    assert_eq!(answer, wanted);
    let answer = raw.command(&doc! { "ping": 1 });
    assert_eq!(answer.get_i32("code").ok(), Some(40571), "without $db: {answer}");
    let answer = raw.command(&doc! { "saslStart": 1, "$db": "admin" });
    assert_eq!(answer.get_i32("code").ok(), Some(18), "{answer}");
    assert_eq!(raw.command(&doc! { "ping": 1, "$db": "test" }), doc! { "ok": 1.0 });
    assert!(!absorber.stderr().contains("dropped"), "{}", absorber.stderr());
}

#[test]
fn it_counts_as_mongod_does() {
    let absorber = Absorber::start(&[]);
    let mut raw = absorber.connect();
    let before = status(&mut raw);
    let documents: Vec<Document> = (0..5).map(|id| doc! { "_id": id }).collect();
    let body = doc! { "insert": "c", "$db": "t" };
    raw.send(&msg(100, 0, &body, &[("documents", &documents)]));
    assert_eq!(raw.receive().1[0].get_i32("n").ok(), Some(5));
    // Ordered: the second document fails, and the third is not tried.
    let again =
        doc! { "insert": "c", "$db": "t", "documents": [{"_id": 9}, {"_id": 0}, {"_id": 8}] };
    raw.command(&again);
    raw.command(&doc! { "find": "c", "$db": "t" });
    let updates = doc! { "update": "c", "$db": "t", "updates": [
        { "q": { "_id": 0 }, "u": { "$set": { "x": 1 } } },
        { "q": { "_id": 77 }, "u": { "$set": { "x": 1 } } },
    ] };
    raw.command(&updates);
    raw.command(
        &doc! { "delete": "c", "$db": "t", "deletes": [{ "q": { "_id": 0 }, "limit": 1 }] },
    );
    raw.command(&doc! { "ping": 1, "$db": "t" });
    raw.command(&doc! { "nonsense": 1, "$db": "t" });
    raw.send(&insert(200, "t.c", &[doc! { "_id": 20 }, doc! { "_id": 21 }]));
    raw.send(&update(201, "t.c", 0, &doc! { "_id": 20 }, &doc! { "$set": { "y": 1 } }));
    raw.send(&delete(202, "t.c", 1, &doc! { "_id": 21 }));
    raw.send(&query(203, 0, "t.c", 2, &doc! {}));
    let (_, found) = raw.receive();
    assert_eq!(found.len(), 2);
    // One of three again.
    raw.send(&insert(204, "t.c", &[doc! { "_id": 20 }, doc! { "_id": 30 }, doc! { "_id": 31 }]));
    let after = status(&mut raw);
    let grown = |section, field| counter(&after, section, field) - counter(&before, section, field);
    let counted = ["insert", "update", "delete", "query", "getmore"];
    let counted = counted.map(|field| grown("opcounters", field));
    assert_eq!(counted, [10, 3, 2, 2, 0]);
    // ping and the second serverStatus; an unknown command is not counted.
    assert_eq!(grown("opcounters", "command"), 2);
    assert_eq!(grown("network", "numRequests"), 13);
    assert_eq!(counter(&after, "connections", "current"), 1);
    assert_eq!(counter(&after, "connections", "active"), 1);
    assert!(grown("network", "bytesIn") > 500 && grown("network", "bytesOut") > 500);
    assert!(counter(&after, "mem", "resident") > 0);
}

#[test]
fn legacy_writes_are_told_by_get_last_error() {
    let absorber = Absorber::start(&[]);
    let mut raw = absorber.connect();
    let last = doc! { "getlasterror": 1, "w": 1 };
    raw.send(&insert(1, "t.c", &[doc! { "_id": 1 }]));
    let answer = raw.legacy_command("t", &last);
    assert_eq!((answer.get("err"), answer.get_i32("n").ok()), (Some(&bson::Bson::Null), Some(0)));
    raw.send(&insert(2, "t.c", &[doc! { "_id": 1 }]));
    let answer = raw.legacy_command("t", &last);
    assert_eq!(answer.get_i32("code").ok(), Some(11000), "{answer}");
    assert!(answer.get_str("err").expect("text").contains("E11000"), "{answer}");
    raw.send(&update(3, "t.c", 1, &doc! { "_id": 2 }, &doc! { "$set": { "x": 1 } }));
    let answer = raw.legacy_command("t", &last);
    assert_eq!(answer.get_bool("updatedExisting").ok(), Some(false), "{answer}");
    assert_eq!((answer.get_i32("upserted").ok(), answer.get_i32("n").ok()), (Some(2), Some(1)));
    raw.legacy_command("t", &doc! { "ping": 1 });
    let answer = raw.legacy_command("t", &last);
    assert!(answer.get("updatedExisting").is_none(), "of the request before: {answer}");
}

#[test]
fn write_commands_of_old_drivers_are_told_by_get_last_error() {
    // MongoDB 4.4 does the same: an insert's n is 0.
    let absorber = Absorber::start(&[]);
    let mut raw = absorber.connect();
    let mut told = |command: Document| {
        raw.legacy_command("t", &command);
        let last = raw.legacy_command("t", &doc! { "getLastError": 1 });
        (last.get_bool("updatedExisting").ok(), last.get_i32("n").ok(), last.get_i32("code").ok())
    };
    let insert = doc! { "insert": "c", "documents": [{ "_id": 1 }, { "_id": 2 }] };
    assert_eq!(told(insert.clone()), (None, Some(0), None));
    assert_eq!(told(insert), (None, Some(0), Some(11000)));
    let update = |id: i32, upsert: bool| {
        let statement = doc! { "q": { "_id": id }, "u": { "$set": { "x": id } }, "upsert": upsert };
        doc! { "update": "c", "updates": [statement] }
    };
    assert_eq!(told(update(1, false)), (Some(true), Some(1), None));
    assert_eq!(told(update(9, false)), (Some(false), Some(0), None));
    assert_eq!(told(update(9, true)), (Some(false), Some(1), None));
    let delete = doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] };
    assert_eq!(told(delete), (None, Some(3), None));
}

#[test]
fn unacknowledged_commands_are_done_and_not_answered() {
    let absorber = Absorber::start(&[]);
    let mut raw = absorber.connect();
    for id in 0..10 {
        raw.send(&msg(id, MORE_TO_COME, &insert_command("t", "c", id), &[]));
    }
    let answer = raw.command(&doc! { "count": "c", "$db": "t" });
    assert_eq!(answer.get_i32("n").ok(), Some(10), "{answer}");
}

#[test]
fn requests_sent_at_once_are_answered_in_order() {
    let absorber = Absorber::start(&["--service-time", "200us"]);
    let mut raw = absorber.connect();
    let requests: Vec<u8> = (0..50)
        .flat_map(|id| match id % 3 {
            0 => msg(id, 0, &insert_command("t", "c", id), &[]),
            1 => msg(id, 1, &doc! { "ping": 1, "$db": "t" }, &[]),
            _ => query(id, 0, "t.$cmd", -1, &doc! { "isMaster": 1 }),
        })
        .collect();
    raw.send(&requests);
    for id in 0..50 {
        assert_eq!(raw.receive().0.response_to, id);
    }
}

/// Makes `count` finds from each of `threads` connections at once.
fn find(absorber: &Absorber, threads: usize, count: usize) {
    let work = || {
        let mut raw = absorber.connect();
        for _ in 0..count {
            raw.command(&doc! { "find": "c", "$db": "t", "filter": { "_id": 1 } });
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
}

fn holds_of(mut absorber: Absorber, path: &std::path::Path) -> Vec<Hold> {
    let (status, said) = absorber.end(Signal::SIGTERM);
    assert!(status.success(), "{said}");
    HoldLog::read(path).expect("the log")
}

#[test]
fn the_service_time_shows_and_every_hold_is_logged() {
    let path = crate::support::scratch("absorber").join("service");
    let holds = path.to_str().expect("UTF-8");
    let absorber = Absorber::start(&["--service-time", "5ms", "--holds", holds]);
    find(&absorber, 2, 20);
    absorber.connect().command(&doc! { "ping": 1, "$db": "t" });
    // One connection is still open when the signal comes.
    let mut open = absorber.connect();
    open.command(&doc! { "find": "c", "$db": "t" });
    let holds = holds_of(absorber, &path);
    assert_eq!(holds.len(), 41, "the finds; ping is not held");
    for hold in holds {
        assert_eq!(hold.due_ns - hold.start_ns, 5_000_000);
        assert!(hold.start_ns == hold.arrival_ns && hold.released_ns >= hold.due_ns, "{hold:?}");
    }
}

#[test]
fn a_queue_has_the_capacity_it_was_given() {
    let path = crate::support::scratch("absorber").join("queue");
    let holds = path.to_str().expect("UTF-8");
    let absorber = Absorber::start(&["--service-time", "5ms", "--workers", "1", "--holds", holds]);
    find(&absorber, 4, 25);
    let mut holds = holds_of(absorber, &path);
    assert_eq!(holds.len(), 100);
    holds.sort_by_key(|hold| hold.start_ns);
    for pair in holds.windows(2) {
        let free_ns = pair[0].due_ns;
        assert_eq!(free_ns - pair[0].start_ns, 5_000_000, "200 a second: {pair:?}");
        assert_eq!(pair[1].start_ns, free_ns.max(pair[1].arrival_ns), "one at a time: {pair:?}");
    }
}

#[test]
fn nothing_is_served_during_a_stall() {
    let path = crate::support::scratch("absorber").join("stall");
    let holds = path.to_str().expect("UTF-8");
    let absorber = Absorber::start(&["--stall", "100ms/300ms", "--holds", holds]);
    wait_until("three stalls are in the log", || {
        find(&absorber, 1, 20);
        let holds = HoldLog::read(&path).expect("the log");
        let stalled = holds.iter().filter(|hold| hold.due_ns > hold.arrival_ns);
        stalled.map(|hold| hold.due_ns).collect::<BTreeSet<_>>().len() >= 3
    });
    let holds = holds_of(absorber, &path);
    let stalled = holds.iter().find(|hold| hold.due_ns > hold.arrival_ns).expect("a stall");
    for hold in &holds {
        // Since the end of a stall: the next one begins after 200 ms.
        let since_ns = hold.due_ns.cast_signed() - stalled.due_ns.cast_signed();
        let since_ns = since_ns.rem_euclid(300_000_000);
        assert!(since_ns < 200_000_000, "{hold:?}");
        assert!(hold.due_ns == hold.arrival_ns || since_ns == 0, "to the end of a stall: {hold:?}");
    }
}

#[test]
fn faults_come_when_they_were_asked_for() {
    let absorber = Absorber::start(&["--error", "11600/3", "--close-after", "5"]);
    let mut raw = absorber.connect();
    let mut find = || raw.command(&doc! { "find": "c", "$db": "t" });
    let codes: Vec<_> = (0..5).map(|_| find().get_i32("code").ok()).collect();
    assert_eq!(codes, [None, None, Some(11600), None, None]);
    assert!(raw.is_closed(), "after five commands");
    let mut raw = absorber.connect();
    raw.send(&insert(1, "t.c", &[doc! { "_id": 1 }]));
    let answer = raw.legacy_command("t", &doc! { "getLastError": 1 });
    assert_eq!(answer.get_i32("code").ok(), Some(11600), "the sixth: {answer}");

    let absorber = Absorber::start(&["--refuse", "2", "--slow", "50ms/2", "--garbage", "3"]);
    let mut raw = absorber.connect();
    assert!(absorber.connect().is_closed(), "every second one");
    let mut time = || {
        let began = Instant::now();
        raw.send(&msg(1, 0, &doc! { "find": "c", "$db": "t" }, &[]));
        let mut bytes = Vec::new();
        let header = wire::read_message(&mut raw.stream, &mut bytes).expect("bytes");
        let header = header.expect("an open connection");
        assert_eq!(header.response_to, 1);
        // A busy machine makes an answer later, never earlier.
        (began.elapsed() >= Duration::from_millis(50), bytes[16..].iter().all(|it| *it == 0xff))
    };
    let seen: Vec<_> = (0..3).map(|_| time()).collect();
    let (slow, garbage): (Vec<bool>, Vec<bool>) = seen.into_iter().unzip();
    assert!(slow[1], "the second one is slow");
    assert_eq!(garbage, [false, false, true]);
}

#[test]
fn it_ends_well_by_every_signal() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let mut absorber = Absorber::start(&[]);
        let _open = absorber.connect();
        let (status, said) = absorber.end(signal);
        assert!(status.success(), "{signal}: {status} {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn an_address_in_use_is_an_error_with_a_hint() {
    let absorber = Absorber::start(&[]);
    let address = absorber.address.to_string();
    let output = crate::support::run(["absorber", "--listen", &address]);
    assert_eq!(output.status.code(), Some(5), "{}", crate::support::said(&output));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains(&format!("cannot listen on {address}")), "{text}");
    assert!(text.contains("hint: "), "{text}");
}
