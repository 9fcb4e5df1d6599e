//! The core replays the document vectors of the contract to the byte.

use std::fs;
use std::path::Path;

use serde_json::Value;
use workload::plan::Stamp;
use workload::stamp::{Input, render};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

#[test]
fn vectors_are_rendered_to_the_byte() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("protocol/vectors/documents");
    let mut cases = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        for line in fs::read_to_string(&path).unwrap().lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let stamps: Vec<Stamp> = serde_json::from_value(case["stamps"].clone()).unwrap();
            let input: Input = serde_json::from_value(case["input"].clone()).unwrap();
            let bytes = render(&case["document"], &stamps, &input).unwrap();
            let expected = case["bson"].as_str().unwrap();
            assert_eq!(hex(&bytes), expected, "{}: {}", path.display(), case["name"]);
            cases += 1;
        }
    }
    assert!(cases >= 19, "only {cases} vectors found");
}
