//! Free YAML to BSON: its own types, and Extended JSON.

use bson::{Bson, Document};
use serde::Deserialize as _;
use serde::de::value::{Error as ValueError, StrDeserializer};

use super::checking::Check;
use super::fields::{FieldKeys, FieldType};
use super::located::At;
use super::tree::YamlTree;

/// The Extended JSON that is understood.
const EXTENDED: [&str; 12] = [
    "$oid",
    "$numberInt",
    "$numberLong",
    "$numberDouble",
    "$numberDecimal",
    "$date",
    "$binary",
    "$uuid",
    "$timestamp",
    "$regularExpression",
    "$minKey",
    "$maxKey",
];

/// Extended JSON whose numbers are no text.
const OF_NUMBERS: [&str; 3] = ["$timestamp", "$minKey", "$maxKey"];

/// Keys, beside operators, under which a mapping holds fields or conditions.
const OF_FIELDS: [&str; 8] =
    ["documents", "filter", "pipeline", "q", "query", "restrictSearchWithMatch", "u", "update"];
/// Operators whose operand is a value, or a list of them.
const OF_VALUES: [&str; 10] =
    ["$all", "$each", "$eq", "$gt", "$gte", "$in", "$lt", "$lte", "$ne", "$nin"];

/// A constant: no stamps in it.
pub fn constant(check: &mut Check<'_>, tree: &At<YamlTree>) -> Bson {
    to_bson(check, tree, &mut Vec::new(), &mut None)
}

/// Asked for the value in the place of a `$stamp`.
type Stamper<'a> = dyn FnMut(&mut Check<'_>, &At<YamlTree>, &[String]) -> Bson + 'a;

/// Gives every `$stamp` to `stamp`. Without one, generators' words are plain text, and a `$stamp`
/// is a mistake.
pub fn to_bson(
    check: &mut Check<'_>,
    tree: &At<YamlTree>,
    path: &mut Vec<String>,
    stamp: &mut Option<&mut Stamper<'_>>,
) -> Bson {
    match &tree.value {
        YamlTree::Null => Bson::Null,
        YamlTree::Bool(value) => Bson::Boolean(*value),
        YamlTree::Int(value) => i32::try_from(*value).map_or(Bson::Int64(*value), Bson::Int32),
        YamlTree::Double(value) => Bson::Double(*value),
        YamlTree::String(value) => {
            check.reserved(value, tree.place);
            Bson::String(value.clone())
        }
        YamlTree::List(items) => {
            let mut made = Vec::new();
            for (number, item) in items.iter().enumerate() {
                path.push(number.to_string());
                made.push(to_bson(check, item, path, stamp));
                path.pop();
            }
            Bson::Array(made)
        }
        YamlTree::Map(entries) => {
            if let [(name, value)] = &entries[..] {
                if name.value == "$stamp" {
                    let Some(stamp) = stamp else {
                        let hint = "use `value:` on the field";
                        check.wrong(value.place, "a constant cannot have a `$stamp`", hint);
                        return Bson::Null;
                    };
                    return stamp(check, value, path);
                }
                if name.value == "constant" && stamp.is_some() && is_value(path) {
                    return constant(check, value);
                }
                if EXTENDED.contains(&name.value.as_str()) {
                    return extended(check, tree);
                }
            }
            if let Some(word) = generator(entries).filter(|_| stamp.is_some() && is_value(path)) {
                let message = format!("`{}` makes values only in a `document`", word.value);
                let hint = "write `{$stamp: key}` for a value made per operation, or \
                            `{constant: …}` to send this as it is written";
                check.wrong(word.place, message, hint);
            }
            let mut document = Document::new();
            for (name, value) in entries {
                path.push(name.value.clone());
                let value = to_bson(check, value, path, stamp);
                document.insert(name.value.clone(), value);
                path.pop();
            }
            Bson::Document(document)
        }
    }
}

/// Whether a path leads to the value of a field, and not to fields or conditions.
fn is_value(path: &[String]) -> bool {
    let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let Some(key) = path.iter().rev().find(|name| !is_number(name)) else { return false };
    let key = key.as_str();
    if key.starts_with('$') { OF_VALUES.contains(&key) } else { !OF_FIELDS.contains(&key) }
}

/// The word that makes a mapping a field of a `document`: it has `one_of` or a known `type`, and no
/// other keys than fields have.
fn generator(entries: &[(At<String>, At<YamlTree>)]) -> Option<&At<String>> {
    let (word, _) = entries.iter().find(|(name, value)| match (&*name.value, &value.value) {
        ("one_of", YamlTree::List(_)) | ("key_of", YamlTree::String(_)) => true,
        ("type", YamlTree::String(word)) => {
            FieldType::deserialize(StrDeserializer::<ValueError>::new(word)).is_ok()
        }
        _ => false,
    })?;
    let keys = schemars::schema_for!(FieldKeys);
    let known = |name: &str| keys.as_value()["properties"].get(name).is_some();
    entries.iter().all(|(name, _)| known(&name.value)).then_some(word)
}

fn extended(check: &mut Check<'_>, tree: &At<YamlTree>) -> Bson {
    fn json(tree: &YamlTree, as_text: bool) -> serde_json::Value {
        match tree {
            YamlTree::Null => serde_json::Value::Null,
            YamlTree::Bool(value) => (*value).into(),
            YamlTree::Int(value) if !as_text => (*value).into(),
            // Canonical Extended JSON writes most numbers as text; people do not.
            YamlTree::Int(value) => value.to_string().into(),
            YamlTree::Double(value) => value.to_string().into(),
            YamlTree::String(value) => value.clone().into(),
            YamlTree::List(items) => items.iter().map(|item| json(&item.value, as_text)).collect(),
            YamlTree::Map(entries) => serde_json::Value::Object(
                entries
                    .iter()
                    .map(|(name, value)| {
                        let as_text = !OF_NUMBERS.contains(&name.value.as_str()) && as_text;
                        (name.value.clone(), json(&value.value, as_text))
                    })
                    .collect(),
            ),
        }
    }
    Bson::try_from(json(&tree.value, true)).unwrap_or_else(|error| {
        check.wrong(
            tree.place,
            format!("this is not Extended JSON: {error}"),
            "write it as in `{$oid: <24 hex digits>}`",
        );
        Bson::Null
    })
}
