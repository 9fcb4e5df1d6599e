//! Turns the keys of an operation into the template that adapters get.

use bson::{Bson, Document};
use serde_saphyr::Location;

use super::at::{At, Named};
use super::check::Check;
use super::document::one_value;
use super::error::did_you_mean;
use super::fields::Field;
use super::layout;
use super::operation_keys::{check_keys, check_words, kind_name, write_concern};
use super::plan::{
    Collection, Documents, KeySource, Kind, Operation, Stamp, StampForm, StampSource, Template,
};
use super::schema::OperationKeys;
use super::stamp::{Input, value_of};
use super::template::{of_document, template};
use super::tree::Tree;

/// Largest `insert_many`: what the server takes in one message.
const BATCH_MAX: u32 = 100_000;
const BATCH_BYTES_MAX: f64 = 48_000_000.0;

/// What an operation sees of its phase and workload.
pub struct Site<'a> {
    /// Collections that could be made.
    pub collections: &'a [Collection],
    /// Names of all collections, the wrong ones too.
    pub names: Vec<&'a str>,
    /// Seed of constants drawn once.
    pub seed: u64,
    /// The phase's name.
    pub phase: &'a str,
    /// Collections whose pools this phase uses, in the order of `prepare`.
    pub pools: Vec<u32>,
}

/// Checks one operation and makes its template.
pub fn operation(
    check: &mut Check<'_>,
    site: &mut Site<'_>,
    keys: &OperationKeys,
    name: &str,
    place: Location,
) -> Option<Operation> {
    let kind = keys.operation.as_ref()?.value;
    check_keys(check, keys, kind);
    let index = match kind {
        Kind::Noop | Kind::Command => None,
        _ => Some(find_collection(check, site, keys, place)?),
    };
    let collection = index.map(|index| &site.collections[index]);
    let mut made = Operation::new(name, kind, collection.map_or("", |collection| &collection.name));
    made.write_concern = keys.write_concern.as_ref().map(|concern| write_concern(check, concern));
    made.read_concern = keys.read_concern.as_ref().map(|level| level.value.clone());
    made.read_preference = keys.read_preference.as_ref().map(|mode| mode.value.clone());
    check_words(check, keys);
    if let Some(collection) = collection {
        needs_documents(check, collection, keys, kind, place);
        sum_field(&mut made, collection, keys);
    }
    match kind {
        Kind::Noop => {}
        Kind::InsertOne | Kind::InsertMany => insert(check, site, keys, &mut made, index?, place),
        Kind::FindOne | Kind::Find | Kind::Count => {
            made.filter = Some(read_filter(check, keys, collection?)?);
            made.limit = keys.limit.as_ref().map(|limit| i64::from(limit.value));
            made.batch_size = keys.batch_size.as_ref().map(|size| size.value);
        }
        Kind::UpdateOne => {
            made.filter = Some(filter_by(check, keys, collection?)?);
            made.update = Some(update(check, site, keys, collection?, place)?);
        }
        Kind::ReplaceOne => {
            made.filter = Some(filter_by(check, keys, collection?)?);
            made.documents = Some(documents_of(site, index?));
        }
        Kind::DeleteOne => {
            if let Some(capped) = collection.filter(|collection| collection.capped.is_some()) {
                let message = format!("`{}` is capped: nothing can be deleted there", capped.name);
                check.wrong(place, message, "use a collection that is not capped");
            }
            made.filter = Some(filter_by(check, keys, collection?)?);
        }
        Kind::Aggregate => {
            let pipeline = needed(check, keys.pipeline.as_ref(), "pipeline", place)?;
            if !matches!(pipeline.value, Tree::List(_)) {
                check.wrong(pipeline.place, "a pipeline is a list of stages", "`- $match: …`");
            }
            made.pipeline = Some(template(check, pipeline, Some("pipeline")));
            made.batch_size = keys.batch_size.as_ref().map(|size| size.value);
        }
        Kind::Command => {
            let command = needed(check, keys.command.as_ref(), "command", place)?;
            made.command = Some(template(check, command, None));
        }
    }
    if matches!(kind, Kind::UpdateOne | Kind::ReplaceOne) {
        made.upsert = keys.upsert.as_ref().map(|upsert| upsert.value);
    }
    Some(made)
}

