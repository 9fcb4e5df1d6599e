//! collStats, dbStats.

use super::super::Engine;
use super::super::args::Request;
use super::super::error::Outcome;
use super::super::raw::kind;
use super::super::writer::Writer;

/// What the collections of a database hold.
#[derive(Debug, Default)]
pub struct Totals {
    collections: u64,
    objects: u64,
    data_bytes: u64,
    indexes: u64,
    index_bytes: u64,
}

impl Totals {
    /// Of documents and indexes.
    pub fn all_bytes(&self) -> u64 {
        self.data_bytes + self.index_bytes
    }
}

/// Adds up a database.
pub fn totals(engine: &Engine, database: &str) -> Totals {
    let mut totals = Totals::default();
    for (_, collection) in engine.store.collections(database) {
        let data = collection.read();
        totals.collections += 1;
        totals.objects += data.records.len() as u64;
        totals.data_bytes += data.bytes;
        totals.indexes += data.indexes.len() as u64;
        let bytes: u64 = data.indexes.iter().map(|index| index.bytes).sum();
        totals.index_bytes += bytes;
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
    let size = data.bytes;
    let documents = data.records.len() as u64;
    let index_bytes: u64 = data.indexes.iter().map(|index| index.bytes).sum();
    reply.count("size", size);
    reply.count("count", documents);
    if let Some(average) = size.checked_div(documents) {
        reply.count("avgObjSize", average);
    }
    reply.int("numOrphanDocs", 0);
    reply.count("storageSize", size);
    reply.int("freeStorageSize", 0);
    reply.bool("capped", collection.capped.is_some());
    if let Some(capped) = collection.capped {
        reply.count("max", capped.max.unwrap_or(0));
        reply.count("maxSize", capped.size);
    }
    reply.count("nindexes", data.indexes.len() as u64);
    let building = reply.open(kind::ARRAY, "indexBuilds");
    reply.close(building);
    reply.count("totalIndexSize", index_bytes);
    reply.count("totalSize", size + index_bytes);
    let at = reply.open(kind::DOCUMENT, "indexSizes");
    for index in &data.indexes {
        reply.count(&index.name, index.bytes);
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
