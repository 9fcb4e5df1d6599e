//! insert, update, delete.

use super::super::Engine;
use super::super::args::{Request, check_collation, document, flag};
use super::super::change::{self, id_of};
use super::super::error::{FAILED_TO_PARSE, Fault, Outcome};
use super::super::raw::{fields, kind};
use super::super::update::Update;
use super::super::writer::Writer;

/// Writes that failed, by their place in the batch.
#[derive(Default)]
struct Failed(Vec<(usize, Fault)>);

impl Failed {
    fn write(&self, reply: &mut Writer) {
        if self.0.is_empty() {
            return;
        }
        let array = reply.open(kind::ARRAY, "writeErrors");
        for (place, (index, fault)) in self.0.iter().enumerate() {
            let at = reply.open_element(place);
            reply.count("index", *index as u64);
            reply.int("code", fault.code);
            reply.text("errmsg", &fault.message);
            if let Some(details) = &fault.details {
                reply.copy_all(details);
            }
            reply.close(at);
        }
        reply.close(array);
    }
}

fn is_ordered(request: &Request<'_>, command: &str, known: &[&[u8]]) -> Outcome<bool> {
    let mut ordered = true;
    for field in request.fields(command, known)? {
        if field.name == b"ordered" {
            ordered = flag(command, &field)?;
        }
    }
    Ok(ordered)
}

/// `{insert: collection, documents: […]}`
pub fn insert(engine: &Engine, request: &Request<'_>) -> Outcome<Writer> {
    let name = request.collection()?;
    let known: &[&[u8]] = &[b"documents", b"ordered", b"bypassDocumentValidation"];
    let ordered = is_ordered(request, "insert", known)?;
    let (mut n, mut failed) = (0, Failed::default());
    for (index, document) in request.documents("insert", "documents")?.into_iter().enumerate() {
        match change::insert(&engine.store, name, document) {
            Ok(()) => n += 1,
            // A name that cannot be is no fault of the documents.
            Err(fault) if fault.code == super::super::error::INVALID_NAMESPACE => {
                return Err(fault);
            }
            Err(fault) => {
                failed.0.push((index, fault));
                if ordered {
                    break;
                }
            }
        }
    }
    change::wake(&engine.store, name);
    let mut reply = Writer::new(64);
    reply.count("n", n);
    failed.write(&mut reply);
    reply.double("ok", 1.0);
    Ok(reply)
}

/// One of `updates`.
struct UpdateStatement<'a> {
    filter: &'a [u8],
    update: Result<Update, Fault>,
    multi: bool,
    upsert: bool,
}

impl<'a> UpdateStatement<'a> {
    fn parse(statement: &'a [u8]) -> Outcome<Self> {
        let (mut filter, mut update) = (None, None);
        let (mut multi, mut upsert) = (false, false);
        let mut refused = None;
        for field in fields(statement) {
            match field.name {
                b"q" => filter = Some(document("update.updates", &field)?),
                b"u" => {
                    update = Some(match field.value.kind {
                        kind::DOCUMENT => Update::parse(field.value.bytes),
                        kind::ARRAY => Err(Fault::not_here("updates by pipelines")),
                        _ => {
                            let message = "Update argument must be either an object or an array";
                            return Err(Fault::new(FAILED_TO_PARSE, message));
                        }
                    });
                }
                b"multi" => multi = flag("update.updates", &field)?,
                b"upsert" => upsert = flag("update.updates", &field)?,
                b"collation" => refused = check_collation(field.value).err(),
                b"arrayFilters" => refused = Some(Fault::not_here("array filters")),
                b"hint" | b"c" | b"upsertSupplied" => {}
                _ => return Err(Fault::unknown(&format!("update.updates.{}", field.name()))),
            }
        }
        let filter = filter.ok_or_else(|| Fault::missing("update.updates.q"))?;
        let update = update.ok_or_else(|| Fault::missing("update.updates.u"))?;
        let update = refused.map_or(update, Err);
        Ok(Self { filter, update, multi, upsert })
    }

