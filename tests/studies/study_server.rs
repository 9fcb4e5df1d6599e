//! The broker study when the server dies or the disk is full: a typed error, finished rounds stay
//! readable, and `resume` continues from there.

use std::fs;

use crate::fake_support::{Lab, code, flat, pid, send, stderr, stdout};
use crate::study_support::{Broker, assert_whole, lines, read, study_lab, words};
use crate::support::{said, server_of_all_drivers};
use nix::sys::signal::Signal;
use record::records::Ended;
use studies::StudyTable;

const MESSAGES: u32 = 5_000;
const ROUNDS: [&str; 2] = ["--rounds", "2"];

/// Fails unless the report of a cut study has its formats, with its finished rounds.
fn assert_readable(lab: &Lab) {
    for format in ["terminal", "json", "html", "csv", "svg"] {
        let output = lab.run(["report", "out", "--format", format, "--details"]);
        assert_eq!(code(&output), 0, "{format}: {}", said(&output));
        assert!(stdout(&output).contains("go@"), "{format}: {}", said(&output));
    }
}

/// Resumes a cut study of one arm and three rounds, with `kept` finished runs.
fn assert_goes_on(lab: &Lab, kept: &[String], more: &[&str]) {
    let (before, _) = read(lab);
    let output = lab.run([&["resume", "out", "--details"], more].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    let expected = format!("going on after round {}: study broker ", kept.len());
    assert!(stderr(&output).contains(&expected), "{}", said(&output));
    let (experiment, runs) = read(lab);
    assert_eq!(lines(lab)[..kept.len()], *kept, "byte for byte");
    assert_eq!(runs.iter().map(|run| run.round).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(runs.iter().map(|run| run.tapped).collect::<Vec<_>>(), [false, false, true]);
    for run in &runs {
        assert_whole(&experiment, run);
    }
    assert_eq!(experiment.ended, Some(Ended::Completed));
    assert_eq!((&experiment.id, &experiment.started_at), (&before.id, &before.started_at));
    let [gap] = &experiment.gaps[..] else { panic!("one gap: {:?}", experiment.gaps) };
    assert_eq!((gap.after_round as usize, &gap.cut_at), (kept.len(), &before.finished_at));
    let shown = flat(&stdout(&output));
    assert!(shown.contains(&flat(&gap.sentence())), "{shown}");
    lab.assert_nothing_runs();
}

#[test]
fn a_study_goes_on_after_the_death_of_its_server() {
    let test = "study_server/a_study_goes_on_after_the_death_of_its_server";
    let Some(lab) = study_lab(test, &["go"]) else { return };
    let mut child = lab.start(words(&["go"], MESSAGES, &ROUNDS));
    lab.wait_for_runs(1);
    Broker::of(&lab).wait_for_burst(&lab, 2);
    let (mongod, _) = lab.process("--dbpath=").expect("it runs");
    let kept = lines(&lab);
    assert_eq!(kept.len(), 1);
    send(mongod, Signal::SIGKILL);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 4, "{}", done.stderr);
    let expected = ["error: the server (mongod 4.4.2 on ", ") was killed (signal 9; often: out of"];
    assert!(expected.iter().all(|it| done.stderr.contains(it)), "{}", done.stderr);
    assert!(done.stderr.contains("to go on from there: mongodyno resume "), "{}", done.stderr);
    lab.assert_nothing_runs();
    assert_eq!(read(&lab).0.ended, Some(Ended::Failed));
    assert_eq!(lines(&lab), kept, "nothing of the round that was cut");
    assert_readable(&lab);
    assert_goes_on(&lab, &kept, &[]);
}

#[test]
fn a_study_goes_on_with_another_server_where_that_of_its_uri_ended() {
    let test = "study_server/a_study_goes_on_with_another_server_where_that_of_its_uri_ended";
    let Some(lab) = study_lab(test, &["go"]) else { return };
    let Some(server) = server_of_all_drivers(test) else { return };
    let uri = server.uri().to_owned();
    let more = [&ROUNDS[..], &["--uri", &uri]].concat();
    let mut child = lab.start(words(&["go"], MESSAGES, &more));
    lab.wait_for_runs(1);
    Broker::of(&lab).wait_for_burst(&lab, 2);
    let kept = lines(&lab);
    send(server.pid().expect("ours").cast_signed(), Signal::SIGKILL);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 4, "{}", done.stderr);
    assert!(done.stderr.contains("\nerror: "), "{}", done.stderr);
    lab.assert_nothing_runs();
    assert_readable(&lab);
    let record = fs::read(lab.made().join("experiment.json")).expect("a record");

    let refused = |words: &[&str], exit: i32, expected: &str| {
        let output = lab.run([&["resume", "out"], words].concat());
        assert_eq!(code(&output), exit, "{}", said(&output));
        assert!(stderr(&output).contains(expected), "{}", said(&output));
        let now = fs::read(lab.made().join("experiment.json")).expect("a record");
        assert!(now == record && lines(&lab) == kept, "a refused resume changes nothing");
    };
    refused(&[], 2, "which is not kept\nhint: add --uri");
    refused(&["--uri", &uri], 4, "\nhint: ");
    let newer = crate::support::server(test).expect("it was asked before");
    refused(&["--uri", newer], 2, "error: the server was external 4.4.2, now external 6.0.5\nhint");
    let Some(again) = server_of_all_drivers(test) else { return };
    assert_goes_on(&lab, &kept, &["--uri", again.uri()]);
}

