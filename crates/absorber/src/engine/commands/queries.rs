//! find, getMore, killCursors, count, distinct.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wire::raw::{DOCUMENT_BYTES_MAX, EMPTY, Value, fields, get, kind};

use super::super::Engine;
use super::super::args::{CommandArgs, count as count_of, document, flag, long, signed};
use super::super::cursor::{Cursor, CursorSource, SLOT_BYTES};
use super::super::fault::{FAILED_TO_PARSE, Fallible, Fault};
use super::super::field_path::FieldPath;
use super::super::filter::Filter;
use super::super::key_encoding::key_of;
use super::super::projection::Projection;
use super::super::query_plan::{DocumentWalk, Selector, WalkStep};
use super::super::sort_order::{SortOrder, sort_key};
use super::super::stored_collection::StoredCollection;
use super::super::writer::Writer;

/// Documents of a first batch without a size.
pub const FIRST_BATCH: u64 = 101;
/// Wait of a getMore without maxTimeMS on a cursor that awaits data.
pub const AWAIT: Duration = Duration::from_secs(1);

pub struct FindOptions {
    pub wanted: Selector,
    pub order: SortOrder,
    /// Cursor with its options and without documents.
    pub cursor: Cursor,
}

impl FindOptions {
    /// `cursor` is whole. A tail goes through all of the collection, also for one `_id`.
    pub fn new(cursor: Cursor, filter: &[u8], order: SortOrder) -> Fallible<Self> {
        let wanted = if cursor.tailable {
            Selector::Filter(Filter::parse(filter)?)
        } else {
            Selector::parse(filter)?
        };
        Ok(Self { wanted, order, cursor })
    }
}

const KNOWN: &[&[u8]] = &[
    b"filter",
    b"sort",
    b"projection",
    b"hint",
    b"skip",
    b"limit",
    b"batchSize",
    b"singleBatch",
    b"tailable",
    b"awaitData",
    b"noCursorTimeout",
    b"allowPartialResults",
    b"allowDiskUse",
    b"returnKey",
    b"showRecordId",
];

/// Reads a find: its options, the size of its first batch, whether that is the only one.
fn parse_find(request: &CommandArgs<'_>, namespace: String) -> Fallible<(FindOptions, u64, bool)> {
    let mut cursor = Cursor::over(namespace, []);
    cursor.request_bytes = request.body.len() as u64;
    let (mut filter, mut order) = (EMPTY, SortOrder::Any);
    let (mut batch, mut single) = (FIRST_BATCH, false);
    for field in request.fields(KNOWN)? {
        match field.name {
            b"filter" => filter = document(&field)?,
            b"sort" => order = SortOrder::parse(document(&field)?)?,
            b"projection" => cursor.projection = Projection::parse(document(&field)?)?,
            b"skip" => cursor.skip = count_of(&field)?,
            b"limit" => cursor.limit = Some(count_of(&field)?).filter(|limit| *limit > 0),
            b"batchSize" => batch = count_of(&field)?,
            b"singleBatch" => single = flag(&field)?,
            b"tailable" => cursor.tailable = flag(&field)?,
            b"awaitData" => cursor.await_data = flag(&field)?,
            b"noCursorTimeout" => cursor.no_timeout = flag(&field)?,
            // Drivers of 2018 send both, false.
            b"returnKey" | b"showRecordId" if flag(&field)? => {
                return Err(Fault::not_here("other answers than documents"));
            }
            _ => {}
        }
    }
    if cursor.await_data && !cursor.tailable {
        let message = "Cannot set 'awaitData' without also setting 'tailable'";
        return Err(Fault::new(FAILED_TO_PARSE, message));
    }
    if cursor.tailable && single {
        let message = "cannot use tailable option with the 'singleBatch' option";
        return Err(Fault::bad_value(message));
    }
    Ok((FindOptions::new(cursor, filter, order)?, batch, single))
}

