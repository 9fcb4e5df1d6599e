//! An adapter is hung when neither it nor its server works. One slow operation is no hang.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::fake_support::real::lab_with;
use crate::fake_support::{Lab, QUICK, code, stderr};
use crate::support::{said, scratch};
use adapter::adapter_process::{AdapterProcess, Failure};
use adapter::environment::Environment;
use adapter::patience::Patience;

#[tokio::test]
async fn an_adapter_is_hung_once_its_server_rests_too() {
    let environment = Environment::of_command(&["sleep".to_owned(), "600".to_owned()], vec![]);
    let folder = scratch("rests");
    let mut process =
        AdapterProcess::spawn(&environment, &folder.join("log"), None).expect("it starts");
    let asked = Cell::new(0);
    let busy = async || {
        asked.set(asked.get() + 1);
        asked.get() < 4
    };
    let (rest, samples) = (Duration::from_millis(50), folder.join("none.bin"));
    let patience = (Patience::timed(Duration::ZERO, Duration::ZERO), rest);
    let answer = process.answer_to_turn(patience, Instant::now(), &samples, busy).await;
    assert!(matches!(answer, Err(Failure::Hung { request: "turn", .. })), "{answer:?}");
    assert_eq!(asked.get(), 4, "three times the server worked for it");
}

/// Beyond the time that a resting adapter has: 10 s, and ten times its wait for a server.
const SLOW: &str = "
name: slow
why: One operation takes longer than any limit.
collections:
  items:
    documents: 1
    document: {_id: {type: int, value: key}}
phases:
  - {name: slow, OPERATION, collection: items, operations: 1, warmup: 0}
";

/// One round of the slow operation, by a driver that waits 100 ms for a server.
fn slow(test: &str, operation: &str, server: &[&str]) {
    let Some(lab) = lab_with(test, &["python"]) else { return };
    lab.write("slow.yaml", &SLOW.replace("OPERATION", operation));
    let words = ["run", "slow.yaml", "-d", "python", "--out", "out", "--rounds", "1"];
    let option = ["--option", "serverSelectionTimeoutMS=100"];
    let output = lab.run(words.iter().chain(&option).chain(server));
    let runs = lab.runs();
    assert!(!runs.is_empty(), "{}", said(&output));
    for run in runs {
        assert!(run["failed"].is_null(), "{run:#}: {}", said(&output));
        assert_eq!(run["phases"][0]["operations"], 1, "{run:#}");
        let took_s = run["phases"][0]["measured_s"].as_f64().expect("seconds");
        assert!(took_s > 12.0, "it was slow: {run:#}");
    }
}

#[test]
fn an_answer_that_an_absorber_holds_back_is_no_hang() {
    let test = "hangs/an_answer_that_an_absorber_holds_back_is_no_hang";
    // A session's first command comes soon: so does that which loads the collection.
    let operation = "operation: find_one, filter: {_id: 0}";
    slow(test, operation, &["--server", "absorber", "--service-time", "13s"]);
}

#[test]
fn an_adapter_that_hangs_is_found_beside_a_server_that_rests() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    // The turn after those of the calibration and the warm-up: the probe has two.
    lab.fake("stuck", &[QUICK, "at=turn:3", "fault=hang"]);
    let slow = SLOW.replace("OPERATION", "operation: find_one, filter: {_id: 0}");
    lab.write("slow.yaml", &slow.replace("warmup: 0", "warmup: 0.1"));
    let words = ["run", "slow.yaml", "-d", "even", "-d", "stuck", "--out", "out", "--rounds", "1"];
    let more = ["--server", "absorber", "--option", "serverSelectionTimeoutMS=100"];
    let output = lab.run(words.iter().chain(&more));
    let expected = "stuck@1.0.0 is lost in this round: the adapter did not answer `turn` within";
    assert!(stderr(&output).contains(expected), "{}", said(&output));
    assert_eq!(code(&output), 6, "{}", said(&output));
    lab.assert_nothing_runs();
}
