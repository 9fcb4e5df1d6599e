//! Other changes at a version: figures beyond their own noise, and conditions that differ.

use judge::analysis::changed::{also, sentence};
use judge::analysis::rounds::Rounds;
use judge::analysis::types::Metric;
use serde_json::json;

use crate::diagnosis_support::{Bench, tap};

const ARMS: [&str; 3] = ["d@3.9.0", "d@4.0.0", "d@3.9.0 (A/A)"];

fn said(bench: &Bench, metric: Metric) -> String {
    let rounds = Rounds::new(&bench.experiment, &bench.runs);
    let arms = [0, 1].map(|at| &bench.experiment.arms[at]);
    sentence("4.0.0", &also(&bench.experiment, &rounds, ("work", metric), arms))
}

#[test]
fn figures_that_differ_beyond_their_noise_are_named_with_both_values() {
    let mut bench = Bench::new(&ARMS);
    assert_eq!(said(&bench, Metric::Throughput), "", "nothing differs");
    bench.each(ARMS[0], |_, run| {
        run.tap = Some(tap(20.0, 50.0));
        run.connections_peak = Some(3);
    });
    bench.each(ARMS[1], |round, run| {
        let mut seen = tap(31.0, 50.0);
        seen.round_trips_per_op = 2.0;
        // Half up and half down: noise.
        seen.bytes_out_per_op *= if round % 2 == 0 { 1.2 } else { 0.8 };
        // Always the same, and too little to matter.
        seen.bytes_in_per_op *= 1.005;
        run.tap = Some(seen);
        run.connections_peak = Some(12);
        run.cpu_us_per_op *= 1.31;
    });
    let figures = "round trips per operation 1 -> 2 (+100 %), connections 3 -> 12 (+300 %)";
    let driver = "time in the driver per operation 20.0 µs -> 31.0 µs (+55 %)";
    let cpu = "CPU per operation 5.00 µs -> 6.55 µs (+31 %)";
    let all = format!("At 4.0.0 also changed: {figures}, {cpu}, {driver}.");
    assert_eq!(said(&bench, Metric::Throughput), all);
    let rest = format!("At 4.0.0 also changed: {figures}, {driver}.");
    assert_eq!(said(&bench, Metric::CpuPerOp), rest, "the figure compared is not named again");
}

#[test]
fn without_a_tap_the_counters_of_a_server_of_ours_tell_the_round_trips() {
    let mut bench = Bench::new(&ARMS);
    for (arm, count) in [(ARMS[0], 60_000), (ARMS[1], 120_000)] {
        bench.each(arm, |_, run| {
            run.server.insert("network.numRequests".to_owned(), count);
        });
    }
    let told = said(&bench, Metric::Throughput);
    assert_eq!(told, "At 4.0.0 also changed: round trips per operation 1 -> 2 (+100 %).");
    // Counters of an external server include other users' work.
    bench.experiment.server.kind = record::records::ServerKind::External;
    assert_eq!(said(&bench, Metric::Throughput), "");
}

#[test]
fn conditions_that_both_tell_and_that_differ_are_named() {
    let mut bench = Bench::new(&ARMS);
    bench.phase().operations[0].kind = workload::plan::OperationKind::InsertOne;
    let set = |bench: &mut Bench, arm: &str, pool: u32, w: serde_json::Value, api: &str| {
        let arm = bench.arm(arm);
        arm.resolved = json!({ "write_concern": { "w": w }, "max_pool_size": pool });
        arm.options.insert("api".to_owned(), api.to_owned());
        arm.runtime = format!("runtime {pool}");
    };
    set(&mut bench, ARMS[0], 5, serde_json::Value::Null, "callback");
    set(&mut bench, ARMS[1], 100, json!("majority"), "promise");
    // Reported by one alone: whether it changed is not known.
    bench.arm(ARMS[1]).resolved["min_pool_size"] = json!(1);
    assert_eq!(
        said(&bench, Metric::Throughput),
        "At 4.0.0 also changed: write concern the server's default -> w:majority, pool size \
         5 -> 100, runtime runtime 5 -> runtime 100, API callback -> promise."
    );
}