fn needed<'a, T>(
    check: &mut Check<'_>,
    key: Option<&'a At<T>>,
    name: &str,
    place: Location,
) -> Option<&'a At<T>> {
    if key.is_none() {
        check.wrong(place, format!("`{name}` is missing"), format!("add `{name}:`"));
    }
    key
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
    let inserts = matches!(kind, Kind::InsertOne | Kind::InsertMany)
        || keys.upsert.as_ref().is_some_and(|upsert| upsert.value);
    if !inserts && collection.loaded == 0 {
        let message =
            format!("{} on `{}`, which has no documents", kind_name(kind), collection.name);
        check.wrong(place, message, format!("give `{}` some `documents:`", collection.name));
    }
}

/// The field that is added up: the one looked for, else any whole number made of the key.
fn sum_field(made: &mut Operation, collection: &Collection, keys: &OperationKeys) {
    if !matches!(made.kind, Kind::FindOne | Kind::Find) {
        return;
    }
    let whole = |stamp: &&Stamp| {
        stamp.path.len() == 1
            && stamp.from == StampSource::Key
            && matches!(stamp.form, StampForm::Int32 | StampForm::Int64)
    };
    let by = keys.by.as_ref().map_or("_id", |by| by.value.as_str());
    let found = collection.stamps.iter().filter(whole);
    let found = found.max_by_key(|stamp| stamp.path[0] == by);
    made.sum_field = found.map(|stamp| stamp.path[0].clone());
}

fn documents_of(site: &mut Site<'_>, collection: usize) -> Documents {
    let stamps = site.collections[collection].stamps.clone();
    let number = collection as u32;
    let known = site.pools.iter().position(|pool| *pool == number);
    let pool = known.unwrap_or_else(|| {
        site.pools.push(number);
        site.pools.len() - 1
    });
    Documents { pool: pool as u32, stamps }
}

fn insert(
    check: &mut Check<'_>,
    site: &mut Site<'_>,
    keys: &OperationKeys,
    made: &mut Operation,
    collection: usize,
    place: Location,
) {
    made.key = KeySource::Counter;
    made.documents = Some(documents_of(site, collection));
    if made.kind == Kind::InsertOne {
        return;
    }
    made.ordered = keys.ordered.as_ref().map(|ordered| ordered.value);
    let Some(batch) = needed(check, keys.batch.as_ref(), "batch", place) else { return };
    made.batch = Some(batch.value);
    if batch.value == 0 || batch.value > BATCH_MAX {
        let message = format!("a batch of {} documents", batch.value);
        check.wrong(batch.place, message, format!("from 1 to {BATCH_MAX}"));
        return;
    }
    let mean = site.collections[collection].document_bytes_mean;
    let bytes = mean * f64::from(batch.value);
    if bytes > BATCH_BYTES_MAX {
        let message = format!(
            "a batch of {} documents of {} bytes has {} MB",
            batch.value,
            figures::fixed(mean, 0),
            figures::fixed(bytes / 1e6, 1)
        );
        let most = (BATCH_BYTES_MAX / mean).floor();
        check.wrong(batch.place, message, format!("a message has 48 MB: at most {most}"));
    }
}

/// The stamp of the field that is looked for.
fn key_stamp<'a>(
    check: &mut Check<'_>,
    keys: &OperationKeys,
    collection: &'a Collection,
) -> Option<&'a Stamp> {
    let by = keys.by.as_ref().map_or("_id", |by| by.value.as_str());
    let keyed = || collection.stamps.iter().filter(|stamp| stamp.from == StampSource::Key);
    let found = keyed().find(|stamp| stamp.path.join(".") == by);
    if found.is_none() {
        let names: Vec<String> = keyed().map(|stamp| stamp.path.join(".")).collect();
        let place = keys.by.as_ref().map_or(Location::UNKNOWN, |by| by.place);
        let message = format!("`{}` has no field `{by}` made of the key", collection.name);
        let hint = did_you_mean(by, names.iter().map(String::as_str));
        check.wrong_maybe(place, message, hint);
    }
    found
}

fn filter_by(
    check: &mut Check<'_>,
    keys: &OperationKeys,
    collection: &Collection,
) -> Option<Template> {
    let stamp = key_stamp(check, keys, collection)?;
    let name = stamp.path.join(".");
    let value = value_of(stamp, &Input::default()).ok()?;
    // A filter on an inner field is one name with a dot, not a path.
    let stamp = Stamp { path: vec![name.clone()], ..stamp.clone() };
    Some(of_document(Document::from_iter([(name, value)]), vec![stamp]))
}