/// Opens the cursor of a find, and returns whether it is dead already (a tailable one on nothing).
pub fn open_cursor(
    engine: &Engine,
    collection: &Arc<StoredCollection>,
    options: FindOptions,
) -> Fallible<(Cursor, bool)> {
    let FindOptions { wanted, mut order, mut cursor } = options;
    if cursor.tailable {
        if matches!(order, SortOrder::By(_) | SortOrder::Natural { reverse: true }) {
            let message = "cannot use tailable option with a sort other than {$natural: 1}";
            return Err(Fault::bad_value(message));
        }
        if collection.capped.is_none() {
            return Err(Fault::bad_value("tailable cursor requested on non capped collection"));
        }
        order = SortOrder::Natural { reverse: false };
    }
    let data = collection.read();
    let mut walk = DocumentWalk::new(&data, wanted, &order, collection.capped.is_some());
    let dead = cursor.tailable && data.records.is_empty();
    if let SortOrder::By(by) = &order
        && !walk.ordered
    {
        let (mut documents, mut share, mut good) = (Vec::new(), engine.cursors.share(), Ok(()));
        walk.run(&data, &mut |_, document| {
            good = sort_key(by, document.bytes()).and_then(|key| {
                share.add(key.len() as u64 + SLOT_BYTES)?;
                documents.push((key, document.clone()));
                Ok(())
            });
            if good.is_ok() { WalkStep::Go } else { WalkStep::Pause }
        })?;
        drop(data);
        good?;
        documents.sort_by(|one, other| one.0.cmp(&other.0)); // stable, as mongod's is
        let documents = documents.into_iter().map(|(_, document)| document);
        cursor.source = CursorSource::Documents(documents.collect());
    } else {
        drop(data);
        cursor.source = CursorSource::Walk(Arc::clone(collection), Box::new(walk));
    }
    Ok((cursor, dead))
}

/// `{find: collection, filter, …}`
pub fn find(engine: &Engine, request: &CommandArgs<'_>) -> Fallible<Writer> {
    let name = request.collection()?;
    let (options, batch, single) = parse_find(request, name.namespace())?;
    let Some(collection) = engine.store.find(name) else {
        return Ok(list(&options.cursor.namespace, []));
    };
    let (cursor, dead) = open_cursor(engine, &collection, options)?;
    first_batch(engine, cursor, batch, single || dead)
}

/// The reply with the first batch of a cursor. Unless `last`, a cursor with more documents is kept.
pub fn first_batch(
    engine: &Engine,
    mut cursor: Cursor,
    batch: u64,
    last: bool,
) -> Fallible<Writer> {
    let namespace = cursor.namespace.clone();
    let ((reply, at), ended) = begin_batch(&mut cursor, "firstBatch", batch)?;
    let id = if ended || last { 0 } else { engine.cursors.keep(cursor)? };
    Ok(end_batch(reply, at, id, &namespace))
}

/// Reply with all documents in one batch, before the cursor's id.
pub fn list(namespace: &str, documents: impl IntoIterator<Item = Vec<u8>>) -> Writer {
    let mut reply = Writer::new(512);
    let at = reply.open(kind::DOCUMENT, "cursor");
    reply.long("id", 0);
    reply.text("ns", namespace);
    let array = reply.open(kind::ARRAY, "firstBatch");
    for (index, document) in documents.into_iter().enumerate() {
        reply.element(index, Value { kind: kind::DOCUMENT, bytes: &document });
    }
    reply.close(array);
    reply.close(at);
    reply.ok()
}

/// The beginning of a reply, the place of its cursor, and whether the cursor has ended.
fn begin_batch(cursor: &mut Cursor, field: &str, max: u64) -> Fallible<((Writer, usize), bool)> {
    let mut reply = Writer::new(512);
    let at = reply.open(kind::DOCUMENT, "cursor");
    let array = reply.open(kind::ARRAY, field);
    let mut index = 0;
    let ended = cursor.next_batch(max, &mut |document| {
        reply.element(index, Value { kind: kind::DOCUMENT, bytes: document.bytes() });
        index += 1;
    })?;
    reply.close(array);
    Ok(((reply, at), ended))
}

fn end_batch(mut reply: Writer, at: usize, id: i64, namespace: &str) -> Writer {
    reply.long("id", id);
    reply.text("ns", namespace);
    reply.close(at);
    reply.ok()
}

/// `{getMore: id, collection}`
pub fn get_more(engine: &Engine, request: &CommandArgs<'_>) -> Fallible<Writer> {
    let mut max = None;
    for field in request.fields(&[b"collection", b"batchSize", b"term"])? {
        if field.name == b"batchSize" {
            max = Some(count_of(&field)?);
        }
    }
    let id = long("getMore", request.target())?;
    let collection =
        get(request.body, b"collection").ok_or_else(|| Fault::missing("collection"))?;
    let collection = collection.text().ok_or_else(|| Fault::wrong_type("collection", "string"))?;
    let namespace = format!("{}.{collection}", request.database);
    let mut cursor = engine.cursors.take(id, &namespace)?;
    let wait = get(request.body, b"maxTimeMS").and_then(Value::whole_number);
    if wait.is_some() && !cursor.await_data {
        engine.cursors.give_back(id, cursor);
        let message = "cannot set maxTimeMS on getMore command for a non-awaitData cursor";
        return Err(Fault::bad_value(message));
    }
    let wait = wait.and_then(|wait| u64::try_from(wait).ok()).map_or(AWAIT, Duration::from_millis);
    let max = max.filter(|max| *max > 0).unwrap_or(u64::MAX);
    let ((reply, at), ended) =
        engine.cursors.fill(id, &mut cursor, wait, request.client_is_there, |cursor| {
            begin_batch(cursor, "nextBatch", max)
        })?;
    if !ended {
        engine.cursors.give_back(id, cursor);
    }
    Ok(end_batch(reply, at, if ended { 0 } else { id }, &namespace))
}

