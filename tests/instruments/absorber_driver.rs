//! The official Rust driver as a client of the absorber.

use std::future::Future;
use std::time::Duration;

use crate::absorber_support::Absorber;
use crate::support::block_on;
use mongodb::bson::{Document, doc};
use mongodb::error::ErrorKind;
use mongodb::options::{CursorType, FindOptions};
use mongodb::{Client, Collection};

fn with_client<Done: Future>(absorber: &Absorber, work: impl FnOnce(Client) -> Done) {
    block_on(async {
        let client = Client::with_uri_str(absorber.uri()).await.expect("a client");
        work(client).await;
    });
}

async fn count(collection: &Collection<Document>) -> u64 {
    collection.estimated_document_count().await.expect("a count")
}

#[test]
fn it_writes_and_reads() {
    let absorber = Absorber::start(&[]);
    with_client(&absorber, async |client| {
        let collection = client.database("t").collection::<Document>("c");
        let documents = (0..1000).map(|id| doc! { "_id": id, "x": id % 10 });
        let inserted = collection.insert_many(documents).await.expect("inserted");
        assert_eq!(inserted.inserted_ids.len(), 1000);
        let again = collection.insert_one(doc! { "_id": 5 }).await.expect_err("a duplicate");
        assert!(again.to_string().contains("E11000"), "{again}");

        let found = collection.find_one(doc! { "_id": 7 }).await.expect("found");
        assert_eq!(found, Some(doc! { "_id": 7, "x": 7 }));
        let mut cursor = collection.find(doc! { "x": 3 }).batch_size(7).await.expect("a cursor");
        let mut ids = Vec::new();
        while cursor.advance().await.expect("a batch") {
            ids.push(cursor.current().get_i32("_id").expect("a number"));
        }
        assert_eq!(ids, (0..100).map(|it| it * 10 + 3).collect::<Vec<_>>());

        let set = doc! { "$set": { "y": "new" } };
        let updated = collection.update_one(doc! { "_id": 7 }, set.clone()).await.expect("done");
        assert_eq!((updated.matched_count, updated.modified_count), (1, 1));
        let upserted = collection.update_one(doc! { "_id": 5000 }, set).upsert(true).await;
        assert_eq!(upserted.expect("done").upserted_id, Some(5000.into()));
        let replaced = collection.replace_one(doc! { "_id": 8 }, doc! { "z": 1 }).await;
        assert_eq!(replaced.expect("done").modified_count, 1);
        let deleted = collection.delete_many(doc! { "x": 3 }).await.expect("done");
        assert_eq!(deleted.deleted_count, 100);

        assert_eq!(count(&collection).await, 901);
        let counted = collection.count_documents(doc! { "x": { "$lt": 5 } }).await;
        assert_eq!(counted.expect("a count"), 400);
        collection.drop().await.expect("dropped");
        assert_eq!(count(&collection).await, 0);
    });
}

#[test]
fn a_tail_gives_what_is_inserted() {
    let absorber = Absorber::start(&[]);
    with_client(&absorber, async |client| {
        let database = client.database("t");
        let create = database.create_collection("capped").capped(true).size(1 << 20);
        create.await.expect("created");
        let collection = database.collection::<Document>("capped");
        collection.insert_one(doc! { "_id": 0 }).await.expect("inserted");
        let options = FindOptions::builder()
            .cursor_type(CursorType::TailableAwait)
            .max_await_time(Duration::from_millis(500))
            .build();
        let mut cursor = collection.find(doc! {}).with_options(options).await.expect("a cursor");
        let writer = collection.clone();
        let writing = tokio::spawn(async move {
            for id in 1..20 {
                writer.insert_one(doc! { "_id": id }).await.expect("inserted");
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        });
        for id in 0..20 {
            assert!(cursor.advance().await.expect("a batch"));
            assert_eq!(cursor.current().get_i32("_id").ok(), Some(id));
        }
        writing.await.expect("written");
    });
}

#[test]
fn errors_are_the_servers_own() {
    let absorber = Absorber::start(&[]);
    with_client(&absorber, async |client| {
        let error = client.database("t").run_command(doc! { "makeCoffee": 1 }).await;
        let ErrorKind::Command(error) = *error.expect_err("no such command").kind else {
            panic!("a command error")
        };
        assert_eq!((error.code, error.code_name.as_str()), (59, "CommandNotFound"));
    });
}

#[test]
fn a_driver_recovers_from_every_fault() {
    let faults = ["--close-after", "7", "--error", "11602/5", "--garbage", "11", "--refuse", "4"];
    let absorber = Absorber::start(&faults);
    with_client(&absorber, async |client| {
        let collection = client.database("t").collection::<Document>("c");
        let (mut good, mut bad) = (0, 0);
        for id in 0..100 {
            match collection.insert_one(doc! { "_id": id }).await {
                Ok(_) => good += 1,
                Err(_) => bad += 1,
            }
        }
        // One in five and one in eleven fail at least; a closed connection may fail once more.
        assert!(bad >= 20 && good >= 40, "{good} good, {bad} bad");
    });
    assert!(!absorber.stderr().contains("panicked"), "{}", absorber.stderr());
}
