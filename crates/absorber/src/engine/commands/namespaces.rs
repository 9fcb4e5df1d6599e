//! create, drop, dropDatabase, listCollections, listDatabases.

use wire::raw::{EMPTY, Value, kind};

use super::super::Engine;
use super::super::args::{CommandArgs, count, document, flag};
use super::super::fault::{Fallible, Fault, INVALID_OPTIONS, UNAUTHORIZED};
use super::super::filter::Filter;
use super::super::stored_collection::{CappedLimits, StoredCollection};
use super::super::writer::Writer;
use super::queries::list;
use super::stats::totals;

/// mongod rounds the size of a capped collection up to a multiple of this.
const CAPPED_STEP: u64 = 256;
/// mongod's smallest capped collection, bytes.
const CAPPED_MIN: u64 = 4096;

/// `{create: collection, capped, size, max}`
pub fn create(engine: &Engine, request: &CommandArgs<'_>) -> Fallible<Writer> {
    let name = request.collection()?;
    let (mut capped, mut size, mut max) = (false, None, None);
    for field in request.fields(&[b"capped", b"size", b"max", b"autoIndexId"])? {
        match field.name {
            b"capped" => capped = flag(&field)?,
            b"size" => size = Some(count(&field)?).filter(|size| *size > 0),
            b"max" => max = Some(count(&field)?).filter(|max| *max > 0),
            _ => {}
        }
    }
    if capped != size.is_some() || !capped && max.is_some() {
        let message = "capped collections need a 'size', and others have none nor a 'max'";
        return Err(Fault::new(INVALID_OPTIONS, message));
    }
    let size = size.map(|size| size.max(CAPPED_MIN).next_multiple_of(CAPPED_STEP));
    engine.store.create(name, size.map(|size| CappedLimits { size, max }))?;
    Ok(Writer::new(32).ok())
}

/// `{drop: collection}`
pub fn drop_collection(engine: &Engine, request: &CommandArgs<'_>) -> Fallible<Writer> {
    let name = request.collection()?;
    request.fields(&[])?;
    let collection = engine.store.drop(name)?;
    let indexes = collection.read().indexes.len();
    collection.drop_all();
    let mut reply = Writer::new(96);
    reply.count("nIndexesWas", indexes as u64);
    reply.text("ns", &collection.namespace);
    Ok(reply.ok())
}

/// `{dropDatabase: 1}`
pub fn drop_database(engine: &Engine, request: &CommandArgs<'_>) -> Fallible<Writer> {
    request.fields(&[])?;
    let mut reply = Writer::new(64);
    if let Some(collections) = engine.store.drop_database(request.database) {
        for collection in collections {
            collection.drop_all();
        }
        reply.text("dropped", request.database);
    }
    Ok(reply.ok())
}

/// A collection as listCollections shows it.
fn listed(name: &str, collection: &StoredCollection, name_only: bool) -> Vec<u8> {
    let mut writer = Writer::new(256);
    writer.text("name", name);
    writer.text("type", "collection");
    if name_only {
        return writer.finish();
    }
    let at = writer.open(kind::DOCUMENT, "options");
    if let Some(capped) = collection.capped {
        writer.bool("capped", true);
        writer.count("size", capped.size);
        if let Some(max) = capped.max {
            writer.count("max", max);
        }
    }
    writer.close(at);
    let at = writer.open(kind::DOCUMENT, "info");
    writer.bool("readOnly", false);
    writer.value("uuid", Value { kind: kind::BINARY, bytes: &collection.uuid });
    writer.close(at);
    let at = writer.open(kind::DOCUMENT, "idIndex");
    writer.int("v", 2);
    writer.document("key", &collection.read().indexes[0].pattern);
    writer.text("name", "_id_");
    writer.close(at);
    writer.finish()
}

/// `{listCollections: 1, filter, nameOnly}`; all of them in one batch.
pub fn list_collections(engine: &Engine, request: &CommandArgs<'_>) -> Fallible<Writer> {
    let known: &[&[u8]] = &[b"filter", b"nameOnly", b"authorizedCollections", b"cursor"];
    let (filter, name_only) = list_options(request, known)?;
    let collections = engine.store.collections(request.database);
    let all = collections.iter().filter(|(name, it)| filter.matches(&listed(name, it, false)));
    let shown = all.map(|(name, collection)| listed(name, collection, name_only));
    Ok(list(&format!("{}.$cmd.listCollections", request.database), shown))
}

fn list_options(request: &CommandArgs<'_>, known: &[&[u8]]) -> Fallible<(Filter, bool)> {
    let (mut filter, mut name_only) = (EMPTY, false);
    for field in request.fields(known)? {
        match field.name {
            b"filter" => filter = document(&field)?,
            b"nameOnly" => name_only = flag(&field)?,
            _ => {}
        }
    }
    Ok((Filter::parse(filter)?, name_only))
}

/// `{listDatabases: 1, nameOnly, filter}`
pub fn list_databases(engine: &Engine, request: &CommandArgs<'_>) -> Fallible<Writer> {
    if request.database != "admin" {
        let message = "listDatabases may only be run against the admin database.";
        return Err(Fault::new(UNAUTHORIZED, message));
    }
    let known: &[&[u8]] = &[b"filter", b"nameOnly", b"authorizedDatabases"];
    let (filter, name_only) = list_options(request, known)?;
    let (mut total, mut index) = (0, 0);
    let mut reply = Writer::new(256);
    let array = reply.open(kind::ARRAY, "databases");
    for name in engine.store.databases() {
        let size = totals(engine, &name).all_bytes().cast_signed();
        let mut shown = Writer::new(96);
        shown.text("name", &name);
        if !name_only {
            shown.long("sizeOnDisk", size);
            shown.bool("empty", false);
        }
        let shown = shown.finish();
        if filter.matches(&shown) {
            reply.element(index, Value { kind: kind::DOCUMENT, bytes: &shown });
            index += 1;
            total += size;
        }
    }
    reply.close(array);
    if !name_only {
        reply.long("totalSize", total);
        reply.long("totalSizeMb", total / (1024 * 1024));
    }
    Ok(reply.ok())
}
