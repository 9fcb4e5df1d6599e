//! Sets up, loads, counts and clears away on the server. The official Rust driver does this and
//! nothing else: no measured operation goes through a driver linked into the core.

use base::say;
use std::time::Duration;

use bson::{Bson, Document, RawDocumentBuf, Uuid, doc};
use mongodb::{Client, Database};
use tokio::time::{sleep, timeout};

use crate::asking::{Asking, is_unauthorized, refused};
use crate::counters;
pub use crate::counters::{MongodCounters, difference};
use crate::marker::{self, Heartbeat};
use base::error::{Error, Result};
use base::strings::hex;
use server::connection_string::own_options;
use server::mongos_commands::{ChunkRange, Mongos, ShardDistribution};
use workload::MARKER;
use workload::plan::{Collection, Index, Shard, ShardBy, Stamp};
use workload::shard::ranges;

/// Bytes of one insert_many while loading: below the server's message limit of 48 MB.
const LOAD_BATCH_BYTES_MAX: usize = 8 << 20;
/// Documents of one insert_many while loading: the server's limit.
const LOAD_BATCH_DOCUMENTS_MAX: usize = 100_000;

/// All names of our databases begin with it.
const PREFIX: &str = "mongodyno_";

const APP_NAME: &str = "mongodyno";
/// A server that is there says at once what it does.
const WORKS_LIMIT: Duration = Duration::from_secs(6);

/// Within it a write of a killed adapter has reached its server.
const LATE: Duration = Duration::from_millis(100);
/// Some 2 s: a whole experiment that still writes loses its database all the same.
const LATE_LOOKS_MAX: usize = 20;
/// Limit for the members of a replica set to catch up.
const REPLICATION_LIMIT: Duration = Duration::from_secs(10);
/// Limit for dropping a database at the end.
const LEAVE_LIMIT: Duration = Duration::from_secs(20);
/// After Ctrl-C a server that does not even answer this soon is left.
const PING_LIMIT: Duration = Duration::from_millis(700);

const CLEAN: &str = "`mongodyno clean` drops it";
/// `clean` does not either.
const BY_HAND: &str = "nothing is dropped without the marker: look into it, and drop it by hand";

/// The connection for administration. It touches one database alone.
pub struct Admin {
    asking: Asking,
    client: Client,
    database: Database,
    /// What identifies the marker that the database has to bear; None where the whole server is
    /// ours.
    marker: Option<Document>,
    /// While the experiment of a database that was claimed lives.
    #[allow(dead_code, reason = "it beats until it is dropped")]
    heartbeat: Option<Heartbeat>,
}

/// A unique name: 122 bits of the system's randomness.
pub fn new_database() -> String {
    format!("{PREFIX}{}", hex(&Uuid::new().bytes()))
}

/// Guards against names from folders that others made.
pub fn is_database(name: &str) -> bool {
    let random = name.strip_prefix(PREFIX).unwrap_or_default();
    random.len() == 32 && random.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
}

/// A database that an experiment left behind.
pub struct Marked {
    pub name: String,
    /// Id of the experiment; `check` for a check.
    pub experiment: String,
    /// RFC 3339 in UTC.
    pub made_at: String,
    /// The sign of life of its experiment; None: it is dead.
    pub lives: Option<String>,
}

impl Admin {
    /// Connects, and touches nothing.
    pub async fn connect(uri: &str, database: &str) -> Result<Self> {
        let asking = Asking::of(uri);
        let client = client(&asking, uri).await?;
        let database = client.database(database);
        Ok(Self { asking, client, database, marker: None, heartbeat: None })
    }

    /// Writes the marker, without which nothing in the database is ever dropped. A server that is
    /// ours as a whole needs none, and a second time changes nothing.
    ///
    /// # Errors
    /// The database exists already; the server's refusal.
    pub async fn claim(&mut self, experiment: &str) -> Result<()> {
        if self.marker.is_some() {
            return Ok(());
        }
        if !self.collections().await?.is_empty() {
            let again = "it is somebody else's: nothing in it was dropped; run again";
            return Err(self.foreign("is there already", again));
        }
        let marker = marker::identity(experiment, &self.database);
        self.asking.ask("insert", marker::write(&self.database, &marker)).await?;
        self.heartbeat = Some(Heartbeat::start(self.database.clone(), marker.clone()));
        self.marker = Some(marker);
        Ok(())
    }

