//! The JSON Schema of a workload, out of the types that read it.

use serde_json::{Value, json};

use super::yaml::WorkloadYaml;
use crate::operation_kind::OperationWord;
use crate::operations::about_word;

/// The JSON Schema of a workload file, for editors.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(WorkloadYaml).to_value();
    for shared in ["PhaseYaml", "Mixed", "Stretch"] {
        name_operations(&mut schema["$defs"][shared]["properties"]);
    }
    adapt(&mut schema);
    schema
}

/// The text of a key ends with the operations that have it; nearly all have a collection.
fn name_operations(keys: &mut Value) {
    for (key, schema) in keys.as_object_mut().into_iter().flatten() {
        let having = |word: &&OperationWord| about_word(**word).keys.contains(&key.as_str());
        let names: Vec<&str> =
            OperationWord::ALL.iter().filter(having).map(|word| word.name()).collect();
        if key != "collection" && !names.is_empty() {
            let text = schema["description"].as_str().unwrap_or_default();
            schema["description"] = format!("{text} For {}.", names.join(", ")).into();
        }
    }
}

/// Largest and smallest numbers of a type, which schemars leaves to a `format` that few tools know.
fn bounds(format: Option<&str>) -> Option<(i64, i64)> {
    match format? {
        "int32" => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
        "uint32" => Some((0, i64::from(u32::MAX))),
        "int64" => Some((i64::MIN, i64::MAX)),
        "uint64" => Some((0, i64::MAX)),
        _ => None,
    }
}

/// To an editor `${name}` is text, which may be replaced by a number, by true or false, or by one
/// of some words.
fn adapt(schema: &mut Value) {
    let parameter = json!({"type": "string", "pattern": r"^\$\{[^}]+\}$"});
    let is_word = |it: &Value| it.get("const").is_some_and(Value::is_string);
    let words = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    if let Some(words) = words.filter(|words| words.iter().any(is_word)) {
        words.push(parameter.clone());
    }
    if schema.get("enum").is_some_and(Value::is_array) {
        *schema = json!({"anyOf": [schema.take(), parameter]});
        return;
    }
    if let Some((least, most)) = bounds(schema.get("format").and_then(Value::as_str)) {
        for (key, bound) in [("minimum", least), ("maximum", most)] {
            if schema.get(key).is_none() {
                schema[key] = bound.into();
            }
        }
    }
    if let Some(types) = schema.get_mut("type") {
        let named = types.as_array().cloned().unwrap_or_else(|| vec![types.clone()]);
        let has = |name: &str| named.iter().any(|it| it == name);
        if ["integer", "number", "boolean"].into_iter().any(has) && !has("string") {
            *types = [&named[..], &["string".into()]].concat().into();
            schema["pattern"] = r"\$\{[^}]+\}".into();
        }
    }
    match schema {
        Value::Object(fields) => fields.values_mut().for_each(adapt),
        Value::Array(entries) => entries.iter_mut().for_each(adapt),
        _ => {}
    }
}
