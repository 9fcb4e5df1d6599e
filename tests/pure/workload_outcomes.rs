//! Transactions and expected outcomes: what their schedules make happen, and what the core expects.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use workload::{
    self, Answered, Expectation, Expected, ScheduleRequest, Scheduled, Workers, Workload, schedule,
};

fn workload(phase: &str) -> Workload {
    let text = format!(
        "why: test
collections:
  items:
    documents: 1000
    document: {{_id: {{type: long, value: key}}, name: string}}
phases:
{phase}"
    );
    let loaded = workload::parse(&text, Path::new("test.yaml"), &BTreeMap::new());
    loaded.and_then(|loaded| workload::build(&loaded, 7)).unwrap_or_else(|error| panic!("{error}"))
}

/// The schedule of the last phase.
fn last(workload: &Workload) -> Scheduled {
    let phase = workload.plan.phases.len() - 1;
    let workers = Workers::all(workload.plan.phases[phase].workers);
    schedule(&workload.plan, &ScheduleRequest { phase, workers, round: 0, seconds: 1.0 })
}

#[test]
fn a_transaction_has_all_parts_in_their_order() {
    let transactions = workload(
        "  - operation: transaction
    operations: 30
    workers: 2
    parts:
      - {operation: insert_one, collection: items}
      - {operation: find_one, collection: items}
      - {operation: insert_one, collection: items, name: second}\n",
    );
    let Scheduled { schedule: made, steps, .. } = last(&transactions);
    let mut inserted = BTreeSet::new();
    for record in &made.records {
        let [first, found, second] = made.parts(record) else { panic!("three parts") };
        assert_eq!([first, found, second].map(|part| part.operation), [1, 2, 3]);
        assert!(inserted.insert(first.key) && inserted.insert(second.key) && found.key < 1000);
        assert!(first.advances && !found.advances);
    }
    assert_eq!(steps.lap, 60, "keys of the next lap follow");
}

#[test]
fn what_is_missing_has_keys_behind_all_others() {
    let finds = workload(
        "  - {operation: find_one, collection: items, expect: missing, operations: 500}\n",
    );
    let Scheduled { schedule: made, .. } = last(&finds);
    assert!(made.records.iter().all(|record| (1000..2000).contains(&record.key)));
    let mut expected = Expectation::new(&finds.plan, 0).expect("nothing is written");
    expected.add(&made, Answered { slice: 0, index: 3, operation: 0 });
    assert_eq!(expected.total(), Expected { documents: Some(0), sum: Some(0) });
}

#[test]
fn duplicates_come_as_often_as_the_schedule_says() {
    for (insert, documents) in [
        ("insert_one, expect: {duplicate: 0.25}", 1),
        ("insert_many, batch: 10, ordered: false, expect: {duplicate: 0.25}", 10),
    ] {
        let inserts = workload(&format!(
            "  - {{operation: {insert}, collection: items, workers: 2, operations: 800}}\n"
        ));
        let Scheduled { schedule: made, steps, .. } = last(&inserts);
        let mut expected = Expectation::new(&inserts.plan, 0).expect("the core knows them");
        let (mut there, mut refused) = (BTreeSet::new(), 0);
        // Twice over the schedule: laps insert other keys.
        for index in 0..2 * made.slice_records() as u64 {
            for slice in 0..2 {
                let (record, lap) = made.record(slice, index).expect("a record");
                for item in 0..u64::from(record.count) {
                    refused += u64::from(!there.insert(steps.key(record, lap, item)));
                }
                expected.add(&made, Answered { slice, index, operation: 0 });
            }
        }
        assert_eq!(expected.total().documents, Some(refused), "{insert}");
        let share = refused as f64 / f64::from(1600 * documents);
        assert!((0.2..0.3).contains(&share), "{insert}: {share}");
    }
}
