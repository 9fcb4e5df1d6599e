//! The errors of wrong workloads: every message with its place and its way out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use bson::{RawDocumentBuf, raw::cstr, rawdoc};
use miette::{GraphicalReportHandler, GraphicalTheme};
use workload::{self, WorkloadError};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/workload")
}

fn mistakes(path: &Path, sets: &[(&str, &str)]) -> WorkloadError {
    let text = fs::read_to_string(path).unwrap();
    let sets: BTreeMap<String, String> =
        sets.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let result = workload::parse(&text, path, &sets).and_then(|loaded| workload::build(&loaded, 1));
    result.expect_err(&format!("{} was taken for a good workload", path.display()))
}

fn lines(error: &WorkloadError) -> String {
    let mut text = String::new();
    for problem in error.problems() {
        let (line, column) = problem.line_column().unwrap_or_default();
        let hint = problem.hint.as_deref().unwrap_or("(no hint)");
        writeln!(text, "  {line}:{column}: {problem}\n      {hint}").unwrap();
    }
    text.replace(&format!("{}/", folder().display()), "")
}

#[test]
fn every_mistake_has_a_place_and_a_way_out() {
    let mut files: Vec<PathBuf> = fs::read_dir(folder().join("bad"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
        .collect();
    files.sort();
    let mut text = String::new();
    for path in &files {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let said = lines(&mistakes(path, &[]));
        assert!(!said.contains("0:0"), "{name} has no place:\n{said}");
        writeln!(text, "{name}\n{said}").unwrap();
    }
    insta::assert_snapshot!("workload_mistakes", text);
}

#[test]
fn set_of_an_unknown_parameter() {
    let path = folder().join("bad/parameter.yaml");
    insta::assert_snapshot!("workload_set", lines(&mistakes(&path, &[("thread", "5")])));
}

#[test]
fn names_and_paths_that_are_not_there() {
    let mut text = String::new();
    for name in ["crut", "something-else", "nowhere/crud.yaml"] {
        let error = workload::open(name, &BTreeMap::new(), 1).unwrap_err();
        text.push_str(&lines(&error));
    }
    insta::assert_snapshot!("workload_names", text);
}

#[test]
fn a_terminal_shows_the_lines() {
    let path = Path::new("two-mistakes.yaml");
    let text = fs::read_to_string(folder().join("bad").join(path)).unwrap();
    let loaded = workload::parse(&text, path, &BTreeMap::new()).unwrap();
    let error = workload::build(&loaded, 1).unwrap_err();
    let mut drawn = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(100)
        .render_report(&mut drawn, &error)
        .unwrap();
    insta::assert_snapshot!("workload_drawn", drawn);
}

/// A document within a document, and so on.
fn nested(levels: usize) -> RawDocumentBuf {
    (0..levels).fold(RawDocumentBuf::new(), |within, _| rawdoc! { "a": within })
}

#[test]
fn files_of_documents_say_which_document_is_wrong() {
    let good = rawdoc! { "_id": 1, "name": "a" };
    let mut twice = rawdoc! { "_id": 2 };
    twice.append(cstr!("name"), "a");
    twice.append(cstr!("name"), "b");
    let after = |bytes: &[u8]| [good.as_bytes(), bytes].concat();
    let deep = format!("{}1{}", "{\"a\":".repeat(200), "}".repeat(200));
    let files = [
        ("cut.bson", after(&good.as_bytes()[..20])),
        ("cut-length.bson", after(&[7, 0])),
        ("deep.bson", after(nested(5_000).as_bytes())),
        ("deepest.bson", after(nested(200).as_bytes())),
        ("empty.jsonl", Vec::new()),
        ("extended.jsonl", b"{\"_id\": {\"$oid\": \"xyz\"}}\n".to_vec()),
        ("huge-number.jsonl", format!("{{\"a\": {}}}", "9".repeat(309)).into_bytes()),
        ("key.jsonl", b"{\"key\": 1}\n{\"kye\": 1}\n".to_vec()),
        ("length.bson", after(&[255; 40])),
        ("list.jsonl", b"[1, 2]\n".to_vec()),
        ("no-json.jsonl", b"{\"a\": 1}\n\n{\"a\" 1}\n".to_vec()),
        ("no-key.jsonl", b"{\"kye\": 1}\n".to_vec()),
        ("twice.bson", after(twice.as_bytes())),
        ("twice.jsonl", b"{\"a\": {\"b\": 1, \"b\": 2}}\n".to_vec()),
        ("nested.jsonl", deep.into_bytes()),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.yaml");
    let mut text = String::new();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
        let key = if name.contains("key") { ", key: key" } else { "" };
        let yaml = format!(
            "why: test\ncollections: {{c: {{file: {name}{key}}}}}\n\
             phases: [{{operation: find_one}}]\n"
        );
        let made = workload::parse(&yaml, &path, &BTreeMap::new());
        match made.and_then(|loaded| workload::build(&loaded, 1)) {
            Ok(_) => assert_eq!(name, "deepest.bson"),
            Err(error) => write!(text, "{name}\n{}", lines(&error)).unwrap(),
        }
    }
    let text = text.replace(&format!("{}/", folder.path().display()), "");
    insta::assert_snapshot!("workload_files", text);
}
