//! The messages of drivers before 2017. Reads are answered by OP_REPLY, writes by getLastError
//! afterwards.

use bson::{RawBson, RawDocument};
use wire::raw::{EMPTY, Value, check, fields, get};
use wire::reply_messages::{AWAIT_CAPABLE, CURSOR_NOT_FOUND, QUERY_FAILURE};
use wire::request_messages::Query;

use super::Engine;
use super::change::{self, UpdateScope, id_of};
use super::commands::{AWAIT, FIRST_BATCH, FindOptions, open_cursor};
use super::cursor::Cursor;
use super::fault::{Fallible, Fault, INVALID_BSON};
use super::projection::Projection;
use super::sort_order::SortOrder;
use super::store::Name;
use super::stored_collection::StoredDocument;
use super::update::Update;
use super::writer::Writer;

/// OP_QUERY: the cursor lives on at its end.
const TAILABLE: u32 = 1 << 1;
/// OP_QUERY: the cursor is never too old.
const NO_TIMEOUT: u32 = 1 << 4;
/// OP_QUERY: a getMore at the end waits.
const AWAIT_DATA: u32 = 1 << 5;
/// OP_INSERT: go on after a document that failed.
const CONTINUE_ON_ERROR: u32 = 1;
/// OP_UPDATE: insert where nothing is found.
const UPSERT: u32 = 1;
/// OP_UPDATE: all that are found.
const MULTI: u32 = 1 << 1;
/// OP_DELETE: the first that is found.
const SINGLE: u32 = 1;

#[derive(Debug)]
pub struct LegacyBatch {
    /// See [`wire::reply_messages`].
    pub flags: u32,
    /// 0: the cursor has ended.
    pub cursor: i64,
    /// Documents that this cursor gave before.
    pub starting_from: i32,
    pub documents: Vec<StoredDocument>,
}

/// The outcome of a legacy write, for getLastError.
#[derive(Debug, Default, PartialEq)]
pub struct WriteOutcome {
    /// Documents matched or deleted; 0 for inserts, as in mongod.
    pub n: i64,
    /// Documents of an insert up to the one that failed, as opcounters count them.
    pub tried: usize,
    /// Whether an update found a document; None for other writes.
    pub updated_existing: Option<bool>,
    /// `_id` of the document that an upsert made.
    pub upserted: Option<RawBson>,
    pub error: Option<(i32, String)>,
}

impl From<Fault> for WriteOutcome {
    fn from(fault: Fault) -> Self {
        Self { error: Some((fault.code, fault.message)), ..Self::default() }
    }
}

impl Default for LegacyBatch {
    fn default() -> Self {
        Self { flags: AWAIT_CAPABLE, cursor: 0, starting_from: 0, documents: Vec::new() }
    }
}

impl LegacyBatch {
    fn failed(fault: &Fault) -> Self {
        let mut document = Writer::new(128);
        document.text("$err", &fault.message);
        document.int("code", fault.code);
        document.double("ok", 0.0);
        let documents = vec![StoredDocument::new(&document.finish())];
        Self { flags: QUERY_FAILURE, documents, ..Self::default() }
    }
}

fn checked(document: &RawDocument) -> Fallible<&[u8]> {
    check(document.as_bytes()).map_err(|error| Fault::new(INVALID_BSON, error))?;
    Ok(document.as_bytes())
}

fn take(cursor: &mut Cursor, max: u64) -> Fallible<(Vec<StoredDocument>, bool)> {
    let mut documents = Vec::new();
    let ended = cursor.next_batch(max, &mut |document| documents.push(document.clone()))?;
    Ok((documents, ended))
}

impl Engine {
    pub fn legacy_find(&self, query: &Query<'_>) -> LegacyBatch {
        let found = self.try_legacy_find(query);
        found.unwrap_or_else(|fault| LegacyBatch::failed(&fault))
    }

    fn try_legacy_find(&self, query: &Query<'_>) -> Fallible<LegacyBatch> {
        let (filter, order) = unwrapped(checked(query.query)?);
        let name = Name::parse(query.namespace)?;
        let fields = query.fields.map_or(Ok(EMPTY), checked)?;
        let cursor = Cursor {
            tailable: query.flags & TAILABLE != 0,
            await_data: query.flags & AWAIT_DATA != 0,
            no_timeout: query.flags & NO_TIMEOUT != 0,
            projection: Projection::parse(fields)?,
            request_bytes: (query.query.as_bytes().len() + fields.len()) as u64,
            skip: u64::try_from(query.number_to_skip).unwrap_or_default(),
            ..Cursor::over(name.namespace(), [])
        };
        let options = FindOptions::new(cursor, filter, SortOrder::parse(order)?)?;
        let Some(collection) = self.store.find(name) else { return Ok(LegacyBatch::default()) };
        let (max, single) = match query.number_to_return {
            0 => (FIRST_BATCH, false),
            1 => (1, true),
            number => (u64::from(number.unsigned_abs()), number < 0),
        };
        let (mut cursor, dead) = open_cursor(self, &collection, options)?;
        let (documents, ended) = take(&mut cursor, max)?;
        let cursor = if ended || single || dead { 0 } else { self.cursors.keep(cursor)? };
        Ok(LegacyBatch { cursor, documents, ..LegacyBatch::default() })
    }

