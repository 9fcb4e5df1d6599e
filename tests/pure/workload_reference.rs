//! docs/workloads.md is made from the schema, from the adapters' manifests and from what servers
//! have: `MDYN_WRITE_DOCS=1` writes it anew.

use std::fmt::Write as _;
use std::fs;

use adapter::manifest::{Manifest, discover};
use serde_json::{Value, json};
use workload::plan::OperationKind;
use workload::server_needs;

use crate::support::root;

const HEAD: &str = "\
# Workloads: the reference

Every key of a workload file, what each operation is in each driver, and what servers have. This
page is made from the program's own tables. [Using mongodyno](using.md#your-own-workload) explains
how to write a workload, and `mongodyno workloads NAME` prints an example.

`mongodyno workloads check FILE -d go -d python@4.6 --server embedded@4.4,absorber` says what each
driver and each server can do of a file, before anything is installed. Exit code 1: not everything.
`mongodyno schema workload` prints the JSON Schema, for editors.
";

const PARTS: [(&str, &str); 14] = [
    ("The file", ""),
    ("A collection", "CollectionYaml"),
    ("An index", "IndexKeys"),
    ("A time series", "TimeSeriesYaml"),
    ("A view", "ViewYaml"),
    ("A capped collection", "CappedYaml"),
    ("A sharded collection", "FullSharding"),
    ("A field of a document", "FieldKeys"),
    ("Types of fields", "FieldType"),
    ("A drawn length", "Distribution"),
    ("A phase", "PhaseYaml"),
    ("An operation of a mix", "Mixed"),
    ("A stretch of a sequence", "Stretch"),
    ("A write concern", "WriteConcern"),
];

#[test]
fn the_reference_is_what_the_program_has() {
    let manifests = discover(None).expect("the embedded manifests");
    let made = reference(&manifests);
    let path = root().join("docs/workloads.md");
    if std::env::var_os("MDYN_WRITE_DOCS").is_some() {
        fs::write(&path, &made).expect("a file");
    }
    let text = fs::read_to_string(&path).unwrap_or_default();
    assert!(text == made, "docs/workloads.md is old: MDYN_WRITE_DOCS=1 and this test make it");
}

#[test]
fn each_adapter_declares_each_operation() {
    let (kinds, mut wrong) = (kinds(), Vec::new());
    for manifest in discover(None).expect("the embedded manifests") {
        let calls = &manifest.calls;
        for kind in &kinds {
            if calls.contains_key(kind) == manifest.lacks.contains(kind) {
                wrong.push(format!("{}: {kind} is in one of `calls` and `lacks`", manifest.name));
            }
        }
        let unknown = calls.keys().filter(|name| !kinds.contains(name));
        wrong.extend(unknown.map(|name| format!("{}: no operation {name}", manifest.name)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The operations that drivers are asked for, in the order of the schema.
fn kinds() -> Vec<String> {
    fn words(part: &Value, found: &mut Vec<String>) {
        match part {
            Value::Object(entries) => match entries.get("const").and_then(Value::as_str) {
                Some(word) => found.push(word.to_owned()),
                None => entries.values().for_each(|entry| words(entry, found)),
            },
            Value::Array(items) => items.iter().for_each(|item| match item.as_str() {
                Some(word) => found.push(word.to_owned()),
                None => words(item, found),
            }),
            _ => {}
        }
    }
    let mut found = Vec::new();
    words(&workload::schema()["$defs"]["OperationWord"], &mut found);
    let is_kind = |word: &String| serde_json::from_value::<OperationKind>(json!(word)).is_ok();
    found.retain(|word| is_kind(word) && word != "noop");
    found
}

fn reference(manifests: &[Manifest]) -> String {
    let schema = workload::schema();
    let mut text = HEAD.to_owned();
    for (title, name) in PARTS {
        let part = if name.is_empty() { &schema } else { &schema["$defs"][name] };
        let _ = write!(text, "\n## {title}\n\n");
        rows(&mut text, part);
    }
    text.push_str("\n## Operations\n\n");
    text.push_str(
        "The call that an operation is in the newest API of a driver. `noop` calls nothing. `scan` \
         and\n`full_scan` are a `find`. An older version of a driver may lack one: `workloads \
         check` says so.\n",
    );
    for kind in kinds() {
        let _ = write!(text, "\n### {kind}\n\n| driver | call |\n|---|---|\n");
        for manifest in manifests {
            let call = manifest.calls.get(&kind).map(|call| format!("`{call}`"));
            let call = call.unwrap_or_else(|| "none: such a phase is left out".to_owned());
            let _ = writeln!(text, "| {} | {call} |", manifest.language);
        }
    }
    text.push_str("\n## Servers\n\n| what | MongoDB | absorber |\n|---|---|---|\n");
    for need in server_needs::all() {
        let mut since = need.since.map_or("yes".to_owned(), |(a, b)| format!("from {a}.{b} on"));
        if need.replicas {
            since.push_str(", on a replica set");
        }
        let absorber = if need.absorber { "yes" } else { "no" };
        let _ = writeln!(text, "| {} | {since} | {absorber} |", need.name);
    }
    text
}

/// The keys or words of a part of the schema, each with its meaning.
fn rows(text: &mut String, part: &Value) {
    text.push_str("| key | meaning |\n|---|---|\n");
    let meaning = |entry: &Value| {
        let said = entry["description"].as_str().unwrap_or_default();
        said.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
    };
    if let Some(keys) = part["properties"].as_object() {
        for (key, entry) in keys {
            let _ = writeln!(text, "| `{key}` | {} |", meaning(entry));
        }
        return;
    }
    for entry in part["oneOf"].as_array().into_iter().flatten() {
        let word = entry["const"].as_str().map(str::to_owned);
        let key = || entry["properties"].as_object()?.keys().next().cloned();
        if let Some(word) = word.or_else(key) {
            let _ = writeln!(text, "| `{word}` | {} |", meaning(entry));
        }
    }
}
