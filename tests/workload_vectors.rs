//! The core replays the document vectors of the contract to the byte.

use std::fs;
use std::path::Path;

use mongodyno::workload::plan::Stamp;
use mongodyno::workload::stamp::{Input, render};
use serde_json::Value;

fn input(value: &Value) -> Input {
    let number = |name: &str| value[name].as_u64().unwrap_or(0);
    let hex = value["guid"].as_str().unwrap_or("00000000000000000000000000000000");
    let mut guid = [0; 16];
    for (at, byte) in guid.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap();
    }
    Input {
        key: number("key"),
        guid,
        lap: number("lap"),
        item: number("item"),
        sequence: number("sequence"),
        producer: number("producer"),
        made_ns: number("made_ns"),
        time_ms: number("time_ms"),
    }
}

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
            let bytes = render(&case["document"], &stamps, &input(&case["input"])).unwrap();
            let expected = case["bson"].as_str().unwrap();
            assert_eq!(hex(&bytes), expected, "{}: {}", path.display(), case["name"]);
            cases += 1;
        }
    }
    assert!(cases >= 19, "only {cases} vectors found");
}
