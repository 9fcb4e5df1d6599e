//! The examples of the contract, read by the types that speak it: neither can drift from the other.

use std::collections::BTreeSet;
use std::fs;

use crate::support::root;
use adapter::protocol::{AdapterAnswer, AdapterRequest};
use serde_json::{Deserializer, Value, from_value, to_value};

/// The first field of an example that the types do not know.
fn unknown(example: &Value, read: &Value, place: &str) -> Option<String> {
    match (example, read) {
        (Value::Object(fields), _) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .find_map(|(name, value)| unknown(value, &read[name], &format!("{place}.{name}"))),
        (Value::Array(items), Value::Array(read)) if items.len() == read.len() => {
            items.iter().zip(read).find_map(|(item, read)| unknown(item, read, place))
        }
        _ if example.as_f64().is_some() && example.as_f64() == read.as_f64() => None,
        _ => (example != read).then(|| place.to_owned()),
    }
}

#[test]
fn the_examples_of_the_contract_are_its_messages() {
    let contract = fs::read_to_string(root().join("protocol/SPEC.md")).expect("the contract");
    let mut seen = BTreeSet::new();
    for block in contract.split("```json\n").skip(1) {
        let block = block.split("```").next().expect("text before the end");
        for example in Deserializer::from_str(block).into_iter::<Value>() {
            let example = example.unwrap_or_else(|error| panic!("{error}: {block}"));
            let request = from_value::<AdapterRequest>(example.clone()).map(to_value);
            let answer = from_value::<AdapterAnswer>(example.clone()).map(to_value);
            let read = match (request, answer) {
                (Ok(read), _) | (_, Ok(read)) => read.expect("messages serialise"),
                (Err(request), Err(answer)) => panic!("{request}; {answer}: {example}"),
            };
            assert_eq!(unknown(&example, &read, ""), None, "{example}");
            seen.insert(example["type"].as_str().expect("a type").to_owned());
        }
    }
    let expected = ["hello", "open", "opened", "prepare"].map(str::to_owned);
    assert!(seen.is_superset(&BTreeSet::from(expected)), "{seen:?}");
}
