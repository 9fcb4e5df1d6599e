//! Disturbed rounds are kept, shown, not compared, and made again. A machine that is never quiet
//! still gets an answer. And the exit code wherever there is one.

use std::fs;

use crate::fake_support::{Lab, QUICK, assert_near, code, comparison, flat, noop, stderr, stdout};
use crate::support::said;
use serde_json::{Value, json};

const SEVEN: [&str; 6] = ["--rounds", "7", "--seed", "3", "--phase", "first"];

fn lab() -> Lab {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    lab.fake("slow", &[QUICK, "op_ns=108000"]);
    let output = lab.experiment(&["even", "slow"], &SEVEN);
    assert_eq!(code(&output), 0, "{}", said(&output));
    lab
}

/// Records noise in some rounds of the folder: a compiler's, or the hypervisor's.
fn disturb(lab: &Lab, rounds: &[u64], noise: &Value) {
    let mut runs = lab.runs();
    for run in &mut runs {
        if rounds.contains(&run["round"].as_u64().expect("a number")) {
            run["machine_noise"] = noise.clone();
        }
    }
    let lines: Vec<String> = runs.iter().map(Value::to_string).collect();
    fs::write(lab.path("out/runs.jsonl"), lines.join("\n") + "\n").expect("a file");
}

fn compiler() -> Value {
    json!({"steal_fraction": 0.0, "foreign_fraction": 0.49,
           "foreign": [{"name": "rustc", "fraction": 0.4}, {"name": "ld", "fraction": 0.05}]})
}

fn slow(analysis: &Value) -> Value {
    comparison(analysis, "slow@1.0.0", "first", "throughput").clone()
}

fn report(lab: &Lab, format: &str) -> String {
    let output = lab.run(["report", "out", "--format", format, "--details"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    stdout(&output)
}

#[test]
fn a_disturbed_round_is_shown_and_not_compared() {
    let lab = lab();
    disturb(&lab, &[4], &compiler());
    let analysis = lab.analysis();
    assert_eq!([&analysis["rounds"], &analysis["rounds_compared"]], [&json!(7), &json!(6)]);
    assert_eq!(analysis["rounds_disturbed"], json!([4]));
    let row = slow(&analysis);
    assert_eq!((&row["verdict"], &row["rounds"]), (&json!("SLOWER"), &json!(6)), "{row:#}");
    assert_near(row["threshold_percent"].as_f64().expect("a number"), 2.0, "threshold");
    assert_eq!(row["busy"], Value::Null);
    let by_round = analysis["results"][0]["throughput_by_round"].as_array().expect("rounds");
    assert!(by_round.len() == 7 && by_round[3].is_number(), "{by_round:?}");
    let line = "7 rounds (1 disturbed: other processes used 49 %: rustc, ld; shown, not compared)";
    for format in ["terminal", "md", "html"] {
        let text = flat(&report(&lab, format));
        assert!(text.contains(line), "{format}: {text}");
    }
    let text = report(&lab, "benchstat");
    let (compared, aside) = text.split_once("rounds: disturbed, not compared").expect("both");
    let lines = |text: &str| text.lines().filter(|line| line.starts_with("Benchmark")).count();
    assert_eq!([lines(compared), lines(aside)], [18, 3]);
}

#[test]
fn where_no_round_is_quiet_all_are_compared_and_each_sentence_says_so() {
    let lab = lab();
    let stolen = json!({"steal_fraction": 0.2, "foreign_fraction": 0.0});
    disturb(&lab, &[1, 2, 3, 4, 5, 6, 7], &stolen);
    let analysis = lab.analysis();
    let row = slow(&analysis);
    assert_eq!((&row["verdict"], &row["rounds"]), (&json!("SLOWER"), &json!(7)), "{row:#}");
    assert_near(row["threshold_percent"].as_f64().expect("a number"), 4.0, "doubled");
    for row in analysis["comparisons"].as_array().expect("rows") {
        let sentence = row["sentence"].as_str().expect("text");
        let end = "on a busy machine (the hypervisor took 20 %).";
        assert!(sentence.ends_with(end), "{sentence}");
    }
}

#[test]
fn other_processes_that_disturb_little_are_a_caution() {
    let lab = lab();
    let cron = json!({"steal_fraction": 0.0, "foreign_fraction": 0.06,
                      "foreign": [{"name": "cron", "fraction": 0.05}]});
    disturb(&lab, &[2, 3], &cron);
    let analysis = lab.analysis();
    assert_eq!((&slow(&analysis)["rounds"], &slow(&analysis)["busy"]), (&json!(7), &Value::Null));
    let warnings = analysis["warnings"].to_string();
    let caution = "in 2 of 7 rounds other processes used 6 %: cron (gate G4)";
    assert!(warnings.contains(caution), "{warnings}");
}

#[test]
fn a_round_is_made_in_the_place_of_a_disturbed_one() {
    let lab = lab();
    disturb(&lab, &[2, 5], &compiler());
    // The record of an experiment that was cut after its seventh round.
    let mut record = lab.record();
    record["ended"] = json!("interrupted");
    fs::write(lab.path("out/experiment.json"), record.to_string()).expect("a file");
    let output = lab.run(["resume", "out", "--workload", &noop()]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let analysis = lab.analysis();
    assert_eq!([&analysis["rounds"], &analysis["rounds_compared"]], [&json!(9), &json!(7)]);
    assert_eq!(analysis["rounds_disturbed"], json!([2, 5]));
    assert_eq!(slow(&analysis)["rounds"], 7);
}

#[test]
fn one_driver_alone_has_the_exit_code_of_its_own_comparison() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    lab.fake("bad", &[QUICK, "at=turn:4", "fault=errors"]);
    let output = lab.experiment(&["even"], &SEVEN);
    assert_eq!(code(&output), 0, "{}", said(&output));
    fs::remove_dir_all(lab.path("out")).expect("a folder");
    let output = lab.experiment(&["bad"], &SEVEN);
    assert_eq!(code(&output), 6, "{}", said(&output));
    assert!(stderr(&output).contains("no comparison could be made"), "{}", said(&output));
}