    /// The databases of a server that bear our marker, ready to be dropped, and the names of those
    /// that are called like ours and bear none.
    pub async fn marked(uri: &str) -> Result<(Vec<(Self, Marked)>, Vec<String>)> {
        let asking = Asking::of(uri);
        let client = client(&asking, uri).await?;
        let (mut found, mut unmarked) = (Vec::new(), Vec::new());
        for name in asking.ask("listDatabases", client.list_database_names()).await? {
            if !is_database(&name) {
                continue;
            }
            let database = client.database(&name);
            let Some((marker, lives)) = asking.ask("find", marker::of(&database)).await? else {
                unmarked.push(name);
                continue;
            };
            let text = |field: &str| marker.get_str(field).unwrap_or_default().to_owned();
            let (experiment, made_at) = (text("experiment"), text("made_at"));
            let (asking, client) = (asking.clone(), client.clone());
            let admin = Self { asking, client, database, marker: Some(marker), heartbeat: None };
            found.push((admin, Marked { name, experiment, made_at, lives }));
        }
        Ok((found, unmarked))
    }

    /// Checks before anything is dropped: somebody may have made the database anew.
    async fn check_marker(&self) -> Result<()> {
        let Some(marker) = &self.marker else { return Ok(()) };
        let markers = self.database.collection::<Document>(MARKER);
        let found = self.asking.ask("find", markers.find_one(marker.clone())).await?;
        let what = "does not bear this experiment's marker";
        found.map(|_| ()).ok_or_else(|| self.foreign(what, BY_HAND))
    }

    fn foreign(&self, what: &str, hint: &str) -> Error {
        Error::unreachable(format!("the database {} {what}", self.database.name()), hint)
    }

    /// Makes a collection anew, with its indexes.
    pub async fn create(&self, name: &str, collection: &Collection) -> Result<()> {
        self.drop_collection(name).await?;
        if let Some(shard) = &collection.shard {
            let mongos = Mongos(self.client.clone());
            self.asking.steps("balancerStatus", mongos.check_balancer()).await??;
            let split = split(shard, &collection.stamps)?;
            let sharded = mongos.shard(self.database.name(), name, &shard.key, &split);
            self.asking.steps("shardCollection", sharded).await??;
            return self.create_indexes(name, collection).await;
        }
        let mut create = doc! { "create": name };
        if let Some(capped) = &collection.capped {
            create.insert("capped", true);
            create.insert("size", i64::try_from(capped.size_bytes).unwrap_or(i64::MAX));
            if let Some(max) = capped.max_documents {
                create.insert("max", i64::try_from(max).unwrap_or(i64::MAX));
            }
        }
        create.extend(collection.options.clone());
        if let Some(view) = &collection.view {
            // An arm's own view shows the arm's own collections.
            let own = name.strip_prefix(collection.name.as_str()).unwrap_or_default();
            create.extend(view.named(|other| format!("{other}{own}")));
        }
        let plain = create.len() == 1 || collection.capped.is_some();
        let made = self.asking.work("create", self.database.run_command(create)).await;
        let refused =
            |error: Error| if plain { error } else { not_made("options", collection, &error) };
        made.map_err(refused)?;
        self.create_indexes(name, collection).await
    }

    async fn create_indexes(&self, name: &str, collection: &Collection) -> Result<()> {
        for index in &collection.indexes {
            let document = index_document(index);
            let shown = document.get_str("name").unwrap_or_default().to_owned();
            let command = doc! { "createIndexes": name, "indexes": [document] };
            let made = self.asking.work("createIndexes", self.database.run_command(command)).await;
            made.map_err(|error| not_made(&format!("the index {shown}"), collection, &error))?;
        }
        Ok(())
    }

