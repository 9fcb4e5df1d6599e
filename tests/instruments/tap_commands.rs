//! The tap reports exactly the commands on the wire: the real driver, the real server, and legacy
//! messages by hand.

use crate::support::{block_on, server_of_all_drivers};
use crate::tap_support::{Tap, answer, ask, connect, host_of, message, msg};
use bson::{Document, doc, rawdoc};
use mongodb::Client;
use tap::exchange::flags;
use wire::OpCode;

#[test]
fn commands_documents_and_batches_are_those_of_the_driver() {
    let name = "commands_documents_and_batches_are_those_of_the_driver";
    let Some(uri) = crate::support::server(name) else { return };
    let mut tap = Tap::start(&host_of(uri), 1, &[]);
    tap.rotate(Some("driver"));
    let stored = block_on(async {
        let client = Client::with_uri_str(tap.uri()).await.expect("a client");
        let items = client.database("tap_commands").collection::<Document>("items");
        let documents = (0..250_000).map(|number| doc! { "_id": number });
        items.insert_many(documents).await.expect("inserted");
        let direct = Client::with_uri_str(uri).await.expect("a client");
        let beside = direct.database("tap_commands").collection::<Document>("items");
        let stored = beside.count_documents(doc! {}).await.expect("counted");
        for number in 0..7 {
            items.find_one(doc! { "_id": number }).await.expect("found").expect("one");
        }
        items.drop().await.expect("dropped");
        stored
    });
    // The driver refuses unacknowledged writes.
    let mut socket = connect(tap.addresses[0]);
    let write = rawdoc! {
        "insert": "items", "$db": "tap_commands", "documents": [{ "_id": 1 }, { "_id": 2 }, {}],
        "writeConcern": { "w": 0 },
    };
    let ping = msg(2, 0, &rawdoc! { "ping": 1, "$db": "admin" });
    ask(&mut socket, &[msg(1, 2, &write), ping].concat());
    tap.rotate(None);
    let summary = tap.summary("driver", 1);
    let insert = &summary.commands["insert"];
    assert_eq!(stored, 250_000, "what the server holds");
    assert_eq!((insert.documents, insert.unanswered), (250_003, 1));
    // The driver splits by maxWriteBatchSize, 100,000.
    let batches: Vec<(u32, u64)> = insert.batches.iter().map(|(size, n)| (*size, *n)).collect();
    assert_eq!(batches, [(3, 1), (50_000, 1), (100_000, 2)]);
    assert_eq!(insert.count, 4);
    assert!(insert.bytes_out > 250_000 * 14, "{insert:?}");
    for field in ["documents", "lsid", "$db", "ordered"] {
        assert!(insert.fields.iter().any(|it| it == field), "{field}: {:?}", insert.fields);
    }
    let find = &summary.commands["find"];
    assert_eq!((find.count, find.documents, find.background), (7, 0, 0));
    assert_eq!(summary.commands["drop"].count, 1);
    let hello = summary.commands.iter().find(|(name, _)| name.eq_ignore_ascii_case("hello"));
    assert!(hello.is_some_and(|(_, it)| it.background == it.count), "{:?}", summary.commands);
    let own: u64 = summary.commands.values().map(|it| it.count - it.background).sum();
    assert_eq!(own, 13, "without handshakes and monitors");
    assert!(summary.connections_peak >= 2, "{summary:?}");
    assert!(summary.not_separable.is_some_and(|it| it.contains("unacknowledged")));
    let (exchanges, _) = tap.recorded("driver", 0);
    for it in exchanges.iter().filter(|it| it.is(flags::ANSWERED)) {
        let times = [it.request_in_ns, it.request_out_ns, it.reply_first_ns, it.reply_last_ns];
        assert!(times.is_sorted() && it.reply_last_ns <= it.reply_out_ns, "{it:?}");
    }
    assert_eq!(tap.end(), "", "nothing to complain about");
}

