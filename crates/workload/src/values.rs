//! Free YAML to BSON: its own types, and Extended JSON.

use bson::{Bson, Document};

use super::at::At;
use super::check::Check;
use super::tree::Tree;

/// The Extended JSON that is understood.
const EXTENDED: [&str; 6] =
    ["$oid", "$numberInt", "$numberLong", "$numberDouble", "$date", "$binary"];

/// A constant: no stamps in it.
pub fn constant(check: &mut Check<'_>, tree: &At<Tree>) -> Bson {
    to_bson(check, tree, &mut Vec::new(), &mut |check, value, _| {
        check.wrong(value.place, "a constant cannot have a `$stamp`", "use `value:` on the field");
        Bson::Null
    })
}

/// Asked for the value in the place of a `$stamp`.
type Stamper<'a> = dyn FnMut(&mut Check<'_>, &At<Tree>, &[String]) -> Bson + 'a;

/// Every `$stamp` is given to `stamp`.
pub fn to_bson(
    check: &mut Check<'_>,
    tree: &At<Tree>,
    path: &mut Vec<String>,
    stamp: &mut Stamper<'_>,
) -> Bson {
    match &tree.value {
        Tree::Null => Bson::Null,
        Tree::Bool(value) => Bson::Boolean(*value),
        Tree::Int(value) => i32::try_from(*value).map_or(Bson::Int64(*value), Bson::Int32),
        Tree::Double(value) => Bson::Double(*value),
        Tree::String(value) => {
            check.reserved(value, tree.place);
            Bson::String(value.clone())
        }
        Tree::List(items) => {
            let mut made = Vec::new();
            for (number, item) in items.iter().enumerate() {
                path.push(number.to_string());
                made.push(to_bson(check, item, path, stamp));
                path.pop();
            }
            Bson::Array(made)
        }
        Tree::Map(entries) => {
            if let [(name, value)] = &entries[..] {
                if name.value == "$stamp" {
                    return stamp(check, value, path);
                }
                if EXTENDED.contains(&name.value.as_str()) {
                    return extended(check, tree);
                }
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

fn extended(check: &mut Check<'_>, tree: &At<Tree>) -> Bson {
    fn json(tree: &Tree) -> serde_json::Value {
        match tree {
            Tree::Null => serde_json::Value::Null,
            Tree::Bool(value) => (*value).into(),
            // Canonical Extended JSON writes numbers as text; people do not.
            Tree::Int(value) => value.to_string().into(),
            Tree::Double(value) => value.to_string().into(),
            Tree::String(value) => value.clone().into(),
            Tree::List(items) => items.iter().map(|item| json(&item.value)).collect(),
            Tree::Map(entries) => serde_json::Value::Object(
                entries
                    .iter()
                    .map(|(name, value)| (name.value.clone(), json(&value.value)))
                    .collect(),
            ),
        }
    }
    Bson::try_from(json(&tree.value)).unwrap_or_else(|error| {
        check.wrong(
            tree.place,
            format!("this is not Extended JSON: {error}"),
            "write it as in `{$oid: <24 hex digits>}`",
        );
        Bson::Null
    })
}
