//! Schedules: their bytes, and the operations of adapters that follow them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use workload::{
    self, Answered, Expectation, Population, Record, Schedule, ScheduleRequest, Scheduled, Steps,
    Workers, Workload, schedule, split,
};

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
  empty:
    indexes: [number]
    document: {number: {type: long, value: key}}
phases:
";

fn workload(phases: &str) -> Workload {
    let text = format!("{COLLECTIONS}{phases}");
    let loaded = workload::parse(&text, Path::new("test.yaml"), &BTreeMap::new());
    loaded.and_then(|loaded| workload::build(&loaded, 7)).unwrap_or_else(|error| panic!("{error}"))
}

/// The schedule of one process in the last phase.
fn of(workload: &Workload, process: u32) -> Scheduled {
    in_round(workload, process, 0)
}

fn in_round(workload: &Workload, process: u32, round: u64) -> Scheduled {
    let phase = workload.plan.phases.len() - 1;
    let workers = split(&workload.plan.phases[phase], None, None).unwrap()[process as usize];
    schedule(&workload.plan, &ScheduleRequest { phase, workers, round, seconds: 1.0 })
}

#[test]
fn the_file_is_laid_out_as_the_contract_says() {
    let guid = *b"0123456789abcdef";
    let (intended_ns, key, document, count) = (0x0102, 0x0304, 5, 0x0107);
    let record = Record {
        intended_ns,
        key,
        document,
        count,
        operation: 6,
        advances: true,
        guid,
        duplicates: 3,
    };
    let part = Record { key: 8, ..Record::default() };
    let mut made = Schedule {
        slices: 2,
        lap_ns: 9,
        guids: false,
        records: vec![record, Record::default()],
        parts: vec![part],
    };
    let mut bytes = Vec::new();
    made.write_to(&mut bytes).unwrap();
    let mut expected = b"MDYNSCH2".to_vec();
    expected.extend([32, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([2, 1, 0, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 7, 1, 0, 0]);
    expected.extend([6, 1, 0, 0, 3, 0, 0, 0]);
    expected.extend([0; 32]);
    expected.extend([0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([0; 16]);
    assert_eq!(bytes, expected);
    made.guids = true;
    bytes.clear();
    made.write_to(&mut bytes).unwrap();
    assert_eq!((bytes.len(), bytes[8]), (32 + 3 * 48, 48));
    assert_eq!(bytes[32 + 32..32 + 48], guid);
    let folder = tempfile::tempdir().unwrap();
    made.write(&folder.path().join("schedule")).unwrap();
    assert!(Schedule::read(&folder.path().join("schedule")).unwrap() == made);
}

#[test]
fn keys_and_guids_move_on_by_the_same_shift() {
    let steps = Steps { lap: 1 << 33, item: 3 };
    let record = Record { key: 5, advances: true, guid: [0xf0; 16], ..Record::default() };
    assert_eq!(steps.key(&record, 2, 7), 5 + (1 << 34) + 21);
    assert_eq!(steps.key(&Record { advances: false, ..record }, 2, 7), 5 + 21);
    let moved = workload::steps::guid(record.guid, steps.shift(&record, 2, 7));
    let mut expected = [0xf0; 16];
    (expected[0], expected[12]) = (0xf0 ^ 0x15, 0xf0 ^ 0x04);
    assert_eq!(moved, expected);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_round_others() {
    let phases = "  - {operation: find_one, collection: plain, keys: zipfian, workers: 3}\n";
    let (first, second) = (workload(phases), workload(phases));
    assert!(first.plan == second.plan);
    assert!(first.pools[1].documents().eq(second.pools[1].documents()));
    assert!(of(&first, 0) == of(&second, 0));
    assert!(in_round(&first, 0, 1) != of(&first, 0));
    // Pinned: a change of these numbers is a change of every published plan.
    let keys: Vec<u64> = of(&first, 0).schedule.records[..6].iter().map(|it| it.key).collect();
    insta::assert_debug_snapshot!("workload_pinned", (keys, first.pools[1].document(0)));
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
        for pacing in ["", ", rate: 1000", ", keys: contiguous"] {
            let inserts = workload(&format!(
                "  - {{operation: {phase}, collection: items, workers: 2, processes: 2, \
                 operations: 1200000{pacing}}}\n"
            ));
            let (plan, pool) = (&inserts.plan, &inserts.pools[0]);
            let population = Population::after(plan, 0, &plan.collections[0]);
            assert_eq!(population.len(), 1000 + batch * 1_200_000);
            assert_eq!(population.nth(1000).key, 1000);
            let Scheduled { schedule: made, steps, .. } = of(&inserts, 1);
            let length = made.slice_records() as u64;
            for index in [0, 1, 5, length, length + 3] {
                let (record, lap) = made.record(made.slices - 1, index).unwrap();
                assert_eq!(u64::from(record.count), batch);
                for item in 0..batch {
                    let key = steps.key(record, lap, item);
                    assert!(population.contains(key), "{phase}{pacing}: key {key}");
                    let number = (u64::from(record.document) + item) as usize;
                    let document = pool.document(number % pool.count());
                    let collection = &plan.collections[0];
                    let expected =
                        workload::inserted_document(plan, 0, collection, pool, key).unwrap();
                    assert_eq!(document.get("name"), expected.get("name"), "operation {index}");
                    assert_eq!(expected.get_i64("number").unwrap() as u64, key + 5);
                    let shift = steps.shift(record, lap, item);
                    let bytes = workload::stamp::encode(&expected);
                    assert_eq!(bytes[14..30], workload::steps::guid(record.guid, shift));
                }
            }
        }
    }
}

#[test]
fn every_document_is_inserted_once() {
    for keys in ["uniform", "contiguous", "hashed"] {
        let inserts = workload(&format!(
            "  - {{operation: insert_many, collection: plain, batch: 8, documents: 1003, \
             workers: 3, keys: {keys}}}\n"
        ));
        let Scheduled { schedule: made, limits, steps } = of(&inserts, 0);
        let limits = limits.unwrap();
        assert_eq!(limits, [42, 42, 42], "334 and 335 documents by 8");
        let mut keys = BTreeSet::new();
        let mut documents = 0;
        for (slice, limit) in (0..).zip(limits) {
            let counts: Vec<u32> =
                (0..limit).map(|index| made.record(slice, index).unwrap().0.count).collect();
            assert!(counts[..41].iter().all(|count| *count == 8), "{counts:?}");
            assert_eq!(counts[41], if slice == 0 { 7 } else { 6 }, "the last batch is short");
            for index in 0..limit {
                let (record, lap) = made.record(slice, index).unwrap();
                let items = 0..u64::from(record.count);
                keys.extend(items.map(|item| steps.key(record, lap, item)));
                documents += record.count;
            }
        }
        assert_eq!((documents, keys.len()), (1003, 1003));
        let population = Population::after(&inserts.plan, 0, &inserts.plan.collections[1]);
        assert!(keys.iter().all(|key| population.contains(*key)));
    }
    let at_once = workload(
        "  - {operation: insert_many, collection: plain, batch: all, documents: 250000}\n",
    );
    let made = of(&at_once, 0);
    assert_eq!((made.schedule.records[0].count, made.limits), (250_000, Some(vec![1])));
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
        assert!(!record.advances);
    }
    assert_eq!(made.limits, None, "each lap finds the same documents");
}

#[test]
fn a_phase_that_goes_on_reads_what_was_inserted_before_it() {
    let story = workload(
        "  - {operation: insert_many, collection: items, batch: 7, workers: 3, operations: 400000}
  - {operation: find_one, collection: items, continues: true, keys: uniform}\n",
    );
    let (plan, pool) = (&story.plan, &story.pools[0]);
    assert_eq!(plan.story(0), 0..2);
    let made = of(&story, 0).schedule;
    let fresh: Vec<&Record> = made.records.iter().filter(|it| it.key >= 1000).take(500).collect();
    assert_eq!(fresh.len(), 500);
    for record in fresh {
        let inserted =
            workload::inserted_document(plan, 0, &plan.collections[0], pool, record.key).unwrap();
        let bytes = workload::stamp::encode(&inserted);
        assert_eq!(bytes[14..30], record.guid, "key {}", record.key);
    }
}

#[test]
fn a_collection_that_is_kept_goes_on_with_new_keys() {
    let text = COLLECTIONS.replace("  plain:\n", "  plain:\n    keep: experiment\n");
    let phase = "  - {operation: insert_one, collection: plain, operations: 300, workers: 2}\n";
    let loaded =
        workload::parse(&format!("{text}{phase}"), Path::new("test.yaml"), &BTreeMap::new());
    let mut kept = loaded.and_then(|loaded| workload::build(&loaded, 7)).unwrap();
    assert!(kept.plan.phases[0].whole_run_reason.is_some());
    let mut keys = BTreeSet::new();
    for run in 0..3 {
        kept.plan.runs_before = run;
        keys.extend(of(&kept, 0).schedule.records.iter().map(|record| record.key));
    }
    assert_eq!(keys, (1000..1900).collect());
}

#[test]
fn a_mix_keeps_its_weights() {
    let mixed = workload(
        "  - collection: plain\n    mix:\n      - {operation: find_one, weight: 90}\n      \
         - {operation: insert_one, weight: 10}\n    keys: latest\n    workers: 2\n",
    );
    let made = of(&mixed, 0);
    let records = &made.schedule.records;
    let inserts = records.iter().filter(|record| record.operation == 1).count();
    let share = inserts as f64 / records.len() as f64;
    assert!((share - 0.1).abs() < 0.01, "{share}");
    assert!(mixed.plan.phases[0].writes);
    // Whoever looks for a new document looks for one that its worker has inserted before.
    let slice = made.schedule.slice_records();
    let mut known = BTreeSet::new();
    for record in &records[..slice] {
        if record.operation == 1 {
            known.insert(record.key);
        } else if record.key >= 1000 {
            assert!(known.contains(&record.key) && record.advances);
        }
    }
    let last = &records[slice - 100..slice];
    let fresh = last.iter().filter(|it| it.operation == 0 && it.advances).count();
    assert!(fresh > 50, "{fresh} of the last hundred look for new documents");
}

#[test]
fn deletions_in_order_go_on_over_laps() {
    let deletes = workload(
        "  - {operation: insert_one, collection: plain, operations: 2000000}
  - {operation: delete_one, collection: plain, continues: true, keys: sequential}\n",
    );
    // Keys of two phases have no common distance: one lap.
    assert_eq!(of(&deletes, 0).steps, Steps::default());
    let text = COLLECTIONS.replace("documents: 1000", "documents: 3000000");
    let phase = "  - {operation: delete_one, collection: plain, keys: sequential, workers: 2}\n";
    let loaded =
        workload::parse(&format!("{text}{phase}"), Path::new("test.yaml"), &BTreeMap::new());
    let many = loaded.and_then(|loaded| workload::build(&loaded, 7)).unwrap();
    let Scheduled { schedule: made, limits, steps } = of(&many, 0);
    assert_eq!(limits, Some(vec![1_500_000; 2]));
    for (slice, index) in [(0, 0), (1, 1), (1, 1_048_575), (0, 1_499_999)] {
        let (record, lap) = made.record(slice, index).unwrap();
        assert_eq!(steps.key(record, lap, 0), u64::from(slice) + 2 * index);
    }
}

#[test]
fn a_bulk_is_made_of_parts() {
    let bulks = workload(
        "  - operation: bulk_write
    collection: plain
    batch: 20
    ordered: false
    operations: 100
    workers: 2
    parts:
      - {operation: insert_one, weight: 3}
      - {operation: update_one, set: {name: {type: string, length: 3}}}\n",
    );
    let names: Vec<&str> = bulks.plan.phases[0].operations.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["bulk_write", "bulk_write/insert_one", "bulk_write/update_one"]);
    let Scheduled { schedule: made, limits, .. } = of(&bulks, 0);
    assert_eq!((made.records.len(), made.parts.len()), (100, 2000));
    assert_eq!(limits, Some(vec![50, 50]));
    let mut inserted = BTreeSet::new();
    for record in &made.records {
        let parts = made.parts(record);
        assert_eq!((record.operation, parts.len()), (0, 20));
        for part in parts.iter().filter(|part| part.operation == 1) {
            assert!(part.advances && inserted.insert(part.key));
        }
        assert!(parts.iter().all(|part| part.operation == 1 || part.key < 1000));
    }
    assert!((1300..1700).contains(&inserted.len()), "{} inserts of 2000", inserted.len());
}

#[test]
fn limits_are_drawn() {
    let scans = workload(
        "  - {operation: scan, collection: plain, by: number, limit: {uniform: [1, 100]}}\n",
    );
    let records = of(&scans, 0).schedule.records;
    let counts: BTreeSet<u32> = records.iter().map(|record| record.count).collect();
    assert_eq!(counts, (1..=100).collect());
}

#[test]
fn workers_are_split_over_processes() {
    let phase = |workers: u32| {
        let text = format!("  - {{operation: find_one, collection: plain, workers: {workers}}}\n");
        workload(&text).plan.phases.remove(0)
    };
    let sizes = |split: Result<Vec<Workers>, String>| -> Vec<(u32, u32, u32)> {
        split.unwrap().iter().map(|it| (it.first, it.count, it.of)).collect()
    };
    assert_eq!(sizes(split(&phase(4), None, None)), [(0, 4, 4)]);
    assert_eq!(sizes(split(&phase(2), Some(3), None)), [(0, 2, 6), (2, 2, 6), (4, 2, 6)]);
    assert_eq!(sizes(split(&phase(10), None, Some(4))), [0, 2, 4, 6, 8].map(|it| (it, 2, 10)));
    assert_eq!(sizes(split(&phase(64), None, Some(1))).len(), 64);
    let refused = split(&phase(100), None, Some(1)).unwrap_err();
    let why = "takes 1 worker a process: 100 workers need 100 processes, at most 64";
    assert_eq!(refused, why);
    // The workers of a split phase do together what those of one process do.
    let whole = workload("  - {operation: insert_one, collection: items, workers: 4}\n");
    let request = |workers| ScheduleRequest { phase: 0, workers, round: 0, seconds: 1.0 };
    let one = schedule(&whole.plan, &request(Workers::all(4))).schedule;
    let parts = split(&whole.plan.phases[0], None, Some(1)).unwrap();
    let parts = parts.into_iter().map(|workers| schedule(&whole.plan, &request(workers)).schedule);
    assert!(parts.flat_map(|part| part.records).eq(one.records));
}

const SEQUENCE: &str = "  - workers: 3
    collection: empty
    sequence:
      - {operation: insert_many, batch: 7, documents: 300, keys: contiguous}
      - {operation: find_one, by: number, keys: {contiguous: 0.5}, operations: 400}
      - {operation: delete_one, keys: contiguous, operations: 150}
      - {name: again, operation: find_one, keys: contiguous, operations: 31}
";

#[test]
fn in_a_sequence_no_worker_needs_another() {
    let made = workload(SEQUENCE);
    let plan = &made.plan;
    let Scheduled { schedule, limits, steps } = of(&made, 0);
    let limits = limits.unwrap();
    assert_eq!(limits, [15 + 134 + 50 + 11, 15 + 133 + 50 + 10, 15 + 133 + 50 + 10]);
    let mut expectation = Expectation::new(plan, 0).expect("an order");
    let (mut left, mut sum) = (BTreeSet::new(), 0);
    for (slice, limit) in (0..).zip(limits) {
        let mut own = BTreeSet::new();
        for index in 0..limit {
            let (record, lap) = schedule.record(slice, index).unwrap();
            assert_eq!(lap, 0);
            let keys = (0..u64::from(record.count)).map(|item| steps.key(record, lap, item));
            match record.operation {
                0 => keys.for_each(|key| assert!(own.insert(key), "worker {slice}: key {key}")),
                2 => assert!(own.remove(&record.key), "worker {slice}: key {}", record.key),
                _ => {
                    assert!(own.contains(&record.key), "worker {slice}: key {}", record.key);
                    sum += record.key;
                }
            }
            expectation.add(&schedule, Answered { slice, index, operation: record.operation });
        }
        left.extend(own);
    }
    let total = expectation.total();
    assert_eq!((total.documents, total.sum), (Some(431), Some(sum)));
    let population = Population::after(plan, 0, &plan.collections[2]);
    assert_eq!(left, (0..population.len()).map(|number| population.nth(number).key).collect());
}

#[test]
fn a_sequence_that_needs_a_barrier_is_refused() {
    let refused = |changed: &str, into: &str| {
        assert!(SEQUENCE.contains(changed), "{changed}");
        let text = format!("{COLLECTIONS}{}", SEQUENCE.replacen(changed, into, 1));
        let loaded = workload::parse(&text, Path::new("test.yaml"), &BTreeMap::new());
        let built = loaded.and_then(|loaded| workload::build(&loaded, 7));
        built.expect_err(into).to_string()
    };
    for (changed, into, said) in [
        ("{contiguous: 0.5}", "uniform", "meets documents that another worker"),
        (
            "{operation: find_one, by: number, keys: {contiguous: 0.5}",
            "{operation: count, filter: {}, keys: contiguous",
            "looks beyond",
        ),
        ("documents: 300", "documents: 301", "no even ranges for 3 workers"),
        ("operations: 150", "operations: 151", "no even ranges for 3 workers"),
        ("documents: 300", "operations: 300000000", "a schedule has at most"),
        (", operations: 400", "", "this stretch has no end"),
        ("delete_one, keys: contiguous, operations: 150", "drop, operations: 1", "has no drop"),
        ("name: again, ", "", "two stretches are called `find_one`"),
        ("workers: 3", "workers: 3\n    rate: 100", "`rate` does not belong"),
        ("collection: empty", "collection: plain", "moves the ranges of workers"),
    ] {
        let error = refused(changed, into);
        assert!(error.contains(said), "{into}: {error}");
    }
}
