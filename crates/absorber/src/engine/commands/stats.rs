use wire::raw::kind;

use super::super::Engine;
use super::super::args::CommandArgs;
use super::super::fault::{Fallible, Fault, NAMESPACE_NOT_FOUND};
use super::super::stored_collection::Data;
use super::super::writer::Writer;

/// Totals over the collections of a database.
#[derive(Debug, Default)]
pub struct StorageTotals {
    collections: u64,
    objects: u64,
    data_bytes: u64,
    indexes: u64,
    index_bytes: u64,
}

impl StorageTotals {
    fn add(&mut self, data: &Data) {
        self.collections += 1;
        self.objects += data.records.len() as u64;
        self.data_bytes += data.bytes;
        self.indexes += data.indexes.len() as u64;
        self.index_bytes += data.indexes.iter().map(|index| index.bytes).sum::<u64>();
    }

    /// Size of documents and indexes, bytes.
    pub fn all_bytes(&self) -> u64 {
        self.data_bytes + self.index_bytes
    }
}

pub fn totals(engine: &Engine, database: &str) -> StorageTotals {
    let mut totals = StorageTotals::default();
    for (_, collection) in engine.store.collections(database) {
        totals.add(&collection.read());
    }
    totals
}

/// `{collStats: collection}`
pub fn collection(engine: &Engine, request: &CommandArgs<'_>) -> Fallible<Writer> {
    let name = request.collection()?;
    request.fields(&[])?;
    let missing = || Fault::new(NAMESPACE_NOT_FOUND, "ns not found");
    let collection = engine.store.find(name).ok_or_else(missing)?;
    let data = collection.read();
    let mut totals = StorageTotals::default();
    totals.add(&data);
    let mut reply = Writer::new(256);
    reply.text("ns", &name.namespace());
    reply.count("size", totals.data_bytes);
    reply.count("count", totals.objects);
    if let Some(average) = totals.data_bytes.checked_div(totals.objects) {
        reply.count("avgObjSize", average);
    }
    reply.int("numOrphanDocs", 0);
    reply.count("storageSize", totals.data_bytes);
    reply.bool("capped", collection.capped.is_some());
    if let Some(capped) = collection.capped {
        reply.count("max", capped.max.unwrap_or(0));
        reply.count("maxSize", capped.size);
    }
    reply.count("nindexes", totals.indexes);
    let building = reply.open(kind::ARRAY, "indexBuilds");
    reply.close(building);
    reply.count("totalIndexSize", totals.index_bytes);
    reply.count("totalSize", totals.all_bytes());
    let at = reply.open(kind::DOCUMENT, "indexSizes");
    for index in &data.indexes {
        reply.count(&index.name, index.bytes);
    }
    reply.close(at);
    reply.int("scaleFactor", 1);
    Ok(reply.ok())
}

/// `{dbStats: 1}`
pub fn database(engine: &Engine, request: &CommandArgs<'_>) -> Fallible<Writer> {
    request.fields(&[])?;
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
    Ok(reply.ok())
}
