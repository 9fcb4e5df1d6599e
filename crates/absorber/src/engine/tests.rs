//! The engine without a socket. `tests/instruments/absorber_differential.rs` compares its answers
//! with real servers; these are the tests that real servers cannot show.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bson::{Document, RawDocumentBuf, doc};

use super::Engine;

fn run(engine: &Engine, command: &Document) -> Document {
    let body = RawDocumentBuf::try_from(command).expect("BSON");
    let reply = engine.command("db", &body, &[], &|| true).expect("a command");
    Document::try_from(reply).expect("BSON")
}

fn code(reply: &Document) -> Option<i32> {
    let failed = reply.get_array("writeErrors").ok().and_then(|list| list[0].as_document());
    failed.unwrap_or(reply).get_i32("code").ok()
}

fn cursor_id(reply: &Document) -> i64 {
    reply.get_document("cursor").unwrap().get_i64("id").unwrap()
}

fn batch_length(reply: &Document) -> usize {
    let cursor = reply.get_document("cursor").unwrap();
    cursor.get_array("firstBatch").or(cursor.get_array("nextBatch")).unwrap().len()
}

#[test]
fn memory_is_bounded_and_given_back() {
    let engine = Engine::new(100_000);
    let text = "x".repeat(1000);
    let insert =
        |id: i32| run(&engine, &doc! { "insert": "c", "documents": [{ "_id": id, "t": &text }] });
    let full = (0..200).find(|id| code(&insert(*id)) == Some(146)).expect("a limit");
    assert!((70..100).contains(&full), "{full} documents of 1,000 bytes fit into 100,000");
    assert!(engine.memory().used() <= 100_000);
    let refused = insert(1000);
    let message = refused.get_array("writeErrors").unwrap()[0].to_string();
    assert!(message.contains("--memory"), "{message}");
    let grow = doc! { "$set": { "more": &text } };
    let update = doc! { "update": "c", "updates": [{ "q": { "_id": 0 }, "u": grow }] };
    assert_eq!(code(&run(&engine, &update)), Some(146));
    let found = run(&engine, &doc! { "count": "c", "query": { "more": { "$exists": true } } });
    assert_eq!(found.get_i32("n").ok(), Some(0), "an update that failed changed nothing");

    let index = doc! { "key": { "t": 1 }, "name": "t_1" };
    assert_eq!(code(&run(&engine, &doc! { "createIndexes": "c", "indexes": [index] })), Some(146));
    run(&engine, &doc! { "delete": "c", "deletes": [{ "q": { "_id": 0 }, "limit": 1 }] });
    assert_eq!(code(&insert(1000)), None, "a deleted document made room");
    run(&engine, &doc! { "drop": "c" });
    assert_eq!(engine.memory().used(), 0);
}

#[test]
fn cursors_are_counted_and_given_back() {
    let engine = Engine::new(1 << 20);
    let text = "x".repeat(1000);
    let documents: Vec<_> = (0..300).map(|id| doc! { "_id": id, "t": &text }).collect();
    run(&engine, &doc! { "insert": "c", "documents": documents });
    let before = engine.memory().used();
    let sorted = doc! { "find": "c", "sort": { "t": 1 } };
    let opened: Vec<_> = (0..300).map(|_| run(&engine, &sorted)).collect();
    let ids: Vec<i64> = opened.iter().take_while(|it| code(it).is_none()).map(cursor_id).collect();
    assert!((2..5).contains(&ids.len()), "{} cursors of 220 kB", ids.len());
    assert_eq!(code(opened.last().unwrap()), Some(146), "and the others are refused");
    // A filter is kept too.
    let many: Vec<_> = (0..10_000).collect();
    let large = doc! { "find": "c", "filter": { "_id": { "$in": many } }, "batchSize": 0 };
    assert_eq!(code(&run(&engine, &large)), Some(146));
    run(&engine, &doc! { "killCursors": "c", "cursors": ids });
    assert_eq!(engine.memory().used(), before);
}

