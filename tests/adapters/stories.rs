//! Phases and arms that go on with what those before them left, on a real server.

use std::fs;

use crate::fake_support::real::{installed, lab_with, real_lab};
use crate::fake_support::{Lab, code, flat, stderr, stdout};
use crate::support::{self, said};
use serde_json::{Value, json};

const KEPT: &str = "
name: filling
why: Does inserting depend on how full the database is?
collections:
  log:
    keep: experiment
    document: {_id: {type: long, value: key}, text: {type: string, length: 50}}
phases:
  - {operation: insert_many, collection: log, batch: 100, documents: 450}
  - {operation: find_one, collection: log, operations: 300, continues: true}
";

const MAPPED: &str = "
name: classes
why: Documents of a class, in adapters that have it.
shapes:
  small_document: {_id: objectid, No: int, Established: date}
collections:
  items:
    document:
      _id: {type: objectid, value: key}
      No: {type: int, value: key}
      Established: date
phases:
  - {name: plain, operation: insert_one, collection: items, operations: 100}
  - {name: mapped, operation: insert_one, collection: items, shape: small_document, operations: 100}
  - name: read
    operation: find_one
    collection: items
    shape: small_document
    operations: 100
    continues: true
";

/// A collection that only a pipeline names, an arm's own, and one that only a command names.
const NAMED: &str = "
name: named
why: Collections that pipelines and commands name.
collections:
  orders: {documents: 30, document: {number: {type: long, value: key}}}
  customers: {documents: 20, document: {number: {type: long, value: key}}}
  joined: {document: {number: {type: long, value: key}}}
  many: {view: {on: orders, pipeline: [{$match: {number: {$gte: 10}}}]}}
phases:
  - name: seen
    operation: aggregate
    collection: many
    pipeline: [{$match: {}}]
    operations: 3
  - name: read
    operation: aggregate
    collection: orders
    operations: 7
    pipeline:
      - $lookup: {from: customers, localField: number, foreignField: number, as: customer}
      - $unwind: $customer
  - name: own
    mix:
      - {operation: find, collection: many, filter: {number: {$gte: 10}}}
      - {operation: insert_one, collection: orders}
    operations: 20
  - name: written
    operation: aggregate
    collection: orders
    operations: 1
    pipeline:
      - $lookup: {from: customers, localField: number, foreignField: number, as: customer}
      - $unwind: $customer
      - $out: joined
  - name: inserted
    continues: true
    operation: command
    command: {insert: joined, documents: [{a: 1}, {a: 2}]}
    operations: 3
  - name: counted
    continues: true
    operation: count
    collection: joined
    filter: {}
    operations: 5
";

fn phases(runs: &[Value]) -> impl Iterator<Item = &Value> {
    runs.iter().flat_map(|run| run["phases"].as_array().expect("phases"))
}

/// Every operation was right, and what was read is what the core knows to be there.
fn assert_right(runs: &[Value], told: &str) {
    assert!(!runs.is_empty(), "{told}");
    for phase in phases(runs) {
        let operations = phase["by_operation"].as_array().expect("operations");
        for operation in operations {
            assert_eq!((&operation["wrong"], &operation["failed"]), (&0.into(), &0.into()));
            assert_ne!(operation["count"], 0, "{phase}");
        }
        let answers = &phase["answers"];
        if !answers["documents_expected"].is_null() {
            assert_eq!(answers["documents"], answers["documents_expected"], "{phase}");
        }
    }
}

#[test]
fn each_phase_of_a_story_finds_what_the_one_before_it_left() {
    let name = "stories/each_phase_of_a_story_finds_what_the_one_before_it_left";
    let Some(lab) = real_lab(name) else { return };
    let story = ["run", "story", "-d", "python", "--rounds", "1", "--set", "documents=400"];
    let more = ["--set", "workers=3", "--out", "out", "--server", "embedded"];
    let output = lab.run(story.iter().chain(&more));
    let runs = lab.runs();
    assert_right(&runs, &said(&output));
    let size = |phase: &Value, name: &str| phase["sizes"][name].as_u64();
    for run in &runs {
        let phases = run["phases"].as_array().expect("phases");
        assert_eq!(phases.len(), 8, "{}", said(&output));
        assert_eq!(size(&phases[0], "after.collStats.count"), Some(400));
        let deleted = phases.iter().find(|it| it["phase"] == "delete_one").expect("a phase");
        assert_eq!(size(deleted, "before.collStats.count"), Some(400), "nothing was loaded anew");
        assert_eq!(size(deleted, "after.collStats.count"), Some(0));
    }
}

