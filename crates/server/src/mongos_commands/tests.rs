//! Against a server that takes the commands that a real mongos took, and answers as it did.

use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use bson::{RawDocumentBuf, doc};
use mongodb::options::{ClientOptions, ServerAddress};
use wire::request_messages::RequestMessage;
use wire::{read_message, reply_messages};

use super::*;

/// Recorded with MongoDB 4.0.3: a mongos in front of two shards.
const RECORDED: &str = include_str!("../../../../tests/data/sharding-4.0.3.jsonl");
/// Fields that drivers add to a command.
const OF_DRIVERS: [&str; 5] = ["$db", "lsid", "$clusterTime", "$readPreference", "txnNumber"];

struct ReplayedCommand {
    database: String,
    command: Vec<u8>,
    reply: Document,
}

/// The recording, and how far the client has come in it.
struct Script {
    exchanges: Vec<ReplayedCommand>,
    at: usize,
    has_moved: bool,
    /// Chunks stay where they are.
    is_stuck: bool,
    /// Whether chunks are recorded as from MongoDB 5.0 on.
    by_uuid: bool,
    /// Commands that the recording has not.
    strange: Vec<String>,
}

impl Script {
    fn new() -> Self {
        let read = |line: &str| {
            let it = serde_json::from_str::<serde_json::Value>(line).expect("JSON");
            let it = Bson::try_from(it).expect("Extended JSON");
            let it = it.as_document().expect("an exchange");
            let part = |name| it.get_document(name).expect(name).clone();
            let command = part("command").to_vec().expect("BSON");
            let database = it.get_str("db").expect("a database").to_owned();
            ReplayedCommand { database, command, reply: part("reply") }
        };
        let exchanges = RECORDED.lines().map(read).collect();
        let (has_moved, is_stuck, by_uuid) = (false, false, false);
        Self { exchanges, at: 0, has_moved, is_stuck, by_uuid, strange: Vec::new() }
    }

    fn answer(&mut self, mut command: Document) -> Document {
        let name = command.keys().next().cloned().unwrap_or_default();
        if ["hello", "ismaster"].contains(&name.to_lowercase().as_str()) {
            // The newer wire version that the core's own driver asks for.
            return doc! {
                "ismaster": true, "msg": "isdbgrid", "maxBsonObjectSize": 16_777_216,
                "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000,
                "minWireVersion": 0, "maxWireVersion": 13, "ok": 1,
            };
        }
        let database = command.get_str("$db").unwrap_or_default().to_owned();
        for added in OF_DRIVERS {
            command.remove(added);
        }
        let of_chunks = name == "find" && command.get_str(&name).ok() == Some("chunks");
        if let Some(filter) = command.get_document("filter").ok().filter(|_| of_chunks)
            && self.by_uuid
        {
            let found = if filter.contains_key("ns") { Vec::new() } else { self.chunks() };
            return cursor(&found);
        }
        let bytes = command.to_vec().expect("BSON");
        let fits = |it: &ReplayedCommand| it.database == database && it.command == bytes;
        let (before, after) = self.exchanges.split_at(self.at);
        let found = after.iter().position(fits).map(|it| it + self.at);
        let Some(found) = found.or_else(|| before.iter().rposition(fits)) else {
            self.strange.push(format!("{database}: {command}"));
            return doc! { "ok": 0, "errmsg": "not in the recording", "code": 59 };
        };
        if name != "find" {
            self.at = self.at.max(found + 1);
        }
        self.has_moved |= name == "moveChunk";
        if of_chunks && command.to_string().contains("ranged") {
            return cursor(&self.chunks());
        }
        self.exchanges[found].reply.clone()
    }

    /// Chunks of the ranged collection, before the moves if the history has them.
    fn chunks(&self) -> Vec<Bson> {
        let is_reply = |it: &&ReplayedCommand| it.reply.to_string().contains("sh.ranged-k_MinKey");
        let reply = &self.exchanges.iter().find(is_reply).expect("recorded").reply;
        let cursor = reply.get_document("cursor").expect("a cursor");
        let mut chunks = cursor.get_array("firstBatch").expect("chunks").clone();
        for chunk in chunks.iter_mut().filter_map(Bson::as_document_mut) {
            let history = chunk.get_array("history").expect("a history");
            let first = history.last().and_then(Bson::as_document).expect("a shard").clone();
            if !self.has_moved || self.is_stuck {
                chunk.insert("shard", first.get_str("shard").expect("its name"));
            }
        }
        chunks
    }
}

fn cursor(found: &[Bson]) -> Document {
    doc! { "cursor": { "firstBatch": found, "id": 0_i64, "ns": "config.chunks" }, "ok": 1 }
}

fn serve(mut stream: TcpStream, script: &Mutex<Script>) {
    let (mut message, mut answer) = (Vec::new(), Vec::new());
    while let Ok(Some(header)) = read_message(&mut stream, &mut message) {
        let request = RequestMessage::parse(&header, &message).expect("a request");
        let (body, legacy) = match &request {
            RequestMessage::Msg(it) => (it.body, false),
            RequestMessage::Query(it) => (it.query, true),
            other => panic!("{other:?}"),
        };
        let body = Document::try_from(body).expect("BSON");
        let reply = script.lock().expect("no panic").answer(body);
        let reply = RawDocumentBuf::try_from(&reply).expect("BSON");
        if legacy {
            reply_messages::legacy(&mut answer, 0, header.request_id, 8, 0, 0, [&*reply]);
        } else {
            reply_messages::msg(&mut answer, 0, header.request_id, &reply);
        }
        if std::io::Write::write_all(&mut stream, &answer).is_err() {
            return;
        }
    }
}

