//! `mongodyno resume` of plain experiments with simulated drivers: quick, and the same each time.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::fake_support::{Lab, code, noop, pid, places, send, stderr, stdout};
use crate::study_support::lines;
use crate::support::said;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

const ROUNDS: usize = 6;
/// A file is named again: none is taken from a folder.
const AGAIN: [&str; 4] = ["resume", "out", "--workload", "mine.yaml"];
/// Baseline, its twin, and the other one.
const ARMS: usize = 3;

/// A lab with a workload that a test may change.
fn lab() -> Lab {
    let lab = Lab::even_and_slow();
    fs::copy(noop(), lab.path("mine.yaml")).expect("a workload");
    lab
}

fn words(out: &str) -> Vec<String> {
    let rounds = ROUNDS.to_string();
    let words = ["run", "mine.yaml", "--server", "none", "-d", "even", "-d", "slow"];
    let more = ["--seed", "11", "--rounds", &rounds, "--out", out];
    words.iter().chain(&more).map(|word| (*word).to_owned()).collect()
}

/// Cuts an experiment after its second round; returns the lines of its finished rounds.
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

fn resume(lab: &Lab) -> std::process::Output {
    lab.run(AGAIN)
}

fn assert_refused(lab: &Lab, expected: &str) {
    let before = lab.files("out");
    let output = resume(lab);
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(stderr(&output).contains(expected), "{}", said(&output));
    assert!(!stderr(&output).contains("to go on from there"), "{}", said(&output));
    let same = lab.files("out") == before;
    assert!(same, "a refused resume changes nothing");
}

/// Resumes, and compares the result with that of an experiment that was never cut.
fn assert_resumes_as_if_never_cut(lab: &Lab, kept: &[String], gaps: usize) {
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
    let (runs, expected) =
        (lab.runs(), crate::fake_support::json_lines(&lab.path("whole/runs.jsonl")));
    assert_eq!(places(&runs), places(&expected), "the same order of arms in every round");
    assert_eq!(lab.analysis()["rounds"], ROUNDS);
    lab.assert_nothing_runs();
}

#[test]
fn an_interrupted_experiment_is_resumed() {
    let lab = lab();
    let kept = cut(&lab, Signal::SIGINT);
    assert!(lab.record()["finished_at"].is_string());
    assert_resumes_as_if_never_cut(&lab, &kept, 1);
    let when = lab.record()["gaps"][0]["cut_at"].clone();
    assert!(when.is_string(), "when it ended is known: {when}");
    assert_refused(&lab, "is complete: there is nothing to go on with\nhint: mongodyno report ");
}

#[test]
fn a_killed_experiment_is_resumed_without_its_torn_line() {
    let lab = lab();
    let kept = cut(&lab, Signal::SIGKILL);
    assert!(lab.record()["ended"].is_null());
    // A kill in the middle of writing leaves two runs of a round of three, and half a line.
    let round = kept.len() / ARMS + 1;
    let half = |line: &String| line.replacen(&format!("\"round\":{}", round - 1), "ROUND", 1);
    let more: Vec<String> = kept[kept.len() - 2..].iter().map(half).collect();
    let more = more.join("\n").replace("ROUND", &format!("\"round\":{round}"));
    let text = format!("{}\n{more}\n{}", kept.join("\n"), &kept[0][..kept[0].len() / 2]);
    lab.write("out/runs.jsonl", &text);
    assert_resumes_as_if_never_cut(&lab, &kept, 1);
    assert!(lab.record()["gaps"][0]["cut_at"].is_null(), "it had no time to say when");
}

#[test]
fn an_experiment_is_resumed_again_and_again() {
    let lab = lab();
    cut(&lab, Signal::SIGINT);
    let mut child = lab.start(AGAIN);
    lab.wait_for_runs(4 * ARMS);
    send(pid(&child), Signal::SIGTERM);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 130, "{}", done.stderr);
    let kept = lines(&lab);
    assert_resumes_as_if_never_cut(&lab, &kept, 2);
}

#[test]
fn a_changed_workload_or_arm_is_not_resumed() {
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
    fs::write(&manifest, format!("{slow}lock = \"slow.lock\"\n")).expect("room");
    lab.write("adapters/slow/slow.lock", "another dependency\n");
    assert_refused(&lab, "error: the arms are not what they were\nhint: start anew");
    fs::remove_file(lab.path("adapters/slow/slow.lock")).expect("it is there");
    fs::write(&manifest, slow).expect("room");
    assert_resumes_as_if_never_cut(&lab, &kept, 1);
}