#[test]
fn a_collection_that_is_kept_grows_from_arm_to_arm() {
    let Some(lab) = real_lab("stories/a_collection_that_is_kept_grows_from_arm_to_arm") else {
        return;
    };
    lab.write("kept.yaml", KEPT);
    let words = ["run", "kept.yaml", "-d", "python", "--rounds", "2", "--out", "out"];
    let output = lab.run(words.iter().chain(&["--server", "embedded"]));
    let runs = lab.runs();
    assert_right(&runs, &said(&output));
    assert!(runs.len() >= 4, "two rounds of two arms: {}", said(&output));
    for (number, run) in runs.iter().enumerate() {
        let sizes = &run["phases"][0]["sizes"];
        assert_eq!(sizes["before.collStats.count"], 450 * number, "{run}");
        assert_eq!(sizes["after.collStats.count"], 450 * (number + 1), "{run}");
    }
}

#[test]
fn a_phase_with_a_shape_is_measured_where_the_adapter_has_the_class() {
    let name = "stories/a_phase_with_a_shape_is_measured_where_the_adapter_has_the_class";
    if support::server(name).is_none() {
        return;
    }
    let Some(lab) = lab_with(name, &["go", "python"]) else { return };
    lab.write("classes.yaml", MAPPED);
    let words = ["run", "classes.yaml", "-d", "go", "-d", "python", "--rounds", "1"];
    let output = lab.run(words.iter().chain(&["--out", "out", "--server", "embedded"]));
    let runs = lab.runs();
    assert_right(&runs, &said(&output));
    for run in &runs {
        let python = run["arm"].as_str().is_some_and(|arm| arm.starts_with("python"));
        let names: Vec<&str> =
            phases(std::slice::from_ref(run)).filter_map(|phase| phase["phase"].as_str()).collect();
        let wanted = if python { &["plain"][..] } else { &["plain", "mapped", "read"] };
        assert_eq!(names, wanted, "{}", said(&output));
    }
    let arms = lab.record()["arms"].to_string();
    assert!(arms.contains("its adapter has no shape small_document"), "{arms}");
    let shown = flat(&stdout(&lab.run(["report", "out", "--details"])));
    assert!(shown.contains("not measured: its adapter has no shape small_document"), "{shown}");
}

#[test]
fn a_change_stream_brings_every_message_as_a_tailable_cursor_does() {
    let readers = ["python", "node"];
    let name = "stories/a_change_stream_brings_every_message_as_a_tailable_cursor_does";
    let Some(lab) = lab_with(name, &readers) else { return };
    let words = ["run", "broker-streams", "-d", "python", "--rounds", "1", "--out", "out"];
    let words = [&words[..], &["--set", "messages=300", "--server"]].concat();
    let alone = lab.run([&words[..], &["embedded"]].concat());
    let told = "change streams take a replica set, this server is: standalone";
    assert!(stderr(&alone).contains(told), "{}", said(&alone));
    for reader in readers {
        fs::remove_dir_all(lab.path("out")).unwrap_or_default();
        let output = lab.run([&words[..], &["embedded:replset=1", "--consumer", reader]].concat());
        let runs = lab.runs();
        let read: Vec<&Value> = phases(&runs).map(|it| &it["broker"]).collect();
        // Two phases of the arm and of its copy, in each round: a disturbed one is made again.
        assert!(read.len() >= 4 && read.len().is_multiple_of(4), "{}", said(&output));
        for broker in read {
            assert!(broker["received"].as_u64() >= Some(300), "{reader}: {broker}");
            assert_eq!(broker["received"], broker["sent"], "{reader}: {broker}");
            let troubles =
                [&broker["lost"], &broker["duplicates"], &broker["out_of_order_per_producer"]];
            assert!(troubles.iter().all(|it| **it == 0), "{reader}: {broker}");
        }
    }
}

