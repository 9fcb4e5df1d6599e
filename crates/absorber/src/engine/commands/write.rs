//! insert, update, delete.

use wire::raw::{fields, kind};

use super::super::Engine;
use super::super::args::{CommandArgs, check_collation, document, flag};
use super::super::change::{self, UpdateScope, id_of};
use super::super::fault::{FAILED_TO_PARSE, Fallible, Fault, INVALID_NAMESPACE};
use super::super::update::Update;
use super::super::writer::Writer;

/// Does the statements of a batch in order. The first failure ends an ordered batch. Returns the
/// reply's `writeErrors`.
fn each<T>(
    statements: Vec<T>,
    ordered: bool,
    mut run: impl FnMut(usize, T) -> Fallible<()>,
) -> Vec<(usize, Fault)> {
    let mut failed = Vec::new();
    for (index, statement) in statements.into_iter().enumerate() {
        if let Err(fault) = run(index, statement) {
            failed.push((index, fault));
            if ordered {
                break;
            }
        }
    }
    failed
}

fn write_errors(failed: &[(usize, Fault)], reply: &mut Writer) {
    if failed.is_empty() {
        return;
    }
    let array = reply.open(kind::ARRAY, "writeErrors");
    for (place, (index, fault)) in failed.iter().enumerate() {
        let at = reply.open_element(kind::DOCUMENT, place);
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

fn is_ordered(request: &CommandArgs<'_>, statements: &[u8]) -> Fallible<bool> {
    let fields = request.fields(&[statements, b"ordered", b"bypassDocumentValidation"])?;
    let ordered = fields.iter().find(|field| field.name == b"ordered");
    ordered.map_or(Ok(true), flag)
}

/// `{insert: collection, documents: […]}`
pub fn insert(engine: &Engine, request: &CommandArgs<'_>) -> Fallible<Writer> {
    let name = request.collection()?;
    let ordered = is_ordered(request, b"documents")?;
    let mut n = 0;
    let failed = each(request.documents("documents")?, ordered, |_, document| {
        change::insert(&engine.store, name, document)?;
        n += 1;
        Ok(())
    });
    // An impossible name is no fault of the documents.
    if let Some((_, fault)) = failed.first().filter(|(_, it)| it.code == INVALID_NAMESPACE) {
        return Err(fault.clone());
    }
    change::wake(&engine.store, name);
    let mut reply = Writer::new(64);
    reply.count("n", n);
    write_errors(&failed, &mut reply);
    Ok(reply.ok())
}

/// One of `updates`.
struct UpdateStatement<'a> {
    filter: &'a [u8],
    update: Result<Update, Fault>,
    multi: bool,
    upsert: bool,
}

impl<'a> UpdateStatement<'a> {
    fn parse(statement: &'a [u8]) -> Fallible<Self> {
        let (mut filter, mut update) = (None, None);
        let (mut multi, mut upsert) = (false, false);
        let mut refused = None;
        for field in fields(statement) {
            match field.name {
                b"q" => filter = Some(document(&field)?),
                b"u" => {
                    update = Some(match field.value.kind {
                        kind::DOCUMENT => Update::parse(field.value.bytes),
                        kind::ARRAY => Err(Fault::not_here("updates by pipelines")),
                        _ => return Err(Fault::new(FAILED_TO_PARSE, "'u' must be an object")),
                    });
                }
                b"multi" => multi = flag(&field)?,
                b"upsert" => upsert = flag(&field)?,
                b"collation" => refused = check_collation(field.value).err(),
                b"arrayFilters" => refused = Some(Fault::not_here("array filters")),
                b"hint" | b"c" | b"upsertSupplied" => {}
                _ => return Err(Fault::unknown(&field.name())),
            }
        }
        let filter = filter.ok_or_else(|| Fault::missing("q"))?;
        let update = update.ok_or_else(|| Fault::missing("u"))?;
        let update = refused.map_or(update, Err);
        Ok(Self { filter, update, multi, upsert })
    }

    fn run(self, engine: &Engine, request: &CommandArgs<'_>) -> Fallible<change::Updated> {
        let update = self.update?;
        if self.multi && update.is_replacement() {
            let message = "multi update is not supported for replacement-style update";
            return Err(Fault::new(FAILED_TO_PARSE, message));
        }
        let name = request.collection()?;
        let which = UpdateScope::of(!self.multi);
        change::update(&engine.store, name, self.filter, &update, which, self.upsert)
    }
}

/// `{update: collection, updates: [{q, u, multi, upsert}]}`
pub fn update(engine: &Engine, request: &CommandArgs<'_>) -> Fallible<Writer> {
    request.collection()?;
    let ordered = is_ordered(request, b"updates")?;
    let statements = request.documents("updates")?.into_iter().map(UpdateStatement::parse);
    let (mut n, mut modified, mut upserted) = (0, 0, Vec::new());
    let statements = statements.collect::<Fallible<Vec<_>>>()?;
    let failed = each(statements, ordered, |index, statement| {
        let updated = statement.run(engine, request)?;
        n += updated.matched;
        modified += updated.modified;
        upserted.extend(updated.upserted.map(|document| (index, document)));
        Ok(())
    });
    let mut reply = Writer::new(64);
    reply.count("n", n);
    if !upserted.is_empty() {
        let array = reply.open(kind::ARRAY, "upserted");
        for (place, (index, document)) in upserted.iter().enumerate() {
            let at = reply.open_element(kind::DOCUMENT, place);
            reply.count("index", *index as u64);
            reply.value("_id", id_of(document));
            reply.close(at);
        }
        reply.close(array);
    }
    write_errors(&failed, &mut reply);
    reply.count("nModified", modified);
    Ok(reply.ok())
}

/// One of `deletes`: the filter, and whether one document is enough.
fn delete_statement(statement: &[u8]) -> Fallible<(&[u8], bool)> {
    let (mut filter, mut one) = (None, None);
    for field in fields(statement) {
        match field.name {
            b"q" => filter = Some(document(&field)?),
            b"limit" => match field.value.whole_number() {
                Some(limit @ (0 | 1)) => one = Some(limit == 1),
                _ => return Err(Fault::new(FAILED_TO_PARSE, "'limit' of a delete is 0 or 1")),
            },
            b"collation" => check_collation(field.value)?,
            b"hint" => {}
            _ => return Err(Fault::unknown(&field.name())),
        }
    }
    let filter = filter.ok_or_else(|| Fault::missing("q"))?;
    Ok((filter, one.ok_or_else(|| Fault::missing("limit"))?))
}

/// `{delete: collection, deletes: [{q, limit}]}`
pub fn delete(engine: &Engine, request: &CommandArgs<'_>) -> Fallible<Writer> {
    let name = request.collection()?;
    let ordered = is_ordered(request, b"deletes")?;
    let statements = request.documents("deletes")?.into_iter().map(delete_statement);
    let mut n = 0;
    let failed = each(statements.collect::<Fallible<_>>()?, ordered, |_, (filter, one)| {
        n += change::delete(&engine.store, name, filter, one)?;
        Ok(())
    });
    let mut reply = Writer::new(64);
    reply.count("n", n);
    write_errors(&failed, &mut reply);
    Ok(reply.ok())
}