#[test]
fn every_way_to_change_documents_keeps_the_account() {
    let engine = Engine::new(1 << 30);
    let indexes = vec![
        doc! { "key": { "a": 1 }, "name": "a" },
        doc! { "key": { "b": -1, "a": 1 }, "name": "b", "unique": true },
    ];
    run(&engine, &doc! { "createIndexes": "c", "indexes": indexes });
    run(&engine, &doc! { "create": "ring", "capped": true, "size": 4096, "max": 5 });
    for id in 0..50 {
        for collection in ["c", "ring"] {
            let document = doc! { "_id": id, "a": id % 3, "b": id };
            run(&engine, &doc! { "insert": collection, "documents": [document] });
        }
        let update = doc! { "$set": { "a": "x".repeat(id as usize), "c": id } };
        let q = doc! { "_id": id / 2 };
        run(&engine, &doc! { "update": "c", "updates": [{ "q": q, "u": update }] });
        run(&engine, &doc! { "delete": "c", "deletes": [{ "q": { "a": id / 3 }, "limit": 1 }] });
    }
    run(&engine, &doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] });
    run(&engine, &doc! { "delete": "ring", "deletes": [{ "q": {}, "limit": 0 }] });
    assert_eq!(engine.memory().used(), 0);
}

#[test]
fn a_waiting_cursor_is_woken_by_an_insert_and_by_its_end() {
    let engine = Arc::new(Engine::new(1 << 20));
    run(&engine, &doc! { "create": "ring", "capped": true, "size": 4096 });
    run(&engine, &doc! { "insert": "ring", "documents": [{ "_id": 0 }] });
    let find = doc! { "find": "ring", "tailable": true, "awaitData": true };
    let id = cursor_id(&run(&engine, &find));
    let wait = move |engine: Arc<Engine>| {
        std::thread::spawn(move || {
            let began = Instant::now();
            let command = doc! { "getMore": id, "collection": "ring", "maxTimeMS": 600_000 };
            (run(&engine, &command), began.elapsed())
        })
    };
    for number in 1..=20 {
        let waiting = wait(Arc::clone(&engine));
        if number % 2 == 0 {
            std::thread::sleep(Duration::from_millis(5)); // sometimes it waits already
        }
        run(&engine, &doc! { "insert": "ring", "documents": [{ "_id": number }] });
        let (reply, took) = waiting.join().unwrap();
        assert_eq!(batch_length(&reply), 1, "{reply}");
        assert!(took < Duration::from_mins(5), "woken, not timed out");
    }
    let waiting = wait(Arc::clone(&engine));
    std::thread::sleep(Duration::from_millis(20));
    run(&engine, &doc! { "drop": "ring" });
    let (reply, took) = waiting.join().unwrap();
    assert_eq!(code(&reply), Some(175), "{reply}");
    assert!(took < Duration::from_mins(5));
    assert_eq!(engine.cursors.count(), 0);
}

#[test]
fn a_cursor_is_asked_by_one_connection_at_a_time() {
    let engine = Arc::new(Engine::new(1 << 20));
    run(&engine, &doc! { "create": "ring", "capped": true, "size": 4096 });
    run(&engine, &doc! { "insert": "ring", "documents": [{ "_id": 0 }] });
    let find = doc! { "find": "ring", "tailable": true, "awaitData": true };
    let id = cursor_id(&run(&engine, &find));
    let more = move |wait: i32| doc! { "getMore": id, "collection": "ring", "maxTimeMS": wait };
    let other = Arc::clone(&engine);
    let waiting = std::thread::spawn(move || run(&other, &more(2000)));
    let refused = (0..1000).find_map(|_| {
        std::thread::sleep(Duration::from_millis(1));
        code(&run(&engine, &more(0)))
    });
    assert_eq!(refused, Some(12051));
    run(&engine, &doc! { "killCursors": "ring", "cursors": [id] });
    run(&engine, &doc! { "insert": "ring", "documents": [{ "_id": 1 }] });
    let reply = waiting.join().unwrap();
    assert_eq!(code(&reply), Some(237), "killed before the document came: {reply}");
    assert_eq!(code(&run(&engine, &more(0))), Some(43), "killed while it was asked");
    assert_eq!(engine.cursors.count(), 0);
}