#[test]
fn answers_find_their_requests_by_number() {
    let Some(uri) = crate::support::server("answers_find_their_requests_by_number") else { return };
    let mut tap = Tap::start(&host_of(uri), 1, &[]);
    tap.rotate(Some("several"));
    let mut socket = connect(tap.addresses[0]);
    // Several in one write, one of them without an answer.
    let ping = rawdoc! { "ping": 1, "$db": "admin" };
    let write = rawdoc! {
        "insert": "several", "$db": "tap_commands", "documents": [{ "_id": 1 }, { "_id": 2 }],
    };
    let drop = rawdoc! { "drop": "several", "$db": "tap_commands" };
    let all = [msg(11, 0, &ping), msg(12, 2, &write), msg(11, 0, &ping), msg(-5, 0, &drop)];
    std::io::Write::write_all(&mut socket, &all.concat()).expect("it reads");
    for _ in 0..3 {
        answer(&mut socket);
    }
    tap.rotate(None);
    let (exchanges, recording) = tap.recorded("several", 0);
    let seen: Vec<(&str, bool, u32)> = exchanges
        .iter()
        .map(|it| {
            let command = &recording.shapes[it.shape as usize].command;
            (&command[..], it.is(flags::ANSWERED), it.documents)
        })
        .collect();
    let expected = [("insert", false, 2), ("ping", true, 0), ("ping", true, 0), ("drop", true, 0)];
    let mut sorted = seen.clone();
    sorted.sort_unstable();
    let mut wanted = expected.to_vec();
    wanted.sort_unstable();
    assert_eq!(sorted, wanted, "{seen:?}");
    assert!(exchanges.iter().all(|it| it.bytes_in > 0 || !it.is(flags::ANSWERED)));
    let summary = tap.summary("several", 4);
    assert!(summary.not_separable.is_some_and(|it| it.contains("overlap")));
}

#[test]
fn legacy_opcodes_are_counted_by_name() {
    let name = "legacy_opcodes_are_counted_by_name";
    let Some(server) = server_of_all_drivers(name) else { return };
    let mut tap = Tap::start(&host_of(server.uri()), 1, &[]);
    tap.rotate(Some("legacy"));
    let mut socket = connect(tap.addresses[0]);
    let legacy = |id: i32, opcode: OpCode, namespace: &str, rest: &[&[u8]]| {
        let body = [&[0; 4][..], namespace.as_bytes(), &[0], &rest.concat()].concat();
        message(id, opcode, &body)
    };
    // Skip nothing, return one.
    let numbers = [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
    let query = |id: i32, namespace: &str, document: &bson::RawDocument| {
        legacy(id, OpCode::Query, namespace, &[&numbers, document.as_bytes()])
    };
    let one = rawdoc! { "a": 1 };
    let insert = legacy(1, OpCode::Insert, "tap.items", &[&one.as_bytes().repeat(3)]);
    let last_error = query(2, "tap.$cmd", &rawdoc! { "getlasterror": 1 });
    let (opcode, reply) = ask(&mut socket, &[insert, last_error].concat());
    assert_eq!((opcode, reply.get_f64("ok").ok()), (OpCode::Reply, Some(1.0)), "{reply:?}");
    let (_, found) = ask(&mut socket, &query(3, "tap.items", &one));
    assert_eq!(found.get_i32("a").ok(), Some(1));
    let delete = legacy(4, OpCode::Delete, "tap.items", &[&[0; 4], one.as_bytes()]);
    let wrapped =
        rawdoc! { "$query": { "count": "items" }, "$readPreference": { "mode": "primary" } };
    let count = [delete, query(5, "tap.$cmd", &wrapped)].concat();
    let (_, counted) = ask(&mut socket, &count);
    assert_eq!(counted.get_f64("ok").ok(), Some(1.0), "{counted:?}");
    tap.rotate(None);
    let summary = tap.summary("legacy", 1);
    let of = |name: &str| {
        let it = summary.commands.get(name).unwrap_or_else(|| panic!("{name}: {summary:?}"));
        (it.count, it.documents, it.unanswered)
    };
    assert_eq!(of("OP_INSERT"), (1, 3, 1));
    assert_eq!(of("getlasterror"), (1, 0, 0));
    assert_eq!(of("OP_QUERY"), (1, 0, 0));
    assert_eq!(of("OP_DELETE"), (1, 1, 1));
    assert_eq!(of("count"), (1, 0, 0));
    let (_, recording) = tap.recorded("legacy", 0);
    let named = recording.shapes.iter().find(|it| it.command == "OP_INSERT").expect("seen");
    assert_eq!(named.namespace.as_deref(), Some("tap.items"));
}
