//! The cost of one operation's bookkeeping in each adapter: its no-op.

use stats::descriptive::{median, quantile};

use crate::support::{Bench, Outcome, benches, table};

const ROUNDS: &str = "6";
const LONG_ROUNDS: &str = "20";
const OPERATIONS: &str = "operations=500000";

/// Largest cost of an operation; other adapters have no promise.
fn limit_ns(adapter: &str) -> Option<f64> {
    match adapter {
        "rust" | "go" => Some(1000.0),
        "node" => Some(2000.0),
        "python" => Some(4000.0),
        _ => None,
    }
}

/// Measures all adapters in the same rounds.
pub fn run(bench: &Bench) -> Outcome {
    let workload = benches("workloads/noop.yaml");
    let rounds = if bench.long { LONG_ROUNDS } else { ROUNDS };
    let mut words = vec![
        workload.as_str(),
        "--set",
        OPERATIONS,
        "--server",
        "none",
        "--rounds",
        rounds,
        "--interleave",
        "runs",
    ];
    words.extend(bench.adapters.iter().flat_map(|adapter| ["-d", adapter]));
    let measured = bench.experiment(&words)?;
    let mut rows = Vec::new();
    let mut reached = true;
    for (number, arm) in measured.experiment.arms.iter().enumerate().filter(|(_, arm)| !arm.is_aa) {
        let runs = measured.runs.iter().filter(|run| run.arm == arm.id);
        let costs: Vec<f64> = runs.filter_map(|run| run.noop_ns).collect();
        let cost_ns = median(&costs).ok_or("no calibration")?;
        let warm: Vec<f64> =
            measured.by_round(number, "noop", |run| run.measured_s * 1e9 / run.operations as f64);
        let limit = limit_ns(&arm.adapter);
        reached &= limit.is_none_or(|limit| cost_ns <= limit);
        let range = |q: f64| quantile(&costs, q).unwrap_or(f64::NAN);
        rows.push(vec![
            arm.id.clone(),
            arm.runtime.clone(),
            format!("{cost_ns:.0}"),
            format!("{:.0} to {:.0}", range(0.0), range(1.0)),
            format!("{:.0}", median(&warm).unwrap_or(f64::NAN)),
            limit.map_or_else(String::new, |limit| format!("{limit:.0}")),
        ]);
    }
    let head = ["adapter", "runtime", "noop_ns", "over the rounds", "of 500,000 warm", "at most"];
    table(&head, &rows);
    println!("\nnoop_ns is in every result: 50,000 no-ops right after the start");
    Ok(reached)
}