#[test]
fn a_tail_that_was_overtaken_dies() {
    let engine = Engine::new(1 << 20);
    run(&engine, &doc! { "create": "ring", "capped": true, "size": 4096, "max": 2 });
    run(&engine, &doc! { "insert": "ring", "documents": [{ "_id": 0 }, { "_id": 1 }] });
    let id = cursor_id(&run(&engine, &doc! { "find": "ring", "tailable": true }));
    run(&engine, &doc! { "insert": "ring", "documents": [{ "_id": 2 }, { "_id": 3 }] });
    let more = || run(&engine, &doc! { "getMore": id, "collection": "ring" });
    assert_eq!(code(&more()), Some(136));
    assert_eq!(code(&more()), Some(43));
}

#[test]
fn batches_hold_16_mb_at_most() {
    let engine = Engine::new(1 << 30);
    let text = "x".repeat(4 << 20);
    for id in 0..5 {
        run(&engine, &doc! { "insert": "c", "documents": [{ "_id": id, "t": &text }] });
    }
    for sort in [doc! {}, doc! { "_id": 1 }, doc! { "t": 1 }] {
        let reply = run(&engine, &doc! { "find": "c", "sort": &sort });
        assert_eq!(batch_length(&reply), 3, "{sort}");
        let id = cursor_id(&reply);
        let reply = run(&engine, &doc! { "getMore": id, "collection": "c" });
        assert_eq!((batch_length(&reply), cursor_id(&reply)), (2, 0), "{sort}");
    }
}

#[test]
fn an_index_answers_as_a_scan_does() {
    let engine = Engine::new(1 << 30);
    let values = [
        bson::bson!(null),
        bson::bson!(1),
        bson::bson!(2.5),
        bson::bson!(3_i64),
        bson::bson!("a"),
        bson::bson!("b"),
        bson::bson!({ "x": 1 }),
        bson::bson!(true),
        bson::bson!(f64::NAN),
    ];
    let mut id = 0;
    for one in &values {
        for other in &values {
            let mut document = doc! { "_id": id, "b": other };
            if id % 7 != 0 {
                document.insert("a", one.clone());
            }
            run(&engine, &doc! { "insert": "plain", "documents": [&document] });
            run(&engine, &doc! { "insert": "indexed", "documents": [document] });
            id += 1;
        }
    }
    let indexes = vec![
        doc! { "key": { "a": 1, "b": -1 }, "name": "ab" },
        doc! { "key": { "b": -1 }, "name": "b" },
    ];
    run(&engine, &doc! { "createIndexes": "indexed", "indexes": indexes });
    let ids = |collection: &str, filter: &Document| {
        let find = doc! { "find": collection, "filter": filter, "batchSize": 1000 };
        let reply = run(&engine, &find);
        let list = reply.get_document("cursor").unwrap().get_array("firstBatch").unwrap().clone();
        let mut ids: Vec<i32> =
            list.iter().map(|it| it.as_document().unwrap().get_i32("_id").unwrap()).collect();
        ids.sort_unstable();
        ids
    };
    for value in &values {
        for operator in ["$eq", "$gt", "$gte", "$lt", "$lte", "$in", "$ne"] {
            let operand = if operator == "$in" { bson::bson!([value, 2.5]) } else { value.clone() };
            for field in ["a", "b"] {
                let one = doc! { field: { operator: &operand } };
                let two = doc! { "a": { operator: &operand }, "b": { "$gte": "a", "$lt": "b" } };
                for filter in [one, two] {
                    assert_eq!(ids("indexed", &filter), ids("plain", &filter), "{filter}");
                }
            }
        }
    }
}

