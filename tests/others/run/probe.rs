//! Arms that cannot talk to the server are left out before the first round.

use std::path::Path;
use std::process::Output;

use crate::fake_support::{Lab, QUICK, code, comparison, flat, stderr, stdout};
use crate::support::{said, server};
use serde_json::Value;

const SERVED: &str = "
name: served
why: A phase that fakes can pretend, and one for which there has to be a server.
collections: {items: {documents: 2, document: {_id: {type: objectid, value: key}}}}
phases:
  - {name: first, operation: noop, warmup: 0.2}
  - {name: reads, operation: find_one, collection: items, warmup: 0.2}
";

/// An experiment of these adapters on a server, into the folder `out`.
pub fn served(lab: &Lab, server: &str, drivers: &[&str], rounds: &str) -> Output {
    lab.write("served.yaml", SERVED);
    let words = ["run", "served.yaml", "--out", "out", "--server", server, "--rounds", rounds];
    let drivers = drivers.iter().flat_map(|driver| ["-d", driver]);
    lab.run(words.into_iter().chain(drivers))
}

/// Ids of the arms, and reasons of those that were left out.
fn arms(folder: &Path) -> (Vec<String>, Vec<String>) {
    let text = std::fs::read_to_string(folder.join("experiment.json")).expect("a record");
    let record: Value = serde_json::from_str(&text).expect("JSON");
    let each = |list: &str, field: &str| -> Vec<String> {
        let rows = record[list].as_array().expect("a list").iter();
        rows.map(|row| row[field].as_str().expect("text").to_owned()).collect()
    };
    (each("arms", "id"), each("unavailable", "reason"))
}

#[test]
fn a_baseline_that_cannot_connect_leaves_the_others_their_comparison() {
    let lab = Lab::even_and_slow();
    lab.fake("old", &[QUICK, "at=open", "fault=refuse"]);
    let output = served(&lab, "absorber", &["old", "even", "slow"], "6");
    assert_eq!(code(&output), 0, "{}", said(&output));
    let reason = "old@1.0.0 cannot be measured here: the adapter refused `open` (internal): the \
                  fake was told to refuse";
    let expected = format!(
        "old: left out, {reason} hint: its log is logs/probe-arm0.log in the experiment folder \
         the baseline is even@1.0.0"
    );
    assert!(flat(&stderr(&output)).contains(&expected), "{}", said(&output));
    let (ids, reasons) = arms(&lab.path("out"));
    assert_eq!(ids, ["even@1.0.0", "even@1.0.0 (A/A)", "slow@1.0.0"]);
    assert_eq!(reasons, [reason]);
    let adapter = &lab.record()["unavailable"][0]["adapter"];
    assert_eq!(adapter, "old", "as it was asked for, which `bisect` looks for");
    let analysis = lab.analysis();
    let row = comparison(&analysis, "slow@1.0.0", "first", "throughput");
    assert_eq!(row["verdict"], "SLOWER", "{row}");
    assert!(lab.path("out/logs/probe-arm0.log").exists());
    lab.assert_nothing_runs();
}

#[test]
fn who_cannot_insert_or_find_is_left_out_and_who_is_another_version() {
    let lab = Lab::even_and_slow();
    lab.fake("bad", &[QUICK, "at=turn:1", "fault=errors"]);
    lab.fake("frail", &[QUICK, "at=turn:2", "fault=crash"]);
    lab.fake("other", &[QUICK, "version=1.0.1"]);
    let drivers = ["even", "bad", "frail", "other", "slow"];
    let output = served(&lab, "absorber", &drivers, "1");
    assert_eq!(code(&output), 0, "{}", said(&output));
    let (ids, reasons) = arms(&lab.path("out"));
    assert_eq!(ids, ["even@1.0.0", "even@1.0.0 (A/A)", "slow@1.0.0"]);
    let expected = [
        "bad@1.0.0 cannot be measured here: its insert_one failed: InterruptedAtShutdown (11600): \
         pretended",
        "frail@1.0.0 cannot be measured here: the adapter ended (signal: 6 (SIGABRT)) instead of \
         answering `turn`; it said: the fake was told to crash",
        "other@1.0.0 cannot be measured here: its driver reports version 1.0.1, and 1.0.0 was \
         asked for",
    ];
    assert_eq!(reasons, expected);
    assert!(!stderr(&output).contains("the baseline is"), "{}", said(&output));
    lab.assert_nothing_runs();
}

