//! Records made by hand for the rules of the diagnosis: six rounds of some arms in one phase.

use std::collections::BTreeMap;

use judge::analysis::rounds::Rounds;
use judge::analysis::types::{ComparisonRow, Finding, ResultRow};
use judge::diagnosis::{DiagnosisInput, findings};
use record::records::{Arm, Experiment, PhaseRun, Queue, Run, Tap};
use serde_json::{Value, json};
use workload::plan::Phase;

/// An experiment that tests can change.
pub struct Bench {
    pub experiment: Experiment,
    pub runs: Vec<Run>,
    pub results: Vec<ResultRow>,
    pub comparisons: Vec<ComparisonRow>,
}

impl Bench {
    /// Six rounds without findings; an arm is called `adapter@version`.
    pub fn new(arms: &[&str]) -> Self {
        let all: Vec<Value> = arms.iter().map(|id| arm(id)).collect();
        let value = json!({
            "schema_version": 1, "mongodyno": "0", "id": "x", "started_at": "", "finished_at": null,
            "ended": "completed", "command": [], "arms": all, "unavailable": [],
            "settings": {
                "seed": 1, "interleave": [], "measured_s": 3.0,
                "looks": stats::looks::LookPlan::quick(),
            },
            "plan": {
                "workload": "w", "workload_sha256": "", "why": "", "seed": 1, "parameters": {},
                "uri_options": {}, "collections": [], "phases": [phase()],
            },
            "server": {
                "kind": "none", "version": "", "uri": "", "flags": [], "topology": "",
                "source": null,
            },
            "machine": {
                "cpu": "", "cores": 4, "memory_bytes": 1, "os": "", "kernel": "",
                "clock_source": "tsc", "governor": null,
            },
        });
        let experiment = serde_json::from_value(value).expect("an experiment");
        let rounds = (1..=6).flat_map(|round| arms.iter().map(move |id| run(round, id)));
        Self { experiment, runs: rounds.collect(), results: vec![], comparisons: vec![] }
    }

    pub fn phase(&mut self) -> &mut Phase {
        &mut self.experiment.plan.phases[0]
    }

    pub fn arm(&mut self, id: &str) -> &mut Arm {
        self.experiment.arms.iter_mut().find(|arm| arm.id == id).expect("an arm")
    }

    /// Changes an arm's phase in each round.
    pub fn each(&mut self, arm: &str, change: impl Fn(u32, &mut PhaseRun)) {
        for run in self.runs.iter_mut().filter(|run| run.arm == arm) {
            change(run.round, &mut run.phases[0]);
        }
    }

    /// Changes an arm's phase in one round.
    pub fn round(&mut self, arm: &str, round: u32, change: impl Fn(&mut PhaseRun)) {
        self.each(arm, |number, run| {
            if number == round {
                change(run);
            }
        });
    }

    pub fn findings(&self) -> Vec<Finding> {
        findings(&DiagnosisInput {
            experiment: &self.experiment,
            rounds: &Rounds::new(&self.experiment, &self.runs),
            results: &self.results,
            comparisons: &self.comparisons,
        })
    }

    /// The only finding of a rule.
    #[track_caller]
    pub fn one(&self, rule: &str) -> Finding {
        let mut found = self.findings();
        found.retain(|finding| finding.rule == rule);
        assert_eq!(found.len(), 1, "{rule} among {:?}", self.findings());
        found.remove(0)
    }

    pub fn silent(&self, rule: &str) -> bool {
        self.findings().iter().all(|finding| finding.rule != rule)
    }
}

fn arm(id: &str) -> Value {
    let (adapter, version) = id.split_once('@').expect("adapter@version");
    json!({
        "id": id, "adapter": adapter, "is_aa": id.contains("A/A"), "driver": "d",
        "version": version, "native": null, "runtime": "", "concurrency": "threads",
        "resolved": {}, "lock_sha256": null,
    })
}