const TRANSACTIONS: &str = "
name: transactions
why: Two workers pay into one account; and transactions that are aborted.
collections:
  accounts:
    documents: 10
    document: {_id: {type: long, value: key}, balance: {type: long, constant: 5}}
  payments: {document: {_id: {type: long, value: key}}}
  unique:
    indexes: [{keys: {same: 1}, unique: true}]
    document: {_id: {type: long, value: key}, same: {type: int, constant: 7}}
phases:
  - name: conflicts
    operation: transaction
    write_concern: {w: majority}
    keys: {hotspot: [0.1, 0.99]}
    workers: 4
    operations: 100
    warmup: 0.2
    parts:
      - {operation: insert_one, collection: payments}
      - {operation: update_one, collection: accounts, update: {$inc: {balance: 1}}}
      - {operation: find_one, collection: accounts}
  - name: aborted
    operation: transaction
    operations: 8
    warmup: 0.2
    parts:
      - {operation: insert_one, collection: payments}
      - {operation: insert_one, collection: unique}
";

#[test]
fn transactions_try_conflicts_again_and_leave_nothing_when_aborted() {
    let name = "stories/transactions_try_conflicts_again_and_leave_nothing_when_aborted";
    let mut drivers = vec!["python", "go", "node", "c", "php", "perl"];
    drivers.retain(|driver| installed(name, &[driver]));
    let Some(first) = drivers.first() else { return };
    let lab = Lab::with_shared_cache();
    lab.write("transactions.yaml", TRANSACTIONS);
    let words = ["run", "transactions.yaml", "--rounds", "1", "--no-wait", "--out", "out"];
    let alone = [&words[..], &["-d", first, "--server", "embedded"]].concat();
    let alone = stderr(&lab.run(alone));
    assert!(alone.contains("transactions take a replica set, this server is: standalone"));
    assert!(alone.contains("transactions.yaml:13:5"), "{alone}");
    let chosen: Vec<&str> = drivers.iter().flat_map(|driver| ["-d", driver]).collect();
    let output = lab.run([&words[..], &chosen, &["--server", "embedded:replset=1"]].concat());
    let runs = lab.runs();
    let of = |name: &'static str| phases(&runs).filter(move |it| it["phase"] == name);
    assert!(of("conflicts").count() >= drivers.len(), "{}", said(&output));
    for phase in of("conflicts") {
        assert!(phase["retries"].as_u64() > Some(0), "{phase}");
        assert_eq!(phase["errors"], json!([]), "{phase}");
        assert_eq!(phase["receipt"]["claimed"], json!({"documents": 100}), "{phase}");
        assert_eq!(phase["receipt"]["agrees"], true, "{phase}");
    }
    for phase in of("aborted") {
        // The first one is right; the others break the index after their first insert.
        assert_eq!(
            (&phase["errors"][0]["code"], &phase["errors"][0]["count"]),
            (&json!(11000), &json!(7))
        );
        assert_eq!(phase["receipt"]["claimed"], json!({"documents": 1}), "{phase}");
        assert_eq!(phase["receipt"]["counted"], json!({"documents": 1}), "{phase}");
        assert_eq!(phase["retries"], 0, "{phase}");
    }
    let shown = stdout(&lab.run(["report", "out", "--details"]));
    assert!(shown.contains("retries"), "{shown}");
}

const SECONDARIES: &str = "
name: secondaries
why: Reads of what the phase before wrote, from whichever member.
collections:
  items: {document: {_id: {type: long, value: key}, text: {type: string, length: 50}}}
phases:
  - {operation: insert_one, collection: items, operations: 200, warmup: 0.2}
  - {name: asked, operation: find_one, collection: items, operations: 200, continues: true}
  - name: near
    operation: find_one
    collection: items
    operations: 200
    continues: true
    read_preference: nearest
";

