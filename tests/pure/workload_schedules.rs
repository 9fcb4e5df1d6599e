//! Schedules: their bytes, and the operations of adapters that follow them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use workload::plan::KeySource;
use workload::{self, Record, Request, Schedule, Scheduled, Workload, counter, schedule};

const COLLECTIONS: &str = "why: test
collections:
  items:
    documents: 1000
    document:
      _id: {type: guid, value: key}
      number: {type: long, value: key, add: 5}
      name: string
  plain:
    documents: 1000
    document:
      number: {type: long, value: key}
      name: string
phases:
";

fn workload(phases: &str) -> Workload {
    let text = format!("{COLLECTIONS}{phases}");
    let loaded = workload::parse(&text, Path::new("test.yaml"), &BTreeMap::new());
    loaded.and_then(|loaded| workload::build(&loaded, 7)).unwrap_or_else(|error| panic!("{error}"))
}

fn of(workload: &Workload, process: u32) -> Scheduled {
    schedule(&workload.plan, &Request { phase: 0, process, round: 0, seconds: 1.0 })
}

#[test]
fn the_file_is_laid_out_as_the_contract_says() {
    let guid = *b"0123456789abcdef";
    let record = Record { intended_ns: 0x0102, key: 0x0304, document: 5, operation: 6, guid };
    let mut made =
        Schedule { slices: 2, lap_ns: 9, guids: false, records: vec![record, Record::default()] };
    let mut bytes = Vec::new();
    made.write_to(&mut bytes).unwrap();
    let mut expected = b"MDYNSCH1".to_vec();
    expected.extend([24, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([2, 1, 0, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0]);
    expected.extend([0; 24]);
    assert_eq!(bytes, expected);
    made.guids = true;
    bytes.clear();
    made.write_to(&mut bytes).unwrap();
    assert_eq!((bytes.len(), bytes[8]), (32 + 2 * 40, 40));
    assert_eq!(bytes[32 + 24..32 + 40], guid);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_round_others() {
    let phases = "  - {operation: find_one, collection: plain, keys: zipfian, workers: 3}\n";
    let (first, second) = (workload(phases), workload(phases));
    assert!(first == second);
    assert!(of(&first, 0) == of(&second, 0));
    let other = Request { phase: 0, process: 0, round: 1, seconds: 1.0 };
    assert!(schedule(&first.plan, &other) != of(&first, 0));
    // Pinned: a change of these numbers is a change of every published plan.
    let keys: Vec<u64> = of(&first, 0).schedule.records[..6].iter().map(|it| it.key).collect();
    insta::assert_debug_snapshot!("workload_pinned", (keys, first.pools[1].documents()[0].clone()));
}

#[test]
fn processes_share_an_open_loop_exactly() {
    for poisson in [false, true] {
        let phase = |processes: u32| {
            workload(&format!(
                "  - {{operation: find_one, collection: plain, rate: 777, poisson: {poisson}, \
                 operations: 1000, processes: {processes}}}\n"
            ))
        };
        let whole = of(&phase(1), 0);
        let three = phase(3);
        let parts: Vec<Scheduled> = (0..3).map(|process| of(&three, process)).collect();
        let mut merged: Vec<Record> =
            parts.iter().flat_map(|part| part.schedule.records.clone()).collect();
        merged.sort_by_key(|record| record.intended_ns);
        assert!(merged == whole.schedule.records);
        let limits: u64 = parts.iter().map(|part| part.limits.as_ref().unwrap()[0]).sum();
        assert_eq!((limits, whole.limits), (1000, Some(vec![1000])));
        assert!(parts.iter().all(|part| part.schedule.lap_ns == whole.schedule.lap_ns));
        let seconds = whole.schedule.lap_ns as f64 / 1e9;
        let tolerance = if poisson { 0.15 } else { 1e-6 };
        assert!((seconds * 777.0 / 1000.0 - 1.0).abs() < tolerance, "{seconds} s");
    }
}

#[test]
fn deletions_meet_every_document_once_and_end() {
    for pacing in ["", ", rate: 1000"] {
        let deletes = workload(&format!(
            "  - {{operation: delete_one, collection: plain, workers: 3, processes: 2{pacing}}}\n"
        ));
        let mut keys = Vec::new();
        for process in 0..2 {
            let made = of(&deletes, process);
            let limits = made.limits.unwrap();
            assert_eq!(limits.len(), made.schedule.slices as usize);
            for (slice, limit) in (0..).zip(limits) {
                let key = |index| made.schedule.record(slice, index).unwrap().0.key;
                keys.extend((0..limit).map(key));
            }
        }
        if pacing.is_empty() {
            assert_eq!(keys.len(), 1000);
            assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 1000);
        } else {
            let different = keys.iter().collect::<BTreeSet<_>>().len();
            assert_eq!(different, keys.len(), "no document is deleted twice");
        }
    }
}

#[test]
fn operations_are_dealt_exactly() {
    let limited = workload(
        "  - {operation: find_one, collection: plain, workers: 3, processes: 2, \
         operations: 1000}\n",
    );
    let limits: Vec<u64> =
        (0..2).flat_map(|process| of(&limited, process).limits.unwrap()).collect();
    assert_eq!(limits, [167, 167, 167, 167, 166, 166]);
}

#[test]
fn sequential_keys_are_dealt_in_turn_and_laps_join() {
    let found =
        workload("  - {operation: find_one, collection: plain, keys: sequential, workers: 3}\n");
    let made = of(&found, 0).schedule;
    let key = |slice, index| made.record(slice, index).unwrap().0.key;
    for (step, expected) in (0..3000).zip((0..1000).cycle()) {
        assert_eq!(key(step % 3, u64::from(step / 3)), expected);
    }
    let length = made.slice_records() as u64;
    assert_eq!(key(1, length), (3 * length + 1) % 1000, "the second lap goes on");
}

#[test]
fn inserted_documents_can_be_foretold() {
    for (phase, batch) in [("insert_one", 1), ("insert_many, batch: 7", 7)] {
        let inserts = workload(&format!(
            "  - {{operation: {phase}, collection: items, workers: 2, processes: 2}}\n"
        ));
        let (plan, pool) = (&inserts.plan, &inserts.pools[0]);
        let counter = counter(plan, &plan.phases[0]);
        assert_eq!((counter.first, counter.stride, counter.loaded), (1000, 4, 1000));
        assert_eq!(plan.phases[0].operations[0].key, KeySource::Counter);
        let made = of(&inserts, 1).schedule;
        let length = made.slice_records() as u64;
        for index in [0, 1, 5, length, length + 3] {
            // Worker 1 of process 1 is worker 3 of the run; n counts its documents.
            let (record, lap) = made.record(1, index).unwrap();
            for item in 0..batch {
                let n = index * batch + item;
                let key = counter.first + 3 + counter.stride * n;
                let document = &pool.documents()[((u64::from(record.document) + item)
                    % pool.documents().len() as u64)
                    as usize];
                let expected = workload::inserted_document(
                    &plan.collections[0],
                    pool,
                    plan.seed,
                    &counter,
                    batch,
                    key,
                )
                .unwrap();
                assert_eq!(document.get("name"), expected.get("name"), "operation {index}");
                assert_eq!(expected.get_i64("number").unwrap() as u64, key + 5);
                if lap == 0 && item == 0 {
                    let id = expected.get_binary_generic("_id");
                    assert!(id.is_err(), "subtype 4, not generic");
                    let bytes = workload::stamp::encode(&expected);
                    assert_eq!(bytes[14..30], record.guid, "guid of operation {index}");
                }
            }
        }
    }
}

#[test]
fn guids_that_are_looked_for_are_those_that_were_loaded() {
    let found = workload("  - {operation: find_one, collection: items, keys: zipfian}\n");
    let made = of(&found, 0);
    let (plan, pool) = (&found.plan, &found.pools[0]);
    for record in &made.schedule.records[..20] {
        let document =
            workload::document_for_key(&plan.collections[0], pool, plan.seed, record.key).unwrap();
        let bytes = workload::stamp::encode(&document);
        assert_eq!(bytes[14..30], record.guid);
    }
    // Guids change from lap to lap: a second lap would find nothing.
    assert_eq!(made.limits, Some(vec![made.schedule.slice_records() as u64]));
}

#[test]
fn a_mix_keeps_its_weights() {
    let mixed = workload(
        "  - collection: plain\n    mix:\n      - {operation: find_one, weight: 90}\n      \
         - {operation: insert_one, weight: 10}\n    keys: latest\n    workers: 2\n",
    );
    let made = of(&mixed, 0).schedule;
    let inserts = made.records.iter().filter(|record| record.operation == 1).count();
    let share = inserts as f64 / made.records.len() as f64;
    assert!((share - 0.1).abs() < 0.01, "{share}");
    assert_eq!(mixed.plan.phases[0].operations[0].key, KeySource::Latest);
    assert!(mixed.plan.phases[0].writes);
}