/// A connection to a server that follows the script.
fn scripted(script: Script) -> (Mongos, Arc<Mutex<Script>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let script = Arc::new(Mutex::new(script));
    let shared = Arc::clone(&script);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(std::io::Result::ok) {
            let script = Arc::clone(&shared);
            std::thread::spawn(move || serve(stream, &script));
        }
    });
    let host = ServerAddress::Tcp { host: "127.0.0.1".to_owned(), port: Some(port) };
    let options = ClientOptions::builder().hosts(vec![host]).build();
    (Mongos(Client::with_options(options).expect("a client")), script)
}

async fn with_two_shards(mongos: &Mongos) {
    mongos.add_shard("s1", "127.0.0.1:28021").await.expect("s1");
    mongos.add_shard("s2", "127.0.0.1:28022").await.expect("s2");
    assert_eq!(mongos.shards().await.expect("a list"), ["s1", "s2"]);
    let on = mongos.check_balancer().await.expect_err("it begins turned on");
    assert!(on.message.contains("balancer is on"), "{on}");
    mongos.stop_balancer().await.expect("it stops");
}

/// Four chunks of a thousand keys each.
fn quarters() -> ShardDistribution {
    let of = |from: i32| ChunkRange {
        from: (from > 0).then_some(Bson::Int32(from)),
        within: Bson::Int32(from + 500),
    };
    ShardDistribution::Ranged([0, 1_000, 2_000, 3_000].map(of).to_vec())
}

fn assert_known(script: &Mutex<Script>) {
    let strange = &script.lock().expect("no panic").strange;
    assert!(strange.is_empty(), "a real mongos was never asked {strange:?}");
}

#[tokio::test]
async fn a_cluster_is_made_as_a_real_mongos_had_it() {
    let (mongos, script) = scripted(Script::new());
    with_two_shards(&mongos).await;
    mongos.shard("sh", "ranged", "k", &quarters()).await.expect("four chunks, placed");
    mongos
        .shard("sh", "hashed", "k", &ShardDistribution::Hashed(Some(8)))
        .await
        .expect("eight chunks");
    let stats = mongos.0.database("sh").run_command(doc! { "collStats": "hashed" }).await;
    let each = by_shard(&stats.expect("collStats"));
    assert_eq!(each, BTreeMap::from([("s1".to_owned(), 1_981), ("s2".to_owned(), 2_019)]));
    let stats = mongos.0.database("sh").run_command(doc! { "dbStats": 1 }).await;
    let each = by_shard(&stats.expect("dbStats"));
    assert_eq!(each, BTreeMap::from([("s1".to_owned(), 3_981), ("s2".to_owned(), 4_019)]));
    assert_known(&script);
}

#[tokio::test]
async fn chunks_are_found_by_the_uuid_of_newer_servers() {
    let (mongos, script) = scripted(Script { by_uuid: true, ..Script::new() });
    with_two_shards(&mongos).await;
    mongos.shard("sh", "ranged", "k", &quarters()).await.expect("four chunks, placed");
    assert_known(&script);
}

#[tokio::test]
async fn a_chunk_that_did_not_move_is_an_error() {
    let (mongos, script) = scripted(Script { is_stuck: true, ..Script::new() });
    with_two_shards(&mongos).await;
    let error = mongos.shard("sh", "ranged", "k", &quarters()).await.expect_err("it is stuck");
    assert!(error.message.contains("with 1500 is not on s2"), "{error}");
    assert_known(&script);
}

#[tokio::test]
async fn refusals_are_told_in_the_servers_words() {
    let (mongos, script) = scripted(Script::new());
    let said = |error: Error| error.message;
    let shard = mongos.shard("sh", "ranged", "k", &quarters()).await;
    assert_eq!(said(shard.unwrap_err()), "mongos refused enableSharding: No shards found");
    let added = mongos.add_shard("s9", "127.0.0.1:9").await;
    assert!(said(added.unwrap_err()).contains("for set s9"));
    with_two_shards(&mongos).await;
    mongos.shard("sh", "ranged", "k", &quarters()).await.expect("four chunks, placed");
    let again = mongos.shard("sh", "ranged", "j", &ShardDistribution::Ranged(Vec::new())).await;
    assert!(said(again.unwrap_err()).contains("sharding already enabled"));
    let odd = mongos.shard("sh", "hashed", "k", &ShardDistribution::Hashed(Some(9))).await;
    assert!(said(odd.unwrap_err()).contains("not in the recording"), "numInitialChunks is sent");
    let capped = mongos.admin(doc! { "shardCollection": "sh.cap", "key": { "_id": 1 } }).await;
    assert!(said(capped.unwrap_err()).contains("can't shard a capped collection"));
    assert_eq!(script.lock().expect("no panic").strange.len(), 1, "nine chunks alone");
}
