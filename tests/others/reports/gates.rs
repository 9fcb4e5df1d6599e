//! `--gate`: figures that an experiment has to keep.

use std::fs;

use serde_json::{Value, json};

use crate::fake_support::{Lab, QUICK, code, flat, stderr, stdout};
use crate::support::said;

#[test]
fn broken_gates_end_with_1_and_name_what_was_found() {
    let lab = Lab::even_and_slow();
    let gates = ["--gate", "p50 < 105us", "--gate", "errors <= 0", "--gate", "slower <= 3%"];
    let output = lab.experiment(&["even", "slow"], &[&["--rounds", "8"], &gates[..]].concat());
    assert_eq!(code(&output), 1, "{}", said(&output));
    let told = flat(&stdout(&output));
    for sentence in [
        "p50 < 105us: kept. even@1.0.0, first, noop: 100 µs",
        "p50 < 105us: BROKEN. slow@1.0.0, second, noop: 108 µs",
        "errors <= 0: kept. slow@1.0.0, first, noop: 0",
        "slower <= 3%: BROKEN. first: SLOWER: slow@1.0.0 takes 8",
    ] {
        assert!(told.contains(sentence), "{sentence}\n{told}");
    }
    let told = stderr(&output);
    assert!(told.contains("error: a gate is broken\nhint: see which one in the report"));
    // The record keeps them: each report says so again.
    let junit = lab.run(["report", "out", "--format", "junit"]);
    assert_eq!(code(&junit), 1, "{}", said(&junit));
    let junit = stdout(&junit);
    assert!(junit.contains(r#"tests="10" failures="4" skipped="0""#), "{junit}");
    assert!(junit.contains(r#"<failure message="p50 &lt; 105us: BROKEN. slow@1.0.0"#), "{junit}");
}

#[test]
fn what_was_never_measured_keeps_no_gate() {
    let lab = Lab::even_and_slow();
    lab.fake("proud", &["at=hello", "fault=refuse"]);
    lab.fake("absent", &[]);
    lab.rewrite("absent", |text| text.to_owned() + "install = [['false']]\n");
    let gates = ["errors <= 0", "p99 < 5ms", "slower <= 3%"];
    for gate in gates {
        let drivers = ["even", "proud", "absent"];
        let output = lab.experiment(&drivers, &["--rounds", "1", "--gate", gate]);
        assert_eq!(code(&output), 1, "{}", said(&output));
        let told = flat(&stdout(&output));
        assert!(told.contains(&format!("{gate}: BROKEN. absent: nothing was measured")), "{told}");
        let junit = stdout(&lab.run(["report", "out", "--format", "junit"]));
        let failed = format!(r#"failure message="{}: BROKEN."#, gate.replace('<', "&lt;"));
        assert_eq!(junit.matches(&failed).count(), 3, "of two phases, and of all: {junit}");
        fs::remove_dir_all(lab.path("out")).expect("it is there");
    }
}

#[test]
fn kept_gates_end_with_0_and_a_report_can_hold_further_ones() {
    let lab = Lab::even_and_slow();
    let gate = ["--rounds", "8", "--gate", "slower <= 20%"];
    let output = lab.experiment(&["even", "slow"], &gate);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(code(&lab.run(["report", "out", "--details"])), 0);
    let further = lab.run(["report", "out", "--gate", "throughput > 9500"]);
    assert_eq!(code(&further), 1, "{}", said(&further));
    assert!(
        flat(&stdout(&further)).contains("throughput > 9500: BROKEN. slow@1.0.0, first, noop: 9,2")
    );
}

#[test]
fn a_gate_that_is_none_is_refused() {
    let lab = Lab::even_and_slow();
    for gate in ["p99", "p98 < 5ms", "p99 < 5", "slower >= 3%", "slower <= 3", "errors <= many"] {
        let output = lab.experiment(&["even"], &["--gate", gate]);
        let wanted = format!("\"{gate}\" is not a gate such as 'p99 < 5ms'");
        assert!(code(&output) == 2 && stderr(&output).contains(&wanted), "{}", said(&output));
    }
}

#[test]
fn a_study_has_no_gates() {
    let lab = Lab::even_and_slow();
    assert_eq!(code(&lab.experiment(&["even"], &["--rounds", "1"])), 0);
    // The record of a study of one experiment, and of several.
    let record = fs::read_to_string(lab.path("out/experiment.json")).expect("a record");
    let mut record: Value = serde_json::from_str(&record).expect("JSON");
    record["study"] = json!({"name": "noise", "scale": 1.0, "originals": {}});
    lab.write("out/experiment.json", &record.to_string());
    fs::create_dir(lab.path("parts")).expect("a folder");
    lab.write("parts/study.json", "{}");
    for (folder, hint) in [("out", "leave out --gate"), ("parts", "report the folder of one")] {
        let output = lab.run(["report", folder, "--gate", "errors <= 0"]);
        assert_eq!(code(&output), 2, "{}", said(&output));
        let wanted = format!("error: a study has no gates\nhint: {hint}");
        assert!(stderr(&output).contains(&wanted), "{}", said(&output));
    }
}

/// The six ratios have the direction, and not the size: at least some 3 %, at most some 14 %.
const UNCERTAIN: [u64; 6] = [103_300, 106_000, 109_000, 111_000, 113_000, 114_500];

/// Rounds in the folder.
fn rounds(lab: &Lab) -> u64 {
    lab.runs().last().and_then(|run| run["round"].as_u64()).expect("a round")
}

fn uncertain(test_rounds: &[u64]) -> Lab {
    let lab = Lab::new();
    lab.fake("even", &[QUICK, "op_ns=100000"]);
    lab.paced("drowsy", test_rounds, &[QUICK]);
    lab
}

#[test]
fn a_gate_that_may_be_broken_has_more_rounds_and_is_no_gate_that_is_kept() {
    let lab = uncertain(&UNCERTAIN);
    let more = ["--rounds", "6", "--phase", "first", "--gate", "slower <= 8%"];
    let output = lab.experiment(&["even", "drowsy"], &more);
    assert_eq!(code(&output), 125, "{}", said(&output));
    let told = stderr(&output);
    for line in ["a gate undecided; on to 12\n", "a gate undecided; on to 24\n"] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert!(told.contains("error: a gate is not shown either way\nhint: "), "{told}");
    assert_eq!(rounds(&lab), 24, "four times and no more");
    let report = |more: &[&str]| {
        let words = [&["report", "out", "--format", "junit"], more].concat();
        let output = lab.run(words);
        (code(&output), stdout(&output))
    };
    let (ended, junit) = report(&[]);
    assert!(ended == 125 && junit.contains(r#"failures="0" skipped="1""#), "{junit}");
    let (ended, junit) = report(&["--gate-unclear", "fail"]);
    assert!(ended == 1 && junit.contains(r#"failures="1" skipped="0""#), "{junit}");
    let (ended, junit) = report(&["--gate-unclear", "pass"]);
    assert!(ended == 0 && junit.contains(r#"failures="0" skipped="0""#), "{junit}");
}

#[test]
fn more_rounds_decide_a_gate_and_the_experiment_ends_there() {
    // Six rounds leave it open; the next six are all within the limit's reach.
    let lab = uncertain(&[&UNCERTAIN[..], &[104_000; 18]].concat());
    let more = ["--quick", "--phase", "first", "--gate", "slower <= 8%", "--gate-unclear", "fail"];
    let output = lab.experiment(&["even", "drowsy"], &more);
    let told = stderr(&output);
    assert!(told.contains("on to 12\n"), "{told}");
    assert_eq!(code(&output), 0, "kept once it is shown: {}", said(&output));
    assert_eq!(lab.record()["settings"]["gate_unclear"], "fail");
}

#[test]
fn no_result_keeps_no_gate() {
    let lab = Lab::even_and_slow();
    // One driver has nothing to be slower than.
    let more = ["--rounds", "6", "--phase", "first", "--gate", "slower <= 3%"];
    let output = lab.experiment(&["even"], &more);
    assert_eq!(code(&output), 1, "{}", said(&output));
    assert!(flat(&stdout(&output)).contains("BROKEN. even@1.0.0: nothing was compared"));
    fs::remove_dir_all(lab.path("out")).expect("it is there");
    // A comparison that is void has an interval all the same.
    lab.fake("bad", &[QUICK, "at=turn:4", "fault=errors"]);
    let gates = ["--gate", "slower <= 900%"];
    let output = lab.experiment(&["even", "bad"], &[&["--rounds", "6"], &gates[..]].concat());
    assert_eq!(code(&output), 1, "{}", said(&output));
    assert!(flat(&stdout(&output)).contains("slower <= 900%: BROKEN. first: NOT COMPARABLE"));
}

#[test]
fn a_missing_toolchain_is_skipped_unless_the_arm_was_named() {
    let lab = Lab::even_and_slow();
    lab.fake("exotic", &[]);
    let needs = "[[needs]]\nrun = ['false']\nmatch = '.'\nwants = 'an exotic compiler'\n\
                 install_hint = 'find one'\n";
    lab.rewrite("exotic", |text| text.to_owned() + needs);
    // Only this adapter is installed, so it is taken if none is named.
    assert_eq!(code(&lab.run(["adapters", "install", "even"])), 0);
    for drivers in [&["even", "exotic"][..], &[]] {
        let gate = "errors <= 0";
        let more = ["--rounds", "1", "--phase", "first", "--offline", "--gate", gate];
        let output = lab.experiment(drivers, &more);
        let is_named = !drivers.is_empty();
        assert_eq!(code(&output), i32::from(is_named), "{}", said(&output));
        let junit = stdout(&lab.run(["report", "out", "--format", "junit"]));
        let case = junit.split("<testcase ").find(|case| case.contains("every phase.exotic"));
        let (case, way) = (case.expect("a case"), if is_named { "<failure" } else { "<skipped" });
        assert!(case.contains(way) && !junit.contains("BROKEN. slow"), "{junit}");
        fs::remove_dir_all(lab.path("out")).expect("it is there");
    }
}