#[test]
fn an_array_is_refused_by_an_index() {
    let engine = Engine::new(1 << 20);
    let index = doc! { "key": { "a.b": 1 }, "name": "ab" };
    run(&engine, &doc! { "createIndexes": "c", "indexes": [index] });
    for (id, a) in (0..).zip([bson::bson!([]), bson::bson!({ "b": [1] }), bson::bson!([{}])]) {
        let document = doc! { "_id": id, "a": a };
        let reply = run(&engine, &doc! { "insert": "c", "documents": [document] });
        assert!(reply.to_string().contains("no index over the array at 'a.b'"), "{reply}");
    }
    let set = doc! { "$set": { "a": { "b": 1 } } };
    let update = doc! { "q": { "_id": 1 }, "u": set, "upsert": true };
    assert_eq!(code(&run(&engine, &doc! { "update": "c", "updates": [update] })), None);
}

#[test]
fn many_connections_write_and_none_is_lost() {
    let engine = Arc::new(Engine::new(1 << 30));
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            let engine = Arc::clone(&engine);
            std::thread::spawn(move || {
                for number in 0..200 {
                    let id = thread * 1000 + number;
                    run(&engine, &doc! { "insert": "c", "documents": [{ "_id": id, "n": 0 }] });
                    let update =
                        doc! { "q": { "_id": "sum" }, "u": { "$inc": { "n": 1 } }, "upsert": true };
                    run(&engine, &doc! { "update": "c", "updates": [update] });
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let reply = run(&engine, &doc! { "find": "c", "filter": { "_id": "sum" } });
    let cursor = reply.get_document("cursor").unwrap();
    let found = cursor.get_array("firstBatch").unwrap()[0].as_document().unwrap().clone();
    assert_eq!(found, doc! { "_id": "sum", "n": 1600 });
    assert_eq!(run(&engine, &doc! { "count": "c" }), doc! { "n": 1601, "ok": 1.0 });
}

#[test]
fn malformed_bson_is_an_error_and_no_panic() {
    let engine = Engine::new(1 << 20);
    let good = RawDocumentBuf::try_from(&doc! {
        "insert": "c", "documents": [{ "_id": 1, "s": "text", "b": true, "c": [1, { "d": 2.5 }] }],
    });
    let good = good.unwrap().into_bytes();
    for at in 4..good.len() {
        for byte in [0_u8, 1, 2, 3, 4, 5, 8, 11, 15, 127, 200, 255] {
            let mut bytes = good.clone();
            bytes[at] = byte;
            if let Ok(body) = RawDocumentBuf::from_bytes(bytes) {
                let _ = engine.command("db", &body, &[], &|| true);
            }
        }
    }
    let mut bytes = good;
    let last = bytes.len() - 2;
    bytes[last] = 77;
    let reply =
        engine.command("db", &RawDocumentBuf::from_bytes(bytes).unwrap(), &[], &|| true).unwrap();
    assert_eq!(reply.get_i32("code").ok(), Some(22));
}

#[test]
fn endless_paths_are_refused() {
    let engine = Engine::new(1 << 20);
    run(&engine, &doc! { "insert": "c", "documents": [{ "_id": 1 }] });
    let path = vec!["a"; 100_000].join(".");
    let set = doc! { "$set": { &path: 1 } };
    for update in [
        doc! { "q": { "_id": 1 }, "u": set },
        doc! { "q": { &path: 1 }, "u": { "$set": { "b": 1 } }, "upsert": true },
    ] {
        let reply = run(&engine, &doc! { "update": "c", "updates": [update] });
        assert_eq!(code(&reply), Some(15));
    }
    let reply = run(&engine, &doc! { "find": "c", "filter": { &path: 1 }, "sort": { &path: 1 } });
    assert_eq!(batch_length(&reply), 0);
}
