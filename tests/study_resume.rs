//! `mongodyno resume` of plain experiments with pretended drivers: quick, and the same each time.

mod fake_support;
mod support;

use std::fs;

use fake_support::{Lab, QUICK, code, fixture, pid, places, send, stderr, stdout};
use nix::sys::signal::Signal;
use support::said;

const ROUNDS: usize = 6;
/// Baseline, its twin, and the other one.
const ARMS: usize = 3;

/// A lab with a workload of its own, which a test may change.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.fake("even", &[QUICK, "op_ns=100000"]);
    lab.fake("slow", &[QUICK, "op_ns=108000"]);
    let text = fs::read_to_string(fixture("workloads/noop.yaml")).expect("a workload");
    lab.write("mine.yaml", &text);
    lab
}

fn words(out: &str) -> Vec<String> {
    let rounds = ROUNDS.to_string();
    let words = ["run", "mine.yaml", "--server", "none", "-d", "even", "-d", "slow"];
    let more = ["--seed", "11", "--rounds", &rounds, "--out", out];
    words.iter().chain(&more).map(|word| (*word).to_owned()).collect()
}

/// Cuts an experiment after its second round; answers the lines of its finished rounds.
fn cut(lab: &Lab, signal: Signal) -> Vec<String> {
    let mut child = lab.start(words("out"));
    lab.wait_for_runs(2 * ARMS);
    send(pid(&child), signal);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, if signal == Signal::SIGKILL { -1 } else { 130 }, "{}", done.stderr);
    lab.assert_nothing_runs();
    let mut kept = lines(lab);
    kept.truncate(kept.len() / ARMS * ARMS);
    assert!(kept.len() < ROUNDS * ARMS, "it was cut");
    kept
}

fn lines(lab: &Lab) -> Vec<String> {
    let text = fs::read_to_string(lab.path("out/runs.jsonl")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Everything in the folder but the page: path and content.
fn content(lab: &Lab) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![lab.path("out")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).expect("a file");
                found.push((path.display().to_string(), bytes));
            }
        }
    }
    found.sort();
    found
}

fn resume(lab: &Lab) -> std::process::Output {
    lab.run(["resume", "out"])
}

fn assert_refused(lab: &Lab, expected: &str) {
    let before = content(lab);
    let output = resume(lab);
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(stderr(&output).contains(expected), "{}", said(&output));
    assert!(!stderr(&output).contains("to go on from there"), "{}", said(&output));
    let same = content(lab) == before;
    assert!(same, "a refused resume changes nothing");
}

/// Goes on, and holds the result against that of an experiment that was never cut.
fn assert_goes_on_as_if_nothing_had_been(lab: &Lab, kept: &[String], gaps: usize) {
    let output = resume(lab);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(lines(lab)[..kept.len()], *kept, "byte for byte");
    let record = lab.record();
    assert_eq!(record["ended"], "completed", "{record}");
    let marked = record["gaps"].as_array().expect("gaps");
    assert_eq!(marked.len(), gaps, "{marked:?}");
    let last = &marked[gaps - 1];
    assert_eq!(last["after_round"], kept.len() / ARMS, "{last}");
    let after = format!("after round {} and gone on with at ", kept.len() / ARMS);
    assert!(stdout(&output).contains(&after), "{}", said(&output));
    let whole = lab.run(words("whole"));
    assert_eq!(code(&whole), 0, "{}", said(&whole));
    let (runs, expected) = (lab.runs(), fake_support::json_lines(&lab.path("whole/runs.jsonl")));
    assert_eq!(places(&runs), places(&expected), "the same order of arms in every round");
    assert_eq!(lab.analysis()["rounds"], ROUNDS);
    lab.assert_nothing_runs();
}

#[test]
fn an_interrupted_experiment_is_gone_on_with() {
    let lab = lab();
    let kept = cut(&lab, Signal::SIGINT);
    assert!(lab.record()["finished_at"].is_string());
    assert_goes_on_as_if_nothing_had_been(&lab, &kept, 1);
    let when = lab.record()["gaps"][0]["cut_at"].clone();
    assert!(when.is_string(), "when it ended is known: {when}");
    assert_refused(&lab, "is complete: there is nothing to go on with\nhint: mongodyno report ");
}

#[test]
fn one_that_was_killed_is_gone_on_with_and_its_torn_line_dropped() {
    let lab = lab();
    let kept = cut(&lab, Signal::SIGKILL);
    assert!(lab.record()["ended"].is_null());
    // What a kill leaves in the middle of writing: two runs of a round of three, and half a line.
    let round = kept.len() / ARMS + 1;
    let half = |line: &String| line.replacen(&format!("\"round\":{}", round - 1), "ROUND", 1);
    let more: Vec<String> = kept[kept.len() - 2..].iter().map(half).collect();
    let more = more.join("\n").replace("ROUND", &format!("\"round\":{round}"));
    let text = format!("{}\n{more}\n{}", kept.join("\n"), &kept[0][..kept[0].len() / 2]);
    lab.write("out/runs.jsonl", &text);
    assert_goes_on_as_if_nothing_had_been(&lab, &kept, 1);
    assert!(lab.record()["gaps"][0]["cut_at"].is_null(), "it had no time to say when");
}

#[test]
fn one_can_be_cut_and_gone_on_with_again_and_again() {
    let lab = lab();
    cut(&lab, Signal::SIGINT);
    let mut child = lab.start(["resume", "out"]);
    lab.wait_for_runs(4 * ARMS);
    send(pid(&child), Signal::SIGTERM);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 130, "{}", done.stderr);
    let kept = lines(&lab);
    assert_goes_on_as_if_nothing_had_been(&lab, &kept, 2);
}

#[test]
fn what_is_no_longer_the_same_is_not_gone_on_with() {
    let lab = lab();
    let kept = cut(&lab, Signal::SIGINT);
    let mine = fs::read_to_string(lab.path("mine.yaml")).expect("a workload");
    let manifest = lab.path("adapters/slow/adapter.toml");
    let slow = fs::read_to_string(&manifest).expect("a manifest");
    let changed = mine.replacen("name: noop", "name: mine", 1);
    assert_ne!(changed, mine);
    lab.write("mine.yaml", &changed);
    assert_refused(&lab, "is not what it was\nhint: start anew, with another --out");
    fs::remove_file(lab.path("mine.yaml")).expect("it is there");
    let output = resume(&lab);
    assert_eq!(code(&output), 3, "{}", said(&output));
    lab.write("mine.yaml", &mine);
    fs::write(&manifest, slow.replace("default = \"1.0.0\"", "default = \"2.0.0\"")).expect("room");
    assert_refused(&lab, "error: the arms are not what they were\nhint: start anew");
    fs::write(&manifest, slow).expect("room");
    assert_goes_on_as_if_nothing_had_been(&lab, &kept, 1);
}

#[test]
fn what_is_no_experiment_is_not_gone_on_with() {
    let lab = lab();
    for (name, make) in [("nothing", false), ("empty", true)] {
        if make {
            fs::create_dir(lab.path(name)).expect("a folder");
        }
        let output = lab.run(["resume", name]);
        assert_eq!(code(&output), 2, "{}", said(&output));
        let expected = format!("error: {name} is no experiment folder: ");
        assert!(stderr(&output).contains(&expected), "{}", said(&output));
    }
    cut(&lab, Signal::SIGINT);
    for broken in ["", "{", "[]", "{\"schema_version\":1}"] {
        fs::write(lab.path("out/experiment.json"), broken).expect("room");
        let output = resume(&lab);
        assert_eq!(code(&output), 2, "{broken:?}: {}", said(&output));
    }
}
