//! Manifests say what an adapter cannot do, for those who have not installed it. Here they are
//! compared with what it says itself.

use std::collections::BTreeSet;

use adapter::manifest::discover;
use adapter::protocol::Hello;
use measure::arms;

/// The words of SPEC section 3 that manifests may name, beside operations.
const WORDS: &str = "awaited think window rate burst write_concern read_concern read_preference \
                     command_concerns unacknowledged unordered clients lazy_insert expect sort \
                     hint collation max_time change_stream small_document large_document";

/// Their manifests do not name all yet.
const INCOMPLETE: [&str; 3] = ["cpp", "java", "rust"];

/// Whether the manifest lacks exactly what the adapter does not declare.
pub fn as_declared(driver: &str, hello: &Hello) -> Result<(), String> {
    let manifests = discover(None).expect("manifests that can be read");
    let arm = arms::parse(&manifests, driver).map_err(|error| error.to_string())?;
    if INCOMPLETE.contains(&arm.manifest.name.as_str()) {
        return Ok(());
    }
    let lacks = arm.manifest.choose(&arm.asked).map_err(|error| error.to_string())?.lacks;
    let kinds: BTreeSet<&str> =
        manifests.iter().flat_map(|it| it.calls.keys()).map(String::as_str).collect();
    let its = &hello.capabilities;
    let declared = |word: &&str| {
        let lists = [&its.operations, &its.pacing, &its.extras, &its.shapes];
        lists.iter().any(|list| list.iter().any(|it| it == word))
    };
    let known: Vec<&str> = WORDS.split_whitespace().chain(kinds).collect();
    let wrong = |word: &&&str| declared(word) == lacks.iter().any(|it| it == **word);
    match known.iter().filter(wrong).copied().collect::<Vec<_>>() {
        wrong if wrong.is_empty() => Ok(()),
        wrong => Err(format!("{driver}: `lacks` of the manifest is wrong about {wrong:?}")),
    }
}
