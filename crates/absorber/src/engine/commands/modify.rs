//! findAndModify: the update of one document, which it also shows.

use wire::raw::{EMPTY, Value, kind};

use super::super::Engine;
use super::super::args::{CommandArgs, document, flag};
use super::super::change::{self, UpdateScope, id_of};
use super::super::fault::{FAILED_TO_PARSE, Fallible, Fault};
use super::super::sort_order::SortOrder;
use super::super::update::Update;
use super::super::writer::Writer;

const KNOWN: &[&[u8]] = &[
    b"query",
    b"sort",
    b"update",
    b"new",
    b"upsert",
    b"remove",
    b"hint",
    b"bypassDocumentValidation",
];

/// `{findAndModify: collection, query, sort, update, new, upsert}`
pub fn find_and_modify(engine: &Engine, request: &CommandArgs<'_>) -> Fallible<Writer> {
    let name = request.collection()?;
    let (mut filter, mut update, mut shows_new, mut upsert) = (EMPTY, None, false, false);
    let mut order = SortOrder::Any;
    for field in request.fields(KNOWN)? {
        match field.name {
            b"query" => filter = document(&field)?,
            b"sort" => order = SortOrder::parse(document(&field)?)?,
            b"update" if field.value.kind == kind::ARRAY => {
                return Err(Fault::not_here("updates by pipelines"));
            }
            b"update" => match field.value.document() {
                Some(it) => update = Some(Update::parse(it)?),
                None => return Err(Fault::new(FAILED_TO_PARSE, "'update' must be an object")),
            },
            b"new" => shows_new = flag(&field)?,
            b"upsert" => upsert = flag(&field)?,
            b"remove" if flag(&field)? => {
                return Err(Fault::not_here("findAndModify that removes"));
            }
            _ => {}
        }
    }
    let nothing = || Fault::new(FAILED_TO_PARSE, "an update must be specified");
    let update = update.ok_or_else(nothing)?;
    let first = UpdateScope::First(&order);
    let updated = change::update(&engine.store, name, filter, &update, first, upsert)?;

    let mut reply = Writer::new(512);
    let at = reply.open(kind::DOCUMENT, "lastErrorObject");
    reply.count("n", updated.matched);
    reply.bool("updatedExisting", updated.last.is_some());
    if let Some(document) = &updated.upserted {
        reply.value("upserted", id_of(document));
    }
    reply.close(at);
    let shown = match &updated.last {
        Some([old, new]) => Some(if shows_new { new } else { old }),
        None => updated.upserted.as_ref().filter(|_| shows_new),
    };
    let shown = shown.map(|it| Value { kind: kind::DOCUMENT, bytes: it.bytes() });
    reply.value("value", shown.unwrap_or(Value::NULL));
    Ok(reply.ok())
}
