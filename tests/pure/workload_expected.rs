//! Totals of right answers, and users' own documents.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use workload::{
    self, Answered, Expectation, Expected, ScheduleRequest, Workers, Workload, WorkloadError,
    document_for_key, schedule,
};

fn build(text: &str, path: &Path) -> Result<Workload, WorkloadError> {
    let loaded = workload::parse(text, path, &BTreeMap::new())?;
    workload::build(&loaded, 7)
}

/// Totals of the first operations of the single worker, all answered correctly.
fn totals(phase: &str, count: u64) -> Expected {
    totals_after("", phase, count)
}

/// The same where phases come before, and it goes on with what they left.
fn totals_after(before: &str, phase: &str, count: u64) -> Expected {
    let text = format!(
        "why: test
collections:
  items:
    documents: 100
    document:
      number: {{type: long, value: key, add: 10}}
      drawn: int
phases:
{before}  - {{{phase}}}
"
    );
    let made = build(&text, Path::new("test.yaml")).unwrap_or_else(|error| panic!("{error}"));
    let phase = made.plan.phases.len() - 1;
    let workers = Workers::all(made.plan.phases[phase].workers);
    let request = ScheduleRequest { phase, workers, round: 0, seconds: 1.0 };
    let scheduled = schedule(&made.plan, &request).schedule;
    let Some(mut expectation) = Expectation::new(&made.plan, phase) else {
        return Expected { documents: None, sum: None };
    };
    for index in 0..count {
        expectation.add(&scheduled, Answered { slice: 0, index, operation: 0 });
    }
    expectation.total()
}