#[test]
fn what_secondaries_are_asked_counts_and_is_there() {
    let Some(lab) = real_lab("stories/what_secondaries_are_asked_counts_and_is_there") else {
        return;
    };
    lab.write("secondaries.yaml", SECONDARIES);
    let words = ["run", "secondaries.yaml", "-d", "python", "--rounds", "1", "--out", "out"];
    let secondaries = ["--server", "embedded:replset=3", "--option", "readPreference=secondary"];
    let output = lab.run(words.iter().chain(&secondaries));
    let runs = lab.runs();
    assert_right(&runs, &said(&output));
    for phase in phases(&runs) {
        let receipt = &phase["receipt"];
        assert_eq!(receipt["level"], "opcounters", "{phase}");
        assert_eq!(receipt["claimed"], receipt["counted"], "{phase}");
    }
    assert!(!stdout(&output).contains("NOT COMPARABLE"), "{}", said(&output));
}

#[test]
fn collections_that_pipelines_and_commands_name_are_there() {
    let name = "stories/collections_that_pipelines_and_commands_name_are_there";
    let Some(lab) = real_lab(name) else { return };
    lab.write("named.yaml", NAMED);
    let words = ["run", "named.yaml", "-d", "python", "--rounds", "1", "--out", "out"];
    let output = lab.run(words.iter().chain(&["--server", "embedded"]));
    let runs = lab.runs();
    assert_right(&runs, &said(&output));
    for run in &runs {
        let read: Vec<_> = phases(std::slice::from_ref(run))
            .map(|phase| phase["answers"]["documents"].as_u64().expect("a number"))
            .collect();
        // A view of twenty; twenty pairs each time; a view of the arm's own documents; `$out`
        // returns none; 26 documents each time.
        assert_eq!((&read[..2], &read[3..]), (&[60, 7 * 20][..], &[0, 0, 5 * 26][..]));
        assert!(read[2] >= 20, "{}", said(&output));
        let receipt = &run["phases"][4]["receipt"];
        assert_eq!((&receipt["level"], &receipt["agrees"]), (&"collection".into(), &true.into()));
        assert_eq!(receipt["claimed"]["documents"], 3 * 2);
    }
}

/// A workload of each kind of application, very short.
#[test]
fn applications_are_answered_rightly() {
    let Some(lab) = real_lab("stories/applications_are_answered_rightly") else { return };
    for name in ["catalog", "metrics", "orders", "queue", "sessions", "timeline"] {
        let text = workload::builtin::text(name).expect("built in");
        let workers = "    workers: ${threads}\n";
        let short = format!("{workers}    warmup: 50ms\n    operations: 60\n");
        lab.write(&format!("{name}.yaml"), &text.replace(workers, &short));
        let out = format!("out-{name}");
        let (file, sets) = (format!("{name}.yaml"), ["documents=2000", "threads=2"]);
        let words = ["run", &file, "-d", "python", "--rounds", "1", "--out", &out];
        let more = ["--server", "embedded", "--set", sets[0], "--set", sets[1]];
        let output = lab.run(words.iter().chain(&more));
        let text = fs::read_to_string(lab.path(&out).join("runs.jsonl")).expect("runs");
        let runs: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_right(&runs, &said(&output));
        for run in &runs {
            assert_eq!(run["failed"], Value::Null, "{name}: {}", said(&output));
            let mut phases = phases(std::slice::from_ref(run));
            let agrees = phases.all(|phase| phase["receipt"]["agrees"] != false);
            assert!(agrees, "{name}: {}", said(&output));
        }
    }
}

/// The driver's library for a compressor is missing; that ends no process.
#[test]
fn a_compressor_without_its_library_is_refused_as_unsupported() {
    let name = "stories/a_compressor_without_its_library_is_refused_as_unsupported";
    let Some(lab) = lab_with(name, &["java"]) else { return };
    let compressed = ["--option", "compressors=snappy", "--server", "absorber"];
    let output = lab.run(["run", "ping", "-d", "java", "--rounds", "1"].iter().chain(&compressed));
    assert_eq!(code(&output), 6, "{}", said(&output));
    assert!(
        said(&output).contains("(unsupported): an option wants a library"),
        "{}",
        said(&output)
    );
}
