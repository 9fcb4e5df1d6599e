//! Workloads come down to the same plan, pools and schedules every time.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use workload::plan::Limit;
use workload::{
    self, BUILTINS, Schedule, ScheduleRequest, Scheduled, Workers, Workload, schedule, split,
};

fn open(name: &str) -> Workload {
    workload::open(name, &BTreeMap::new(), 7).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn crud_comes_down_to_files() {
    let folder = tempfile::tempdir().unwrap();
    let crud = open("crud");
    for (collection, pool) in crud.plan.collections.iter().zip(&crud.pools) {
        let path = folder.path().join(&collection.name);
        pool.write(&path).unwrap();
        let bytes: Vec<u8> = pool.documents().flat_map(|it| it.to_vec().unwrap()).collect();
        assert!(fs::read(&path).unwrap() == bytes);
        assert_eq!((pool.count(), bytes.len()), (10_000, 2_750_000));
        assert_eq!((collection.document_bytes_mean, collection.document_bytes_max), (275.0, 275));
    }
    for phase in 0..crud.plan.phases.len() {
        let workers = Workers::all(crud.plan.phases[phase].workers);
        let request = ScheduleRequest { phase, workers, round: 1, seconds: 3.0 };
        let scheduled = schedule(&crud.plan, &request);
        let path = folder.path().join("schedule");
        scheduled.schedule.write(&path).unwrap();
        assert!(Schedule::read(&path).unwrap() == scheduled.schedule);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), scheduled.schedule.bytes());
    }
}

#[test]
fn every_builtin_plans_and_says_why() {
    for builtin in BUILTINS {
        let workload = open(builtin.name);
        assert!(workload.plan.why.len() > 80, "{} has no why", builtin.name);
        assert_eq!(workload.plan.workload, builtin.name);
        for phase in 0..workload.plan.phases.len() {
            let workers = Workers::all(workload.plan.phases[phase].workers);
            let request = ScheduleRequest { phase, workers, round: 0, seconds: 0.5 };
            let scheduled = schedule(&workload.plan, &request);
            assert!(!scheduled.schedule.records.is_empty());
        }
    }
}

#[test]
fn a_plan_survives_its_json() {
    for builtin in BUILTINS {
        let plan = open(builtin.name).plan;
        let text = serde_json::to_string(&plan).unwrap();
        assert!(serde_json::from_str::<workload::plan::Plan>(&text).unwrap() == plan);
    }
}

#[test]
fn pools_shrink_where_many_processes_hold_them() {
    let mut crud = open("crud");
    let before = crud.plan.clone();
    crud.fit(1);
    assert!(crud.plan == before);
    // 256 MiB / 1000 processes / 275 bytes.
    crud.fit(1000);
    assert_eq!(crud.plan.collections[0].pool_documents, 976);
    assert_eq!(crud.pools[0].documents().count(), 976);
}

#[test]
fn an_arm_with_processes_of_its_own_inserts_every_document() {
    let insert = "operation: insert_many, keys: contiguous, documents: 500, batch:";
    for phase in [
        format!("collection: items, {insert} 9"),
        format!("collection: items, {insert} all"),
        format!(
            "collection: items, sequence: [{{{insert} 9}}, \
             {{operation: find_one, keys: contiguous, operations: 77}}]"
        ),
    ] {
        let text = format!(
            "why: test
collections: {{items: {{document: {{number: {{type: long, value: key}}}}}}}}
phases: [{{workers: 2, {phase}}}]"
        );
        let loaded = workload::parse(&text, Path::new("test.yaml"), &BTreeMap::new());
        let plan = loaded.and_then(|loaded| workload::build(&loaded, 7)).unwrap().plan;
        for plan in (1..=5).map(|processes| plan.with_processes(Some(processes))) {
            let (mut operations, mut inserted) = (0, 0);
            for workers in split(&plan.phases[0], None, None).unwrap() {
                let request = ScheduleRequest { phase: 0, workers, round: 0, seconds: 1.0 };
                let Scheduled { schedule: made, limits, .. } = schedule(&plan, &request);
                for (slice, limit) in (0..).zip(limits.unwrap()) {
                    let records = (0..limit).map(|index| made.record(slice, index).unwrap().0);
                    let inserts = records.filter(|record| record.operation == 0);
                    inserted += inserts.map(|record| record.count).sum::<u32>();
                    operations += limit;
                }
            }
            assert_eq!(inserted, 500, "{} processes, {phase}", plan.phases[0].processes);
            let asked = plan.phases[0].limit;
            assert!(matches!(asked, Limit::Operations { count, .. } if count == operations));
        }
    }
}

/// Bytes that this process has taken and not given back, at their peak.
fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|it| it.trim().strip_suffix(" kB")).unwrap();
    peak.parse::<u64>().unwrap() * 1024
}

#[test]
fn a_collection_costs_some_kilobytes_whatever_its_documents_are() {
    let mut text =
        "why: test\nphases: [{operation: find_one, collection: c1}]\ncollections:\n".to_owned();
    for number in 0..1_000 {
        let document = "{number: {type: long, value: key}, text: {type: string, length: 300}}";
        writeln!(text, "  c{number}: {{documents: 1, document: {document}}}").unwrap();
    }
    let before = peak_bytes();
    let loaded = workload::parse(&text, Path::new("test.yaml"), &BTreeMap::new());
    let made = loaded.and_then(|loaded| workload::build(&loaded, 7)).unwrap();
    assert_eq!(made.plan.collections[999].pool_documents, 1_000);
    // Other tests run in this process at the same time.
    let more = peak_bytes() - before;
    assert!(more < 1 << 30, "{more} bytes more");
}

#[test]
fn bytes_of_documents_are_known_or_left_out() {
    let read = |text: &str, document: &str, more: &str| {
        let text = format!(
            "name: bytes\nwhy: Sizes.\ncollections:\n  items:\n    documents: 10\n    document: \
             {document}\nphases:\n  - {{name: read, collection: items, {text}}}\n{more}"
        );
        let loaded = workload::parse(&text, Path::new("bytes.yaml"), &BTreeMap::new());
        let made = loaded.and_then(|loaded| workload::build(&loaded, 1));
        let plan = made.unwrap_or_else(|error| panic!("{error}")).plan;
        let size = plan.collections[0].document_bytes_max;
        let bytes = workload::bytes::document_bytes(&plan, 0);
        bytes.map(|it| (it.read == size, it.written == [size]))
    };
    let same = "{_id: {type: long, value: key}}";
    for operation in ["operation: find_one", "operation: find, by: _id, range: 3"] {
        assert_eq!(read(operation, same, ""), Some((true, false)), "{operation}");
    }
    assert_eq!(read("operation: insert_one", same, ""), Some((false, true)));
    for operation in [
        "operation: aggregate, pipeline: [{$count: n}]",
        "operation: find_one, projection: {_id: 1}",
        "operation: count, filter: {}",
    ] {
        assert_eq!(read(operation, same, ""), None, "{operation}");
    }
    let update =
        "  - {operation: update_one, collection: items, set: {grown: {type: string, length: 9}}}\n";
    assert_eq!(read("operation: find_one", same, update), None, "documents grow");
}
