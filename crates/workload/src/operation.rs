//! Turns the keys of an operation into the template that adapters get.

use serde_saphyr::Location;

use super::check::Check;
use super::error::did_you_mean;
use super::kind::Kind;
use super::operation_keys::{check_keys, check_words, write_concern};
use super::operations::{Making, Site, about};
use super::plan::{Collection, Operation};
use super::schema::OperationKeys;

/// Checks one operation and makes its template.
pub fn operation(
    check: &mut Check<'_>,
    site: &mut Site<'_>,
    keys: &OperationKeys,
    name: &str,
    place: Location,
) -> Option<Operation> {
    let kind = keys.operation.as_ref()?.value;
    let about = about(kind);
    check_keys(check, keys, kind);
    let index = if about.has_collection() {
        Some(find_collection(check, site, keys, place)?)
    } else {
        None
    };
    let collection = index.map(|index| &site.collections[index]);
    let mut made = Operation::new(name, kind, collection.map_or("", |collection| &collection.name));
    made.write_concern = keys.write_concern.as_ref().map(|concern| write_concern(check, concern));
    made.read_concern = keys.read_concern.as_ref().map(|level| level.value.clone());
    made.read_preference = keys.read_preference.as_ref().map(|mode| mode.value.clone());
    check_words(check, keys);
    if let Some(collection) = collection {
        needs_documents(check, collection, keys, kind, place);
    }
    (about.make)(&mut Making { check, site, keys, made: &mut made, index, place })?;
    Some(made)
}

fn find_collection(
    check: &mut Check<'_>,
    site: &Site<'_>,
    keys: &OperationKeys,
    place: Location,
) -> Option<usize> {
    let (name, place) = match (&keys.collection, &site.names[..]) {
        (Some(name), _) => (name.value.as_str(), name.place),
        (None, [only]) => (*only, place),
        (None, []) => {
            check.wrong(place, "the workload has no collections", "add `collections:`");
            return None;
        }
        (None, names) => {
            let hint = format!("`collection:` one of {}", names.join(", "));
            check.wrong(place, "which collection?", hint);
            return None;
        }
    };
    if !site.names.contains(&name) {
        let hint = did_you_mean(name, site.names.iter().copied());
        check.wrong_maybe(place, format!("there is no collection `{name}`"), hint);
    }
    site.collections.iter().position(|collection| collection.name == name)
}

fn needs_documents(
    check: &mut Check<'_>,
    collection: &Collection,
    keys: &OperationKeys,
    kind: Kind,
    place: Location,
) {
    let inserts = about(kind).inserts || keys.upsert.as_ref().is_some_and(|upsert| upsert.value);
    if !inserts && collection.loaded == 0 {
        let message = format!("{} on `{}`, which has no documents", kind.name(), collection.name);
        check.wrong(place, message, format!("give `{}` some `documents:`", collection.name));
    }
}
