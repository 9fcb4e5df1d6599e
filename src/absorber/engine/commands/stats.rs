//! collStats, dbStats.

use super::super::Engine;
use super::super::args::Request;
use super::super::error::Outcome;
use super::super::raw::{Writer, kind};

/// What the collections of a database hold.
#[derive(Debug, Default)]
pub struct Totals {
    collections: i64,
    objects: i64,
    data_bytes: i64,
    indexes: i64,
    index_bytes: i64,
}

impl Totals {
    /// Of documents and indexes.
    pub fn all_bytes(&self) -> i64 {
        self.data_bytes + self.index_bytes
    }
}

/// Adds up a database.
pub fn totals(engine: &Engine, database: &str) -> Totals {
    let mut totals = Totals::default();
    for (_, collection) in engine.store.collections(database) {
        let data = collection.read();
        totals.collections += 1;
        totals.objects += data.records.len() as i64;
        totals.data_bytes += data.bytes.cast_signed();
        totals.indexes += data.indexes.len() as i64;
        let bytes: u64 = data.indexes.iter().map(|index| index.bytes).sum();
        totals.index_bytes += bytes.cast_signed();
    }
    totals
}

/// `{collStats: collection}`
pub fn collection(engine: &Engine, request: &Request<'_>) -> Outcome<Writer> {
    let name = request.collection()?;
    request.fields("collStats", &[b"scale"])?;
    let mut reply = Writer::new(256);
    reply.text("ns", &name.namespace());
    let Some(collection) = engine.store.find(name) else {
        for field in ["size", "count", "numOrphanDocs", "storageSize", "totalSize", "nindexes"] {
            reply.int(field, 0);
        }
        reply.int("totalIndexSize", 0);
        for field in ["indexDetails", "indexSizes"] {
            let at = reply.open(kind::DOCUMENT, field);
            reply.close(at);
        }
        reply.int("scaleFactor", 1);
        reply.double("ok", 1.0);
        return Ok(reply);
    };
    let data = collection.read();
    let size = data.bytes.cast_signed();
    let documents = data.records.len() as i64;
    let index_bytes: u64 = data.indexes.iter().map(|index| index.bytes).sum();
    reply.count("size", size);
    reply.count("count", documents);
    if documents > 0 {
        reply.count("avgObjSize", size / documents);
    }
    reply.int("numOrphanDocs", 0);
    reply.count("storageSize", size);
    reply.int("freeStorageSize", 0);
    reply.bool("capped", collection.capped.is_some());
    if let Some(capped) = collection.capped {
        reply.count("max", capped.max.map_or(0, u64::cast_signed));
        reply.count("maxSize", capped.size.cast_signed());
    }
    reply.count("nindexes", data.indexes.len() as i64);
    let building = reply.open(kind::ARRAY, "indexBuilds");
    reply.close(building);
    reply.count("totalIndexSize", index_bytes.cast_signed());
    reply.count("totalSize", size + index_bytes.cast_signed());
    let at = reply.open(kind::DOCUMENT, "indexSizes");
    for index in &data.indexes {
        reply.count(&index.name, index.bytes.cast_signed());
    }
    reply.close(at);
    reply.int("scaleFactor", 1);
    reply.double("ok", 1.0);
    Ok(reply)
}

/// `{dbStats: 1}`
pub fn database(engine: &Engine, request: &Request<'_>) -> Outcome<Writer> {
    request.fields("dbStats", &[b"scale", b"freeStorage"])?;
    let totals = totals(engine, request.database);
    let mut reply = Writer::new(256);
    reply.text("db", request.database);
    reply.count("collections", totals.collections);
    reply.int("views", 0);
    reply.count("objects", totals.objects);
    let average = totals.data_bytes as f64 / (totals.objects.max(1)) as f64;
    reply.double("avgObjSize", average);
    reply.double("dataSize", totals.data_bytes as f64);
    reply.double("storageSize", totals.data_bytes as f64);
    reply.count("indexes", totals.indexes);
    reply.double("indexSize", totals.index_bytes as f64);
    reply.double("totalSize", totals.all_bytes() as f64);
    reply.double("scaleFactor", 1.0);
    reply.double("ok", 1.0);
    Ok(reply)
}
