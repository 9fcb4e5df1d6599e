//! Style is a test: limits of lines and files, forbidden words in code, links that lead somewhere,
//! lists in documents that match the binary.

mod comments;
mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{marked_table, root, run, said};
use adapter::manifest::{Manifest, discover};
use regex_lite::Regex;

const COLUMNS_MAX: usize = 100;
const LINES_MAX: usize = 400;
/// Largest number of lines of the exceptions.
const LONG_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;

/// Files that may be longer, and why: entries may only be removed.
const LONG_FILES: &[(&str, &str)] = &[
    ("adapters/c/dialect.c", "a reviewer reads a dialect as one whole"),
    ("adapters/cpp/dialect_mongoclient.cpp", "a reviewer reads a dialect as one whole"),
    ("adapters/cpp/dialect_mongocxx.cpp", "a reviewer reads a dialect as one whole"),
    ("crates/absorber/src/session.rs", "not cut yet"),
    ("crates/adapter/src/adapter_process.rs", "not cut yet"),
    ("crates/adapter/src/installation.rs", "not cut yet"),
    ("crates/adapter/src/manifest.rs", "one format, in the order of its fields"),
    ("crates/adapter/src/protocol.rs", "one format, in the order of its fields"),
    ("crates/check/src/conversation.rs", "not cut yet"),
    ("crates/check/src/online.rs", "not cut yet"),
    ("crates/judge/src/analysis/conditions.rs", "not cut yet"),
    ("crates/measure/src/admin.rs", "not cut yet"),
    ("crates/measure/src/arm.rs", "not cut yet"),
    ("crates/measure/src/install.rs", "not cut yet"),
    ("crates/measure/src/phase.rs", "not cut yet"),
    ("crates/measure/src/summary/tests.rs", "the tests of one crate or folder"),
    ("crates/record/src/records.rs", "one format, in the order of its fields"),
    ("crates/report/src/view.rs", "not cut yet"),
    ("crates/studies/src/broker/message_rules/tests.rs", "the tests of one file"),
    ("crates/studies/src/bulk_load/tests.rs", "the tests of one crate or folder"),
    ("crates/studies/src/driver_upgrade/tests.rs", "the tests of one crate or folder"),
    ("crates/tap/src/framing.rs", "not cut yet"),
    ("crates/tap/src/request_body.rs", "not cut yet"),
    ("crates/tap/src/tapped_connection.rs", "not cut yet"),
    ("src/commands/bisect.rs", "not cut yet"),
];

/// Functions that are still longer: entries may only be removed.
const LONG_FUNCTIONS: &[&str] = &[
    "crates/judge/src/analysis/compare.rs: run",
    "crates/judge/src/lib.rs: analyse",
    "crates/measure/src/summary.rs: summarise",
    "crates/studies/src/bulk_load/parts.rs: parts",
];

/// Lines of the core outside of comments and unit tests that may name an adapter's language.
const NAMES_A_LANGUAGE: &[(&str, &str)] =
    // pip's own flag: the servers come as Python wheels, whatever the adapters are.
    &[
        ("crates/server/src/download.rs", "--python-version"),
        ("crates/server/src/download.rs", "let python ="),
    ];

/// Folders that tools fill.
const MADE: [&str; 7] =
    [".git", "target", "node_modules", ".venv", "__pycache__", "mongodyno-results", ".ci"];

/// Text files below `folder` whose names end in one of `extensions`, by path in the repository.
fn files(folder: &str, extensions: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    collect(&root().join(folder), extensions, &mut found);
    found.sort();
    assert!(!found.is_empty(), "no file in {folder}");
    found
}

fn collect(folder: &Path, extensions: &[&str], found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() && !MADE.contains(&name.as_str()) {
            collect(&path, extensions, found);
        } else if path.is_file() && extensions.iter().any(|it| name.ends_with(it)) {
            let relative = path.strip_prefix(root()).expect("below the root").display().to_string();
            if let Ok(text) = fs::read_to_string(&path) {
                found.push((relative, text));
            }
        }
    }
}

