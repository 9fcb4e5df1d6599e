//! findAndModify.

use super::super::Engine;
use super::super::args::{Request, document, flag};
use super::super::change::{self, find_records, id_of};
use super::super::collection::Stored;
use super::super::error::{FAILED_TO_PARSE, Fault, Outcome};
use super::super::order::Order;
use super::super::plan::Wanted;
use super::super::projection::Projection;
use super::super::raw::{EMPTY, Value, kind};
use super::super::update::Update;
use super::super::writer::Writer;

struct Options<'a> {
    filter: &'a [u8],
    order: Order,
    /// None: remove.
    update: Option<Update>,
    new: bool,
    upsert: bool,
    projection: Option<Projection>,
}

const COMMAND: &str = "findAndModify";
const KNOWN: &[&[u8]] = &[
    b"query",
    b"sort",
    b"update",
    b"remove",
    b"new",
    b"upsert",
    b"fields",
    b"bypassDocumentValidation",
    b"hint",
    b"arrayFilters",
];

impl<'a> Options<'a> {
    fn parse(request: &Request<'a>) -> Outcome<Self> {
        let mut options = Self {
            filter: EMPTY,
            order: Order::Any,
            update: None,
            new: false,
            upsert: false,
            projection: None,
        };
        let mut remove = false;
        for field in request.fields(COMMAND, KNOWN)? {
            match field.name {
                b"query" => options.filter = document(COMMAND, &field)?,
                b"sort" => options.order = Order::parse(document(COMMAND, &field)?)?,
                b"fields" => options.projection = Projection::parse(document(COMMAND, &field)?)?,
                b"update" if field.value.kind == kind::ARRAY => {
                    return Err(Fault::not_here("updates by pipelines"));
                }
                b"update" => options.update = Some(Update::parse(document(COMMAND, &field)?)?),
                b"remove" => remove = flag(COMMAND, &field)?,
                b"new" => options.new = flag(COMMAND, &field)?,
                b"upsert" => options.upsert = flag(COMMAND, &field)?,
                b"arrayFilters" => return Err(Fault::not_here("array filters")),
                _ => {}
            }
        }
        let refuse = |message: &str| Err(Fault::new(FAILED_TO_PARSE, message));
        match (&options.update, remove) {
            (None, false) => return refuse("Either an update or remove=true must be specified"),
            (Some(_), true) => return refuse("Cannot specify both an update and remove=true"),
            _ => {}
        }
        if remove && options.new {
            return refuse(
                "Cannot specify both new=true and remove=true; 'remove' always returns the \
                 deleted document",
            );
        }
        if remove && options.upsert {
            return refuse("Cannot specify both upsert=true and remove=true");
        }
        Ok(options)
    }
}

/// `{findAndModify: collection, query, sort, update or remove}`
pub fn find_and_modify(engine: &Engine, request: &Request<'_>) -> Outcome<Writer> {
    let name = request.collection()?;
    let options = Options::parse(request)?;
    let wanted = Wanted::parse(options.filter)?;
    let found = if options.upsert {
        Some(engine.store.find_or_create(name)?.0)
    } else {
        engine.store.find(name)
    };
    let (mut shown, mut upserted): (Option<Stored>, Option<Stored>) = (None, None);
    let mut n = 0;
    if let Some(collection) = found {
        let mut data = collection.write();
        if data.dropped {
            // Since it was found: what is inserted there, nobody would find.
            drop(data);
            return find_and_modify(engine, request);
        }
        let records = find_records(&collection, &data, wanted, &options.order, true)?;
        if let Some(record) = records.first().copied() {
            n = 1;
            shown = data.records.get(&record).cloned();
            match &options.update {
                None => {
                    collection.remove(&mut data, record);
                }
                Some(update) => {
                    change::update_record(&collection, &mut data, record, update)?;
                    if options.new {
                        shown = data.records.get(&record).cloned();
                    }
                }
            }
        } else if let Some(update) = options.update.as_ref().filter(|_| options.upsert) {
            n = 1;
            let document = change::insert_upsert(&collection, &mut data, options.filter, update)?;
            shown = options.new.then(|| document.clone());
            upserted = Some(document);
        }
        drop(data);
        collection.wake();
    }
    let mut reply = Writer::new(128);
    let at = reply.open(kind::DOCUMENT, "lastErrorObject");
    reply.int("n", n);
    if options.update.is_some() {
        reply.bool("updatedExisting", n == 1 && upserted.is_none());
    }
    if let Some(document) = &upserted {
        reply.value("upserted", id_of(document));
    }
    reply.close(at);
    match (&shown, &options.projection) {
        (None, _) => reply.value("value", Value::NULL),
        (Some(document), None) => reply.document("value", document.bytes()),
        (Some(document), Some(projection)) => {
            reply.document("value", &projection.apply(document.bytes()));
        }
    }
    reply.double("ok", 1.0);
    Ok(reply)
}
