//! Comments and documents: complete sentences, plain words, and paths that exist.

use std::collections::BTreeSet;
use std::path::Path;

use super::{MADE, assert_none, code, files};
use crate::support::root;
use regex_lite::Regex;

/// Line number and text of each comment line of a Rust file, and whether it begins a comment.
fn comments(text: &str) -> Vec<(usize, &str, bool)> {
    let mut found = Vec::new();
    let mut before = "";
    for (number, line) in (1..).zip(text.lines()) {
        let marks = ["///", "//!", "//"];
        let trimmed = line.trim_start();
        let mark = marks.into_iter().find(|mark| trimmed.starts_with(mark)).unwrap_or_default();
        if let Some(words) = trimmed.strip_prefix(mark).filter(|_| !mark.is_empty()) {
            found.push((number, words.trim_start(), mark != before));
        } else if let Some((_, words)) = line.split_once(" // ") {
            found.push((number, words, true));
        }
        before = mark;
    }
    found
}

fn rust_files() -> Vec<(String, String)> {
    let is_rust = |path: &str| Path::new(path).extension().is_some_and(|ending| ending == "rs");
    code().into_iter().filter(|(path, _)| is_rust(path)).collect()
}

/// Documents that describe the present: a changelog and a decision speak of the past as well.
fn documents() -> Vec<(String, String)> {
    let mut all = files(".", &[".md"]);
    all.retain(|(path, _)| {
        path != "CHANGELOG.md" && path != "docs/style.md" && !path.starts_with("docs/decisions/")
    });
    all
}

#[test]
fn comments_begin_with_a_subject() {
    let headless = Regex::new(r"^(Of|As|That|Those|Its|With)\b").expect("a pattern");
    let mut found = Vec::new();
    for (path, text) in rust_files() {
        for (number, words, _) in comments(&text).into_iter().filter(|(_, _, begins)| *begins) {
            if headless.is_match(words) {
                found.push(format!("{path}:{number}: {words}"));
            }
        }
    }
    assert_none("comments without their subject", &found);
}

#[test]
fn the_words_to_avoid_are_avoided() {
    let avoided = [
        "[Nn]obody",
        "of (its|their|his|one's|your) own",
        "(is|are) (through|over with)",
        "from there on",
        "ahead of",
        "(is|are) not able to",
        "stands? (above|after|alone|at|before|behind|below|beside|between|here|in|on|there|under)",
        "tells?",
    ];
    let avoided = Regex::new(&format!(r"\b({})\b", avoided.join("|"))).expect("a pattern");
    let mut found = Vec::new();
    let mut note = |path: &str, number: usize, words: &str| {
        if avoided.is_match(words) {
            found.push(format!("{path}:{number}: {words}"));
        }
    };
    for (path, text) in rust_files() {
        for (number, words, _) in comments(&text) {
            note(&path, number, words);
        }
    }
    for (path, text) in documents() {
        (1..).zip(text.lines()).for_each(|(number, line)| note(&path, number, line));
    }
    assert_none("words to avoid", &found);
}

/// Every end of every path in the repository: a comment may leave out what is clear.
fn ends_of_paths() -> BTreeSet<String> {
    let mut ends = BTreeSet::new();
    let mut left = vec![root().to_owned()];
    while let Some(folder) = left.pop() {
        for entry in folder.read_dir().expect("a folder").flatten() {
            let path = entry.path();
            let below = path.strip_prefix(root()).expect("below the root").to_path_buf();
            let mut end = below.as_path();
            while !end.as_os_str().is_empty() {
                ends.insert(end.to_string_lossy().into_owned());
                let mut parts = end.components();
                parts.next();
                end = parts.as_path();
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() && !MADE.contains(&name.as_str()) {
                left.push(path);
            }
        }
    }
    ends
}

#[test]
fn paths_in_comments_and_documents_exist() {
    let path = Regex::new(r"(?:^|[^\w/.{$-])((?:[\w.-]+/)+[\w.-]*\w|[\w-]+\.rs)(?:$|[^\w*{</])")
        .expect("a pattern");
    let folders = [
        "adapters",
        "benches",
        "crates",
        "docs",
        "protocol",
        "src",
        "studies",
        "tests",
        "workloads",
    ];
    let endings = ["html", "js", "json", "md", "py", "rs", "toml", "yaml"];
    let ends = ends_of_paths();
    let mut wrong = Vec::new();
    let mut check = |file: &str, number: usize, line: &str| {
        for found in path.captures_iter(line) {
            let named = found[1].trim_start_matches("../");
            let first = named.split('/').next().unwrap_or_default();
            let ending = Path::new(named).extension().and_then(|ending| ending.to_str());
            let is_path =
                folders.contains(&first) || ending.is_some_and(|it| endings.contains(&it));
            if is_path && !named.contains("NAME") && !ends.contains(named) {
                wrong.push(format!("{file}:{number}: {named} is not there"));
            }
        }
    };
    for (file, text) in rust_files() {
        for (number, words, _) in comments(&text) {
            check(&file, number, words);
        }
    }
    for (file, text) in files(".", &[".md"]) {
        if file != "CHANGELOG.md" && !file.starts_with("adapters/") {
            (1..).zip(text.lines()).for_each(|(number, line)| check(&file, number, line));
        }
    }
    assert_none("stale paths", &wrong);
}
