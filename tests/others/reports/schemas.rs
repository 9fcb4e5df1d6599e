//! The published JSON Schemas: written files are valid, wrong ones are not, and the files in
//! protocol/ are those that the binary prints.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::fake_support::{Lab, QUICK, code, fake_command, fixture, json_lines, stdout};
use crate::support::{root, said};
use jsonschema::Validator;
use serde_json::{Value, json};

fn strings<'a>(value: &'a Value, key: &str) -> Vec<&'a str> {
    value[key].as_array().expect("a list").iter().map(|it| it.as_str().expect("text")).collect()
}

/// The schema that `mongodyno schema NAME` prints.
fn schema(name: &str) -> Value {
    let output = crate::support::run(["schema", name]);
    assert!(output.status.success(), "{}", said(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn validator(schema: &Value) -> Validator {
    jsonschema::validator_for(schema).expect("a valid schema")
}

fn assert_valid<'a>(validator: &Validator, values: impl IntoIterator<Item = &'a Value>) {
    for value in values {
        let faults: Vec<String> = validator
            .iter_errors(value)
            .map(|fault| format!("{}: {fault}", fault.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{faults:#?}");
    }
}

/// Removes each required field, and puts a list in the place of each: both must be noticed.
fn assert_watches(validator: &Validator, schema: &Value, value: &Value) {
    let required = strings(schema, "required");
    assert!(required.len() > 5, "{required:?}");
    for name in required {
        let mut less = value.clone();
        less.as_object_mut().expect("an object").shift_remove(name);
        assert!(!validator.is_valid(&less), "without {name}");
        let mut other = value.clone();
        other[name] = json!([["a list in a list"]]);
        assert!(!validator.is_valid(&other), "{name} of another type");
    }
}

/// An experiment of six rounds with an arm whose first phase fails.
fn experiment() -> Lab {
    let lab = Lab::even_and_slow();
    lab.fake("bad", &[QUICK, "at=turn:6", "fault=errors"]);
    lab.fake("crash", &[QUICK, "at=turn:6", "fault=crash"]);
    let output = lab.experiment(&["even", "slow", "bad", "crash"], &["--rounds", "6"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    lab
}

#[test]
fn written_records_fit_their_schemas() {
    let lab = experiment();
    let failed = |run: &&Value| run["failed"].is_string();
    assert!(lab.runs().iter().any(|run| failed(&run)), "an arm crashed");
    for (name, values) in [
        ("experiment", vec![lab.record()]),
        ("run", lab.runs()),
        ("analysis", vec![lab.analysis()]),
    ] {
        let schema = schema(name);
        let validator = validator(&schema);
        assert_valid(&validator, &values);
        assert_watches(&validator, &schema, &values[0]);
    }
}

#[test]
fn the_schemas_in_the_repository_are_those_of_the_binary() {
    for name in
        ["workload", "messages", "experiment", "run", "analysis", "servers", "sweep", "study"]
    {
        let path = format!("protocol/{name}.schema.json");
        let text = fs::read_to_string(root().join(&path)).expect("a published schema");
        let printed = stdout(&crate::support::run(["schema", name]));
        assert!(text == printed, "{path} is old: mongodyno schema {name} > {path}");
    }
}

#[test]
fn workloads_are_what_their_schema_says() {
    let validator = validator(&schema("workload"));
    let parameter = regex_lite::Regex::new(r"\w*\$\{\w+\}\w*").expect("a pattern");
    let mut files: Vec<PathBuf> = vec![fixture("workloads/noop.yaml")];
    for group in workload::builtin::GROUPS {
        let folder = fs::read_dir(root().join("workloads").join(group)).expect("workloads");
        files.extend(folder.flatten().map(|it| it.path()).filter(|it| it.extension().is_some()));
    }
    assert!(files.len() > 5, "{files:?}");
    for file in files {
        let text = fs::read_to_string(&file).expect("a file");
        // A parameter between braces is no YAML before it has its value.
        let text = parameter.replace_all(&text, "\"$0\"");
        let value: Value = serde_saphyr::from_str(&text).expect("YAML");
        assert!(validator.is_valid(&value), "{}: {:?}", file.display(), validator.validate(&value));
    }
    let bad = fs::read_to_string(fixture("workload/bad/unknown-operation.yaml")).expect("a file");
    assert!(!validator.is_valid(&serde_saphyr::from_str(&bad).expect("YAML")));
}

#[test]
fn messages_are_what_their_schema_says() {
    let schema = schema("messages");
    let [request, answer] = ["Request", "Answer"].map(|name| {
        let mut half = schema.clone();
        half["anyOf"] = json!([{"$ref": format!("#/$defs/{name}")}]);
        validator(&half)
    });
    let lab = Lab::new();
    let mut sent = 0;
    for name in ["awaited", "two-phases", "hello"] {
        let lines = json_lines(&root().join(format!("protocol/vectors/valid/{name}.jsonl")));
        let requests: Vec<&Value> = lines.iter().filter_map(|line| line.get("send")).collect();
        assert_valid(&request, requests.iter().copied());
        sent += requests.len();
        let answers = answers_of_a_fake(&lab, &requests);
        assert_eq!(answers.len(), requests.len());
        assert_valid(&answer, &answers);
    }
    assert!(sent > 10, "{sent}");
    // Faults beyond any schema are left out: a missing file, an order that is wrong.
    let mut refused = 0;
    for line in json_lines(&root().join("protocol/vectors/invalid/prepare.jsonl")) {
        let Some(message) = line.get("send").filter(|it| it["type"] == "prepare") else { continue };
        let known =
            message["operations"][0]["kind"] != "teleport" && message["pacing"]["mode"] != "sprint";
        assert_eq!(request.is_valid(message), known, "{message}");
        refused += usize::from(!known);
    }
    assert_eq!(refused, 2);
    assert!(!request.is_valid(&json!({"type": "launch"})));
    assert!(!answer.is_valid(&json!({"type": "turn_done", "began_ns": 1})));
}

fn answers_of_a_fake(lab: &Lab, requests: &[&Value]) -> Vec<Value> {
    let folder = lab.path("").display().to_string();
    lab.write("a.schedule", "");
    let lines: String = requests
        .iter()
        .map(|message| message.to_string().replace("{dir}", &folder).replace("{epoch}", "0") + "\n")
        .collect();
    let input = fs::File::open(lab.write("requests", &lines)).expect("a file");
    let mut shell = Command::new("sh");
    let output =
        shell.args(["-c", &fake_command("")]).stdin(input).output().expect("the fake runs");
    assert!(output.status.success(), "{}", said(&output));
    let answer = |line: &str| serde_json::from_str(line.trim_start_matches('\x1e')).expect("JSON");
    stdout(&output).lines().map(answer).collect()
}