#[test]
fn a_study_goes_on_after_ctrl_c() {
    let test = "study_server/a_study_goes_on_after_ctrl_c";
    let Some(lab) = study_lab(test, &["go"]) else { return };
    let mut child = lab.start(words(&["go"], MESSAGES, &ROUNDS));
    lab.wait_for_runs(1);
    Broker::of(&lab).wait_for_burst(&lab, 2);
    let kept = lines(&lab);
    send(pid(&child), Signal::SIGINT);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 130, "{}", done.stderr);
    // The burst that was under way is the round's last phase: it may be whole, and then counts.
    let kept = if lines(&lab).len() > kept.len() { lines(&lab) } else { kept };
    assert!(done.stderr.contains("to go on: mongodyno resume "), "{}", done.stderr);
    assert!(done.stdout.contains("interrupted; seed 7"), "finished rounds are shown");
    lab.assert_nothing_runs();
    assert_readable(&lab);
    assert_goes_on(&lab, &kept, &[]);
    let output = lab.run(["resume", "out"]);
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(stderr(&output).contains("is complete: there is nothing to go on with\nhint: "));
}

#[test]
fn a_full_disk_is_named_and_finished_rounds_stay_readable() {
    let test = "study_server/a_full_disk_is_named_and_finished_rounds_stay_readable";
    let Some(lab) = study_lab(test, &["go"]) else { return };
    let words = words(&["go"], MESSAGES, &["--rounds", "3"]);
    let then = r#"
        "$0" report small/out --format csv >report.csv || exit 96
        mount -o remount,size=2g small || exit 95
        "$0" resume small/out >again.out 2>again.err || exit 94
        cp small/out/cursor/runs.jsonl runs.jsonl"#;
    let Some(output) = lab.on_a_full_disk(test, (1, 256), &words, then) else { return };
    let content = |name: &str| fs::read_to_string(lab.path(name)).unwrap_or_default();
    let told = content("stderr");
    assert_eq!(code(&output), 5, "{}{told}{}", said(&output), content("again.err"));
    assert!(told.contains("No space left on device (os error 28)\n"), "{told}");
    let hint = "\nhint: free some disk space, or choose another --out or MDYN_HOME; \
                then go on: mongodyno resume small/out\n";
    assert!(told.ends_with(hint), "{told}");
    assert!(told.contains("what was finished is kept: mongodyno report "), "{told}");
    let table: StudyTable = serde_json::from_str(&content("report.json")).expect("a table");
    let received = table.cells.iter().find(|cell| cell.metric == "received").expect("a cell");
    assert!(received.value.is_some_and(|value| value.median > 0.0), "{received:?}");
    assert!(content("report.csv").lines().count() > MESSAGES as usize, "a line a message");
    assert_eq!(content("runs.jsonl").lines().count(), 4, "with room again it goes on to its end");
    lab.assert_nothing_runs();
}