/// The crates and the command line.
pub fn core() -> Vec<(String, String)> {
    let mut all = files("src", &[".rs"]);
    all.extend(files("crates", &[".rs"]));
    all
}

/// All files written by hand: the core, the adapters, the tests.
fn code() -> Vec<(String, String)> {
    let mut all = adapter_code();
    all.extend(core());
    for folder in ["tests", "benches"] {
        all.extend(files(folder, &[".rs"]));
    }
    all
}

fn adapter_code() -> Vec<(String, String)> {
    let not_code = [".md", ".json", ".lock", ".sum", ".gitignore", ".npmrc"];
    let mut all = files("adapters", &[""]);
    all.retain(|(path, _)| !not_code.iter().any(|end| path.ends_with(end)));
    all
}

fn assert_none(what: &str, wrong: &[String]) {
    assert!(wrong.is_empty(), "{what}:\n  {}", wrong.join("\n  "));
}

#[test]
fn lines_have_at_most_100_columns() {
    let mut wrong = Vec::new();
    for (path, text) in code() {
        for (number, line) in (1..).zip(text.lines()) {
            let columns = line.chars().count();
            if columns > COLUMNS_MAX {
                wrong.push(format!("{path}:{number}: {columns} columns"));
            }
        }
    }
    assert_none("lines too long", &wrong);
}

#[test]
fn every_file_of_a_suite_is_part_of_it() {
    let mut wrong = Vec::new();
    for (main, text) in files("tests", &["main.rs"]) {
        let suite = main.strip_suffix("/main.rs").expect("a folder");
        let all: BTreeMap<String, String> = files(suite, &[".rs"]).into_iter().collect();
        for path in all.keys().filter(|path| **path != main) {
            let module = path.strip_suffix("/mod.rs").or(path.strip_suffix(".rs"));
            let (folder, name) = module.and_then(|it| it.rsplit_once('/')).expect("a module");
            let parent = if folder == suite { &text } else { &all[&format!("{folder}/mod.rs")] };
            if !parent.contains(&format!("mod {name};")) {
                wrong.push(format!("{path}: the module above does not name it, so it never runs"));
            }
        }
    }
    assert_none("tests that nobody runs", &wrong);
}

#[test]
fn files_have_at_most_400_lines() {
    let mut files = core();
    files.extend(adapter_code());
    let mut wrong = Vec::new();
    let mut long = BTreeMap::new();
    for (path, text) in files {
        let lines = text.lines().count();
        let exception = LONG_FILES.iter().any(|(file, _)| *file == path);
        if exception {
            long.insert(path.clone(), lines);
        }
        if lines > if exception { LONG_LINES_MAX } else { LINES_MAX } {
            wrong.push(format!("{path}: {lines} lines; cut it where its subject changes"));
        }
    }
    let is_long = |file: &str| long.get(file).is_some_and(|lines| *lines > LINES_MAX);
    let stale = LONG_FILES.iter().filter(|(file, _)| !is_long(file));
    wrong.extend(stale.map(|(file, _)| format!("{file}: short or gone: remove its exception")));
    assert_none("files too long", &wrong);
}

/// Name and number of lines of each function that rustfmt has laid out.
fn functions(text: &str) -> Vec<(String, usize)> {
    let head = Regex::new(r"^( *)(?:pub(?:\([a-z]+\))? )?(?:const |async |unsafe )*fn (\w+)");
    let head = head.expect("a pattern");
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let Some(parts) = head.captures(line) else { continue };
        let rest = &lines[first..];
        let opens = rest.iter().find(|line| line.ends_with(['{', ';', '}']));
        if opens.is_some_and(|line| line.ends_with('{')) {
            let end = format!("{}}}", &parts[1]);
            let last = rest.iter().position(|line| *line == end).expect("as rustfmt writes it");
            found.push((parts[2].to_owned(), last + 1));
        }
    }
    found
}

