//! Steps that several operations share in making their templates.

use bson::{Bson, Document};
use serde_saphyr::Location;

use crate::at::At;
use crate::check::Check;
use crate::error::did_you_mean;
use crate::plan::{Collection, Documents, Operation, Stamp, StampForm, StampSource, Template};
use crate::schema::OperationKeys;
use crate::stamp::{Input, value_of};
use crate::template::{of_document, template};

/// The phase and workload, as an operation sees them.
pub struct Site<'a> {
    /// Collections that could be made.
    pub collections: &'a [Collection],
    /// Names of all collections, the wrong ones too.
    pub names: Vec<&'a str>,
    /// Seed of constants drawn once.
    pub seed: u64,
    pub phase: &'a str,
    /// Collections whose pools this phase uses, in the order of `prepare`.
    pub pools: Vec<u32>,
}

/// One operation on its way from YAML to its template.
pub struct Making<'a, 'l, 's> {
    pub check: &'a mut Check<'l>,
    pub site: &'a mut Site<'s>,
    /// As the YAML has it.
    pub keys: &'a OperationKeys,
    pub made: &'a mut Operation,
    /// Number of its collection.
    pub index: Option<usize>,
    /// Of the operation in the YAML.
    pub place: Location,
}

impl<'s> Making<'_, '_, 's> {
    pub fn collection(&self) -> Option<&'s Collection> {
        self.index.map(|index| &self.site.collections[index])
    }

    /// The pool of its collection becomes that of its documents.
    pub fn documents(&mut self) -> Option<()> {
        self.made.documents = Some(documents_of(self.site, self.index?));
        Some(())
    }

    /// The document of the key is looked for.
    pub fn filter_by_key(&mut self) -> Option<()> {
        let collection = self.collection()?;
        self.made.filter = Some(filter_by(self.check, self.keys, collection)?);
        Some(())
    }

    /// The key, a range of keys or a filter of one's own is looked for.
    pub fn filter(&mut self) -> Option<()> {
        let collection = self.collection()?;
        self.made.filter = Some(read_filter(self.check, self.keys, collection)?);
        Some(())
    }

    /// The field that is added up: the one looked for, else any whole number made of the key.
    pub fn sum_field(&mut self) {
        let whole = |stamp: &&Stamp| {
            stamp.path.len() == 1
                && stamp.from == StampSource::Key
                && matches!(stamp.form, StampForm::Int32 | StampForm::Int64)
        };
        let by = self.keys.by.as_ref().map_or("_id", |by| by.value.as_str());
        let stamps = self.collection().map_or(&[][..], |it| &it.stamps);
        let found = stamps.iter().filter(whole).max_by_key(|stamp| stamp.path[0] == by);
        self.made.sum_field = found.map(|stamp| stamp.path[0].clone());
    }

    pub fn upsert(&mut self) {
        self.made.upsert = self.keys.upsert.as_ref().map(|upsert| upsert.value);
    }

    pub fn batch_size(&mut self) {
        self.made.batch_size = self.keys.batch_size.as_ref().map(|size| size.value);
    }
}

/// A key that the operation cannot do without.
pub fn needed<'a, T>(
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