#[test]
fn a_folder_without_an_experiment_is_not_resumed() {
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

/// A cut experiment as somebody else may have made it up: each change is of a copy of its record.
struct Gift {
    lab: Lab,
    record: Value,
}

impl Gift {
    fn new() -> Self {
        let lab = lab();
        cut(&lab, Signal::SIGINT);
        // It leaves a trace wherever it is run.
        lab.write("gift", &format!("#!/bin/sh\ntouch {}\n", lab.path("traces").display()));
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(lab.path("gift"), executable).expect("it is ours");
        let record = lab.record();
        Self { lab, record }
    }

    /// Fails unless the change is refused with these words, and nothing is run.
    fn assert_refused(&self, expected: &str, more: &[&str], change: impl FnOnce(&mut Value)) {
        let mut record = self.record.clone();
        change(&mut record);
        self.lab.write("out/experiment.json", &record.to_string());
        let before = self.lab.files("out");
        let output = self.lab.run([&AGAIN[..], more].concat());
        assert_eq!(code(&output), 2, "{}", said(&output));
        assert!(stderr(&output).contains(expected), "{}", said(&output));
        assert!(self.lab.files("out") == before, "a refused resume changes nothing");
        assert!(!self.lab.path("traces").exists(), "{expected}: something of the folder was run");
    }
}

#[test]
fn nothing_that_a_folder_names_is_run_or_read() {
    let gift = Gift::new();
    let program = gift.lab.path("gift").display().to_string();
    let manifest = format!(
        "name = \"gift\"\ndriver = \"d\"\nlanguage = \"none\"\ndefault = \"1.0.0\"\n\
         versions = \"1\"\nwarmup_s = 0.2\nstart = [{program:?}]\n\
         install = [[{program:?}]]\n[[needs]]\nrun = [{program:?}]\nmatch = \".\"\n\
         wants = \"a gift\"\ninstall_hint = \"none\"\n"
    );
    fs::create_dir_all(gift.lab.path("gifts/gift")).expect("a folder");
    gift.lab.write("gifts/gift/adapter.toml", &manifest);
    let command = |words: &[&str]| json!([&["mongodyno", "run", "mine.yaml"], words].concat());

    let expected = "hint: add --server mongod, or --server and the path of a mongod";
    gift.assert_refused(expected, &[], |record| {
        record["command"] = command(&["--server", &program, "-d", "even", "-d", "slow"]);
        record["server"]["kind"] = json!("mongod");
    });
    for kind in [&program, "./gift", "mongod@7", "embedded@6.0.5"] {
        gift.assert_refused("unknown variant", &[], |record| {
            record["server"]["kind"] = json!(kind);
        });
    }
    gift.assert_refused("there is no embedded MongoDB \"../../gift\"", &[], |record| {
        record["server"]["kind"] = json!("embedded");
        record["server"]["version"] = json!("../../gift");
    });
    gift.assert_refused("there is no driver gift", &[], |record| {
        let folder = gift.lab.path("gifts").display().to_string();
        record["command"] = command(&["--adapters-dir", &folder, "-d", "gift"]);
        record["arms"][0]["id"] = json!("gift@1.0.0");
    });
    for id in ["even@npm:gift", "even@-gift", "even@1;gift"] {
        gift.assert_refused("is no version", &[], |record| record["arms"][0]["id"] = json!(id));
    }
    gift.assert_refused("the arms are not what they were", &[], |record| {
        record["arms"].as_array_mut().expect("arms").truncate(2);
        record["arms"][0]["id"] = json!("even#2");
    });
    // Without --workload; the last one counts.
    let lab = &gift.lab;
    for name in ["mine", "mine.yaml", "/etc/passwd"] {
        let mut record = gift.record.clone();
        record["plan"]["workload"] = json!(name);
        lab.write("out/experiment.json", &record.to_string());
        let output = lab.run(["resume", "out"]);
        assert_eq!(code(&output), 2, "{}", said(&output));
        assert!(stderr(&output).contains("hint: add --workload FILE"), "{}", said(&output));
    }
    let runtime = "options.runtime = 'what runs it'\n\
                   values.runtime = { default = 'sh', match = '.', wants = 'any' }\n\
                   [[generations]]\nversions = '^1'\n\
                   [[needs]]\nrun = ['{runtime}', '-c', 'echo 7']\nmatch = '7'\n\
                   wants = 'a shell'\ninstall_hint = 'x'\n";
    lab.rewrite("even", |text| text.to_owned() + runtime);
    let id = format!("even@1.0.0/runtime={program}");
    let (expected, other) = (format!("hint: add --option runtime={program},"), "runtime=/bin/sh");
    gift.assert_refused(&expected, &["--option", other], |record| {
        record["arms"][0]["id"] = json!(id);
    });
    gift.assert_refused(&expected, &[], |record| {
        record["consumer"] = record["arms"][0].clone();
        record["consumer"]["id"] = json!(id);
    });
    fs::create_dir(lab.path("study")).expect("a folder");
    let refused = |request: Value, name: &str, expected: &str| {
        let part = json!({ "name": name, "request": request });
        let study = json!({
            "schema_version": 2, "mongodyno": "0", "command": [], "study": "crud-scale",
            "scale": 1.0, "experiments": [part],
        });
        lab.write("study/study.json", &study.to_string());
        let output = lab.run(["resume", "study"]);
        assert!(code(&output) == 2 && stderr(&output).contains(expected), "{}", said(&output));
    };
    let with = |name: &str, value: Value| json!({ "workload": "crud-scale", name: value });
    refused(with("drivers", json!([id])), "small", &expected);
    refused(with("consumer", json!(id)), "small", &expected);
    refused(with("server", json!(program)), "small", "hint: add --server ");
    refused(with("uri", json!("mongodb://h")), "small", "hint: add --uri-file FILE");
    refused(with("hosts", json!(["h:1"])), "small", "hint: add --hosts");
    refused(with("rounds", json!(0)), "small", "its number of rounds is nothing");
    for name in ["../out", "..", "/tmp", ".hidden"] {
        refused(json!({ "workload": "crud" }), name, "is no name of a part");
    }
    let earlier = json!({
        "schema_version": 2, "mongodyno": "0.1.0", "command": [], "study": "crud-scale",
        "scale": 1.0, "quick": true, "drivers": [id], "rounds": 1, "sets": {}, "seed": 1,
        "flags": {}, "order": "shuffled", "server": null, "by_uri": false,
    });
    lab.write("study/study.json", &earlier.to_string());
    let output = lab.run(["resume", "study"]);
    let expected = "error: mongodyno 0.1.0 made this study, and this version cannot resume it\n";
    assert!(code(&output) == 2 && stderr(&output).contains(expected), "{}", said(&output));
    assert!(!lab.path("traces").exists(), "the program of a study was run");
}

#[test]
fn requests_of_a_folder_are_checked_like_a_command_line() {
    let gift = Gift::new();
    let uri = ["--uri", "mongodb://user:secret@127.0.0.1:1/"];
    for (name, value) in [
        ("tlsInsecure", json!("true")),
        ("proxyHost", json!("127.0.0.1")),
        ("maxPoolSize", json!("1&tlsInsecure=true")),
        ("tlsCAFile", json!(null)),
    ] {
        gift.assert_refused(&format!("hint: add --option {name}=VALUE"), &uri, |record| {
            record["server"]["kind"] = json!("external");
            record["request"]["options"][name] = value;
        });
    }
    gift.assert_refused("the load or the faults of its absorber", &[], |record| {
        record["server"]["kind"] = json!("absorber");
        record["request"]["absorber"] = json!(["--holds=/tmp/x"]);
    });
    gift.assert_refused("its number of rounds is nothing", &[], |record| {
        record["request"]["rounds"] = json!(4_000_000_000_u32);
    });
    gift.assert_refused("the settings are not what they were", &[], |record| {
        record["settings"]["looks"]["looks"][0]["rounds"] = json!(4_000_000_000_u32);
    });
    gift.assert_refused("the settings are not what they were", &[], |record| {
        record["settings"]["measured_s"] = json!(1e9);
    });
    gift.assert_refused("kept too little of it to go on", &[], |record| {
        record["request"] = json!(null);
    });
    gift.assert_refused("made this study, and this version cannot resume it", &[], |record| {
        record["study"] = json!({ "name": "gift", "scale": 1.0, "originals": {} });
    });
    gift.assert_refused("is not what it was", &[], |record| {
        record["plan"]["parameters"] = json!({});
        record["plan"]["phases"][0]["workers"] = json!(4_000_000_000_u32);
    });
}

#[test]
fn no_link_is_followed_out_of_a_folder() {
    let gift = Gift::new();
    let (lab, outside) = (&gift.lab, gift.lab.path("outside"));
    fs::create_dir(&outside).expect("a folder");
    let file = lab.write("outside/file", "mine");
    for name in [
        "samples/r06-arm0-phase0-process0.bin",
        "logs/r06-arm0.log",
        "hlog/r06-arm0-noop.hlog",
        "experiment.json.partial",
        "report.html",
    ] {
        let place = lab.path("out").join(name);
        let _ = fs::remove_file(&place);
        symlink(&file, &place).expect("room");
        let expected = "is no ordinary file\nhint: start anew, with another --out";
        let output = resume(lab);
        assert_eq!(code(&output), 2, "{name}: {}", said(&output));
        assert!(stderr(&output).contains(expected), "{name}: {}", said(&output));
        fs::remove_file(&place).expect("it is there");
    }
    fs::rename(lab.path("out/materials"), lab.path("outside/materials")).expect("room");
    symlink(lab.path("outside/materials"), lab.path("out/materials")).expect("room");
    assert!(stderr(&resume(lab)).contains("materials is no ordinary file"));
    fs::remove_file(lab.path("out/materials")).expect("it is there");
    fs::hard_link(&file, lab.path("out/logs/r06-arm0.log")).expect("room");
    assert!(stderr(&resume(lab)).contains("has a second name elsewhere"));
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "mine");
}