#[test]
fn functions_have_at_most_70_lines() {
    let mut long = BTreeMap::new();
    for (path, text) in core() {
        for (name, lines) in functions(&text) {
            if lines > FUNCTION_LINES_MAX {
                long.insert(format!("{path}: {name}"), lines);
            }
        }
    }
    let new = long.iter().filter(|(name, _)| !LONG_FUNCTIONS.contains(&name.as_str()));
    let mut wrong: Vec<String> = new.map(|(name, lines)| format!("{name}: {lines}")).collect();
    let stale = LONG_FUNCTIONS.iter().filter(|name| !long.contains_key(**name));
    wrong.extend(stale.map(|name| format!("{name}: short or gone: remove its exception")));
    assert_none("functions too long", &wrong);
}

/// The crate, or the folder outside of `crates`, that a file belongs to.
fn crate_of(path: &str) -> String {
    let mut parts = path.split('/');
    let first = parts.next().unwrap_or_default();
    if first == "crates" { parts.next().unwrap_or_default() } else { first }.to_owned()
}

/// The table in ARCHITECTURE.md is the order of the crates: the measuring side and the judging side
/// meet in `record` alone.
#[test]
fn no_crate_imports_one_that_stands_above_it() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("it is there");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let order: Vec<&str> =
        rows.map(|(name, _)| name).take_while(|name| !name.contains('/')).collect();
    let manifests = files("crates", &["Cargo.toml"]);
    let mut wrong = Vec::new();
    for (path, manifest) in &manifests {
        let own = path.split('/').nth(1).expect("crates/NAME/Cargo.toml");
        let Some(place) = order.iter().position(|name| *name == own) else {
            wrong.push(format!("{path}: ARCHITECTURE.md does not name it"));
            continue;
        };
        let imports = manifest.lines().filter_map(|line| line.strip_suffix(".workspace = true"));
        for import in imports.filter(|it| order.contains(it)) {
            if !order[..place].contains(&import) {
                wrong.push(format!("{path}: {import} stands above {own}"));
            }
        }
    }
    for (one, other) in [("measure", "judge"), ("judge", "measure"), ("report", "measure")] {
        let manifest = fs::read_to_string(root().join(format!("crates/{one}/Cargo.toml")));
        if manifest.expect("it is there").contains(&format!("{other}.workspace")) {
            wrong.push(format!("crates/{one}: measuring and judging do not know each other"));
        }
    }
    assert_eq!(manifests.len(), order.len(), "crates, and rows of ARCHITECTURE.md");
    assert_none("imports", &wrong);
}

#[test]
fn nothing_is_left_to_be_done() {
    // In two parts, so that this file passes itself.
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];
    let macros = [concat!("unimple", "mented!"), concat!("to", "do!")];
    let pattern = format!(r"\b({})\b|\b({})", words.join("|"), macros.join("|"));
    let pattern = Regex::new(&pattern).expect("a pattern");
    assert_none("unfinished", &matches(&code(), &pattern, |_, _| false));
}

