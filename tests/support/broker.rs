//! A study's folder, made up. Two arms finished, one failed, one takes part in the burst alone;
//! there are three rounds and one through the tap.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::collections::BTreeMap;
use std::path::Path;

use record::broker::{Broker, ConsumerRun, Part, Parts};
use record::folder::Folder;
use record::records::{Experiment, Quantiles, Run};
use record::samples::Sample;
use serde::Deserialize as _;
use serde_json::{Value, json};
use stats::curve::Curve;
use stats::histogram::Histogram;
use stats::looks::LookPlan;
use workload::builtin;

pub const MESSAGES: u32 = 300;
pub const ROUNDS: u32 = 3;
/// The message that never arrives.
pub const LOST: u32 = 7;
pub const HOSTILE: &str = "old@1<b>/size=5";

/// Latency of message `i` in ns: growing or level, with the same scatter in every run.
fn latency_ns(grows: bool, i: u32) -> u64 {
    let scatter = u64::from(i.wrapping_mul(2_654_435_761) >> 20) * 40;
    let growth = if grows { u64::from(i) * 100_000 } else { 0 };
    // A single slow one, far beyond the axis.
    let slow = if i == 150 && !grows { 90_000_000 } else { 0 };
    400_000 + scatter + growth + slow
}

/// The samples of the producers (two files, dealt out) and of the consumer.
fn samples(grows: bool, burst: bool) -> [Vec<Sample>; 3] {
    let mut files = [Vec::new(), Vec::new(), Vec::new()];
    for i in 0..MESSAGES {
        let (worker, index) = ((i % 2) as u16, i / 2);
        let made_ns = 1_000_000 + u64::from(i) * 50_000;
        let sample = Sample {
            intended_ns: if burst { 1_000_000 } else { made_ns + 1_000 },
            start_ns: made_ns + 1_000,
            service_ns: 300_000,
            index,
            operation: 0,
            outcome: 0,
            worker,
        };
        files[usize::from(worker)].push(sample);
        if i != LOST {
            let received_ns = made_ns + latency_ns(grows, i);
            files[2].push(Sample {
                intended_ns: made_ns,
                start_ns: received_ns,
                service_ns: 0,
                ..sample
            });
        }
    }
    files
}

fn broker(grows: bool, burst: bool, tapped: bool, consumer: String) -> Broker {
    let numbers = || (0..MESSAGES).filter(|i| *i != LOST);
    let made = |i: u32| latency_ns(grows, i);
    let intended = |i: u32| u64::from(i) * 50_000 + latency_ns(grows, i);
    let of = |ns: &dyn Fn(u32) -> u64, in_order_of_arrival: bool| {
        let mut histogram = Histogram::new();
        numbers().for_each(|i| histogram.record(ns(i)));
        let mut us: Vec<f64> = numbers().map(|i| ns(i) as f64 / 1e3).collect();
        if in_order_of_arrival {
            us.sort_by(f64::total_cmp);
        }
        (Quantiles::of(&histogram), Curve::of(us.into_iter()))
    };
    let ((latency, curve), since) = (of(&made, false), burst.then(|| of(&intended, true)));
    let part =
        |first_us, last_us| Part { p50_us: f64::midpoint(first_us, last_us), first_us, last_us };
    Broker {
        sent: u64::from(MESSAGES),
        received: u64::from(MESSAGES - 1),
        lost: 1,
        duplicates: 0,
        unclaimed: 0,
        out_of_order_per_producer: 0,
        out_of_order: 0,
        latency,
        curve,
        since_intended: since.as_ref().map(|it| it.0),
        curve_since_intended: since.map(|it| it.1),
        issue_rate_per_s: Some(20_000.0),
        receive_rate_per_s: Some(18_000.0),
        parts: tapped.then(|| Parts {
            matched: u64::from(MESSAGES),
            unmatched: 0,
            program: part(2.0, 3.0),
            driver: part(60.0, if grows { 29_000.0 } else { 61.0 }),
            wire: part(15.0, 16.0),
            server: part(200.0, 210.0),
            consumer: part(90.0, 95.0),
        }),
        consumer: ConsumerRun { cursors: 2, samples: Some(consumer), ..ConsumerRun::default() },
    }
}