#[test]
fn totals_follow_from_the_keys() {
    let of = |documents, sum| Expected { documents: Some(documents), sum: Some(sum) };
    let sequential = "keys: sequential, operation: ";
    // Keys 0, 1, 2 hold the numbers 10, 11, 12.
    assert_eq!(totals(&format!("{sequential}find_one"), 3), of(3, 33));
    // Every key twice: laps begin anew.
    let sum: u64 = (0..100).map(|key| key + 10).sum();
    assert_eq!(totals(&format!("{sequential}find_one"), 200), of(200, 2 * sum));
    // Two ranges of 4 from 0 and 1.
    let range = format!("{sequential}find, by: number, range: 4");
    assert_eq!(totals(&range, 2), of(8, (10 + 11 + 12 + 13) + (11 + 12 + 13 + 14)));
    let limited = totals(&format!("{range}, limit: 3"), 2);
    assert_eq!(limited, Expected { documents: Some(6), sum: None });
    assert_eq!(totals(&format!("{sequential}count, by: number, range: 4"), 5), of(20, 0));
    for (find, documents, sum) in [
        ("find, by: number, range: 4, sort: {number: 1}, limit: 3", 6, Some(33 + 36)),
        ("find, by: number, range: 4, sort: {_id: -1}, limit: 3", 6, Some(36 + 39)),
        ("find, by: number, range: 4, sort: {number: -1}, skip: 1, limit: 2", 4, Some(23 + 25)),
        ("find, by: number, range: 4, sort: {number: 1}, skip: 3", 2, Some(13 + 14)),
        ("find, by: number, range: 4, sort: {number: 1}, skip: 9", 0, Some(0)),
        ("find, by: number, sort: {number: 1}, skip: 1", 0, Some(0)),
        ("find, filter: {}, sort: {number: -1}, skip: 1, limit: 1", 2, Some(2 * 108)),
        ("find, filter: {}, sort: {drawn: 1}, skip: 1, limit: 5", 10, None),
        ("find_one, filter: {}, sort: {number: -1}", 2, Some(2 * 109)),
        ("find_one, filter: {}", 2, None),
        ("find_one_and_update, range: 4, sort: {_id: -1}, set: {drawn: int}", 2, Some(13 + 14)),
        ("read_modify_write, set: {drawn: int}", 2, Some(10 + 11)),
        ("distinct, field: number, by: number, range: 4", 8, Some(46 + 50)),
        ("distinct, field: _id", 200, Some(0)),
        ("update_many, by: number, range: 4, set: {drawn: int}", 8, Some(0)),
        ("update_many, filter: {}, set: {drawn: int}", 200, Some(0)),
        ("delete_many, by: number, range: 4", 8, Some(0)),
        ("delete_many, by: number", 2, Some(0)),
    ] {
        let expected = Expected { documents: Some(documents), sum };
        assert_eq!(totals(&format!("{sequential}{find}"), 2), expected, "{find}");
    }
    assert_eq!(totals("operation: delete_many, filter: {}, operations: 1", 1), of(100, 0));
    assert_eq!(totals("operation: noop", 5), of(0, 0));
    let unknown = Expected { documents: None, sum: None };
    assert_eq!(totals("operation: find, filter: {number: 3}", 5), unknown);
    for unknown_answer in [
        "distinct, field: drawn",
        "update_many, filter: {number: 3}, set: {drawn: int}",
        "update_many, filter: {}, set: {drawn: int}, write_concern: {w: 0}",
        "delete_many, filter: {drawn: 3}, operations: 1",
    ] {
        let phase = format!("operation: {unknown_answer}");
        assert_eq!(totals(&phase, 1), unknown, "{unknown_answer}");
    }
    for (stages, documents) in [
        ("{$count: n}", Some(1)),
        ("{$sort: {number: 1}}, {$limit: 7}, {$skip: 2}, {$set: {a: 1}}", Some(5)),
        ("{$match: {}}, {$group: {_id: null, n: {$sum: 1}}}", Some(1)),
        ("{$lookup: {from: items, localField: number, foreignField: number, as: a}}", Some(100)),
        ("{$skip: 200}, {$count: n}", Some(0)),
        ("{$match: {number: 12}}, {$count: n}", None),
        ("{$limit: {$stamp: key}}", None),
        ("{$unwind: $number}", None),
        ("{$match: {number: KEY}}, {$project: {number: 1}}", Some(1)),
        ("{$match: {number: {$gte: KEY, $lt: END}}}, {$sort: {number: 1}}", Some(4)),
        ("{$match: {number: {$gte: KEY, $lt: END}}}, {$skip: 1}, {$limit: 2}", Some(2)),
        ("{$match: {number: {$gte: KEY, $lt: END}}}, {$skip: 4}, {$count: n}", Some(0)),
        ("{$match: {number: KEY, other: 1}}", None),
        ("{$match: {number: KEY}}, {$match: {other: 1}}", None),
        ("{$limit: 50}, {$match: {number: KEY}}", None),
    ] {
        let stamp = |add: u8| format!("{{$stamp: {{type: long, value: key, add: {add}}}}}");
        let stages = stages.replace("KEY", &stamp(10)).replace("END", &stamp(14));
        let found = totals(&format!("operation: aggregate, pipeline: [{stages}]"), 3);
        assert_eq!(found.documents, documents.map(|it| 3 * it), "{stages}");
    }
    assert_eq!(totals("operation: delete_one", 5), of(0, 0));
    // All hundred numbers are 10 to 109.
    assert_eq!(totals("operation: full_scan", 2), of(200, 2 * sum));
    assert_eq!(totals("operation: estimated_count", 2), of(200, 0));
    assert_eq!(totals("operation: count, filter: {}", 1), of(100, 0));
    let without = totals("operation: full_scan, projection: {_id: 1}", 1);
    assert_eq!(without, of(100, 0));
    assert_eq!(totals(&format!("{sequential}scan, by: number, limit: 200"), 1), of(100, sum));
    let scan = totals(&format!("{sequential}scan, by: number, limit: 7"), 95);
    assert_eq!(scan, Expected { documents: Some(94 * 7 + 6), sum: None });
}

