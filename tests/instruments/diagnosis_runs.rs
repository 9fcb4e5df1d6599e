//! The diagnosis of real experiments, with causes that the fake adapter brings about.

use crate::fake_support::{Lab, code, stderr, stdout};
use crate::support::said;
use serde_json::Value;

fn diagnosis(lab: &Lab, folder: &str) -> Value {
    let output = lab.run(["diagnose", folder, "--json"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn rules(findings: &Value) -> Vec<&str> {
    let all = findings.as_array().expect("findings").iter();
    all.map(|finding| finding["rule"].as_str().expect("a name")).collect()
}

/// An open loop of no-ops, one worker, one second.
fn open_loop(lab: &Lab, name: &str, pacing: &str) -> String {
    let text = format!(
        "name: open\nwhy: Nothing, on time.\nphases:\n  - name: paced\n    operation: noop\n    \
         {pacing}\n    duration: 1\n    workers: 1\n    warmup: 0.05\n"
    );
    lab.write(&format!("{name}.yaml"), &text);
    format!("{name}.yaml")
}

/// Runs a workload for one round into the folder `out`.
fn measured(lab: &Lab, workload: &str, driver: &str, out: &str) -> Vec<Value> {
    let words = ["run", workload, "--server", "none", "-d", driver, "--rounds", "1", "--out", out];
    let output = lab.run(words);
    // Overload fails gate G3, so that nothing can be compared: 6.
    assert!([0, 6].contains(&code(&output)), "{}", said(&output));
    crate::fake_support::json_lines(&lab.path(&format!("{out}/runs.jsonl")))
}

#[test]
fn an_overloaded_consumer_is_named_with_its_capacity() {
    let lab = Lab::new();
    // One worker of 1 ms: its capacity is 1,000 a second.
    lab.fake("one", &["op_ns=1000000"]);
    let over = open_loop(&lab, "over", "rate: 2000");
    let under = open_loop(&lab, "under", "rate: 500");
    measured(&lab, &over, "one", "over");
    measured(&lab, &under, "one", "under");

    let found = diagnosis(&lab, "over");
    assert_eq!(rules(&found["findings"]), ["queue-grows"], "{found:#}");
    let finding = &found["findings"][0];
    let capacity = finding["numbers"]["capacity_per_s"].as_f64().expect("a capacity");
    assert!((capacity / 1_000.0 - 1.0).abs() < 0.05, "{finding:#}");
    let sentence = finding["sentence"].as_str().expect("text");
    assert!(sentence.starts_with("QUEUE GROWS: latency rises "), "{sentence}");
    assert!(sentence.contains("in the program before the driver"), "{sentence}");

    assert_eq!(rules(&diagnosis(&lab, "under")["findings"]), Vec::<&str>::new());
    let text = stdout(&lab.run(["diagnose", "under"]));
    assert!(text.contains("No cause found"), "{text}");
    // Every report that has sentences has the same one.
    for format in ["terminal", "md", "html", "json"] {
        let report = stdout(&lab.run(["report", "over", "--format", format, "--details"]));
        assert!(report.contains("QUEUE GROWS"), "{format}: {report}");
    }
    let report = stdout(&lab.run(["report", "under"]));
    assert!(!report.to_lowercase().contains("where the time goes"), "{report}");
}

#[test]
fn a_stall_shows_in_response_time_and_not_in_service_time() {
    let lab = Lab::new();
    // Every 2,000th of 11,000 operations a second takes 100 ms longer. A p99 needs 10,000, and a
    // turn that begins late has fewer.
    lab.fake("stalls", &["op_ns=40000", "stall_ns=100000000", "stall_every=2000"]);
    let workload = open_loop(&lab, "stall", "rate: 11000");
    let runs = measured(&lab, &workload, "stalls", "out");
    let phase = &runs[0]["phases"][0];
    let operation = &phase["by_operation"][0];
    let us = |part: &str, quantile: &str| operation[part][quantile].as_f64().expect("a quantile");
    assert!(us("service", "p90_us") < 51.0, "{operation:#}");
    assert!(us("response", "p90_us") > 10_000.0, "{operation:#}");
    let found = diagnosis(&lab, "out");
    assert_eq!(rules(&found["findings"]), ["queueing-dominates"], "{found:#}");
}

#[test]
fn a_burst_leaves_its_capacity_in_the_record() {
    let lab = Lab::new();
    lab.fake("one", &["op_ns=1000000"]);
    let workload = open_loop(&lab, "burst", "burst: true");
    let text = std::fs::read_to_string(lab.path(&workload)).expect("a file");
    lab.write(&workload, &text.replace("duration: 1", "operations: 300"));
    let runs = measured(&lab, &workload, "one", "out");
    let queue = &runs[0]["phases"][0]["queue"];
    let capacity = queue["capacity_per_s"].as_f64().expect("a capacity");
    assert!((capacity / 1_000.0 - 1.0).abs() < 0.01, "{queue:#}");
    assert!(queue["arrivals_per_s"].is_null() && queue["depth_tau"].is_null(), "{queue:#}");
    assert_eq!(queue["operations"], 300);
}

#[test]
fn a_busy_event_loop_is_the_limit() {
    let lab = Lab::new();
    // A fake's simulated time counts as CPU: its one worker is always busy.
    lab.fake("loop", &[crate::fake_support::QUICK, "concurrency=loop"]);
    lab.fake("quiet", &[crate::fake_support::QUICK]);
    let output = lab.experiment(&["loop", "quiet"], &["--rounds", "1", "--phase", "first"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let found = diagnosis(&lab, "out");
    assert_eq!(rules(&found["findings"]), ["generator-saturated"], "{found:#}");
    assert_eq!(found["findings"][0]["arm"], "loop@1.0.0");
}

/// A sweep of short whole runs: each takes 50 ms.
fn sweep(lab: &Lab, values: &str, rounds: &str) -> std::process::Output {
    let text = "name: grow\nwhy: More and more workers.\nparameters: {threads: 1}\nphases:\n  \
                - {name: work, operation: noop, duration: 0.05, workers: \"${threads}\", \
                warmup: 0.01}\n";
    lab.write("grow.yaml", text);
    let sweep = format!("threads={values}");
    let words = ["run", "grow.yaml", "--server", "none", "-d", "even", "-d", "bent"];
    let more = ["--interleave", "runs", "--rounds", rounds, "--out", "out", "--sweep", &sweep];
    lab.run(words.iter().chain(&more))
}

#[test]
fn a_sweep_shows_contention_where_there_is_some() {
    let lab = Lab::new();
    lab.fake("even", &["op_ns=100000"]);
    // USL with alpha 0.1 and no coherency.
    lab.fake("bent", &["op_ns=100000", "contention_percent=10"]);
    let output = sweep(&lab, "1,2,4,8,16,32", "6");
    assert_eq!(code(&output), 0, "{}", said(&output));
    let printed = stdout(&output);
    assert!(printed.contains("The sweep: where the time goes"), "{printed}");
    assert!(printed.contains("CONTENTION: 32 in flight"), "{printed}");

    let found = diagnosis(&lab, "out");
    assert_eq!(rules(&found["findings"]), ["contention"], "{found:#}");
    let finding = &found["findings"][0];
    assert_eq!((&finding["arm"], &finding["phase"]), (&"bent@1.0.0".into(), &"work".into()));
    let alpha = finding["numbers"]["alpha"].as_f64().expect("alpha");
    assert!((alpha - 0.1).abs() < 0.02, "{finding:#}");
    assert!(finding["numbers"].get("beta").is_none(), "{finding:#}");
    let cells = found["cells"].as_array().expect("cells").iter();
    let labels: Vec<&str> = cells.map(|cell| cell["cell"].as_str().expect("a label")).collect();
    let expected = [1, 2, 4, 8, 16, 32].map(|value| format!("threads={value}"));
    assert_eq!(labels, expected, "by number, not by letter");
}

#[test]
fn a_sweep_too_small_for_a_fit_says_so() {
    let lab = Lab::new();
    lab.fake("even", &["op_ns=100000"]);
    lab.fake("bent", &["op_ns=100000", "contention_percent=10"]);
    let output = sweep(&lab, "1,4", "1");
    assert_eq!(code(&output), 0, "{}", said(&output));
    let text = stdout(&lab.run(["diagnose", "out"]));
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("a fit needs 6 numbers of workers and 6 rounds of each"), "{text}");
    assert_eq!(diagnosis(&lab, "out")["findings"], Value::Array(vec![]));
}

#[test]
fn a_folder_of_nothing_is_a_mistake_of_the_command_line() {
    let lab = Lab::new();
    let output = lab.run(["diagnose", "."]);
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(stderr(&output).contains("no experiment folder"), "{}", said(&output));
}
