//! Order, index, collation and longest time of the operations that read documents.

use super::making::Making;
use crate::authoring::collections::check_directions;
use crate::authoring::fields::FieldYaml;
use crate::authoring::index_definition::index_of;
use crate::authoring::located::{At, Location, NamedEntries};
use crate::authoring::problem::did_you_mean;
use crate::authoring::sent::Form;
use crate::authoring::template::template;
use crate::authoring::yaml::CollectionYaml;
use crate::plan::{IndexedAs, Template};
use bson::{Bson, Document};

impl Making<'_, '_, '_> {
    /// All that is given; which of it belongs to an operation, its keys say.
    pub fn find_options(&mut self) {
        self.sort();
        self.hint();
        let keys = self.keys;
        if let Some(collation) = &keys.collation {
            let made = template(self.check, collation, Form::Document);
            if !matches!(made.document.get("locale"), Some(Bson::String(_))) {
                let message = "a collation needs a locale";
                self.check.wrong(collation.place, message, "write `{locale: en}`");
            }
            self.not_stamped(&made, collation.place);
            self.made.collation = Some(made);
        }
        if let Some(time) = &keys.max_time {
            let ms = (time.value.0 * 1000.0).round();
            if ms < 1.0 {
                let message = "the longest time is less than 1 ms, which servers take for none";
                self.check.wrong(time.place, message, "write `1ms` or more");
            }
            self.made.max_time_ms = Some(ms as u64);
        }
    }

    fn sort(&mut self) {
        let keys = self.keys;
        if let Some(skip) = keys.skip.as_ref().filter(|_| keys.sort.is_none()) {
            let message = "without an order it is not known which documents `skip` passes over";
            self.check.wrong(skip.place, message, "add `sort:`, such as `sort: {_id: 1}`");
        }
        self.made.skip = keys.skip.as_ref().map(|skip| skip.value);
        let Some(sort) = &keys.sort else { return };
        if sort.value.0.is_empty() {
            self.check.wrong(sort.place, "the sort has no fields", "write `{number: 1}`");
        }
        check_directions(self.check, &sort.value.0, "a sort");
        for (name, _) in &sort.value.0 {
            self.known_field(&name.value, name.place);
        }
        let entries = sort.value.0.iter();
        let document = entries.map(|(name, way)| (name.value.clone(), Bson::Int32(way.value)));
        self.made.sort = Some(Template { document: document.collect(), ..Template::default() });
    }

    fn hint(&mut self) {
        let (Some(hint), Some(collection)) = (&self.keys.hint, self.collection()) else { return };
        let keys = index_of(self.check, hint).keys;
        let of_id = keys == [("_id".to_owned(), IndexedAs::Direction(1))];
        if !of_id && !collection.indexes.iter().any(|index| index.keys == keys) {
            let name = |(name, way): &(String, IndexedAs)| format!("{name}: {}", way.bson());
            let names: Vec<_> = keys.iter().map(name).collect();
            let names = names.join(", ");
            let message = format!("`{}` has no index {{{names}}}", collection.name);
            let way = format!("add it to the `indexes:` of `{}`", collection.name);
            self.check.wrong(hint.place, message, way);
        }
        let document: Document = keys.into_iter().map(|(name, way)| (name, way.bson())).collect();
        self.made.hint = Some(Template { document, ..Template::default() });
    }

    /// Complains of a field that no document has. What a user's file holds is not looked at.
    pub fn known_field(&mut self, path: &str, place: Location) {
        let Some(collection) = self.collection() else { return };
        let given = self.check.loaded.file.collections.get(&collection.name);
        let made = |given: &&At<CollectionYaml>| given.value.document.is_some();
        let Some(given) = given.filter(made) else { return };
        let none = NamedEntries::default();
        let fields = given.value.document.as_ref().map_or(&none, |document| &document.value);
        if path == "_id" || has(fields, path) {
            return;
        }
        let message = format!("no document of `{}` has a field `{path}`", collection.name);
        let hint = did_you_mean(path, fields.names());
        let hint = hint.or_else(|| Some(format!("add `{path}:` to its `document:`")));
        self.check.wrong_maybe(place, message, hint);
    }

    fn not_stamped(&mut self, made: &Template, place: Location) {
        if !made.stamps.is_empty() {
            let message = "a collation is the same for all operations";
            self.check.wrong(place, message, "write it without a `$stamp`");
        }
    }
}

/// Whether documents of such fields have a value at a path, as servers follow it through arrays.
fn has(fields: &NamedEntries<At<FieldYaml>>, path: &str) -> bool {
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    fields.get(name).is_some_and(|field| within(&field.value, rest))
}

fn within(field: &FieldYaml, rest: Option<&str>) -> bool {
    let (Some(rest), keys) = (rest, &field.0) else { return true };
    match (&keys.fields, &keys.of) {
        (Some(fields), _) => has(&fields.value, rest),
        (None, Some(of)) => within(&of.value, Some(rest)),
        // A constant may be a document.
        (None, None) => keys.constant.is_some() || keys.one_of.is_some(),
    }
}
