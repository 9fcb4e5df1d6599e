//! Steps that several operations share in making their templates.

use crate::authoring::checking::Check;
use crate::authoring::located::{At, Location};
use crate::authoring::problem::did_you_mean;
use crate::authoring::sent::Form;
use crate::authoring::template::template;
use crate::authoring::yaml::OperationKeys;
use crate::authoring::yaml_values::Amount;
use crate::plan::{
    Collection, Count, Operation, Stamp, StampForm, StampSource, Template, WrittenDocuments,
};
use crate::replay::stamp::{Input, value_of};
use bson::{Bson, Document};

/// The phase and workload, as an operation sees them.
pub struct Site<'a> {
    /// Collections that could be made.
    pub collections: &'a [Collection],
    /// Names of all collections, the wrong ones too.
    pub names: Vec<&'a str>,
    /// Seed of constants drawn once.
    pub seed: u64,
    pub phase: &'a str,
    /// Whether the phase goes on with what the one before it left.
    pub continues: bool,
    /// Documents that the phase inserts in all, where that ends it.
    pub documents: Option<u64>,
    /// Workers of all its processes.
    pub all_workers: u64,
    /// Names of the file's shapes.
    pub shapes: Vec<&'a str>,
    /// Collections whose pools this phase uses, in the order of `prepare`.
    pub pools: Vec<u32>,
}

/// One operation on its way from YAML to its template.
pub struct Making<'a, 'l, 's> {
    pub check: &'a mut Check<'l>,
    pub site: &'a mut Site<'s>,
    /// Keys of the operation in the YAML.
    pub keys: &'a OperationKeys,
    pub made: &'a mut Operation,
    /// Number of its collection.
    pub index: Option<usize>,
    /// Place of the operation in the YAML.
    pub place: Location,
}

