//! The JSON Schema of a workload, out of the types that read it.

use super::kind::Word;
use super::operations::about_word;
use super::schema::File;

/// The JSON Schema of a workload file, for editors.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(File).to_value();
    for shared in ["Phase", "Mixed", "Stretch"] {
        name_operations(&mut schema["$defs"][shared]["properties"]);
    }
    allow_parameters(&mut schema);
    schema
}

/// The text of a key ends with the operations that have it; nearly all have a collection.
fn name_operations(keys: &mut serde_json::Value) {
    for (key, schema) in keys.as_object_mut().into_iter().flatten() {
        let having = |word: &&Word| about_word(**word).keys.contains(&key.as_str());
        let names: Vec<&str> = Word::ALL.iter().filter(having).map(|word| word.name()).collect();
        if key != "collection" && !names.is_empty() {
            let text = schema["description"].as_str().unwrap_or_default();
            schema["description"] = format!("{text} For {}.", names.join(", ")).into();
        }
    }
}

/// To an editor `${name}` is text, which may stand for a number or for one of some words.
fn allow_parameters(schema: &mut serde_json::Value) {
    let parameter = serde_json::json!({"type": "string", "pattern": r"^\$\{[^}]+\}$"});
    let is_word =
        |it: &serde_json::Value| it.get("const").is_some_and(serde_json::Value::is_string);
    let words = schema.get_mut("oneOf").and_then(serde_json::Value::as_array_mut);
    if let Some(words) = words.filter(|words| words.iter().any(is_word)) {
        words.push(parameter.clone());
    }
    if schema.get("enum").is_some_and(serde_json::Value::is_array) {
        *schema = serde_json::json!({"anyOf": [schema.take(), parameter]});
        return;
    }
    if let Some(types) = schema.get_mut("type") {
        let named = types.as_array().cloned().unwrap_or_else(|| vec![types.clone()]);
        let numbers = named.iter().any(|it| ["integer", "number"].iter().any(|name| it == name));
        if numbers && !named.iter().any(|it| it == "string") {
            *types = [&named[..], &["string".into()]].concat().into();
            schema["pattern"] = r"\$\{[^}]+\}".into();
        }
    }
    match schema {
        serde_json::Value::Object(fields) => fields.values_mut().for_each(allow_parameters),
        serde_json::Value::Array(entries) => entries.iter_mut().for_each(allow_parameters),
        _ => {}
    }
}