#[test]
fn one_that_is_left_of_two_is_measured_alone_and_the_report_says_so() {
    let lab = Lab::even_and_slow();
    lab.fake("old", &[QUICK, "at=open", "fault=refuse"]);
    for drivers in [["even", "old"], ["old", "even"]] {
        let output = served(&lab, "absorber", &drivers, "6");
        assert_eq!(code(&output), 0, "{}", said(&output));
        let told = flat(&stderr(&output));
        assert!(told.contains("old: left out, old@1.0.0 cannot be measured here:"), "{told}");
        let alone = "even@1.0.0 is measured alone";
        assert!(told.contains(&format!("{alone}: nothing else is left")), "{told}");
        let sentence = format!("{alone}, and compared with its copy: old could not be measured");
        let report = lab.run(["report", "out", "--details"]);
        assert!(flat(&stdout(&report)).contains(&sentence), "{}", said(&report));
        let (ids, reasons) = arms(&lab.path("out"));
        assert_eq!(
            (ids, reasons.len()),
            (vec!["even@1.0.0".to_owned(), "even@1.0.0 (A/A)".to_owned()], 1)
        );
        let analysis = lab.analysis();
        assert_eq!(analysis["results"][0]["throughput_by_round"].as_array().map(Vec::len), Some(6));
        std::fs::remove_dir_all(lab.path("out")).expect("it is there");
    }
    lab.assert_nothing_runs();
}

#[test]
fn where_none_is_left_each_is_named() {
    let lab = Lab::new();
    lab.fake("old", &[QUICK, "at=open", "fault=refuse"]);
    lab.fake("bad", &[QUICK, "at=turn:1", "fault=errors"]);
    let output = served(&lab, "absorber", &["old", "bad"], "1");
    assert_eq!(code(&output), 6, "{}", said(&output));
    let told = flat(&stderr(&output));
    for name in ["error: old@1.0.0 cannot be measured here", "bad: bad@1.0.0 cannot be measured"] {
        assert!(told.contains(name), "{name}: {told}");
    }
    assert!(!lab.path("out/experiment.json").exists(), "nothing was begun");
    assert!(lab.path("out/logs/probe-arm0.log").exists(), "its log explains it");
    lab.assert_nothing_runs();
}

/// Whoever mends the driver or the server gives the same command again.
#[test]
fn what_never_began_is_no_obstacle_to_the_same_out() {
    let lab = Lab::new();
    for server in ["absorber", "absorber,absorber"] {
        lab.fake("old", &[QUICK, "at=open", "fault=refuse"]);
        let output = served(&lab, server, &["old"], "1");
        assert_eq!(code(&output), 6, "{}", said(&output));
        lab.fake("old", &[QUICK]);
        let output = served(&lab, server, &["old"], "1");
        assert_eq!(code(&output), 0, "{}", said(&output));
        let output = served(&lab, server, &["old"], "1");
        assert_eq!(code(&output), 2, "results are never overwritten: {}", said(&output));
        std::fs::remove_dir_all(lab.path("out")).expect("it is there");
    }
    // The user's own files are no leftovers.
    std::fs::create_dir_all(lab.path("out/logs")).expect("a folder");
    lab.write("out/logs/probe-arm0.log", "mine");
    let output = served(&lab, "absorber", &["old"], "1");
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(lab.path("out/logs/probe-arm0.log").exists());
    lab.assert_nothing_runs();
}

#[test]
fn a_driver_that_one_of_two_servers_refuses_is_left_out_there_alone() {
    let test = "probe/a_driver_that_one_of_two_servers_refuses_is_left_out_there_alone";
    if server(test).is_none() {
        return;
    }
    let lab = Lab::with_shared_cache();
    lab.fake("even", &[QUICK, "op_ns=100000"]);
    lab.fake("slow", &[QUICK, "op_ns=108000"]);
    // Refused is the process that connects first.
    let once = format!("once={}", lab.path("once").display());
    lab.fake("old", &[QUICK, "at=open", "fault=refuse", &once]);
    let output = served(&lab, "absorber,embedded@4.4", &["old", "even", "slow"], "1");
    assert_eq!(code(&output), 0, "{}", said(&output));
    let told = stderr(&output);
    for line in ["absorber: old: left out, old@1.0.0 ", "absorber: the baseline is even@1.0.0\n"] {
        assert!(told.contains(line), "{line}: {told}");
    }
    let (ids, reasons) = arms(&lab.path("out/absorber"));
    assert_eq!(ids, ["even@1.0.0", "even@1.0.0 (A/A)", "slow@1.0.0"]);
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    let (ids, reasons) = arms(&lab.path("out/embedded@4.4"));
    assert_eq!(ids, ["old@1.0.0", "old@1.0.0 (A/A)", "even@1.0.0", "slow@1.0.0"]);
    assert!(reasons.is_empty(), "{reasons:?}");
    lab.assert_nothing_runs();
}