fn phase(name: &str, samples: &[String], broker: &Broker) -> Value {
    json!({
        "phase": name, "turns": 1, "turn_ms": 15.0, "measured_s": 0.015, "operations": MESSAGES,
        "throughput": 20000.0, "exhausted": true, "by_operation": [], "errors": [], "cpu_ns": 1,
        "cpu_us_per_op": 1.0, "rss_peak_bytes": 1, "rss_armed_bytes": 1, "document_bytes": 200,
        "idle_cpu_fraction": null, "server": {},
        "receipt": {"level": "opcounters", "claimed": {}, "counted": {}, "agrees": true},
        "answers": {"documents": 1, "sum": 0, "documents_expected": null, "sum_expected": null},
        "little": null, "drift": null, "warmup_throughput": [], "sizes": {}, "gates": [],
        "open_loop": null, "hlog": null, "samples": samples, "broker": broker,
    })
}

pub fn made_up(path: &Path) -> (Folder, Experiment, Vec<Run>) {
    let folder = Folder::create(path).expect("a new folder");
    let arms = [(HOSTILE, true, false), ("new@2", false, false), ("extra@3", true, true)];
    for round in 1..=ROUNDS + 1 {
        let tapped = round > ROUNDS;
        for (arm, (id, grows, burst_only)) in arms.iter().enumerate() {
            let mut phases = Vec::new();
            for name in ["awaited", "burst"] {
                if *burst_only && name == "awaited" {
                    continue;
                }
                let grows = *grows && name == "burst";
                let names =
                    ["a", "b", "c"].map(|file| format!("samples/r{round}-{arm}-{name}-{file}.bin"));
                for (file, samples) in names.iter().zip(samples(grows, name == "burst")) {
                    let bytes: Vec<u8> = samples.iter().flat_map(Sample::to_bytes).collect();
                    std::fs::write(folder.join(file), bytes).expect("a sample file");
                }
                let broker = broker(grows, name == "burst", tapped, names[2].clone());
                phases.push(phase(name, &names[..2], &broker));
            }
            append(&folder, &run(round, id, tapped, &Value::Null, &phases));
        }
        let failed = json!("connect: the server wants wire version 6, the driver speaks 2");
        append(&folder, &run(round, "dead@4", tapped, &failed, &[]));
    }
    let experiment = experiment();
    folder.write_experiment(&experiment).expect("a folder");
    let runs = folder.runs().expect("runs");
    (folder, experiment, runs)
}

fn append(folder: &Folder, run: &Value) {
    folder.append_run(&Run::deserialize(run).expect("a run")).expect("a folder");
}

fn run(round: u32, arm: &str, tapped: bool, failed: &Value, phases: &[Value]) -> Value {
    json!({
        "round": round, "arm": arm, "tapped": tapped, "position": 0,
        "started_at": "2026-11-21T10:00:00Z", "failed": failed, "noop_ns": 100.0,
        "wakeup_us": 80.0, "machine_noise": {"steal_fraction": 0.0, "foreign_fraction": 0.0},
        "phases": phases,
    })
}

fn experiment() -> Experiment {
    let sets = BTreeMap::from([("messages".to_owned(), MESSAGES.to_string())]);
    let mut plan = builtin::open("broker", &sets, 1).expect("a workload").plan;
    plan.phases.retain(|phase| ["awaited", "burst"].contains(&phase.name.as_str()));
    let arm = |id: &str, native: Value, options: Value| {
        json!({
            "id": id, "adapter": "fake", "is_aa": false, "driver": "fake", "version": "1.0",
            "options": options, "native": native, "runtime": "fake 1", "concurrency": "tasks",
            "resolved": {"max_pool_size": 5, "write_concern": {"w": 1}}, "lock_sha256": null,
        })
    };
    let options = json!({"maxPoolSize": "5", "processes": "4", "api": "callback"});
    serde_json::from_value(json!({
        "schema_version": 1, "mongodyno": "0.1.0", "id": "made-up",
        "started_at": "2026-11-21T10:00:00Z", "finished_at": "2026-11-21T10:01:00Z",
        "ended": "completed", "command": ["mongodyno", "study", "broker"],
        "settings": {"seed": 1, "looks": LookPlan::fixed(3), "interleave": [], "measured_s": 1.0},
        "plan": plan,
        "arms": [
            arm(HOSTILE, json!(false), options),
            arm("new@2", json!(true), json!({})),
            arm("extra@3", Value::Null, json!({})),
            arm("dead@4", Value::Null, json!({})),
        ],
        "unavailable": [], "consumer": arm("reader@1", Value::Null, json!({})),
        "server": {"kind": "embedded", "version": "4.4.2", "uri": "mongodb://127.0.0.1:1/",
            "flags": ["--x"], "topology": "standalone", "source": null},
        "machine": {"cpu": "made up", "cores": 2, "memory_bytes": 8_000_000_000_u64,
            "os": "none", "kernel": "0", "clock_source": "tsc", "governor": null},
    }))
    .expect("an experiment")
}
