//! The marker of a database of ours: whose it is, and whether that experiment still lives.

use std::time::Duration;

use base::clock::wall;
use base::process_id::{ProcessId, system};
use bson::{Bson, DateTime, Document, doc};
use mongodb::Database;
use mongodb::error::Error;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use workload::MARKER;

/// Between two signs of life.
const BEAT_EVERY: Duration = Duration::from_secs(10);
const BEAT_LIMIT: Duration = Duration::from_secs(60);
/// A heartbeat that is older belongs to a dead experiment. The core prepares for minutes without
/// an await, and does not beat then.
const STALE_MS: i64 = 10 * 60 * 1000;
/// Changes while the experiment lives: no part of what identifies it.
const HEARTBEAT: &str = "heartbeat";

/// Fields that identify an experiment and the process that makes it.
pub fn identity(experiment: &str, database: &Database) -> Document {
    let own = ProcessId::of(std::process::id()).expect("this process lives");
    doc! {
        "_id": "mongodyno", "experiment": experiment, "database": database.name(),
        "made_at": wall(), "version": env!("CARGO_PKG_VERSION"), "host": host(),
        "system": system(), "pid": i64::from(own.pid),
        "start_ticks": i64::try_from(own.start_ticks).unwrap_or(i64::MAX),
    }
}

/// Writes the marker with its first heartbeat.
pub async fn write(database: &Database, identity: &Document) -> Result<(), Error> {
    let mut marker = identity.clone();
    marker.insert(HEARTBEAT, now(database).await?);
    database.collection::<Document>(MARKER).insert_one(&marker).await.map(drop)
}

/// What identifies the marker of a database, and the sign of life of its experiment; None where
/// the database has no marker that was made for it.
pub async fn of(database: &Database) -> Result<Option<(Document, Option<String>)>, Error> {
    let filter = doc! { "_id": "mongodyno", "database": database.name() };
    let found = database.collection::<Document>(MARKER).find_one(filter).await?;
    let Some(mut marker) = found else { return Ok(None) };
    let heartbeat = marker.remove(HEARTBEAT);
    let lives = life(&marker, heartbeat.as_ref(), now(database).await?);
    Ok(Some((marker, lives)))
}

/// By its process where it is one of this system, else by its heartbeat.
fn life(marker: &Document, heartbeat: Option<&Bson>, now: DateTime) -> Option<String> {
    let number = |field: &str| marker.get_i64(field).unwrap_or_default();
    let text = |field: &str| marker.get_str(field).unwrap_or_default();
    let pid = u32::try_from(number("pid")).unwrap_or_default();
    if !text("system").is_empty() && text("system") == system() {
        let process = ProcessId { pid, start_ticks: number("start_ticks").cast_unsigned() };
        return process.is_alive().then(|| format!("process {pid} of this machine"));
    }
    let age_ms = now.timestamp_millis() - heartbeat?.as_datetime()?.timestamp_millis();
    let said = || format!("process {pid} of {}, {} s ago", text("host"), age_ms / 1000);
    (age_ms < STALE_MS).then(said)
}

/// Refreshes a marker for as long as the value lives.
pub struct Heartbeat(JoinHandle<()>);

impl Heartbeat {
    pub fn start(database: Database, identity: Document) -> Self {
        Self(tokio::spawn(async move {
            loop {
                sleep(BEAT_EVERY).await;
                // The next one may get through.
                let _ = timeout(BEAT_LIMIT, beat(&database, &identity)).await;
            }
        }))
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Never makes a marker anew: the database may be somebody else's by now.
async fn beat(database: &Database, identity: &Document) -> Result<(), Error> {
    let beats = doc! { "$set": { HEARTBEAT: now(database).await? } };
    let markers = database.collection::<Document>(MARKER);
    markers.update_one(identity.clone(), beats).await.map(drop)
}

/// The server's own clock: those of two clients may differ.
pub async fn now(database: &Database) -> Result<DateTime, Error> {
    // `hello` is unknown to MongoDB 4.2.
    let answer = database.run_command(doc! { "isMaster": 1 }).await?;
    Ok(answer.get_datetime("localTime").copied().unwrap_or_else(|_| DateTime::now()))
}

fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_this_system_is_asked_and_a_heartbeat_of_another() {
        let own = ProcessId::of(std::process::id()).expect("this process lives");
        let ticks = own.start_ticks.cast_signed();
        let now = DateTime::from_millis(2 * STALE_MS);
        let of = |system: &str, start_ticks: i64, heartbeat_ms: Option<i64>| {
            let marker = doc! {
                "system": system, "host": "there", "pid": i64::from(own.pid),
                "start_ticks": start_ticks,
            };
            let heartbeat = heartbeat_ms.map(|ms| Bson::from(DateTime::from_millis(ms)));
            life(&marker, heartbeat.as_ref(), now)
        };
        let (fresh, stale) = (Some(2 * STALE_MS - 5000), Some(STALE_MS));
        let here = Some(format!("process {} of this machine", own.pid));
        assert_eq!(of(&system(), ticks, stale), here, "a busy core beats late");
        assert_eq!(of(&system(), ticks + 1, fresh), None, "its number is another process's now");
        let there = Some(format!("process {} of there, 5 s ago", own.pid));
        assert_eq!(of("other", ticks, fresh), there);
        assert_eq!(of("other", ticks, stale), None);
        assert_eq!(of("", ticks, None), None, "the marker of an older mongodyno");
    }
}