    /// Inserts documents in batches.
    pub async fn load(
        &self,
        name: &str,
        documents: impl Iterator<Item = RawDocumentBuf>,
    ) -> Result<()> {
        let collection = self.database.collection::<RawDocumentBuf>(name);
        let mut batch = Vec::new();
        let mut bytes = 0;
        for document in documents {
            bytes += document.as_bytes().len();
            batch.push(document);
            if bytes >= LOAD_BATCH_BYTES_MAX || batch.len() >= LOAD_BATCH_DOCUMENTS_MAX {
                let insert = collection.insert_many(std::mem::take(&mut batch));
                self.asking.work("insert", insert.ordered(false)).await?;
                bytes = 0;
            }
        }
        if !batch.is_empty() {
            let insert = collection.insert_many(batch);
            self.asking.work("insert", insert.ordered(false)).await?;
        }
        Ok(())
    }

    /// Inserts `{FIELD: true}`.
    pub async fn flag(&self, name: &str, field: &str) -> Result<()> {
        let collection = self.database.collection::<Document>(name);
        self.asking.ask("insert", collection.insert_one(doc! { field: true })).await.map(drop)
    }

    /// Waits until loaded data is on disk, so that no checkpoint of it falls into a phase. A server
    /// that refuses stays as it is.
    pub async fn settle(&self) {
        let admin = self.client.database("admin");
        let _ = self.asking.work("fsync", admin.run_command(doc! { "fsync": 1 })).await;
    }

    /// Waits until all members of a replica set that can be read from have what was written so far:
    /// a phase may read from any of them. A write that finds nothing waits for all writes before.
    pub async fn replicate(&self) {
        let admin = self.client.database("admin");
        let status = admin.run_command(doc! { "replSetGetStatus": 1 });
        let status = self.asking.ask("replSetGetStatus", status).await;
        let Ok(status) = status else { return }; // no replica set
        let (primary, secondary) = (1, 2);
        let members = status.get_array("members").map(Vec::as_slice).unwrap_or_default();
        let states = members.iter().filter_map(|it| it.as_document()?.get_i32("state").ok());
        let readable = states.filter(|state| [primary, secondary].contains(state));
        let members = readable.map(|_| 1_i32).sum::<i32>();
        let nothing = doc! { "q": { "_id": "none" }, "u": { "$set": { "found": true } } };
        let limit_ms = REPLICATION_LIMIT.as_millis() as i64;
        let write = doc! {
            "update": MARKER, "updates": [nothing],
            "writeConcern": { "w": members, "wtimeout": limit_ms },
        };
        // Who reads too early finds nothing, which is an error in the results.
        let _ = self.asking.ask("update", self.database.run_command(write)).await;
    }

    pub async fn drop_collection(&self, name: &str) -> Result<()> {
        self.check_marker().await?;
        self.drop_unchecked(name).await
    }

    async fn drop_unchecked(&self, name: &str) -> Result<()> {
        self.asking.work("drop", self.database.collection::<Document>(name).drop()).await
    }

    async fn collections(&self) -> Result<Vec<String>> {
        self.asking.ask("listCollections", self.database.list_collection_names()).await
    }

    /// Drops the database, if it was claimed.
    ///
    /// # Errors
    /// A database without our marker; the server's refusal.
    pub async fn drop_database(&self) -> Result<()> {
        if self.marker.is_none() {
            return Ok(()); // nothing of ours is there
        }
        self.check_marker().await?;
        // The marker goes last. A killed adapter's last write may still be on its way, and would
        // create the dropped database again, without the marker that makes it ours.
        for _ in 0..LATE_LOOKS_MAX {
            let mut names = self.collections().await?;
            names.retain(|name| name != MARKER && !name.starts_with("system."));
            if names.is_empty() {
                break;
            }
            for name in names {
                self.drop_unchecked(&name).await?;
            }
            sleep(LATE).await;
        }
        let dropped = async {
            match self.database.drop().await {
                Err(error) if is_unauthorized(&error) => Ok(false),
                dropped => dropped.map(|()| true),
            }
        };
        if self.asking.work("dropDatabase", dropped).await? {
            return Ok(());
        }
        // Some users may drop no database, but its collections. The last collection takes it along.
        let mut names = self.collections().await?;
        names.sort_by_key(|name| name == MARKER);
        for name in names {
            self.drop_unchecked(&name).await?;
        }
        Ok(())
    }

