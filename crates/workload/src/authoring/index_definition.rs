//! Checks the indexes of a collection by themselves.

use super::checking::Check;
use super::index_yaml::{IndexKeys, IndexYaml, IndexedAsYaml};
use super::located::{At, NamedEntries};
use super::tree::YamlTree;
use super::values;
use crate::plan::{Index, IndexedAs};
use bson::Document;

/// Options that are keys here.
const OWN_KEYS: [(&str, &str); 6] = [
    ("collation", "collation"),
    ("expireAfterSeconds", "expire_after"),
    ("key", "keys"),
    ("partialFilterExpression", "partial"),
    ("sparse", "sparse"),
    ("unique", "unique"),
];

pub fn indexes(check: &mut Check<'_>, given: &[At<IndexYaml>]) -> Vec<Index> {
    let mut made = Vec::new();
    let mut texts = 0;
    for index in given {
        if let IndexYaml::Full(keys) = &index.value
            && has_kind(keys, "text")
        {
            texts += 1;
            if texts == 2 {
                let message = "a collection has one text index at most";
                check.wrong(index.place, message, "list the fields of both in one index");
            }
        }
        made.push(index_of(check, index));
    }
    made
}

/// One index by itself.
pub fn index_of(check: &mut Check<'_>, index: &At<IndexYaml>) -> Index {
    match &index.value {
        IndexYaml::Full(keys) => full(check, index, keys),
        IndexYaml::Field(field) => {
            let keys = vec![(field.clone(), IndexedAs::Direction(1))];
            Index { keys, unique: false, options: Document::new() }
        }
    }
}

fn has_kind(keys: &IndexKeys, kind: &'static str) -> bool {
    keys.keys.0.iter().any(|(_, at)| at.value == IndexedAsYaml::Kind(kind))
}

fn full(check: &mut Check<'_>, index: &At<IndexYaml>, given: &IndexKeys) -> Index {
    let keys = &given.keys.0;
    if keys.is_empty() {
        check.wrong(index.place, "the index has no fields", "write `{keys: {number: 1}}`");
    }
    let is_wildcard = keys.iter().any(|(name, _)| name.value.ends_with("$**"));
    let kind = keys.iter().find_map(|(_, at)| match at.value {
        IndexedAsYaml::Kind(kind @ ("hashed" | "text")) => Some(kind),
        _ => is_wildcard.then_some("wildcard"),
    });
    if let Some(kind) = kind.filter(|_| given.unique) {
        let message = format!("a {kind} index cannot be unique");
        check.wrong(index.place, message, "leave out `unique`");
    }
    let mut options = Document::new();
    if given.sparse {
        options.insert("sparse", true);
    }
    if let Some(partial) = &given.partial {
        options.insert("partialFilterExpression", mapping(check, &partial.value));
        if given.sparse {
            let hint = "leave one out: `partial: {field: {$exists: true}}` is sparse";
            check.wrong(partial.place, "an index is either sparse or partial", hint);
        }
    }
    if let Some(after) = &given.expire_after {
        let ordered = matches!(keys[..], [(_, At { value: IndexedAsYaml::Direction(_), .. })]);
        if !ordered || is_wildcard || keys[0].0.value == "_id" {
            let message = "`expire_after` needs an index of one field, 1 or -1, and not of `_id`";
            check.wrong(after.place, message, "give the field of the date an index for itself");
        }
        let seconds = after.value.0;
        if seconds.fract() != 0.0 || seconds > f64::from(i32::MAX) {
            let message = format!("a server cannot wait {seconds} s");
            check.wrong(after.place, message, "write whole seconds, 2147483647 at most");
        }
        options.insert("expireAfterSeconds", seconds as i32);
    }
    if let Some(collation) = &given.collation {
        options.insert("collation", mapping(check, &collation.value));
    }
    for (name, value) in given.options.iter().flat_map(|options| &options.value.0) {
        if let Some((_, own)) = OWN_KEYS.iter().find(|(known, _)| *known == name.value) {
            let message = format!("`{}` is no further option", name.value);
            check.wrong(name.place, message, format!("write `{own}:` beside `keys:`"));
        }
        options.insert(name.value.clone(), values::constant(check, value));
    }
    let keys = keys.iter().map(|(name, at)| (name.value.clone(), plan_form(&at.value))).collect();
    Index { keys, unique: given.unique, options }
}

fn plan_form(given: &IndexedAsYaml) -> IndexedAs {
    match given {
        IndexedAsYaml::Direction(direction) => IndexedAs::Direction(*direction),
        IndexedAsYaml::Kind(kind) => IndexedAs::Kind((*kind).to_owned()),
    }
}

/// Constants by name.
pub fn mapping(check: &mut Check<'_>, entries: &NamedEntries<At<YamlTree>>) -> Document {
    let mut made = Document::new();
    for (name, value) in &entries.0 {
        made.insert(name.value.clone(), values::constant(check, value));
    }
    made
}
