//! The core renders the document vectors of the contract to the byte, and knows its examples.

use std::fs;
use std::path::Path;

use adapter::protocol::{AdapterAnswer, AdapterRequest};
use bson::Document;
use serde_json::Value;
use workload::plan::Stamp;
use workload::stamp::{Input, StampError, render};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

fn document(hex: &str) -> Document {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
    Document::from_reader(&bytes[..]).unwrap()
}

#[test]
fn vectors_are_rendered_to_the_byte() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("protocol/vectors/documents");
    let mut cases = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        for line in fs::read_to_string(&path).unwrap().lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let Some(template) = case["template"].as_str() else { continue };
            let stamps: Vec<Stamp> = serde_json::from_value(case["stamps"].clone()).unwrap();
            let input: Input = serde_json::from_value(case["input"].clone()).unwrap();
            let bytes = render(&document(template), &stamps, &input).unwrap();
            let expected = case["bson"].as_str().unwrap();
            assert_eq!(hex(&bytes), expected, "{}: {}", path.display(), case["name"]);
            assert_eq!(bytes.len() * 2, template.len());
            cases += 1;
        }
    }
    assert!(cases >= 19, "only {cases} vectors found");
}

#[test]
fn a_stamp_that_changes_the_length_is_refused() {
    let stamp = serde_json::json!({"path": ["a"], "as": "string", "from": "key", "width": 2});
    let stamps: Vec<Stamp> = vec![serde_json::from_value(stamp).unwrap()];
    let template = bson::doc! { "a": "00" };
    assert!(render(&template, &stamps, &Input { key: 99, ..Input::default() }).is_ok());
    let wider = render(&template, &stamps, &Input { key: 100, ..Input::default() });
    assert_eq!(wider, Err(StampError::Length(15, 16)));
}

#[test]
fn the_examples_of_the_contract_are_messages() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("protocol/SPEC.md");
    let text = fs::read_to_string(path).unwrap();
    let blocks = text.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut examples = 0;
    for block in blocks {
        for example in serde_json::Deserializer::from_str(block).into_iter::<Value>() {
            let example = example.unwrap();
            let request = serde_json::from_value::<AdapterRequest>(example.clone());
            let answer = serde_json::from_value::<AdapterAnswer>(example.clone());
            assert!(request.is_ok() || answer.is_ok(), "{example}: {request:?}, {answer:?}");
            examples += 1;
        }
    }
    assert!(examples >= 5, "only {examples} examples found");
}
