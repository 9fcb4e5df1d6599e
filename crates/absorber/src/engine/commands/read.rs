//! find, getMore, killCursors, count.

use std::time::{Duration, Instant};

use super::super::Engine;
use super::super::args::{Request, count as count_of, document, flag, long, signed};
use super::super::collection::Collection;
use super::super::cursor::{Cursor, SLOT_BYTES, Source};
use super::super::error::{BAD_VALUE, FAILED_TO_PARSE, Fault, INVALID_NAMESPACE, Outcome};
use super::super::matching::Filter;
use super::super::order::{Order, sort_key};
use super::super::plan::{Step, Walk, Wanted};
use super::super::projection::Projection;
use super::super::raw::{EMPTY, Value, fields, get, kind};
use super::super::writer::Writer;

/// Documents of a first batch where nobody says how many.
pub const FIRST_BATCH: u64 = 101;
/// How long a getMore on a cursor that awaits data waits where nobody says how long.
pub const AWAIT: Duration = Duration::from_secs(1);

/// What a find asks for.
pub struct FindOptions {
    /// Which documents.
    pub wanted: Wanted,
    /// In which order.
    pub order: Order,
    /// Which fields of them.
    pub projection: Option<Projection>,
    /// Documents to leave out.
    pub skip: u64,
    /// Documents at most.
    pub limit: Option<u64>,
    /// It lives on at its end.
    pub tailable: bool,
    /// A getMore at its end waits.
    pub await_data: bool,
    /// It is never too old.
    pub no_timeout: bool,
    /// Of the request.
    pub request_bytes: u64,
}

impl Default for FindOptions {
    fn default() -> Self {
        Self {
            wanted: Wanted::Filter(Filter::ALL),
            order: Order::Any,
            projection: None,
            skip: 0,
            limit: None,
            tailable: false,
            await_data: false,
            no_timeout: false,
            request_bytes: 0,
        }
    }
}