impl<'s> Making<'_, '_, 's> {
    pub fn collection(&self) -> Option<&'s Collection> {
        self.index.map(|index| &self.site.collections[index])
    }

    /// The pool of its collection, or of the one that it names, becomes that of its documents.
    pub fn documents(&mut self) -> Option<()> {
        let from = match &self.keys.document_of {
            None => self.index?,
            Some(name) => self.another_with_the_same_id(name)?,
        };
        self.made.documents = Some(documents_of(self.site, from));
        Some(())
    }

    fn another_with_the_same_id(&mut self, name: &At<String>) -> Option<usize> {
        let known = self.site.collections;
        let Some(from) = known.iter().position(|it| it.name == name.value) else {
            let hint = did_you_mean(&name.value, self.site.names.iter().copied());
            let message = format!("there is no collection `{}`", name.value);
            self.check.wrong_maybe(name.place, message, hint);
            return None;
        };
        let id = |number: usize| known[number].stamps.iter().find(|it| it.path == ["_id"]);
        if id(from) != id(self.index?) {
            let message = format!("the `_id` of `{}` is made in another way", name.value);
            self.check.wrong(name.place, message, "give both collections the same `_id:`");
        }
        Some(from)
    }

    /// A `find` may answer so many documents.
    pub fn limit(&mut self) {
        let Some(limit) = &self.keys.limit else { return };
        self.made.count = Some(match limit.value {
            Amount::Fixed(count) => Count::Fixed { count },
            Amount::Drawn(low, high) => Count::Drawn { low, high },
        });
        if let Amount::Drawn(low, high) = limit.value
            && (low == 0 || low > high)
        {
            let message = format!("the limit cannot be drawn from {low} to {high}");
            self.check.wrong(
                limit.place,
                message,
                "write the smaller number first, `{uniform: [1, 100]}`, from 1 on",
            );
        }
    }

    /// All that says how documents are read: their fields, their class, what is added up.
    pub fn read_documents(&mut self) {
        self.sum_field();
        self.shape();
        self.batch_size();
        if let Some(projection) = &self.keys.projection {
            let made = template(self.check, projection, Form::Document);
            let summed = self.made.sum_field.take();
            self.made.sum_field = summed.filter(|field| shows(&made.document, field));
            self.made.projection = Some(made);
        }
    }

    /// The class that maps its documents.
    pub fn shape(&mut self) {
        let Some(shape) = &self.keys.shape else { return };
        if !self.site.shapes.contains(&shape.value.as_str()) {
            let hint = did_you_mean(&shape.value, self.site.shapes.iter().copied());
            let hint = hint.or(Some("list its fields under `shapes:`".to_owned()));
            self.check.wrong_maybe(
                shape.place,
                format!("there is no shape `{}`", shape.value),
                hint,
            );
        }
        self.made.shape = Some(shape.value.clone());
    }

    /// Makes the filter: the key, a range of keys, or a filter of the workload.
    pub fn filter(&mut self) -> Option<()> {
        let collection = self.collection()?;
        self.made.filter = Some(read_filter(self.check, self.keys, collection)?);
        Some(())
    }

    /// Documents from the key on are looked for.
    pub fn filter_from_key(&mut self) -> Option<()> {
        let collection = self.collection()?;
        let stamp = key_stamp(self.check, self.keys, collection)?;
        let name = stamp.path.join(".");
        let low = Stamp { path: vec![name.clone(), "$gte".to_owned()], ..stamp.clone() };
        let bounds = Document::from_iter([("$gte".to_owned(), placeholder(&low))]);
        let document = Document::from_iter([(name, Bson::Document(bounds))]);
        self.made.filter = Some(Template { document, stamps: vec![low], ..Template::default() });
        Some(())
    }

    /// The field that is added up: the one looked for, else any whole number made of the key.
    fn sum_field(&mut self) {
        let by = self.keys.by.as_ref().map_or("_id", |by| by.value.as_str());
        self.sum_whole(|_| true);
        self.sum_whole(|stamp| stamp.path[0] == by);
    }

    /// Adds up a whole number made of the key, if there is such a one.
    pub fn sum_whole(&mut self, wanted: impl Fn(&Stamp) -> bool) {
        let whole = |stamp: &&Stamp| {
            stamp.path.len() == 1
                && stamp.from == StampSource::Key
                && matches!(stamp.form, StampForm::Int32 | StampForm::Int64)
        };
        let stamps = self.collection().map_or(&[][..], |it| &it.stamps);
        if let Some(found) = stamps.iter().filter(whole).rfind(|stamp| wanted(stamp)) {
            self.made.sum_field = Some(found.path[0].clone());
        }
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

fn documents_of(site: &mut Site<'_>, collection: usize) -> WrittenDocuments {
    let stamps = site.collections[collection].stamps.clone();
    let number = collection as u32;
    let known = site.pools.iter().position(|pool| *pool == number);
    let pool = known.unwrap_or_else(|| {
        site.pools.push(number);
        site.pools.len() - 1
    });
    WrittenDocuments { pool: pool as u32, stamps }
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
    let document = Document::from_iter([(name, value)]);
    Some(Template { document, stamps: vec![stamp], ..Template::default() })
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
                check.wrong(
                    place,
                    format!("`{name}` and `filter` exclude each other"),
                    "leave one of the two out",
                );
            }
        }
        return Some(template(check, filter, Form::Document));
    }
    let Some(range) = &keys.range else { return filter_by(check, keys, collection) };
    let stamp = key_stamp(check, keys, collection)?;
    if stamp.form == StampForm::Guid || stamp.form == StampForm::GuidString {
        let message = format!("guids of `{}` have no upper end", stamp.path.join("."));
        check.wrong(
            range.place,
            message,
            "use `operation: scan` with a `limit:`, or another `by:`",
        );
        return None;
    }
    if range.value == 0 {
        check.wrong(range.place, "a range cannot have 0 keys", "make it 1 or more");
        return None;
    }
    let name = stamp.path.join(".");
    let low = Stamp { path: vec![name.clone(), "$gte".to_owned()], ..stamp.clone() };
    let add = stamp.add + i64::try_from(range.value).unwrap_or(i64::MAX / 2);
    let high = Stamp { path: vec![name.clone(), "$lt".to_owned()], add, ..stamp.clone() };
    let bounds = [("$gte".to_owned(), placeholder(&low)), ("$lt".to_owned(), placeholder(&high))];
    let document = Document::from_iter([(name, Bson::Document(Document::from_iter(bounds)))]);
    Some(Template { document, stamps: vec![low, high], ..Template::default() })
}

/// Stands in a template where a stamp comes.
fn placeholder(stamp: &Stamp) -> Bson {
    value_of(stamp, &Input::default()).unwrap_or(Bson::Int32(0))
}

/// Whether a document still has a field after a projection.
fn shows(projection: &Document, field: &str) -> bool {
    let keeps = |value: &Bson| !matches!(value, Bson::Int32(0) | Bson::Boolean(false));
    match projection.get(field) {
        Some(value) => keeps(value),
        None => field == "_id" || !projection.values().any(keeps),
    }
}