fn read_filter(
    check: &mut Check<'_>,
    keys: &OperationKeys,
    collection: &Collection,
) -> Option<Template> {
    if let Some(filter) = &keys.filter {
        for (place, name) in [
            (keys.by.as_ref().map(|by| by.place), "by"),
            (keys.range.as_ref().map(|range| range.place), "range"),
        ] {
            if let Some(place) = place {
                check.wrong(place, format!("`{name}` and `filter` exclude each other"), "keep one");
            }
        }
        return Some(template(check, filter, None));
    }
    let Some(range) = &keys.range else { return filter_by(check, keys, collection) };
    let stamp = key_stamp(check, keys, collection)?;
    if matches!(stamp.form, StampForm::Guid | StampForm::ObjectId | StampForm::String) {
        let message = format!("`{}` is no number: it has no ranges", stamp.path.join("."));
        let place = keys.by.as_ref().map_or(range.place, |by| by.place);
        check.wrong(place, message, "`by:` a field `{type: long, value: key}`");
        return None;
    }
    if range.value == 0 || range.value > collection.loaded {
        let message = format!("a range of {} of {} keys", range.value, collection.loaded);
        check.wrong(range.place, message, format!("from 1 to {}", collection.loaded.max(1)));
        return None;
    }
    let name = stamp.path.join(".");
    let low = Stamp { path: vec![name.clone(), "$gte".to_owned()], ..stamp.clone() };
    let add = stamp.add + i64::try_from(range.value).unwrap_or(i64::MAX / 2);
    let high = Stamp { path: vec![name.clone(), "$lt".to_owned()], add, ..stamp.clone() };
    let bound = |stamp: &Stamp| value_of(stamp, &Input::default()).unwrap_or(Bson::Int32(0));
    let bounds =
        Document::from_iter([("$gte".to_owned(), bound(&low)), ("$lt".to_owned(), bound(&high))]);
    Some(of_document(Document::from_iter([(name, Bson::Document(bounds))]), vec![low, high]))
}

fn update(
    check: &mut Check<'_>,
    site: &Site<'_>,
    keys: &OperationKeys,
    collection: &Collection,
    place: Location,
) -> Option<Template> {
    match (&keys.set, &keys.update) {
        (Some(set), None) => Some(set_of(check, site, set, collection)),
        (None, Some(update)) => {
            check_update(check, update, collection);
            Some(template(check, update, None))
        }
        (Some(_), Some(update)) => {
            check.wrong(update.place, "`set` and `update` exclude each other", "keep one");
            None
        }
        (None, None) => {
            let hint = "`set: {number: {type: long, value: sequence}}`";
            check.wrong(place, "update_one needs `set` or `update`", hint);
            None
        }
    }
}

fn set_of(
    check: &mut Check<'_>,
    site: &Site<'_>,
    set: &At<Named<At<Field>>>,
    collection: &Collection,
) -> Template {
    if set.value.0.is_empty() {
        check.wrong(set.place, "`set` sets nothing", "`set: {n: {type: long, value: sequence}}`");
    }
    for (name, _) in &set.value.0 {
        not_the_key(check, &name.value, name.place, collection);
    }
    let mut stamps = Vec::new();
    let shapes = layout::shapes(check, &set.value, &mut vec!["$set".to_owned()], &mut stamps);
    let label = format!("{}/{}", site.phase, collection.name);
    let values: Document = shapes
        .iter()
        .map(|(name, shape)| (name.clone(), one_value(shape, site.seed, &label)))
        .collect();
    of_document(Document::from_iter([("$set".to_owned(), Bson::Document(values))]), stamps)
}

fn check_update(check: &mut Check<'_>, update: &At<Tree>, collection: &Collection) {
    let Tree::Map(operators) = &update.value else { return };
    for (operator, fields) in operators {
        if !operator.value.starts_with('$') {
            let message = format!("`{}` is no update operator", operator.value);
            check.wrong(operator.place, message, "`$set`, `$inc`, …; or use replace_one");
        }
        if let Tree::Map(fields) = &fields.value {
            for (name, _) in fields {
                not_the_key(check, &name.value, name.place, collection);
            }
        }
    }
}

fn not_the_key(check: &mut Check<'_>, name: &str, place: Location, collection: &Collection) {
    let is_key = |stamp: &Stamp| stamp.from == StampSource::Key && stamp.path.join(".") == name;
    if name == "_id" || collection.stamps.iter().any(is_key) {
        let message = format!("`{name}` is made of the key: later operations would not find it");
        check.wrong(place, message, "change another field");
    }
}
