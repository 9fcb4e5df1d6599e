//! Inserts, updates and deletes, for commands and legacy messages alike.

use wire::raw::{DOCUMENT_BYTES_MAX, Value, fields, get};

use super::fault::{Fallible, Fault};
use super::field_path::FieldPath;
use super::filter::{ComparisonOperator, Filter, Test};
use super::query_plan::{DocumentWalk, Selector, WalkStep};
use super::sort_order::{SortOrder, sort_key};
use super::store::{Name, Store};
use super::stored_collection::{Data, StoredCollection, StoredDocument};
use super::update::{Update, check_id, with_id_first};

#[derive(Debug, Default)]
pub struct Updated {
    /// Documents that the filter found, or 1 for an upsert.
    pub matched: u64,
    /// Documents that really changed.
    pub modified: u64,
    /// The document that an upsert inserted.
    pub upserted: Option<StoredDocument>,
    /// Last document that the filter found, before the update and after it.
    pub last: Option<[StoredDocument; 2]>,
}

/// Inserts one document with `_id` first; a document without one gets a new one.
pub fn insert(store: &Store, name: Name<'_>, document: &[u8]) -> Fallible<()> {
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
            StoredDocument::new(document)
        }
        None => StoredDocument::new(&with_id_first(document)?),
    };
    loop {
        let (collection, _) = store.find_or_create(name)?;
        let mut data = collection.write();
        // It was dropped meanwhile, and documents in it could not be found.
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

/// The documents of a write: all that the filter finds, or the first one in an order.
#[derive(Debug, Clone, Copy)]
pub enum UpdateScope<'a> {
    All,
    First(&'a SortOrder),
}

impl UpdateScope<'_> {
    pub const ANY: Self = Self::First(&SortOrder::Any);

    pub fn of(one: bool) -> Self {
        if one { Self::ANY } else { Self::All }
    }
}

fn find_records(
    collection: &StoredCollection,
    data: &Data,
    wanted: Selector,
    which: UpdateScope<'_>,
) -> Fallible<Vec<u64>> {
    let (order, one) = match which {
        UpdateScope::All => (&SortOrder::Any, false),
        UpdateScope::First(order) => (order, true),
    };
    let mut walk = DocumentWalk::new(data, wanted, order, collection.capped.is_some());
    if let SortOrder::By(by) = order
        && !walk.ordered
    {
        let (mut first, mut good) = (None, Ok(()));
        walk.run(data, &mut |record, document| match sort_key(by, document.bytes()) {
            Ok(key) => {
                if first.as_ref().is_none_or(|(least, _)| key < *least) {
                    first = Some((key, record));
                }
                WalkStep::Go
            }
            Err(fault) => {
                good = Err(fault);
                WalkStep::Pause
            }
        })?;
        good?;
        return Ok(first.into_iter().map(|(_, record)| record).collect());
    }
    let mut records = Vec::new();
    walk.run(data, &mut |record, _| {
        records.push(record);
        if one { WalkStep::Pause } else { WalkStep::Go }
    })?;
    Ok(records)
}

/// Updates the wanted documents; inserts one where none is found and `upsert` is set.
pub fn update(
    store: &Store,
    name: Name<'_>,
    filter: &[u8],
    update: &Update,
    which: UpdateScope<'_>,
    upsert: bool,
) -> Fallible<Updated> {
    loop {
        let wanted = Selector::parse(filter)?;
        let found = if upsert { Some(store.find_or_create(name)?.0) } else { store.find(name) };
        let Some(collection) = found else { return Ok(Updated::default()) };
        let mut data = collection.write();
        if data.dropped {
            continue;
        }
        let records = find_records(&collection, &data, wanted, which)?;
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
            let new = if changes { StoredDocument::new(&new) } else { old.clone() };
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
    collection: &StoredCollection,
    data: &mut Data,
    filter: &[u8],
    update: &Update,
) -> Fallible<StoredDocument> {
    let filter = Filter::parse(filter)?;
    let equal = filter.0.iter().filter(|it| it.holds).filter_map(|it| match &it.test {
        Test::Compare(ComparisonOperator::Equal, operand) => Some((&it.path, operand.value())),
        _ => None,
    });
    let equal: Vec<(&FieldPath, Value<'_>)> = equal.collect();
    let document = StoredDocument::new(&update.upsert(&equal)?);
    collection.insert(data, document.clone())?;
    Ok(document)
}

/// Deletes one document or all wanted ones.
pub fn delete(store: &Store, name: Name<'_>, filter: &[u8], one: bool) -> Fallible<u64> {
    let wanted = Selector::parse(filter)?;
    let Some(collection) = store.find(name) else { return Ok(0) };
    let mut data = collection.write();
    let records = find_records(&collection, &data, wanted, UpdateScope::of(one))?;
    let mut deleted = 0;
    for record in records {
        deleted += u64::from(collection.remove(&mut data, record).is_some());
    }
    Ok(deleted)
}

pub fn id_of(document: &StoredDocument) -> Value<'_> {
    get(document.bytes(), b"_id").unwrap_or(Value::NULL)
}