    /// Drops the database at the end, and says so where it stays behind. Returns whether it is
    /// gone. After Ctrl-C (`hurried`) a server that is silent is not waited for.
    pub async fn leave(&self, hurried: bool) -> bool {
        let answers = !hurried || self.marker.is_none() || self.pings().await;
        let limit = if answers { LEAVE_LIMIT } else { Duration::ZERO };
        let (why, hint) = match timeout(limit, self.drop_database()).await {
            Ok(Ok(())) => return true,
            Ok(Err(error)) if error.hint == BY_HAND => (error.message, BY_HAND),
            Ok(Err(error)) => (error.message, CLEAN),
            Err(_) => ("the server does not answer".to_owned(), CLEAN),
        };
        say!("warning: the database {} was not dropped: {why}", self.database.name());
        say!("hint: {hint}");
        false
    }

    async fn pings(&self) -> bool {
        let ping = self.database.run_command(doc! { "ping": 1 });
        timeout(PING_LIMIT, ping.into_future()).await.is_ok()
    }

    /// Documents in a collection, by its metadata.
    pub async fn count(&self, name: &str) -> Result<i64> {
        let collection = self.database.collection::<Document>(name);
        let count = self.asking.ask("count", collection.estimated_document_count()).await?;
        Ok(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// Every document of a collection in the order of `_id` (for `check`).
    pub async fn documents(&self, name: &str) -> Result<Vec<RawDocumentBuf>> {
        let collection = self.database.collection::<RawDocumentBuf>(name);
        let find = async {
            let mut cursor = collection.find(doc! {}).sort(doc! { "_id": 1 }).await?;
            let mut documents = Vec::new();
            while cursor.advance().await? {
                documents.push(cursor.current().to_owned());
            }
            Ok(documents)
        };
        self.asking.work("find", find).await
    }

    /// Kills all open cursors of a collection and returns their number (for `check`).
    pub async fn kill_cursors(&self, name: &str) -> Result<usize> {
        let namespace = format!("{}.{name}", self.database.name());
        let pipeline = [
            doc! { "$currentOp": { "idleCursors": true } },
            doc! { "$match": { "ns": namespace, "cursor.cursorId": { "$exists": true } } },
        ];
        let admin = self.client.database("admin");
        let open = async {
            let mut operations = admin.aggregate(pipeline).await?;
            let mut cursors = Vec::new();
            while operations.advance().await? {
                let operation = operations.deserialize_current()?;
                let cursor = operation.get_document("cursor").ok();
                cursors.extend(cursor.and_then(|cursor| cursor.get("cursorId")).cloned());
            }
            Ok(cursors)
        };
        let cursors = self.asking.ask("aggregate", open).await?;
        if cursors.is_empty() {
            return Ok(0);
        }
        let kill = doc! { "killCursors": name, "cursors": cursors };
        let reply = self.asking.ask("killCursors", self.database.run_command(kill)).await?;
        Ok(reply.get_array("cursorsKilled").map_or(0, Vec::len))
    }

    /// Whether the server runs an operation on this database that is not ours. One that does not
    /// answer does not work.
    pub async fn works(&self) -> bool {
        timeout(WORKS_LIMIT, self.running()).await.is_ok_and(|runs| runs.unwrap_or(false))
    }

    async fn running(&self) -> Result<bool> {
        // An arm has our user; others' operations need a further privilege. Rejected:
        // `$currentOp`, which an absorber would hold back like any aggregation.
        let namespace = format!("^{}\\.", self.database.name());
        let command = doc! {
            "currentOp": 1, "$ownOps": true, "active": true, "ns": { "$regex": namespace },
            "appName": { "$ne": APP_NAME },
        };
        match self.client.database("admin").run_command(command).await {
            Ok(reply) => Ok(reply.get_array("inprog").is_ok_and(|running| !running.is_empty())),
            // The absorber has no such command, and no connections but an experiment's. One of the
            // active ones asks.
            Err(_) => Ok(self.counters(false).await?.get("connections.active") > Some(&1)),
        }
    }

    /// Starts or stops the server's profiler for this database (for `check`).
    pub async fn profile(&self, on: bool) -> Result<()> {
        let command = doc! { "profile": if on { 2 } else { 0 } };
        self.asking.ask("profile", self.database.run_command(command)).await?;
        if on {
            return Ok(());
        }
        self.drop_collection("system.profile").await
    }

    /// The profiled commands of one name on one collection. Drivers before 2.6 send opcodes of
    /// their own. Such an entry has no `protocol`, and counts as a command.
    pub async fn profiled(&self, command: &str, collection: &str) -> Result<Vec<Document>> {
        let field = format!("command.{command}");
        let profile = self.database.collection::<Document>("system.profile");
        let namespace = format!("{}.{collection}", self.database.name());
        let opcode = doc! { "op": command, "ns": namespace, "protocol": { "$exists": false } };
        let find = async {
            let mut cursor = profile.find(doc! { "$or": [{ field: collection }, opcode] }).await?;
            let mut commands = Vec::new();
            while cursor.advance().await? {
                commands.push(cursor.deserialize_current()?);
            }
            Ok(commands)
        };
        self.asking.work("find", find).await
    }

    /// See [`counters::counters`].
    pub async fn counters(&self, all: bool) -> Result<MongodCounters> {
        let counters = counters::counters(&self.client, &self.database, all);
        self.asking.ask("serverStatus", counters).await
    }

    /// See [`counters::sizes`].
    pub async fn sizes(&self, name: &str) -> MongodCounters {
        let sizes = self.asking.steps("collStats", counters::sizes(&self.database, name)).await;
        sizes.unwrap_or_default()
    }
}

async fn client(asking: &Asking, uri: &str) -> Result<Client> {
    // The DNS is asked alone.
    let mut options = asking.ask("SRV", own_options(uri)).await?;
    options.app_name = Some(APP_NAME.to_owned());
    options.server_selection_timeout = Some(Duration::from_secs(5));
    // Not the drivers' concerns: a marker is written for certain and read where it was written.
    options.write_concern = None;
    options.read_concern = None;
    options.selection_criteria = None;
    Client::with_options(options).map_err(|error| refused(&error))
}

/// A server that lacks something is named with what it lacks.
fn not_made(what: &str, collection: &Collection, error: &Error) -> Error {
    let message = format!("{what} of `{}` cannot be made: {}", collection.name, error.message);
    Error::new(error.exit, message, "leave it out, or measure on a server that has it")
}

fn index_document(index: &Index) -> Document {
    let keys: Document =
        index.keys.iter().map(|(field, indexed)| (field.clone(), indexed.bson())).collect();
    let name = |(field, indexed): (&String, &Bson)| match indexed {
        Bson::String(kind) => format!("{field}_{kind}"),
        other => format!("{field}_{other}"),
    };
    let name: Vec<_> = keys.iter().map(name).collect();
    let mut document = doc! { "name": name.join("_"), "key": keys };
    if index.unique {
        document.insert("unique", true);
    }
    document.extend(index.options.clone());
    document
}

fn split(shard: &Shard, stamps: &[Stamp]) -> Result<ShardDistribution> {
    if shard.by == ShardBy::Hashed {
        return Ok(ShardDistribution::Hashed(shard.chunks));
    }
    let ranges = ranges(shard, stamps).ok_or_else(|| {
        let message = format!("its record says that ranges of `{}` are chunks", shard.key);
        Error::usage(message, "shard by a field with `value: key`")
    })?;
    Ok(ShardDistribution::Ranged(
        ranges.into_iter().map(|(from, within)| ChunkRange { from, within }).collect(),
    ))
}