fn phase() -> Value {
    json!({
        "name": "work",
        "operations": [{ "name": "work", "kind": "find_one", "key": "schedule" }],
        "weights": [1], "keys": "uniform", "workers": 1, "processes": 1,
        "pacing": { "mode": "awaited", "think_ns": 0 },
        "limit": { "duration": { "seconds": null } }, "warmup_s": null, "document_form": "native",
        "writes": false, "whole_run_reason": null, "pools": [],
    })
}

fn run(round: u32, arm: &str) -> Run {
    let phase = json!({
        "phase": "work", "turns": 60, "turn_ms": 50.0, "measured_s": 3.0, "operations": 60_000,
        "throughput": 20_000.0, "exhausted": false, "by_operation": [], "errors": [],
        "cpu_ns": 300_000_000, "cpu_us_per_op": 5.0, "rss_peak_bytes": 1, "rss_armed_bytes": 1,
        "document_bytes": 0, "idle_cpu_fraction": null, "server": {},
        "receipt": { "level": "none", "claimed": {}, "counted": {}, "agrees": true },
        "answers": { "documents": 0, "sum": 0, "documents_expected": null, "sum_expected": null },
        "little": null, "drift": null, "warmup_throughput": [], "sizes": {}, "gates": [],
        "open_loop": null, "hlog": null, "samples": [],
    });
    let value = json!({
        "round": round, "arm": arm, "position": 0, "started_at": "", "failed": null,
        "noop_ns": null, "wakeup_us": null, "phases": [phase],
        "machine_noise": { "steal_fraction": 0.0, "foreign_fraction": 0.0 },
    });
    serde_json::from_value(value).expect("a run")
}

/// The case d/d/1-overload of `queueing-cases.json`: 2,000/s arrive at a consumer of 1,000/s.
pub fn queue() -> Queue {
    Queue {
        operations: 1_000,
        arrivals_per_s: Some(2_000.0),
        completions_per_s: 1_000.0,
        busy_completions_per_s: Some(1_000.0),
        capacity_per_s: Some(1_000.0),
        slope_us_per_op: 500.0,
        slope_low_us_per_op: 500.0,
        slope_high_us_per_op: 500.0,
        growth_us: 500_000.0,
        growth_low_us: 500_000.0,
        service_p50_us: 1_000.0,
        wait_p50_us: 250_000.0,
        depth_peak: 500,
        depth_tau: Some(1.0),
        depth_p: Some(1e-6),
        drain_s: 0.5,
        ..Queue::default()
    }
}

/// One command an operation, with these shares of its time.
pub fn tap(driver_us: f64, server_us: f64) -> Tap {
    Tap {
        commands: BTreeMap::new(),
        round_trips_per_op: 1.0,
        bytes_out_per_op: 210.0,
        bytes_in_per_op: 180.0,
        server_us_per_op: server_us,
        driver_us_per_op: Some(driver_us),
        ..Tap::default()
    }
}

/// Quantiles of all rounds.
pub fn row(arm: &str, p99_us: f64, response_p99_us: Option<f64>) -> ResultRow {
    let value = json!({
        "arm": arm, "phase": "work", "operation": "work", "throughput": null, "p50_us": null,
        "p90_us": null, "p99_us": p99_us, "p999_us": null, "response_p50_us": null,
        "response_p99_us": response_p99_us, "cpu_us_per_op": null, "rss_peak_bytes": null,
        "operations": 1, "errors": 0, "document_bytes": 0, "throughput_by_round": [],
    });
    serde_json::from_value(value).expect("a row")
}

pub fn comparison(arm: &str, metric: &str, verdict: &str) -> ComparisonRow {
    let value = json!({
        "baseline": "a@1", "arm": arm, "is_aa": arm.contains("A/A"), "phase": "work",
        "operation": "work", "metric": metric, "verdict": verdict, "direction_only": false,
        "estimate_percent": 5.0, "low_percent": 4.0, "high_percent": 6.0, "level": 0.95,
        "rounds": 6, "threshold_percent": 2.0, "p_value": null, "bh_rejected": null,
        "sentence": "",
    });
    serde_json::from_value(value).expect("a comparison")
}