#[test]
fn answers_that_nothing_checks_are_known_from_the_workload() {
    for (phase, checked) in [
        ("operation: find_one", &[true][..]),
        ("operation: insert_one", &[true]),
        ("operation: aggregate, pipeline: [{$count: n}]", &[true]),
        ("operation: find, filter: {number: 3}", &[false]),
        ("operation: aggregate, pipeline: [{$match: {number: 3}}]", &[false]),
        ("operation: aggregate, pipeline: [{$out: items}]", &[false]),
        ("operation: command, command: {count: items}", &[false]),
        ("operation: command, command: {ping: 1}", &[true]),
        ("operation: command, command: {insert: items, documents: [{a: 1}]}", &[true]),
        ("operation: command, command: {insert: items, documents: [{_id: 1}]}", &[false]),
        ("operation: find_one_and_update, update: {$set: {note: 3}}", &[true]),
        // A phase has one total.
        ("mix: [{operation: find_one}, {operation: count, filter: {number: 3}}]", &[false, false]),
        ("mix: [{operation: find_one}, {operation: insert_one}]", &[false, true]),
        ("mix: [{operation: find_one}, {operation: command, command: {ping: 1}}]", &[true, true]),
    ] {
        let text = format!(
            "why: test
collections: {{items: {{documents: 9, document: {{number: {{type: long, value: key}}}}}}}}
phases: [{{{phase}}}]"
        );
        let made = build(&text, Path::new("test.yaml")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(workload::expected::checked(&made.plan, 0), checked, "{phase}");
    }
}

#[test]
fn totals_of_a_story_follow_from_what_was_inserted_and_deleted() {
    let of = |documents, sum| Expected { documents: Some(documents), sum: Some(sum) };
    let inserts = "  - {operation: insert_one, operations: 7, workers: 2}\n";
    // Keys 100 to 106 hold the numbers 110 to 116.
    let loaded: u64 = (10..110).sum();
    let all = loaded + (110..117).sum::<u64>();
    let then = |before, phase: &str, count| {
        totals_after(before, &format!("continues: true, operation: {phase}"), count)
    };
    assert_eq!(then(inserts, "find_one, keys: sequential", 107), of(107, all));
    assert_eq!(then(inserts, "estimated_count", 1), of(107, 0));
    let scan = then(inserts, "full_scan", 2);
    assert_eq!(scan, Expected { documents: Some(214), sum: None });
    let deletes = "  - {operation: delete_one, keys: sequential, operations: 30}\n";
    let rest = loaded - (10..40).sum::<u64>();
    assert_eq!(then(deletes, "full_scan", 1), of(70, rest));
    assert_eq!(then(deletes, "find_one, keys: sequential", 70), of(70, rest));
    let drops = "  - {operation: drop, operations: 1}\n";
    assert_eq!(then(drops, "estimated_count", 3), of(0, 0));
}

#[test]
fn sizes_are_exact() {
    for size in [200, 1000, 100_000] {
        let text = format!(
            "why: test
collections:
  items:
    size_bytes: {size}
    document:
      kind: {{one_of: [a, bbbbbbbb]}}
      words: {{type: string, length: {{normal: [20, 5]}}, fill: text}}
      inner: {{type: document, fields: {{body: {{type: bytes, length: fill}}}}}}
      tags: {{type: array, of: {{type: string, length: {{uniform: [1, 5]}}}}, length: 3}}
phases:
  - operation: insert_one
"
        );
        let made = build(&text, Path::new("test.yaml")).unwrap_or_else(|error| panic!("{error}"));
        let collection = &made.plan.collections[0];
        assert_eq!(collection.document_bytes_max, size);
        for key in 0..50 {
            let document = document_for_key(collection, &made.pools[0], 7, key).unwrap();
            assert_eq!(document.to_vec().unwrap().len() as u64, size);
        }
        assert!(u64::from(collection.pool_documents) * size <= 16 << 20);
    }
}

#[test]
fn the_users_own_documents() {
    let folder = tempfile::tempdir().unwrap();
    let lines = r#"{"_id":{"$oid":"0102030405060708090a0b0c"},"user":"alic1","n":{"$numberInt":"5"}}
{"_id":{"$oid":"0102030405060708090a0b0d"},"user":"bob01","n":{"$numberLong":"6"}}
"#;
    fs::write(folder.path().join("users.jsonl"), lines).unwrap();
    let text = |file: &str, key: &str| {
        format!(
            "why: test
collections:
  users: {{documents: 5, file: {file}, key: {key}}}
phases:
  - {{operation: find_one, by: {key}}}
"
        )
    };
    let path = folder.path().join("test.yaml");
    let made = build(&text("users.jsonl", "user"), &path).unwrap_or_else(|error| panic!("{error}"));
    let collection = &made.plan.collections[0];
    assert_eq!((collection.loaded, collection.pool_documents), (5, 2));
    let third = document_for_key(collection, &made.pools[0], 7, 3).unwrap();
    assert_eq!(
        third.to_string(),
        r#"{ "_id": ObjectId("6955b9000000000000000003"), "user": "00003", "n": 6 }"#
    );
    // The pool that was written is a file that can be given.
    made.pools[0].write(&folder.path().join("users.bson")).unwrap();
    let again = build(&text("users.bson", "user"), &path).unwrap_or_else(|error| panic!("{error}"));
    assert!(again.pools[0].documents().eq(made.pools[0].documents()));
    let error = build(&text("users.bson", "usr"), &path).unwrap_err();
    let problem = error.problems().next().unwrap();
    assert_eq!(problem.hint.as_deref(), Some("did you mean `user`?"));
}

#[test]
fn phases_that_cannot_take_turns_say_why() {
    let reason = |keys: &str| {
        let text = format!(
            "why: test
collections:
  items: {{documents: 5, document: {{a: int}}}}
phases:
  - {{{keys}}}
"
        );
        let made = build(&text, Path::new("test.yaml")).unwrap_or_else(|error| panic!("{error}"));
        made.plan.phases[0].whole_run_reason.clone()
    };
    assert_eq!(reason("operation: find_one"), None);
    assert_eq!(reason("operation: find_one, think: 5ms"), None);
    for keys in [
        "operation: insert_one, write_concern: {w: 0}",
        "operation: find_one, rate: 10",
        "operation: find_one, window: 2",
        "operation: find_one, burst: true, operations: 10",
        "operation: find_one, think: 1s",
    ] {
        assert!(reason(keys).is_some(), "{keys}");
    }
}

#[test]
fn the_schema_describes_every_key() {
    let text = workload::schema().to_string();
    for key in ["size_bytes", "zipfian", "write_concern", "poisson", "Distribution", "fill"] {
        assert!(text.contains(key), "{key} is not in the schema");
    }
}

#[test]
fn a_parameter_in_quotes_is_the_value_itself() {
    let text = "why: test
parameters: {number: 5, text: \"5\", word: open, w: 1}
collections:
  items:
    documents: 1
    document:
      number: {constant: \"${number}\"}
      text: {constant: \"${text}\"}
      word: {constant: \"${word}\"}
      within: {constant: \"'${number}' or '${number}'\"}
      none: {constant: null}
phases:
  - {operation: insert_one, write_concern: {w: \"${w}\"}, operations: \"${number}\"}
";
    let made = build(text, Path::new("test.yaml")).unwrap_or_else(|error| panic!("{error}"));
    let mut document = made.pools[0].document(0);
    document.remove("_id");
    let expected =
        r#"{ "number": 5, "text": "5", "word": "open", "within": "'5' or '5'", "none": null }"#;
    assert_eq!(document.to_string(), expected);
    let concern = made.plan.phases[0].operations[0].write_concern.clone();
    assert_eq!(concern, Some(serde_json::json!({"w": 1})));
}
