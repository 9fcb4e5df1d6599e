//! Inserts, updates and deletes, for commands and legacy messages alike.

use wire::raw::{DOCUMENT_BYTES_MAX, Value, fields, get};

use super::collection::{Collection, Data, Stored};
use super::error::{Fault, Outcome};
use super::matching::{Comparison, Filter, Test};
use super::order::Order;
use super::path::Path;
use super::plan::{Step, Walk, Wanted};
use super::store::{Name, Store};
use super::update::{Update, check_id, with_id_first};

#[derive(Debug, Default)]
pub struct Updated {
    /// Documents that the filter found, or 1 for an upsert.
    pub matched: u64,
    /// Documents that really changed.
    pub modified: u64,
    /// The document that an upsert inserted.
    pub upserted: Option<Stored>,
    /// The last of those that the filter found, before the update and after it.
    pub last: Option<[Stored; 2]>,
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
        // Dropped meanwhile: nobody would find a document in it.
        if !data.dropped {
            return collection.insert(&mut data, stored);
        }
    }
}

/// Wakes the cursors that wait for documents of a collection.
pub fn wake(store: &Store, name: Name<'_>) {
    if let Some(collection) = store.find(name).filter(|collection| collection.capped.is_some()) {
        collection.wake();
    }
}

/// The records of all wanted documents, or of the first one.
fn find_records(
    collection: &Collection,
    data: &Data,
    wanted: Wanted,
    one: bool,
) -> Outcome<Vec<u64>> {
    let mut walk = Walk::new(data, wanted, &Order::Any, collection.capped.is_some());
    let mut records = Vec::new();
    walk.run(data, &mut |record, _| {
        records.push(record);
        if one { Step::Pause } else { Step::Go }
    })?;
    Ok(records)
}

/// Updates one document or all wanted ones; inserts one where none is found and `upsert` is set.
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
        let records = find_records(&collection, &data, wanted, !multi)?;
        if records.is_empty() && upsert {
            let document = insert_upsert(&collection, &mut data, filter, update)?;
            drop(data);
            collection.wake();
            return Ok(Updated { matched: 1, upserted: Some(document), ..Updated::default() });
        }
        let mut updated = Updated::default();
        for record in records {
            let old = data.records[&record].clone();
            let new = update.apply(old.bytes())?;
            let changes = !update.keeps(old.bytes(), &new);
            let new = if changes { Stored::new(&new) } else { old.clone() };
            if changes {
                collection.replace(&mut data, record, new.clone())?;
            }
            updated.matched += 1;
            updated.modified += u64::from(changes);
            updated.last = Some([old, new]);
        }
        return Ok(updated);
    }
}

fn insert_upsert(
    collection: &Collection,
    data: &mut Data,
    filter: &[u8],
    update: &Update,
) -> Outcome<Stored> {
    let filter = Filter::parse(filter)?;
    let equal = filter.0.iter().filter(|it| it.holds).filter_map(|it| match &it.test {
        Test::Compare(Comparison::Equal, operand) => Some((&it.path, operand.value())),
        _ => None,
    });
    let equal: Vec<(&Path, Value<'_>)> = equal.collect();
    let document = Stored::new(&update.upsert(&equal)?);
    collection.insert(data, document.clone())?;
    Ok(document)
}

/// Deletes one document or all wanted ones.
pub fn delete(store: &Store, name: Name<'_>, filter: &[u8], one: bool) -> Outcome<u64> {
    let wanted = Wanted::parse(filter)?;
    let Some(collection) = store.find(name) else { return Ok(0) };
    let mut data = collection.write();
    let records = find_records(&collection, &data, wanted, one)?;
    let mut deleted = 0;
    for record in records {
        deleted += u64::from(collection.remove(&mut data, record).is_some());
    }
    Ok(deleted)
}

pub fn id_of(document: &Stored) -> Value<'_> {
    get(document.bytes(), b"_id").unwrap_or(Value::NULL)
}
