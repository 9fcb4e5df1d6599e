//! Turns the keys of an operation into the template that adapters get.

use super::checking::Check;
use super::collection_options::check_written;
use super::located::Location;
use super::operation_keys::{check_keys, check_words, write_concern};
use super::problem::did_you_mean;
use super::yaml::OperationKeys;
use crate::operation_kind::OperationWord;
use crate::operations::{Making, Site, about_word};
use crate::plan::{Collection, Operation};

/// Checks one operation and makes its template.
pub fn operation(
    check: &mut Check<'_>,
    site: &mut Site<'_>,
    keys: &OperationKeys,
    name: &str,
    place: Location,
) -> Option<Operation> {
    let word = keys.operation.as_ref()?.value;
    let about = about_word(word);
    check_keys(check, keys, word);
    let index = if about.has_collection() {
        Some(find_collection(check, site, keys, place)?)
    } else {
        None
    };
    let collection = index.map(|index| &site.collections[index]);
    let of = collection.map_or("", |collection| &collection.name);
    let mut made = Operation::new(name, word.kind(), of);
    made.write_concern = keys.write_concern.as_ref().map(|concern| write_concern(check, concern));
    made.read_concern = keys.read_concern.as_ref().map(|level| level.value.clone());
    made.read_preference = keys.read_preference.as_ref().map(|mode| mode.value.clone());
    check_words(check, keys);
    if let Some(collection) = collection {
        needs_documents(check, site, collection, keys, place);
    }
    (about.make)(&mut Making { check, site, keys, made: &mut made, index, place })?;
    if let Some(index) = index {
        let place = keys.collection.as_ref().map_or(place, |at| at.place);
        check_written(check, &site.collections[index], (about.writes)(&made), place);
    }
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
            let hint = format!("add `collection:` with one of {}", names.join(", "));
            check.wrong(
                place,
                "the workload has several collections, and this operation names none",
                hint,
            );
            return None;
        }
    };
    if !site.names.contains(&name) {
        let hint = did_you_mean(name, site.names.iter().copied());
        check.wrong_maybe(place, format!("there is no collection `{name}`"), hint);
    }
    site.collections.iter().position(|collection| collection.name == name)
}

/// In a story an earlier phase may have inserted them: `story.rs` looks after that.
fn needs_documents(
    check: &mut Check<'_>,
    site: &Site<'_>,
    collection: &Collection,
    keys: &OperationKeys,
    place: Location,
) {
    let Some(word) = keys.operation.as_ref().map(|word| word.value) else { return };
    let without = about_word(word).inserts()
        || keys.upsert.as_ref().is_some_and(|upsert| upsert.value)
        || keys.expect.is_some()
        || matches!(
            word,
            OperationWord::BulkWrite
                | OperationWord::EstimatedCount
                | OperationWord::Drop
                | OperationWord::FullScan
        );
    if !without && !site.continues && collection.loaded == 0 {
        let message = format!("{} on `{}`, which has no documents", word.name(), collection.name);
        check.wrong(place, message, format!("give `{}` some `documents:`", collection.name));
    }
}
