//! The absorbers of a conversation, used without a driver: a driver's own connections and retries
//! would be blamed on the adapter.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use bson::{Bson, Document, RawDocumentBuf, doc};

use measure::server_access::Reached;
use server::{ServerHandle, StartOptions};
use wire::{HEADER_BYTES, read_message, reply_messages};

const DATABASE: &str = "vectors";
const TIMEOUT: Duration = Duration::from_secs(10);
/// Size of a batch: more documents than any vector has.
const BATCH: i32 = 100_000;
/// Number of cursor ids that are tried: an absorber's ids are a predictable sequence
/// (`engine/cursor.rs`).
const CURSORS: u64 = 2_000;

pub struct VectorAbsorber {
    server: ServerHandle,
    pub host: String,
    stream: TcpStream,
    /// Connections before the adapter's.
    created: i64,
}

impl VectorAbsorber {
    /// Starts an absorber, with options of `mongodyno absorber`.
    pub async fn start(options: &BTreeMap<String, String>, log: &Path) -> Result<Self, String> {
        let text = |error: base::error::Error| error.to_string();
        let flag =
            |(name, value): (&String, &String)| format!("--{}={value}", name.replace('_', "-"));
        let mut start = StartOptions::new(log);
        start.extra_flags = options.iter().map(flag).collect();
        let reached = Reached::at("absorber", None, false).await.map_err(text)?;
        let server = reached.open(&start).await.map_err(text)?;
        let host = server.uri().trim_start_matches("mongodb://").trim_end_matches('/').to_owned();
        let stream = TcpStream::connect(&host).map_err(|error| format!("{host}: {error}"))?;
        stream.set_read_timeout(Some(TIMEOUT)).map_err(|error| error.to_string())?;
        let mut absorber = Self { server, host, stream, created: 0 };
        absorber.created = absorber.connections()?;
        Ok(absorber)
    }

    pub async fn stop(self) {
        self.server.stop().await;
    }

    /// Connections of the adapter so far.
    pub fn connections(&mut self) -> Result<i64, String> {
        let status = self.ask("admin", doc! { "serverStatus": 1 })?;
        let connections = status.get_document("connections").map_err(|error| error.to_string())?;
        let created = match connections.get("totalCreated") {
            Some(Bson::Int32(count)) => i64::from(*count),
            Some(Bson::Int64(count)) => *count,
            other => return Err(format!("connections.totalCreated is {other:?}")),
        };
        Ok(created - self.created)
    }

    pub fn create(&mut self, collection: &str, capped_bytes: Option<i64>) -> Result<(), String> {
        let mut command = doc! { "create": collection };
        if let Some(size) = capped_bytes {
            command.extend(doc! { "capped": true, "size": size });
        }
        self.ask(DATABASE, command).map(drop)
    }

    pub fn insert(&mut self, collection: &str, documents: Vec<Document>) -> Result<(), String> {
        let count = i32::try_from(documents.len()).unwrap_or(i32::MAX);
        let answer = self.ask(DATABASE, doc! { "insert": collection, "documents": documents })?;
        match answer.get_i32("n") {
            Ok(inserted) if inserted == count => Ok(()),
            _ => Err(format!("the absorber inserted not all of {count} documents: {answer}")),
        }
    }

    pub fn documents(&mut self, collection: &str) -> Result<Vec<Document>, String> {
        let answer = self.ask(DATABASE, doc! { "find": collection, "batchSize": BATCH })?;
        let cursor = answer.get_document("cursor").map_err(|error| error.to_string())?;
        let batch = cursor.get_array("firstBatch").map_err(|error| error.to_string())?;
        Ok(batch.iter().filter_map(Bson::as_document).cloned().collect())
    }

    pub fn drop(&mut self, collection: &str) -> Result<(), String> {
        self.ask(DATABASE, doc! { "drop": collection }).map(drop)
    }

    pub fn empty(&mut self) -> Result<(), String> {
        self.ask(DATABASE, doc! { "dropDatabase": 1 }).map(drop)
    }

    pub fn kill_cursors(&mut self, collection: &str) -> Result<(), String> {
        let id = |count: u64| (count.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1).max(1);
        let ids: Vec<i64> = (0..CURSORS).map(|count| id(count).cast_signed()).collect();
        self.ask(DATABASE, doc! { "killCursors": collection, "cursors": ids }).map(drop)
    }

    fn ask(&mut self, database: &str, command: Document) -> Result<Document, String> {
        let name = command.keys().next().cloned().unwrap_or_default();
        let answer = self.exchange(database, command);
        let answer = answer.map_err(|error| format!("the absorber and {name}: {error}"))?;
        match answer.get_f64("ok") {
            Ok(1.0) => Ok(answer),
            _ => Err(format!("the absorber refuses {name}: {answer}")),
        }
    }

    fn exchange(
        &mut self,
        database: &str,
        mut command: Document,
    ) -> Result<Document, Box<dyn std::error::Error>> {
        command.insert("$db", database);
        let command = RawDocumentBuf::try_from(&command)?;
        let mut message = Vec::new();
        reply_messages::msg(&mut message, 1, 0, &command);
        self.stream.write_all(&message)?;
        read_message(&mut self.stream, &mut message)?.ok_or("it closed the connection")?;
        Ok(Document::from_reader(message.get(HEADER_BYTES + 5..).unwrap_or_default())?)
    }
}