    pub fn legacy_get_more(
        &self,
        namespace: &str,
        number_to_return: i32,
        cursor: i64,
        client_is_there: &dyn Fn() -> bool,
    ) -> LegacyBatch {
        let Ok(mut found) = self.cursors.take(cursor, namespace) else {
            return LegacyBatch { flags: CURSOR_NOT_FOUND, ..LegacyBatch::default() };
        };
        let starting_from = i32::try_from(found.shown).unwrap_or(i32::MAX);
        let max = match number_to_return {
            0 => u64::MAX,
            number => u64::from(number.unsigned_abs()),
        };
        let filled =
            self.cursors.fill(cursor, &mut found, AWAIT, client_is_there, |it| take(it, max));
        let (documents, ended) = match filled {
            Ok(filled) => filled,
            Err(fault) => return LegacyBatch::failed(&fault),
        };
        let goes_on = !ended && number_to_return >= 0;
        if goes_on {
            self.cursors.give_back(cursor, found);
        } else {
            self.cursors.end(cursor);
        }
        let cursor = if goes_on { cursor } else { 0 };
        LegacyBatch { cursor, starting_from, documents, ..LegacyBatch::default() }
    }

    pub fn legacy_insert(
        &self,
        flags: u32,
        namespace: &str,
        documents: &[&RawDocument],
    ) -> WriteOutcome {
        let mut outcome = WriteOutcome::default();
        let name = match Name::parse(namespace) {
            Ok(name) => name,
            Err(fault) => return fault.into(),
        };
        let mut tried = 0;
        for document in documents {
            tried += 1;
            let inserted =
                checked(document).and_then(|document| change::insert(&self.store, name, document));
            if let Err(fault) = inserted {
                outcome = fault.into();
                if flags & CONTINUE_ON_ERROR == 0 {
                    break;
                }
            }
        }
        change::wake(&self.store, name);
        WriteOutcome { tried, ..outcome }
    }

    pub fn legacy_update(
        &self,
        flags: u32,
        namespace: &str,
        filter: &RawDocument,
        update: &RawDocument,
    ) -> WriteOutcome {
        let (multi, upsert) = (flags & MULTI != 0, flags & UPSERT != 0);
        let updated = (|| {
            let update = Update::parse(checked(update)?)?;
            if multi && update.is_replacement() {
                let message = "multi update only works with $ operators";
                return Err(Fault::new(10158, message));
            }
            let name = Name::parse(namespace)?;
            change::update(
                &self.store,
                name,
                checked(filter)?,
                &update,
                UpdateScope::of(!multi),
                upsert,
            )
        })();
        match updated {
            Ok(updated) => WriteOutcome {
                n: updated.matched.cast_signed(),
                updated_existing: Some(updated.matched > 0 && updated.upserted.is_none()),
                upserted: updated.upserted.as_ref().and_then(|it| owned(id_of(it))),
                error: None,
                tried: 0,
            },
            Err(fault) => fault.into(),
        }
    }

    pub fn legacy_delete(&self, flags: u32, namespace: &str, filter: &RawDocument) -> WriteOutcome {
        let deleted = Name::parse(namespace).and_then(|name| {
            change::delete(&self.store, name, checked(filter)?, flags & SINGLE != 0)
        });
        match deleted {
            Ok(n) => WriteOutcome { n: n.cast_signed(), ..WriteOutcome::default() },
            Err(fault) => fault.into(),
        }
    }

    pub fn kill_cursors(&self, cursors: &[i64]) {
        for id in cursors {
            self.cursors.end(*id);
        }
    }
}

/// The filter and the sort: plain, or wrapped as `{$query, $orderby}`.
fn unwrapped(query: &[u8]) -> (&[u8], &[u8]) {
    let Some(first) = fields(query).next() else { return (query, EMPTY) };
    // A field called `query` that is no document is a field like any other.
    let wraps = matches!(first.name, b"$query" | b"query");
    let Some(filter) = first.value.document().filter(|_| wraps) else { return (query, EMPTY) };
    let order = get(query, b"$orderby").or(get(query, b"orderby")).and_then(Value::document);
    (filter, order.unwrap_or(EMPTY))
}

fn owned(value: Value<'_>) -> Option<RawBson> {
    let mut writer = Writer::new(32);
    writer.value("v", value);
    let document = writer.into_document();
    document.get("v").ok().flatten().map(RawBson::from)
}