#[test]
fn no_path_of_somebodys_machine() {
    let pattern = [concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/wo", "rk/")].join("|");
    let pattern = Regex::new(&format!("(^|[^.A-Za-z0-9])({pattern})")).expect("a pattern");
    let texts = [".rs", ".go", ".py", ".mjs", ".md", ".toml", ".yaml", ".js", ".html", ".css"];
    let files = files(".", &texts);
    // Examples name an invented user's folder.
    assert_none("machine paths", &matches(&files, &pattern, |_, line| line.contains("/home/user")));
}

#[test]
fn the_core_names_no_language() {
    let pattern = Regex::new(r"(?i)\b(node|nodejs|python|pymongo|golang)\b").expect("a pattern");
    let mut sources = core();
    sources.retain(|(path, _)| !path.ends_with("/tests.rs"));
    for (_, text) in &mut sources {
        // Unit tests and comments give examples, and an example has to name something.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
        *text = lines.collect::<Vec<_>>().join("\n");
    }
    let allowed = |path: &str, line: &str| {
        NAMES_A_LANGUAGE.iter().any(|(file, part)| *file == path && line.contains(part))
    };
    assert_none("the core names a language", &matches(&sources, &pattern, allowed));
}

/// The lines that match and are not allowed.
fn matches(
    files: &[(String, String)],
    pattern: &Regex,
    allowed: impl Fn(&str, &str) -> bool,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in files {
        for (number, line) in (1..).zip(text.lines()) {
            if pattern.is_match(line) && !allowed(path, line) {
                wrong.push(format!("{path}:{number}: {}", line.trim()));
            }
        }
    }
    wrong
}

#[test]
fn adapters_have_their_parts() {
    let mut wrong = Vec::new();
    for manifest in discover(None).expect("manifests") {
        let Manifest { name, default, lock, test, beside, .. } = manifest.clone();
        // Where the default version cannot be had, the build writes down what it has found.
        let lock = lock.filter(|_| name != "csharp");
        let locks = default != adapter::version_selection::SYSTEM && name != "csharp";
        let folder = root().join("adapters").join(&name);
        for file in ["adapter.toml", "README.md"].into_iter().chain(lock.as_deref()) {
            if !folder.join(file).is_file() {
                wrong.push(format!("adapters/{name}: no {file}"));
            }
        }
        if locks && lock.is_none() {
            wrong.push(format!("adapters/{name}/adapter.toml: no `lock`"));
        }
        let path_of_test =
            |(path, _): &(String, String)| path.contains("test") || path.contains("/t/");
        let all = files(&format!("adapters/{name}"), &[""]);
        if test.is_empty() || !all.iter().any(path_of_test) {
            wrong.push(format!("adapters/{name}: no tests of its own"));
        }
        // Or a better test would be a new environment.
        let below = |path: &str| path[format!("adapters/{name}/").len()..].to_owned();
        let built = all.iter().filter(|it| path_of_test(it)).map(|(path, _)| below(path));
        let built = built.filter(|path| !manifest.is_beside(path));
        let gone = beside.into_iter().filter(|entry| !folder.join(entry).exists());
        wrong.extend(built.chain(gone).map(|it| format!("adapters/{name}: {it}, by `beside`")));
    }
    assert_none("adapters", &wrong);
}

#[test]
fn links_in_documents_lead_somewhere() {
    let link = Regex::new(r"\]\(([^)\s]+)\)").expect("a pattern");
    let fence = Regex::new(r"(?s)```.*?```|`[^`\n]*`").expect("a pattern");
    let mut wrong = Vec::new();
    for (path, text) in files(".", &[".md"]) {
        let folder: PathBuf = root().join(&path).parent().expect("a folder").to_path_buf();
        for found in link.captures_iter(&fence.replace_all(&text, "code")) {
            let target = &found[1];
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { root().join(&path) } else { folder.join(file) };
            if !file.exists() || !has_anchor(&file, anchor) {
                wrong.push(format!("{path}: {target}"));
            }
        }
    }
    assert_none("dead links", &wrong);
}

/// Whether a document has the heading that `anchor` names, as code hosts write anchors.
fn has_anchor(file: &Path, anchor: &str) -> bool {
    let slug = |heading: &str| -> String {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
        kept.map(|it| if it == ' ' { '-' } else { it }).collect()
    };
    anchor.is_empty()
        || fs::read_to_string(file)
            .is_ok_and(|text| text.lines().any(|it| it.starts_with('#') && slug(it) == anchor))
}

#[test]
fn the_readme_lists_the_adapters_of_the_binary() {
    let table: BTreeSet<Vec<String>> = marked_table("README.md", "adapters").into_iter().collect();
    let output = run(["adapters", "list", "--json"]);
    assert!(output.status.success(), "{}", said(&output));
    let listed: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    let fields = ["name", "language", "driver", "default", "versions"];
    let cell = |row: &serde_json::Value, field: &str| row[field].as_str().expect("text").to_owned();
    let listed: BTreeSet<Vec<String>> =
        listed.iter().map(|row| fields.iter().map(|field| cell(row, field)).collect()).collect();
    assert_eq!(table, listed);
}

#[test]
fn the_readme_lists_the_workloads_of_the_binary() {
    let table = marked_table("README.md", "workloads");
    let output = run(["workloads"]);
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // The lines of a group are indented.
    let name = |line: &str| line.strip_prefix("  ")?.split(' ').next().map(str::to_owned);
    let listed: BTreeSet<String> = text.lines().filter_map(name).collect();
    let named: BTreeSet<String> = table.into_iter().map(|mut row| row.swap_remove(0)).collect();
    assert_eq!(named, listed);
}

#[test]
fn no_files_of_a_crate_import_each_other_in_a_circle() {
    let mut wrong = Vec::new();
    let crates = fs::read_dir(root().join("crates")).expect("a folder").flatten();
    let crates = crates.map(|it| format!("crates/{}/src", it.file_name().to_string_lossy()));
    // Not of adapters: a harness calls its dialect, which is written in the harness's types.
    for folder in crates.chain(["src".to_owned()]) {
        let imports = imports(&folder);
        for (module, imported) in &imports {
            let mut reached = imported.clone();
            let mut left: Vec<&String> = imported.iter().collect();
            while let Some(next) = left.pop() {
                left.extend(imports[next].iter().filter(|it| reached.insert((*it).clone())));
            }
            if reached.contains(module) {
                wrong.push(format!("{folder}: {module} comes back to itself"));
            }
        }
    }
    assert_none("circles of files", &wrong);
}

/// The modules of a crate that are files, by their path, with their imports outside of unit tests.
/// The root is `crate`.
fn imports(folder: &str) -> BTreeMap<String, BTreeSet<String>> {
    let module = |path: &str| -> Vec<String> {
        let path = path.trim_start_matches(folder).trim_end_matches(".rs");
        let names = path.split('/').filter(|name| !["", "lib", "main", "mod"].contains(name));
        std::iter::once("crate").chain(names).map(str::to_owned).collect()
    };
    let sources = files(folder, &[".rs"]);
    let sources: BTreeMap<Vec<String>, String> =
        sources.into_iter().map(|(path, text)| (module(&path), text)).collect();
    let uses = Regex::new(r"(?m)^(?:pub(?:\(\w+\))? )?use ([^;]+);").expect("a pattern");
    let paths = Regex::new(r"\b(?:crate|super|self)::[\w:]+").expect("a pattern");
    let comment = Regex::new(r"//[^\n]*").expect("a pattern");
    let mut imports = BTreeMap::new();
    for (own, text) in &sources {
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let code = comment.replace_all(code, "");
        let mut named: Vec<String> =
            uses.captures_iter(&code).flat_map(|it| each(&it[1])).collect();
        named.extend(paths.find_iter(&code).map(|it| it.as_str().to_owned()));
        let mut imported = BTreeSet::new();
        for path in named {
            let first = path.split("::").next().unwrap_or_default();
            let child = [&own[..], &[first.to_owned()]].concat();
            if !["crate", "super", "self"].contains(&first) && !sources.contains_key(&child) {
                continue; // another crate
            }
            let mut at = own.clone();
            for name in path.split("::") {
                match name {
                    "crate" => at.truncate(1),
                    "super" => at.truncate(at.len().saturating_sub(1).max(1)),
                    "self" => {}
                    name => at.push(name.to_owned()),
                }
            }
            // The rest of the path is an item of that file.
            while at.len() > 1 && !sources.contains_key(&at) {
                at.pop();
            }
            if at != *own {
                imported.insert(at.join("::"));
            }
        }
        imports.insert(own.join("::"), imported);
    }
    imports
}

/// `a::{b, c::{d, e}}` as its paths.
fn each(tree: &str) -> Vec<String> {
    let Some((head, rest)) = tree.split_once('{') else { return vec![tree.trim().to_owned()] };
    let mut depth = 0;
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let parts = inner.split(|it| {
        depth += i32::from(it == '{') - i32::from(it == '}');
        it == ',' && depth == 0
    });
    let paths = parts.flat_map(each).filter(|it| !it.is_empty());
    paths.map(|path| format!("{}{path}", head.trim())).collect()
}
