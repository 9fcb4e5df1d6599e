//! Counters of a server and sizes of its collections; behind a mongos those of each shard.

use std::collections::BTreeMap;

use bson::{Bson, Document, doc};
use mongodb::error::Error;
use mongodb::{Client, Database};
use server::mongos_commands::by_shard;

pub type MongodCounters = BTreeMap<String, i64>;

/// Counters that are taken of serverStatus: the columns of mongostat, and the traffic.
const STATUS: [(&str, &[&str]); 9] = [
    ("opcounters", &["insert", "query", "update", "delete", "getmore", "command"]),
    ("network", &["bytesIn", "bytesOut", "numRequests"]),
    ("connections", &["current", "totalCreated", "active"]),
    ("globalLock.currentQueue", &["readers", "writers"]),
    ("globalLock.activeClients", &["readers", "writers"]),
    ("extra_info", &["page_faults"]),
    // Flushes; those of 8.0 and later are in another section.
    ("wiredTiger.transaction", &["transaction checkpoints"]),
    ("wiredTiger.checkpoint", &["total succeed number of checkpoints"]),
    (
        "wiredTiger.cache",
        &[
            "bytes currently in the cache",
            "tracked dirty bytes in the cache",
            "maximum bytes configured",
            "bytes read into cache",
            "bytes written from cache",
        ],
    ),
];

/// Counters and gauges: opcounters, network, connections; with `all`, also queues,
/// flushes, page faults and the cache's.
pub async fn counters(client: &Client, own: &Database, all: bool) -> Result<MongodCounters, Error> {
    // Default sections are turned off one by one: a whole serverStatus has 40 KB and takes the
    // server a millisecond.
    let mut command = doc! {
        "serverStatus": 1, "metrics": 0, "locks": 0, "repl": 0, "tcmalloc": 0,
        "transactions": 0, "twoPhaseCommitCoordinator": 0, "logicalSessionRecordCache": 0,
        "opLatencies": 0, "security": 0, "electionMetrics": 0, "flowControl": 0,
        "globalLock": 0, "indexBulkBuilder": 0, "freeMonitoring": 0, "mirroredReads": 0,
        "asserts": 0, "batchedDeletes": 0, "catalogStats": 0, "defaultRWConcern": 0,
        "featureCompatibilityVersion": 0, "tenantMigrations": 0, "trafficRecording": 0,
        "transportSecurity": 0, "scramCache": 0, "readConcernCounters": 0,
        "internalTransactions": 0, "storageEngine": 0, "opcountersRepl": 0,
        "indexStats": 0, "Instance Information": 0, "readPreferenceCounters": 0,
        "resourceConsumption": 0, "shardSplits": 0,
        "changeStreamPreImages": 0, "queryAnalyzers": 0, "extra_info": 0,
    };
    if all {
        command.extend(doc! { "globalLock": 1, "extra_info": 1 });
    } else {
        command.insert("wiredTiger", 0);
    }
    let status = client.database("admin").run_command(command).await?;
    let mut counters = MongodCounters::new();
    for (path, fields) in STATUS {
        let within = |values: &Document, part| values.get_document(part).ok().cloned();
        let found = path.split('.').try_fold(status.clone(), |it, part| within(&it, part));
        if let Some(values) = found {
            pick(&values, path.trim_start_matches("wiredTiger."), fields, &mut counters);
        }
    }
    if all && status.get_str("process").is_ok_and(|it| it == "mongos") {
        // A mongos counts what it passes on, not where it goes.
        let stats = own.run_command(doc! { "dbStats": 1 }).await?;
        counters.extend(of_shards("dbStats.objects", &stats));
    }
    Ok(counters)
}

/// Sizes of a collection and of the database; empty where the server has none.
pub async fn sizes(own: &Database, name: &str) -> MongodCounters {
    let mut sizes = MongodCounters::new();
    if let Ok(stats) = own.run_command(doc! { "collStats": name }).await {
        let fields = ["count", "size", "storageSize", "totalIndexSize", "avgObjSize"];
        pick(&stats, "collStats", &fields, &mut sizes);
        pick(&with_units(&stats), "collStats", &["totalSize_bytes"], &mut sizes);
        sizes.extend(of_shards("collStats.count", &stats));
    }
    if let Ok(stats) = own.run_command(doc! { "dbStats": 1 }).await {
        pick(&stats, "dbStats", &["dataSize", "storageSize", "indexSize"], &mut sizes);
        let fields = ["objects_count", "avgObjSize_bytes", "totalSize_bytes"];
        pick(&with_units(&stats), "dbStats", &fields, &mut sizes);
    }
    sizes
}

/// Documents of each shard: `shard.s1.collStats.count`.
fn of_shards(name: &str, stats: &Document) -> MongodCounters {
    let named = by_shard(stats).into_iter();
    named.map(|(shard, documents)| (format!("shard.{shard}.{name}"), documents)).collect()
}

/// The newer fields of collStats and dbStats, whose names end with their unit.
fn with_units(stats: &Document) -> Document {
    let named = stats.iter().map(|(name, value)| {
        let unit = if name == "objects" { "count" } else { "bytes" };
        (format!("{name}_{unit}"), value.clone())
    });
    named.collect()
}

fn pick(from: &Document, section: &str, fields: &[&str], into: &mut MongodCounters) {
    for field in fields {
        let value = match from.get(field) {
            Some(Bson::Int32(value)) => i64::from(*value),
            Some(Bson::Int64(value)) => *value,
            Some(Bson::Double(value)) => *value as i64,
            _ => continue,
        };
        into.insert(format!("{section}.{field}"), value);
    }
}

pub fn difference(before: &MongodCounters, after: &MongodCounters) -> MongodCounters {
    after
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value - before.get(name)?)))
        .collect()
}
