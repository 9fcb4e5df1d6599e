//! One word, one thing: a name of a type or a file belongs to one crate.

use std::collections::{BTreeMap, BTreeSet};

use super::{assert_none, core, crate_of};
use regex_lite::Regex;

/// Names of files that every crate may have.
const FILES_OF_ALL: [&str; 4] = ["lib.rs", "main.rs", "mod.rs", "tests.rs"];

/// Types and files that two crates still share: entries may only be removed.
const SHARED: &[&str] = &[
    "Arm",
    "broker.rs",
    "csv.rs",
    "death.rs",
    "facts.rs",
    "messages.rs",
    "picture.rs",
    "queue.rs",
    "resume.rs",
    "rounds.rs",
    "rows.rs",
    "settings.rs",
    "study.rs",
    "table.rs",
];

/// Names with the crates that have them, by crate.
type Owners = BTreeMap<String, BTreeSet<String>>;

fn types() -> Owners {
    let definition = concat!(
        r"(?m)^\s*(?:pub(?:\([a-z]+\))? )?(?:struct|enum|trait|union) (\w+)",
        r"|^(?:pub(?:\([a-z]+\))? )?type (\w+)"
    );
    let definition = Regex::new(definition).expect("a pattern");
    let mut owners = Owners::new();
    for (path, text) in core() {
        if path.ends_with("tests.rs") {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for found in definition.captures_iter(code) {
            let name = found.get(1).or(found.get(2)).expect("one of both").as_str();
            owners.entry(name.to_owned()).or_default().insert(crate_of(&path));
        }
    }
    owners
}

fn file_names() -> Owners {
    let mut owners = Owners::new();
    for (path, _) in core() {
        let name = path.rsplit('/').next().expect("a name");
        let is_build_script = path == format!("crates/{}/build.rs", crate_of(&path));
        if !FILES_OF_ALL.contains(&name) && !is_build_script {
            owners.entry(name.to_owned()).or_default().insert(crate_of(&path));
        }
    }
    owners
}

#[test]
fn no_type_and_no_file_has_the_name_of_one_in_another_crate() {
    let mut shared: Owners = types();
    shared.append(&mut file_names());
    shared.retain(|_, crates| crates.len() > 1);
    let mut wrong = Vec::new();
    for (name, crates) in &shared {
        if !SHARED.contains(&name.as_str()) {
            let crates = crates.iter().cloned().collect::<Vec<_>>().join(", ");
            wrong.push(format!("{name}: {crates}; give all but one a more specific name"));
        }
    }
    let stale = SHARED.iter().filter(|name| !shared.contains_key(**name));
    wrong.extend(stale.map(|name| format!("{name}: no longer shared; remove it from `SHARED`")));
    assert_none("names of several crates", &wrong);
}
