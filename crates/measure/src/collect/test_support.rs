//! Phases and samples for the tests of the collectors.

use std::collections::BTreeMap;
use std::path::Path;

use crate::turn::{ArmTurn, Turned};
use adapter::protocol::{AdapterPacing, WorkerPrepare};
use record::samples::Sample;
use workload::Workload;
use workload::plan::Phase;

/// One phase with a number of operations, `op0` and so on, that find one document each.
pub fn workload(keys: &str, operations: u8) -> Workload {
    let mix: Vec<_> =
        (0..operations).map(|it| format!("{{name: op{it}, operation: find_one}}")).collect();
    phases(&format!("{{mix: [{}], {keys}}}", mix.join(", ")))
}

/// Phases on a collection of five documents.
pub fn phases(phases: &str) -> Workload {
    let text = format!(
        "why: test\ncollections: {{items: {{documents: 5, document: {{a: int}}}}}}\n\
         phases: [{phases}]\n",
    );
    let loaded = workload::parse(&text, Path::new("test.yaml"), &BTreeMap::new());
    let made = loaded.and_then(|loaded| workload::build(&loaded, 1));
    made.unwrap_or_else(|error| panic!("{error}"))
}

pub fn phase(keys: &str, operations: u8) -> Phase {
    workload(keys, operations).plan.phases.remove(0)
}

/// A successful sample of worker 0.
pub fn sample(operation: u8, intended_ns: u64, start_ns: u64, service_ns: u64) -> Sample {
    Sample { intended_ns, start_ns, service_ns, index: 0, operation, outcome: 0, worker: 0 }
}

/// A turn with nothing but its times.
pub fn turn(began_ns: u64, ended_ns: u64) -> ArmTurn {
    let turned = Turned {
        began_ns,
        ended_ns,
        operations: 0,
        completed_by_deadline: 0,
        errors: 0,
        exhausted: false,
        gave_up: false,
    };
    ArmTurn { turned, until_ns: ended_ns, cpu_ns: 0 }
}

/// A phase of one process, whose samples lie nowhere.
pub fn prepare(pacing: AdapterPacing, workers: u32) -> WorkerPrepare {
    WorkerPrepare {
        samples: "/nowhere/x.bin".to_owned(),
        schedule: String::new(),
        pools: Vec::new(),
        workers,
        first_worker: 0,
        limits: None,
        pacing,
        lap_step: 0,
        item_step: 0,
        errors_consecutive_max: 10,
        operations: Vec::new(),
    }
}