impl FindOptions {
    /// Sets the filter. `tailable` is set before: a tail goes through all of the collection, also
    /// for one `_id`.
    pub fn find(&mut self, filter: &[u8]) -> Outcome<()> {
        self.wanted = if self.tailable {
            Wanted::Filter(Filter::parse(filter)?)
        } else {
            Wanted::parse(filter)?
        };
        Ok(())
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
    b"ntoreturn",
    b"max",
    b"min",
    b"returnKey",
    b"showRecordId",
    b"tailable",
    b"awaitData",
    b"oplogReplay",
    b"noCursorTimeout",
    b"allowPartialResults",
    b"allowDiskUse",
];

/// What mongod's messages call a find.
const COMMAND: &str = "FindCommandRequest";

/// A find, read: its options, the size of its first batch, whether that is the only one.
fn parse_find(request: &Request<'_>) -> Outcome<(FindOptions, u64, bool)> {
    let request_bytes = request.body.len() as u64;
    let mut options = FindOptions { request_bytes, ..FindOptions::default() };
    let (mut filter, mut batch, mut single) = (EMPTY, FIRST_BATCH, false);
    for field in request.fields(COMMAND, KNOWN)? {
        let object = || {
            let name = field.name();
            let message = format!("Expected field {name}to be of type object");
            document("", &field)
                .map_err(|_| Fault::new(super::super::error::TYPE_MISMATCH, message))
        };
        match field.name {
            b"filter" => filter = object()?,
            b"sort" => options.order = Order::parse(object()?)?,
            b"projection" => options.projection = Projection::parse(object()?)?,
            b"skip" => options.skip = count_of(COMMAND, &field)?,
            b"limit" => options.limit = Some(count_of(COMMAND, &field)?).filter(|limit| *limit > 0),
            b"batchSize" => batch = count_of(COMMAND, &field)?,
            b"singleBatch" => single = flag(COMMAND, &field)?,
            b"tailable" => options.tailable = flag(COMMAND, &field)?,
            b"awaitData" => options.await_data = flag(COMMAND, &field)?,
            b"noCursorTimeout" => options.no_timeout = flag(COMMAND, &field)?,
            b"returnKey" | b"showRecordId" if flag(COMMAND, &field)? => {
                return Err(Fault::not_here(&format!("option {}", field.name())));
            }
            b"max" | b"min" if fields(object()?).next().is_some() => {
                return Err(Fault::not_here(&format!("option {}", field.name())));
            }
            _ => {}
        }
    }
    options.find(filter)?;
    if options.await_data && !options.tailable {
        let message = "Cannot set 'awaitData' without also setting 'tailable'";
        return Err(Fault::new(FAILED_TO_PARSE, message));
    }
    if options.tailable && single {
        let message = "cannot use tailable option with the 'singleBatch' option";
        return Err(Fault::bad_value(message));
    }
    Ok((options, batch, single))
}

/// A cursor over what a find asks for, and whether it is dead already (a tailable one on nothing).
pub fn open_cursor(
    engine: &Engine,
    collection: &std::sync::Arc<Collection>,
    options: FindOptions,
) -> Outcome<(Cursor, bool)> {
    let backwards = Order::Natural { reverse: true };
    if options.tailable && (matches!(options.order, Order::By(_)) || options.order == backwards) {
        let message = "cannot use tailable option with a sort other than {$natural: 1}";
        return Err(Fault::bad_value(message));
    }
    if options.tailable && collection.capped.is_none() {
        let message = format!(
            "error processing query: ns={}Tree: $and\nSort: {{}}\nProj: {{}}\n tailable cursor \
             requested on non capped collection",
            collection.namespace
        );
        return Err(Fault::bad_value(message));
    }
    let order = if options.tailable { Order::Natural { reverse: false } } else { options.order };
    let mut cursor = Cursor::over(collection.namespace.clone(), []);
    cursor.projection = options.projection;
    cursor.skip = options.skip;
    cursor.limit = options.limit;
    cursor.tailable = options.tailable;
    cursor.await_data = options.await_data;
    cursor.no_timeout = options.no_timeout;
    cursor.request_bytes = options.request_bytes;
    let data = collection.read();
    let mut walk = Walk::new(&data, options.wanted, &order, collection.capped.is_some());
    if options.tailable {
        walk.tail();
    }
    let dead = options.tailable && data.records.is_empty();
    if let Order::By(by) = &order
        && !walk.ordered
    {
        let (mut documents, mut share, mut room) = (Vec::new(), engine.cursors.share(), Ok(()));
        walk.run(&data, &mut |_, document| {
            let key = sort_key(by, document.bytes());
            room = share.add(key.len() as u64 + SLOT_BYTES);
            documents.push((key, document.clone()));
            if room.is_ok() { Step::Go } else { Step::Pause }
        })?;
        drop(data);
        room?;
        documents.sort_by(|one, other| one.0.cmp(&other.0)); // stable, as mongod's is
        let documents = documents.into_iter().map(|(_, document)| document);
        cursor.source = Source::Documents(documents.collect());
    } else {
        drop(data);
        cursor.source = Source::Walk(std::sync::Arc::clone(collection), Box::new(walk));
    }
    Ok((cursor, dead))
}

/// `{find: collection, filter, …}`
pub fn find(engine: &Engine, request: &Request<'_>) -> Outcome<Writer> {
    let name = request.collection()?;
    let (options, batch, single) = parse_find(request)?;
    let Some(collection) = engine.store.find(name) else {
        return Ok(empty_cursor(&name.namespace()));
    };
    let (cursor, dead) = open_cursor(engine, &collection, options)?;
    first_batch(engine, cursor, batch, single || dead)
}

/// The reply that holds the first batch of a cursor, which is kept where there is more. `last`:
/// it is not, whatever there is.
pub fn first_batch(engine: &Engine, mut cursor: Cursor, batch: u64, last: bool) -> Outcome<Writer> {
    let namespace = cursor.namespace.clone();
    let (mut reply, at, ended) = begin_batch(&mut cursor, "firstBatch", batch, &mut 0)?;
    let id = if ended || last { 0 } else { engine.cursors.keep(cursor)? };
    end_batch(&mut reply, at, id, &namespace);
    Ok(reply)
}

/// The cursor of something that is empty.
pub fn empty_cursor(namespace: &str) -> Writer {
    let mut reply = Writer::new(128);
    let at = reply.open(kind::DOCUMENT, "cursor");
    reply.long("id", 0);
    reply.text("ns", namespace);
    let array = reply.open(kind::ARRAY, "firstBatch");
    reply.close(array);
    reply.close(at);
    reply.double("ok", 1.0);
    reply
}

fn begin_batch(
    cursor: &mut Cursor,
    field: &str,
    max: u64,
    count: &mut usize,
) -> Outcome<(Writer, usize, bool)> {
    let mut reply = Writer::new(512);
    let at = reply.open(kind::DOCUMENT, "cursor");
    let array = reply.open(kind::ARRAY, field);
    let ended = cursor.next_batch(max, &mut |shown| {
        reply.element(*count, Value { kind: kind::DOCUMENT, bytes: shown.bytes() });
        *count += 1;
    })?;
    reply.close(array);
    Ok((reply, at, ended))
}

fn end_batch(reply: &mut Writer, at: usize, id: i64, namespace: &str) {
    reply.long("id", id);
    reply.text("ns", namespace);
    reply.close(at);
    reply.double("ok", 1.0);
}

/// `{getMore: id, collection}`
pub fn get_more(engine: &Engine, request: &Request<'_>) -> Outcome<Writer> {
    let (mut collection, mut max) = (None, None);
    for field in request.fields("getMore", &[b"collection", b"batchSize", b"term"])? {
        match field.name {
            b"collection" => {
                let text = field.value.text();
                let wrong =
                    || Fault::wrong_type("getMore.collection", field.value, "type 'string'");
                collection = Some(text.ok_or_else(wrong)?);
            }
            b"batchSize" => max = Some(count_of("getMore", &field)?),
            _ => {}
        }
    }
    let id = long("getMore.getMore", request.target())?;
    let collection = collection.ok_or_else(|| Fault::missing("getMore.collection"))?;
    let namespace = format!("{}.{collection}", request.database);
    let mut cursor = engine.cursors.take(id, &namespace)?;
    let wait = get(request.body, b"maxTimeMS").and_then(Value::whole_number);
    if wait.is_some() && !cursor.await_data {
        engine.cursors.give_back(id, cursor)?;
        let message = "cannot set maxTimeMS on getMore command for a non-awaitData cursor";
        return Err(Fault::new(BAD_VALUE, message));
    }
    let wait = wait.and_then(|wait| u64::try_from(wait).ok()).map_or(AWAIT, Duration::from_millis);
    let max = max.filter(|max| *max > 0).unwrap_or(u64::MAX);
    let (mut reply, at, ended) = next_batch(engine, request, id, &mut cursor, max, wait)?;
    if ended {
        engine.cursors.end(id);
    } else {
        engine.cursors.give_back(id, cursor)?;
    }
    end_batch(&mut reply, at, if ended { 0 } else { id }, &namespace);
    Ok(reply)
}

/// The next batch; where there is nothing yet and the cursor awaits data, waits for it.
fn next_batch(
    engine: &Engine,
    request: &Request<'_>,
    id: i64,
    cursor: &mut Cursor,
    max: u64,
    wait: Duration,
) -> Outcome<(Writer, usize, bool)> {
    let mut count = 0;
    let mut batch = begin_batch(cursor, "nextBatch", max, &mut count);
    if let Some(collection) = cursor.collection().filter(|_| cursor.await_data)
        && count == 0
        && matches!(batch, Ok((_, _, false)))
    {
        collection.wait_until(Instant::now() + wait, request.client_is_there, || {
            batch = begin_batch(cursor, "nextBatch", max, &mut count);
            count > 0 || batch.is_err() || !engine.cursors.is_open(id)
        });
    }
    // A cursor that failed cannot go on.
    batch.inspect_err(|_| {
        engine.cursors.end(id);
    })
}

/// `{killCursors: collection, cursors: […]}`
pub fn kill_cursors(engine: &Engine, request: &Request<'_>) -> Outcome<Writer> {
    let fields_found = request.fields("killCursors", &[b"cursors"])?;
    let field = fields_found.first().ok_or_else(|| Fault::missing("killCursors.cursors"))?;
    let array = field
        .value
        .array()
        .ok_or_else(|| Fault::wrong_type("killCursors.cursors", field.value, "type 'array'"))?;
    let (mut killed, mut unknown) = (Vec::new(), Vec::new());
    for element in fields(array) {
        let path = format!("killCursors.cursors.{}", element.name());
        let id = long(&path, element.value)?;
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
    reply.double("ok", 1.0);
    Ok(reply)
}

/// `{count: collection, query, skip, limit}`
pub fn count(engine: &Engine, request: &Request<'_>) -> Outcome<Writer> {
    let name = request.collection().map_err(|fault| match fault.code {
        BAD_VALUE => Fault::new(INVALID_NAMESPACE, fault.message),
        _ => fault,
    })?;
    let (mut filter, mut skip, mut limit) = (EMPTY, 0, 0);
    for field in request.fields("count", &[b"query", b"skip", b"limit", b"hint", b"fields"])? {
        match field.name {
            b"query" => filter = document("count", &field)?,
            b"skip" => skip = count_of("count", &field)?,
            b"limit" => limit = signed("count", &field)?.unsigned_abs(),
            _ => {}
        }
    }
    let wanted = Wanted::parse(filter)?;
    let mut n = 0;
    if let Some(collection) = engine.store.find(name) {
        let data = collection.read();
        if filter == EMPTY {
            n = data.records.len() as u64;
        } else {
            let mut walk = Walk::new(&data, wanted, &Order::Any, false);
            walk.run(&data, &mut |_, _| {
                n += 1;
                Step::Go
            })?;
        }
    }
    n = n.saturating_sub(skip);
    n = if limit > 0 { n.min(limit) } else { n };
    let mut reply = Writer::new(32);
    reply.count("n", n);
    reply.double("ok", 1.0);
    Ok(reply)
}