    fn run(self, engine: &Engine, request: &Request<'_>) -> Outcome<change::Updated> {
        let update = self.update?;
        if self.multi && update.is_replacement() {
            let message = "multi update is not supported for replacement-style update";
            return Err(Fault::new(FAILED_TO_PARSE, message));
        }
        let name = request.collection()?;
        change::update(&engine.store, name, self.filter, &update, self.multi, self.upsert)
    }
}

/// `{update: collection, updates: [{q, u, multi, upsert}]}`
pub fn update(engine: &Engine, request: &Request<'_>) -> Outcome<Writer> {
    request.collection()?;
    let known: &[&[u8]] = &[b"updates", b"ordered", b"bypassDocumentValidation"];
    let ordered = is_ordered(request, "update", known)?;
    let statements: Outcome<Vec<_>> =
        request.documents("update", "updates")?.into_iter().map(UpdateStatement::parse).collect();
    let (mut n, mut modified, mut failed) = (0, 0, Failed::default());
    let mut upserted = Vec::new();
    for (index, statement) in statements?.into_iter().enumerate() {
        match statement.run(engine, request) {
            Ok(updated) => {
                n += updated.matched;
                modified += updated.modified;
                upserted.extend(updated.upserted.map(|document| (index, document)));
            }
            Err(fault) => {
                failed.0.push((index, fault));
                if ordered {
                    break;
                }
            }
        }
    }
    let mut reply = Writer::new(64);
    reply.count("n", n);
    if !upserted.is_empty() {
        let array = reply.open(kind::ARRAY, "upserted");
        for (place, (index, document)) in upserted.iter().enumerate() {
            let at = reply.open_element(place);
            reply.count("index", *index as u64);
            reply.value("_id", id_of(document));
            reply.close(at);
        }
        reply.close(array);
    }
    failed.write(&mut reply);
    reply.count("nModified", modified);
    reply.double("ok", 1.0);
    Ok(reply)
}

/// One of `deletes`: the filter, and whether one is enough.
fn delete_statement(statement: &[u8]) -> Outcome<(&[u8], bool)> {
    let (mut filter, mut limit) = (None, None);
    for field in fields(statement) {
        match field.name {
            b"q" => filter = Some(document("delete.deletes", &field)?),
            b"limit" => {
                let number = field.value.whole_number();
                limit = Some(match number {
                    Some(0) => false,
                    Some(1) => true,
                    _ => {
                        let message = format!(
                            "The limit field in delete objects must be 0 or 1. Got {}",
                            number.unwrap_or_default()
                        );
                        return Err(Fault::new(FAILED_TO_PARSE, message));
                    }
                });
            }
            b"collation" => check_collation(field.value)?,
            b"hint" => {}
            _ => return Err(Fault::unknown(&format!("delete.deletes.{}", field.name()))),
        }
    }
    let filter = filter.ok_or_else(|| Fault::missing("delete.deletes.q"))?;
    let limit = limit.ok_or_else(|| Fault::missing("delete.deletes.limit"))?;
    Ok((filter, limit))
}

/// `{delete: collection, deletes: [{q, limit}]}`
pub fn delete(engine: &Engine, request: &Request<'_>) -> Outcome<Writer> {
    let name = request.collection()?;
    let ordered = is_ordered(request, "delete", &[b"deletes", b"ordered"])?;
    let statements: Outcome<Vec<_>> =
        request.documents("delete", "deletes")?.into_iter().map(delete_statement).collect();
    let (mut n, mut failed) = (0, Failed::default());
    for (index, (filter, one)) in statements?.into_iter().enumerate() {
        match change::delete(&engine.store, name, filter, one) {
            Ok(deleted) => n += deleted,
            Err(fault) => {
                failed.0.push((index, fault));
                if ordered {
                    break;
                }
            }
        }
    }
    let mut reply = Writer::new(64);
    reply.count("n", n);
    failed.write(&mut reply);
    reply.double("ok", 1.0);
    Ok(reply)
}
