//! create, drop, dropDatabase, listCollections, listDatabases.

use super::super::Engine;
use super::super::args::{Request, count, document, flag};
use super::super::collection::{Capped, Collection, Stored};
use super::super::cursor::Cursor;
use super::super::error::{Fault, INVALID_OPTIONS, Outcome, UNAUTHORIZED};
use super::super::matching::Filter;
use super::super::raw::{EMPTY, Value, kind};
use super::super::writer::Writer;
use super::ok;
use super::read::FIRST_BATCH;

/// mongod rounds the size of a capped collection up to a multiple of this.
const CAPPED_STEP: u64 = 256;
/// And makes none smaller.
const CAPPED_MIN: u64 = 4096;

/// `{create: collection, capped, size, max}`
pub fn create(engine: &Engine, request: &Request<'_>) -> Outcome<Writer> {
    let name = request.collection()?;
    let known: &[&[u8]] = &[
        b"capped",
        b"size",
        b"max",
        b"autoIndexId",
        b"idIndex",
        b"storageEngine",
        b"flags",
        b"viewOn",
        b"pipeline",
        b"validator",
        b"validationLevel",
        b"validationAction",
        b"timeseries",
        b"expireAfterSeconds",
        b"clusteredIndex",
        b"changeStreamPreAndPostImages",
        b"indexOptionDefaults",
    ];
    let (mut capped, mut size, mut max) = (false, None, None);
    for field in request.fields("create", known)? {
        match field.name {
            b"capped" => capped = flag("create", &field)?,
            b"size" => size = Some(count("create", &field)?),
            b"max" => max = Some(count("create", &field)?).filter(|max| *max > 0),
            b"autoIndexId" | b"idIndex" | b"storageEngine" | b"flags" | b"indexOptionDefaults" => {}
            _ => return Err(Fault::not_here(&format!("option {}", field.name()))),
        }
    }
    let refuse = |message: &str| Err(Fault::new(INVALID_OPTIONS, message));
    if !capped && (size.is_some() || max.is_some()) {
        return refuse(
            "the 'capped' field needs to be true when either the 'size' or 'max' fields are \
             present",
        );
    }
    if capped && size.is_none_or(|size| size == 0) {
        return refuse("the 'size' field is required when 'capped' is true");
    }
    let size = size.unwrap_or_default().max(CAPPED_MIN).next_multiple_of(CAPPED_STEP);
    let bounds = capped.then_some(Capped { size, max });
    let mut options = Writer::new(64);
    if capped {
        options.bool("capped", true);
        options.count("size", size);
        if let Some(max) = max {
            options.count("max", max);
        }
    }
    engine.store.create(name, options.finish(), bounds)?;
    Ok(ok())
}

/// `{drop: collection}`
pub fn drop_collection(engine: &Engine, request: &Request<'_>) -> Outcome<Writer> {
    let name = request.collection()?;
    request.fields("drop", &[])?;
    let collection = engine.store.drop(name)?;
    let indexes = collection.read().indexes.len();
    collection.drop_all();
    let mut reply = Writer::new(96);
    reply.count("nIndexesWas", indexes as u64);
    reply.text("ns", &collection.namespace);
    reply.double("ok", 1.0);
    Ok(reply)
}

/// `{dropDatabase: 1}`
pub fn drop_database(engine: &Engine, request: &Request<'_>) -> Outcome<Writer> {
    request.fields("dropDatabase", &[])?;
    let mut reply = Writer::new(64);
    if let Some(collections) = engine.store.drop_database(request.database) {
        for collection in collections {
            collection.drop_all();
        }
        reply.text("dropped", request.database);
    }
    reply.double("ok", 1.0);
    Ok(reply)
}

/// A collection as listCollections shows it.
fn listed(name: &str, collection: &Collection, name_only: bool) -> Vec<u8> {
    let mut writer = Writer::new(256);
    writer.text("name", name);
    writer.text("type", "collection");
    if name_only {
        return writer.finish();
    }
    writer.document("options", &collection.options);
    let at = writer.open(kind::DOCUMENT, "info");
    writer.bool("readOnly", false);
    let mut uuid = vec![16, 0, 0, 0, 4];
    uuid.extend_from_slice(&collection.uuid);
    writer.value("uuid", Value { kind: kind::BINARY, bytes: &uuid });
    writer.close(at);
    writer.document("idIndex", &collection.read().indexes[0].shown);
    writer.finish()
}

/// `{listCollections: 1, filter, nameOnly}`
pub fn list_collections(engine: &Engine, request: &Request<'_>) -> Outcome<Writer> {
    let known: &[&[u8]] = &[b"filter", b"nameOnly", b"authorizedCollections", b"cursor"];
    let (mut filter, mut name_only) = (Filter::ALL, false);
    for field in request.fields("listCollections", known)? {
        match field.name {
            b"filter" => {
                filter = Filter::parse(document("listCollections", &field)?)?;
            }
            b"nameOnly" => name_only = flag("listCollections", &field)?,
            _ => {}
        }
    }
    let collections = engine.store.collections(request.database);
    let found = collections.iter().filter_map(|(name, collection)| {
        let whole = listed(name, collection, false);
        let shown = filter.matches(&whole).then(|| listed(name, collection, name_only))?;
        Some(Stored::new(&shown))
    });
    let namespace = format!("{}.$cmd.listCollections", request.database);
    list_reply(engine, Cursor::over(namespace, found))
}

/// The reply of a list, whose batch stands behind its id. Lists are short, and come in one batch;
/// a longer one goes on with getMore.
pub(super) fn list_reply(engine: &Engine, mut cursor: Cursor) -> Outcome<Writer> {
    let namespace = cursor.namespace.clone();
    let mut documents = Vec::new();
    let ended = cursor.next_batch(FIRST_BATCH, &mut |shown| {
        documents.push(shown.bytes().to_vec());
    })?;
    let mut reply = Writer::new(512);
    let at = reply.open(kind::DOCUMENT, "cursor");
    reply.long("id", if ended { 0 } else { engine.cursors.keep(cursor)? });
    reply.text("ns", &namespace);
    let array = reply.open(kind::ARRAY, "firstBatch");
    for (index, document) in documents.iter().enumerate() {
        reply.element(index, Value { kind: kind::DOCUMENT, bytes: document });
    }
    reply.close(array);
    reply.close(at);
    reply.double("ok", 1.0);
    Ok(reply)
}

/// `{listDatabases: 1, nameOnly, filter}`
pub fn list_databases(engine: &Engine, request: &Request<'_>) -> Outcome<Writer> {
    if request.database != "admin" {
        let message = "listDatabases may only be run against the admin database.";
        return Err(Fault::new(UNAUTHORIZED, message));
    }
    let known: &[&[u8]] = &[b"filter", b"nameOnly", b"authorizedDatabases"];
    let (mut filter, mut name_only) = (EMPTY, false);
    for field in request.fields("listDatabases", known)? {
        match field.name {
            b"filter" => filter = document("listDatabases", &field)?,
            b"nameOnly" => name_only = flag("listDatabases", &field)?,
            _ => {}
        }
    }
    let filter = Filter::parse(filter)?;
    let (mut total, mut index) = (0, 0);
    let mut reply = Writer::new(256);
    let array = reply.open(kind::ARRAY, "databases");
    for name in engine.store.databases() {
        let size = super::stats::totals(engine, &name).all_bytes().cast_signed();
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
    reply.double("ok", 1.0);
    Ok(reply)
}
