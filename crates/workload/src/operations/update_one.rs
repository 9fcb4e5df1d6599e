//! `update_one`: fields of the key's document, or an update of the workload.

use super::about::{About, Effect};
use super::making::{Making, Site};
use crate::authoring::checking::Check;
use crate::authoring::document::one_value;
use crate::authoring::fields::FieldYaml;
use crate::authoring::layout;
use crate::authoring::located::{At, Location, NamedEntries};
use crate::authoring::sent::Form;
use crate::authoring::template::template;
use crate::authoring::tree::YamlTree;
use crate::plan::{Collection, Stamp, StampSource, Template};
use bson::{Bson, Document};

pub const ABOUT: About = About {
    keys: &["collection", "by", "filter", "set", "update", "upsert", "expect"],
    effect: Effect::Updates,
    ..About::write("opcounters.update", make_one)
};

fn make_one(making: &mut Making<'_, '_, '_>) -> Option<()> {
    make(making)?;
    making.expect_missing();
    Some(())
}

/// The same for many, and for those that answer the document.
pub fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    making.filter()?;
    making.made.update = Some(update(making)?);
    making.upsert();
    Some(())
}

fn update(making: &mut Making<'_, '_, '_>) -> Option<Template> {
    let collection = making.collection()?;
    let (check, keys) = (&mut *making.check, making.keys);
    match (&keys.set, &keys.update) {
        (Some(set), None) => Some(set_of(check, making.site, set, collection)),
        (None, Some(update)) => {
            check_update(check, update, collection);
            Some(template(check, update, Form::Document))
        }
        (Some(_), Some(update)) => {
            check.wrong(
                update.place,
                "`set` and `update` exclude each other",
                "leave one of the two out",
            );
            None
        }
        (None, None) => {
            let hint = "add `set: {number: {type: long, value: sequence}}`";
            check.wrong(making.place, "update_one needs `set` or `update`", hint);
            None
        }
    }
}

fn set_of(
    check: &mut Check<'_>,
    site: &Site<'_>,
    set: &At<NamedEntries<At<FieldYaml>>>,
    collection: &Collection,
) -> Template {
    if set.value.0.is_empty() {
        check.wrong(
            set.place,
            "`set` changes no field",
            "write `set: {n: {type: long, value: sequence}}`",
        );
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
    let document = Document::from_iter([("$set".to_owned(), Bson::Document(values))]);
    Template { document, stamps, ..Template::default() }
}

fn check_update(check: &mut Check<'_>, update: &At<YamlTree>, collection: &Collection) {
    let YamlTree::Map(operators) = &update.value else { return };
    for (operator, fields) in operators {
        if !operator.value.starts_with('$') {
            let message = format!("`{}` is not an update operator", operator.value);
            check.wrong(
                operator.place,
                message,
                "begin with `$set`, `$inc` or another operator, or use replace_one",
            );
        }
        if let YamlTree::Map(fields) = &fields.value {
            for (name, _) in fields {
                not_the_key(check, &name.value, name.place, collection);
            }
        }
        if let ("$rename", YamlTree::Map(fields)) = (operator.value.as_str(), &fields.value) {
            for (_, new) in fields {
                if let YamlTree::String(name) = &new.value {
                    not_the_key(check, name, new.place, collection);
                }
            }
        }
    }
}

fn not_the_key(check: &mut Check<'_>, name: &str, place: Location, collection: &Collection) {
    // A field within it, or around it, is replaced as well.
    let overlap = |path: &str| {
        path == name
            || path.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
            || name.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'))
    };
    let is_key = |stamp: &Stamp| stamp.from == StampSource::Key && overlap(&stamp.path.join("."));
    if name == "_id" || collection.stamps.iter().any(is_key) {
        let message = format!("`{name}` is made of the key: later operations would not find it");
        check.wrong(place, message, "change another field");
    }
}
