//! Inserts, updates and deletes, for commands and legacy messages alike.

use super::collection::{Collection, Data, Stored};
use super::error::{Fault, Outcome};
use super::matching::{Comparison, Filter, Test};
use super::order::{Order, sort_key};
use super::path::Path;
use super::plan::{Step, Walk, Wanted};
use super::raw::{DOCUMENT_BYTES_MAX, Value, fields, get};
use super::store::{Name, Store};
use super::update::{Update, check_id, with_id_first};

/// What an update did.
#[derive(Debug, Default)]
pub struct Updated {
    /// Documents that the filter found, or 1 for an upsert.
    pub matched: u64,
    /// Documents that are not what they were.
    pub modified: u64,
    /// The document that an upsert inserted.
    pub upserted: Option<Stored>,
}

/// Inserts one document; `_id` is added where it lacks one, and stands first.
pub fn insert(store: &Store, name: Name<'_>, document: &[u8]) -> Outcome<()> {
    if document.len() > DOCUMENT_BYTES_MAX {
        let message = format!(
            "object to insert too large. size in bytes: {}, max size: {DOCUMENT_BYTES_MAX}",
            document.len()
        );
        return Err(Fault::bad_value(message));
    }
    let first = fields(document).next();
    let stored = match first.filter(|field| field.name == b"_id") {
        Some(id) => {
            check_id(Some(id.value))?;
            Stored::new(document)
        }
        None => Stored::new(&with_id_first(document)?),
    };
    loop {
        let (collection, _) = store.find_or_create(name)?;
        let mut data = collection.write();
        // Dropped between the two lines above: what was inserted there, nobody would find.
        if !data.dropped {
            return collection.insert(&mut data, stored);
        }
    }
}

/// Wakes whoever waits for documents of a collection.
pub fn wake(store: &Store, name: Name<'_>) {
    if let Some(collection) = store.find(name).filter(|collection| collection.capped.is_some()) {
        collection.wake();
    }
}

/// The records that are wanted, in the order asked for.
pub fn find_records(
    collection: &Collection,
    data: &Data,
    wanted: Wanted,
    order: &Order,
    one: bool,
) -> Outcome<Vec<u64>> {
    let mut walk = Walk::new(data, wanted, order, collection.capped.is_some());
    let enough = one && walk.ordered;
    let mut records = Vec::new();
    walk.run(data, &mut |record, _| {
        records.push(record);
        if enough { Step::Pause } else { Step::Go }
    })?;
    if let Order::By(by) = order
        && !walk.ordered
    {
        records.sort_by_cached_key(|record| {
            data.records.get(record).map(|document| sort_key(by, document.bytes()))
        });
    }
    if one {
        records.truncate(1);
    }
    Ok(records)
}

/// Updates one document or all that are wanted; inserts one where none is and `upsert` is set.
pub fn update(
    store: &Store,
    name: Name<'_>,
    filter: &[u8],
    update: &Update,
    multi: bool,
    upsert: bool,
) -> Outcome<Updated> {
    loop {
        let wanted = Wanted::parse(filter)?;
        let found = if upsert { Some(store.find_or_create(name)?.0) } else { store.find(name) };
        let Some(collection) = found else { return Ok(Updated::default()) };
        let mut data = collection.write();
        if data.dropped {
            continue;
        }
        let records = find_records(&collection, &data, wanted, &Order::Any, !multi)?;
        if records.is_empty() && upsert {
            let document = insert_upsert(&collection, &mut data, filter, update)?;
            drop(data);
            collection.wake();
            return Ok(Updated { matched: 1, modified: 0, upserted: Some(document) });
        }
        let mut updated = Updated::default();
        for record in records {
            updated.matched += 1;
            updated.modified += u64::from(update_record(&collection, &mut data, record, update)?);
        }
        return Ok(updated);
    }
}

/// Applies an update to a record. False: it changed nothing.
pub fn update_record(
    collection: &Collection,
    data: &mut Data,
    record: u64,
    update: &Update,
) -> Outcome<bool> {
    let Some(old) = data.records.get(&record) else { return Ok(false) };
    let new = update.apply(old.bytes(), false)?;
    if update.keeps(old.bytes(), &new) {
        return Ok(false);
    }
    collection.replace(data, record, Stored::new(&new))?;
    Ok(true)
}

/// Inserts what an upsert makes of its filter and its update.
pub fn insert_upsert(
    collection: &Collection,
    data: &mut Data,
    filter: &[u8],
    update: &Update,
) -> Outcome<Stored> {
    let filter = Filter::parse(filter)?;
    let mut tests = Vec::new();
    filter.required(&mut tests);
    let equal: Vec<(&Path, Value<'_>)> = tests
        .iter()
        .filter_map(|(path, test)| match test {
            Test::Compare(Comparison::Equal, operand) => Some((*path, operand.value())),
            _ => None,
        })
        .collect();
    let document = Stored::new(&update.upsert(&equal)?);
    collection.insert(data, document.clone())?;
    Ok(document)
}

/// Deletes one document or all that are wanted.
pub fn delete(store: &Store, name: Name<'_>, filter: &[u8], one: bool) -> Outcome<u64> {
    let wanted = Wanted::parse(filter)?;
    let Some(collection) = store.find(name) else { return Ok(0) };
    let mut data = collection.write();
    let records = find_records(&collection, &data, wanted, &Order::Any, one)?;
    let mut deleted = 0;
    for record in records {
        deleted += u64::from(collection.remove(&mut data, record).is_some());
    }
    Ok(deleted)
}

/// The `_id` of a stored document.
pub fn id_of(document: &Stored) -> Value<'_> {
    get(document.bytes(), b"_id").unwrap_or(Value::NULL)
}
