//! One corpus of commands and legacy messages, good and bad, replayed against the absorber and two
//! real servers. Its answers equal one of theirs, but for a short list of differences.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::absorber_support::Absorber;
use crate::replay_support::{Step, corpus, replay};
use crate::support::{marked_table, skip, start_version};
use crate::tap_support::host_of;
use server::ServerHandle;

/// The absorber's different answers, by the label of their steps, with the reasons. Any other
/// difference is a fault. `docs/absorber.md` prints this list.
const DIFFERENCES: &[(&str, &str)] = &[
    ("collations", "strings are compared by their bytes; another collation is refused"),
    ("commands", "listIndexes, dropIndexes and others are unknown commands (error 59)"),
    ("decimals", "a decimal is compared as the nearest double, and so is equal to it"),
    ("distinct", "of fields that hold no arrays, in the order of the values"),
    ("explain", "there are no plans worth explaining"),
    ("findAndModify", "it updates, upserts and replaces: no fields, no remove"),
    ("hint", "the index is chosen by the filter; a hint is ignored, even if it names no index"),
    (
        "indexes",
        "only ordered indexes of plain fields that hold no arrays: no sparse, TTL, partial, \
         hashed, text or geo indexes",
    ),
    ("options of collections", "only capped collections have options: no views, no validators"),
    ("projections", "of whole fields alone: none that compute or cut one, none within _id"),
    (
        "query operators",
        "no $or, $not or $nor, no regular expressions, no operators on arrays or types, no \
         expressions",
    ),
    ("sorts", "only 1 and -1, and not by arrays"),
    ("stages", "only those that match, sort, cut and count"),
    ("statistics", "collStats of a collection that is not there is an error (26)"),
    ("txnNumber", "accepted and ignored: a repeated write is done again; a standalone refuses it"),
    (
        "update operators",
        "only $set, $unset and $inc, and not within arrays; no pipelines, no decimal sums",
    ),
];

/// Versions whose answers are right. Where they disagree, either is.
const VERSIONS: [&str; 2] = ["4.4", "6.0"];

#[test]
fn the_absorber_answers_as_a_real_server_does() {
    let started: Result<Vec<ServerHandle>, String> =
        VERSIONS.iter().map(|version| start_version(Some(version), &[])).collect();
    let servers = match started {
        Ok(servers) => servers,
        Err(reason) => return skip("the_absorber_answers_as_a_real_server_does", &reason),
    };
    let steps = corpus();
    let absorber = Absorber::start(&[]);
    let (own, real) = std::thread::scope(|scope| {
        let own = scope.spawn(|| replay(absorber.address, None, &steps));
        let steps = &steps;
        let real = servers.iter().zip(VERSIONS).map(|(server, version)| {
            let address = host_of(server.uri()).parse().expect("an address");
            scope.spawn(move || replay(address, Some(version), steps))
        });
        let real: Vec<_> = real.collect();
        let own = own.join().expect("the absorber's replay");
        (own, real.into_iter().map(|it| it.join().expect("a replay")).collect::<Vec<_>>())
    });
    let (mut wrong, mut seen) = (String::new(), BTreeSet::new());
    for step in &steps {
        let own = &own[&step.place];
        let right: Vec<&String> = real.iter().filter_map(|it| it.get(&step.place)).collect();
        assert!(!right.is_empty(), "{}: no server knows it", step.place);
        let agrees = right.contains(&own);
        match &step.label {
            Some(label) if agrees => {
                let _ = writeln!(wrong, "{}: {label:?} is no difference (any more)", step.place);
            }
            Some(label) => {
                seen.insert(label.as_str());
            }
            None if agrees => {}
            None => describe(&mut wrong, step, own, &right),
        }
    }
    let listed: BTreeSet<&str> = DIFFERENCES.iter().map(|(label, _)| *label).collect();
    for label in seen.symmetric_difference(&listed) {
        let _ = writeln!(wrong, "{label:?} stands in the corpus or in the list, but not in both");
    }
    assert!(wrong.is_empty(), "{} of {} steps:\n{wrong}", wrong.lines().count(), steps.len());
}

fn describe(wrong: &mut String, step: &Step, own: &str, right: &[&String]) {
    let _ = writeln!(wrong, "{} ({}): {}\n  absorber {own}", step.place, step.scenario, step.text);
    for answer in right.iter().collect::<BTreeSet<_>>() {
        let _ = writeln!(wrong, "  mongod   {answer}");
    }
}

#[test]
fn the_document_lists_the_differences() {
    let printed = marked_table("docs/absorber.md", "differences").into_iter();
    let printed: BTreeMap<String, String> =
        printed.map(|mut row| (row.remove(0), row.remove(0))).collect();
    let owned = |(label, reason): &(&str, &str)| ((*label).to_owned(), (*reason).to_owned());
    assert_eq!(printed, DIFFERENCES.iter().map(owned).collect());
}

#[test]
fn the_corpus_covers_what_the_absorber_has() {
    let steps = corpus();
    assert!(steps.len() >= 100, "{} steps", steps.len());
    let text: String = steps.iter().map(|step| step.text.as_str()).collect();
    for command in [
        "insert",
        "update",
        "delete",
        "distinct",
        "findAndModify",
        "find",
        "getMore",
        "killCursors",
        "count",
        "aggregate",
        "create",
        "drop",
        "dropDatabase",
        "createIndexes",
        "listCollections",
        "listDatabases",
        "collStats",
        "dbStats",
    ] {
        assert!(text.contains(&format!("{{\"{command}\":")), "{command} is not in the corpus");
    }
    for message in ["insert", "update", "delete", "query", "getMore", "killCursors"] {
        assert!(text.contains(&format!("\"legacy\":\"{message}\"")), "no legacy {message}");
    }
}
