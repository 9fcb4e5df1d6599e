//! Absorber, tap and link in a run with a real driver: their parameters come out in the result.

use std::process::Output;

use crate::fake_support::real::real_lab;
use crate::fake_support::{Lab, code, stderr};
use crate::support::said;
use serde_json::Value;

const ARM: &str = "python@4.20.0";
const OPEN: &str = "
name: open
why: More arrivals than a known server can take.
parameters:
  rate: 400
collections:
  items:
    documents: 100
    document: {number: {type: long, value: key}}
phases:
  - name: find
    operation: find_one
    rate: ${rate}
    workers: 32
    duration: 2
    warmup: 0.2
";

/// Runs the inserts with further words and returns the analysis.
fn inserts(lab: &Lab, more: &[&str]) -> Value {
    run(lab, &[&["inserts.yaml", "-d", "python", "--rounds", "2"], more].concat())
}

fn run(lab: &Lab, words: &[&str]) -> Value {
    analysis(&lab.run([&["run", "--out", "out", "--json"], words].concat()))
}

fn analysis(output: &Output) -> Value {
    // Other tests keep the machine busy, which voids rounds (6), but their figures are there.
    assert!(matches!(code(output), 0 | 6), "{}", said(output));
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", said(output)))
}

fn rows<'a>(analysis: &'a Value, table: &str) -> Vec<&'a Value> {
    analysis[table].as_array().expect("a table").iter().collect()
}

fn of_arm<'a>(analysis: &'a Value, table: &str, arm: &str) -> &'a Value {
    let found = rows(analysis, table).into_iter().find(|row| row["arm"] == arm || row["id"] == arm);
    found.unwrap_or_else(|| panic!("no {arm} in {table} of {analysis:#}"))
}

fn sentence<'a>(analysis: &'a Value, rule: &str) -> Option<&'a str> {
    let found = rows(analysis, "diagnosis").into_iter().find(|row| row["rule"] == rule);
    found.and_then(|row| row["sentence"].as_str())
}

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or_else(|| panic!("{key} of {row:#}"))
}

#[test]
fn the_tap_counts_what_was_sent_and_its_cost_stands_beside() {
    let Some(lab) = real_lab("the_tap_counts_what_was_sent_and_its_cost_stands_beside") else {
        return;
    };
    let analysis = inserts(&lab, &["--tap"]);
    let tap = of_arm(&analysis, "taps", ARM);
    assert!((number(tap, "round_trips_per_op") - 1.0).abs() < 1e-9, "{tap:#}");
    assert!((number(&tap["commands_per_op"], "insert") - 1.0).abs() < 1e-9, "{tap:#}");
    assert!(number(tap, "bytes_out_per_op") > 50.0, "{tap:#}");
    for part in ["server_us_per_op", "driver_us_per_op"] {
        assert!(number(tap, part) > 0.0, "{tap:#}");
    }
    // One arm goes past the tap, and the baseline is compared with it.
    let direct = format!("{ARM} (direct)");
    assert!(rows(&analysis, "taps").iter().all(|row| row["arm"] != direct.as_str()));
    assert!(number(of_arm(&analysis, "results", &direct), "operations") > 0.0);
    let cost = sentence(&analysis, "tap-cost").expect("what the tap costs");
    assert!(cost.contains("past it"), "{cost}");
}

/// An upgrade removes the program while an experiment goes on.
#[test]
fn a_program_whose_file_is_gone_starts_its_absorber_and_its_tap() {
    let Some(lab) = real_lab("a_program_whose_file_is_gone_starts_its_absorber_and_its_tap") else {
        return;
    };
    let gone = "cp \"$0\" own; exec 3<own; rm own; exec /proc/self/fd/3 \"$@\"";
    let words = ["run", "inserts.yaml", "-d", "python", "--rounds", "1", "--server", "absorber"];
    let words = [&words[..], &["--tap", "--out", "out", "--json"]].concat();
    let output = lab.wrapped(&["sh", "-c", gone], words).output().expect("a shell");
    let analysis = analysis(&output);
    assert!(number(of_arm(&analysis, "taps", ARM), "bytes_out_per_op") > 50.0, "{analysis:#}");
}

