//! Free YAML to templates: documents and their stamps.

use bson::{Bson, Document};
use serde::Deserialize;
use serde::de::value::{Error as ValueError, StrDeserializer};

use super::checking::Check;
use super::field_stamps;
use super::fields::{FieldKeys, FieldType};
use super::located::At;
use super::problem::did_you_mean;
use super::sent::{Form, check_sent};
use super::tree::YamlTree;
use super::values::to_bson;
use crate::plan::{Stamp, StampSource, Template};
use crate::replay::stamp::{Input, value_of};

pub fn template(check: &mut Check<'_>, tree: &At<YamlTree>, form: Form<'_>) -> Template {
    let wrap = matches!(form, Form::Pipeline(_)).then_some("pipeline");
    let mut stamps = Vec::new();
    let mut path: Vec<String> = wrap.iter().map(|name| (*name).to_owned()).collect();
    let mut stamp = |check: &mut Check<'_>, value: &At<YamlTree>, path: &[String]| {
        stamped(check, value, path, &mut stamps)
    };
    let value = to_bson(check, tree, &mut path, &mut Some(&mut stamp));
    let document = match (wrap, value) {
        (Some(name), value) => Document::from_iter([(name.to_owned(), value)]),
        (None, Bson::Document(document)) => document,
        (None, _) => {
            let message = format!("{} cannot be here", tree.value.kind());
            check.wrong(tree.place, message, "write a mapping");
            Document::new()
        }
    };
    let mentions = check_sent(check, tree, &document, form);
    for mention in &mentions {
        if stamps.iter().any(|stamp: &Stamp| stamp.path == mention.path) {
            check.wrong(tree.place, "a collection has one name", "write it without a `$stamp`");
        }
    }
    Template { document, stamps, mentions }
}

fn stamped(
    check: &mut Check<'_>,
    value: &At<YamlTree>,
    path: &[String],
    stamps: &mut Vec<Stamp>,
) -> Bson {
    let Some(keys) = stamp_keys(check, value) else { return Bson::Null };
    let Some(source) = &keys.value else {
        let hint = "write `{$stamp: key}` or `{$stamp: {type: int, value: key}}`";
        check.wrong(value.place, "a `$stamp` needs a `value`", hint);
        return Bson::Null;
    };
    let Some(mut stamp) = field_stamps::stamp(check, &keys, source, value.place) else {
        return Bson::Null;
    };
    path.clone_into(&mut stamp.path);
    let placeholder = value_of(&stamp, &Input::default());
    stamps.push(stamp);
    placeholder.unwrap_or(Bson::Null)
}

/// Reads `key` or `{type: …, value: …}` out of free YAML.
fn stamp_keys(check: &mut Check<'_>, tree: &At<YamlTree>) -> Option<FieldKeys> {
    let mut keys = FieldKeys::default();
    let entries = match &tree.value {
        YamlTree::String(_) => {
            keys.value = Some(word(check, tree)?);
            return Some(keys);
        }
        YamlTree::Map(entries) => entries,
        _ => {
            let hint = "write `{$stamp: key}` or `{$stamp: {type: int, value: key}}`";
            check.wrong(tree.place, "this cannot be a `$stamp`", hint);
            return None;
        }
    };
    for (name, value) in entries {
        match (name.value.as_str(), &value.value) {
            ("value", _) => keys.value = Some(word::<StampSource>(check, value)?),
            ("type", _) => keys.kind = Some(word::<FieldType>(check, value)?),
            ("add", YamlTree::Int(add)) => keys.add = Some(At { value: *add, place: value.place }),
            ("width", YamlTree::Int(width)) => {
                let width = u32::try_from(*width).unwrap_or(u32::MAX);
                keys.width = Some(At { value: width, place: value.place });
            }
            ("prefix", YamlTree::String(prefix)) => {
                keys.prefix = Some(At { value: prefix.clone(), place: value.place });
            }
            (other, _) => {
                let hint = did_you_mean(other, ["type", "value", "add", "prefix", "width"]);
                check.wrong_maybe(name.place, format!("`{other}` cannot be here"), hint);
                return None;
            }
        }
    }
    Some(keys)
}

fn word<T: for<'de> Deserialize<'de>>(check: &mut Check<'_>, tree: &At<YamlTree>) -> Option<At<T>> {
    let YamlTree::String(text) = &tree.value else {
        check.wrong(tree.place, format!("{} cannot be here", tree.value.kind()), "write a word");
        return None;
    };
    match T::deserialize(StrDeserializer::<ValueError>::new(text)) {
        Ok(value) => Some(At { value, place: tree.place }),
        Err(error) => {
            // "unknown variant `a`, expected one of `b`, `c`"
            let known = error.to_string();
            let known = known.split_once(", expected ").map_or("", |(_, known)| known);
            let hint = did_you_mean(text, known.split('`').skip(1).step_by(2));
            check.wrong_maybe(tree.place, format!("`{text}` is not known here"), hint);
            None
        }
    }
}