/// `{killCursors: collection, cursors: […]}`
pub fn kill_cursors(engine: &Engine, request: &CommandArgs<'_>) -> Fallible<Writer> {
    request.fields(&[b"cursors"])?;
    let array = get(request.body, b"cursors").ok_or_else(|| Fault::missing("cursors"))?;
    let array = array.array().ok_or_else(|| Fault::wrong_type("cursors", "array"))?;
    let (mut killed, mut unknown) = (Vec::new(), Vec::new());
    for element in fields(array) {
        let id = long("cursors", element.value)?;
        if engine.cursors.end(id) { killed.push(id) } else { unknown.push(id) }
    }
    let mut reply = Writer::new(128);
    let lists: [(&str, &[i64]); 4] = [
        ("cursorsKilled", &killed),
        ("cursorsNotFound", &unknown),
        ("cursorsAlive", &[]),
        ("cursorsUnknown", &[]),
    ];
    for (name, ids) in lists {
        let at = reply.open(kind::ARRAY, name);
        for (index, id) in ids.iter().enumerate() {
            reply.element(index, Value { kind: kind::LONG, bytes: &id.to_le_bytes() });
        }
        reply.close(at);
    }
    Ok(reply.ok())
}

/// `{count: collection, query, skip, limit}`
pub fn count(engine: &Engine, request: &CommandArgs<'_>) -> Fallible<Writer> {
    let name = request.collection()?;
    let (mut filter, mut skip, mut limit) = (EMPTY, 0, 0);
    for field in request.fields(&[b"query", b"skip", b"limit", b"hint", b"fields"])? {
        match field.name {
            b"query" => filter = document(&field)?,
            b"skip" => skip = count_of(&field)?,
            b"limit" => limit = signed(&field)?.unsigned_abs(),
            _ => {}
        }
    }
    let wanted = Selector::parse(filter)?;
    let mut n = 0;
    if let Some(collection) = engine.store.find(name) {
        let data = collection.read();
        if filter == EMPTY {
            n = data.records.len() as u64;
        } else {
            let mut walk = DocumentWalk::new(&data, wanted, &SortOrder::Any, false);
            walk.run(&data, &mut |_, _| {
                n += 1;
                WalkStep::Go
            })?;
        }
    }
    n = n.saturating_sub(skip);
    n = if limit > 0 { n.min(limit) } else { n };
    let mut reply = Writer::new(32);
    reply.count("n", n);
    Ok(reply.ok())
}

/// `{distinct: collection, key, query}`
pub fn distinct(engine: &Engine, request: &CommandArgs<'_>) -> Fallible<Writer> {
    let name = request.collection()?;
    let (mut filter, mut path) = (EMPTY, None);
    for field in request.fields(&[b"key", b"query", b"hint"])? {
        match field.name {
            b"query" => filter = document(&field)?,
            b"key" => {
                let text = field.value.text().ok_or_else(|| Fault::wrong_type("key", "string"))?;
                path = Some(FieldPath::bounded(text.as_bytes())?);
            }
            _ => {}
        }
    }
    let path = path.ok_or_else(|| Fault::missing("key"))?;
    let wanted = Selector::parse(filter)?;
    let (mut values, mut bytes, mut good) = (BTreeMap::new(), 0, Ok(()));
    if let Some(collection) = engine.store.find(name) {
        let data = collection.read();
        let mut walk = DocumentWalk::new(&data, wanted, &SortOrder::Any, false);
        walk.run(&data, &mut |_, document| {
            path.any(document.bytes(), &mut |value| {
                let Some(value) = value else { return false };
                if value.kind == kind::ARRAY {
                    good = Err(Fault::not_here("the different values of arrays"));
                }
                values.entry(key_of(value)).or_insert_with(|| {
                    bytes += value.bytes.len();
                    (value.kind, value.bytes.to_vec())
                });
                false
            });
            if bytes > DOCUMENT_BYTES_MAX {
                good = Err(Fault::new(17217, "distinct too big, 16mb cap"));
            }
            if good.is_ok() { WalkStep::Go } else { WalkStep::Pause }
        })?;
    }
    good?;
    let mut reply = Writer::new(bytes + 64);
    let array = reply.open(kind::ARRAY, "values");
    for (index, (kind, bytes)) in values.values().enumerate() {
        reply.element(index, Value { kind: *kind, bytes });
    }
    reply.close(array);
    Ok(reply.ok())
}