#[test]
fn a_link_is_measured_first_and_its_time_is_told_apart() {
    let Some(lab) = real_lab("a_link_is_measured_first_and_its_time_is_told_apart") else {
        return;
    };
    let analysis = inserts(&lab, &["--link", "100mbit,rtt=4ms"]);
    let link = &lab.record()["link"];
    assert_eq!(link["asked"], "100mbit,rtt=4ms");
    // 4 ms, less 0.1 ms each way: on a busy machine the tap overestimates its own hop so far.
    assert!(number(&link["check"], "ping_rtt_us") >= 3800.0, "{link:#}");
    let tap = of_arm(&analysis, "taps", ARM);
    assert!(number(tap, "link_us_per_op") >= 3800.0, "{tap:#}");
    assert!(number(of_arm(&analysis, "results", ARM), "p50_us") >= 3800.0);
}

#[test]
fn the_absorbers_service_time_comes_back() {
    let Some(lab) = real_lab("the_absorbers_service_time_comes_back") else { return };
    let analysis = inserts(&lab, &["--server", "absorber", "--service-time", "5ms"]);
    assert_eq!(analysis["server"]["kind"], "absorber");
    let row = of_arm(&analysis, "results", ARM);
    assert!(number(row, "p50_us") >= 5000.0, "{row:#}");
    assert_eq!(row["errors"], 0, "{row:#}");
    // The absorber's counters are a receipt as a real server's are.
    let voided = rows(&analysis, "warnings").into_iter().filter_map(Value::as_str);
    let voided: Vec<&str> = voided.filter(|it| it.contains("the server counted")).collect();
    assert!(voided.is_empty(), "{voided:?}");
    let holds = std::fs::metadata(lab.path("out/holds.bin")).expect("the log of holds");
    assert!(holds.len() >= 32, "{} bytes", holds.len());
}

#[test]
fn an_overloaded_absorber_is_diagnosed_and_one_with_room_is_not() {
    let Some(lab) = real_lab("an_overloaded_absorber_is_diagnosed_and_one_with_room_is_not") else {
        return;
    };
    lab.write("open.yaml", OPEN);
    // One worker and 5 ms: 200 a second.
    let known = ["open.yaml", "-d", "python", "--rounds", "2", "--server", "absorber"];
    let load = ["--service-time", "5ms", "--workers", "1"];
    let analysis = run(&lab, &[&known[..], &load].concat());
    let grows = rows(&analysis, "diagnosis").into_iter().find(|row| row["rule"] == "queue-grows");
    let grows = grows.unwrap_or_else(|| panic!("no queue grows: {:#}", analysis["diagnosis"]));
    let capacity = number(&grows["numbers"], "capacity_per_s");
    assert!(capacity < 220.0, "nothing makes it faster: {grows:#}");
    std::fs::remove_dir_all(lab.path("out")).expect("it was written");
    let analysis = run(&lab, &[&known[..], &load, &["--set", "rate=80"]].concat());
    assert_eq!(sentence(&analysis, "queue-grows"), None, "{:#}", analysis["diagnosis"]);
}

#[test]
fn flags_that_do_not_fit_say_so() {
    let lab = Lab::new();
    for (words, wanted) in [
        (&["--service-time", "1ms"][..], "add --server absorber"),
        (&["--link", "fast"], "--link fast"),
    ] {
        lab.fake("one", &[crate::fake_support::QUICK]);
        let output = lab.run([&["run", "ping", "-d", "one", "--out", "out"], words].concat());
        assert_eq!(code(&output), 2, "{}", said(&output));
        assert!(stderr(&output).contains(wanted), "{}", said(&output));
    }
}

#[test]
fn writes_without_answers_are_waited_for_and_named() {
    let Some(lab) = real_lab("writes_without_answers_are_waited_for_and_named") else { return };
    let unanswered = format!("{ARM}/w=0");
    let analysis = inserts(&lab, &["-d", "python/w=0"]);
    assert_eq!(analysis["phases"][0]["interleave"], "runs");
    for run in lab.runs() {
        let receipt = &run["phases"][0]["receipt"];
        assert_eq!((&receipt["level"], &receipt["agrees"]), (&"opcounters".into(), &true.into()));
        let claimed = number(&receipt["claimed"], "opcounters.insert");
        assert!(claimed > 0.0, "{receipt:#}");
        assert!(run["phases"][0]["document_ns"].is_number(), "what making a document costs");
    }
    let row = rows(&analysis, "comparisons").into_iter().find(|row| row["arm"] == *unanswered);
    let said = row.expect("a row")["sentence"].as_str().expect("text");
    assert!(said.contains("(write concern w:0 against w:1)"), "{said}");
}
