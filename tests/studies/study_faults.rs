//! The broker study with something broken in the middle: producer, consumer, cursor, a collection
//! too small, a consumer too slow, a driver that the server refuses. A lost run has its reason, and
//! all others are there.

use crate::fake_support::{Lab, code, flat, pid, send, stderr, stdout};
use crate::study_support::{
    BURST, Broker, assert_whole, of_phase, process, read, study_lab, words,
};
use crate::support::said;
use nix::sys::signal::Signal;
use record::records::{Ended, Experiment, Run};
use studies::StudyTable;

const PRODUCERS: [&str; 2] = ["go", "python"];
/// More than any of the producers sends while a test looks away.
const MANY: u32 = 10_000;
/// Enough to be behind by.
const SOME: u32 = 6_000;

/// Expects one lost run in the first round and whole ones otherwise; returns the lost one.
fn assert_lost_once<'a>(experiment: &Experiment, runs: &'a [Run], arm: &str) -> &'a Run {
    assert_eq!(experiment.ended, Some(Ended::Completed));
    assert_eq!(runs.len(), 4, "two arms, one round and one through the tap");
    let (lost, whole): (Vec<&Run>, Vec<&Run>) =
        runs.iter().partition(|run| run.arm == arm && run.round == 1);
    for run in whole {
        assert_whole(experiment, run);
    }
    let [lost] = lost[..] else { panic!("{arm} once in round 1: {runs:?}") };
    let before = experiment.plan.phases.iter().map(|it| it.name.as_str());
    let before: Vec<&str> = before.take_while(|name| *name != BURST).collect();
    let kept: Vec<&str> = lost.phases.iter().map(|it| it.phase.as_str()).collect();
    assert_eq!(kept, before, "what was finished is kept, and no more");
    lost
}

/// A study in which the test kills a process in the first burst; `of` names its adapter.
fn killed(test: &str, of: impl Fn(&Lab, &str) -> String, expected: &str) {
    let Some(lab) = study_lab(test, &PRODUCERS) else { return };
    let mut child = lab.start(words(&PRODUCERS, MANY, &["--rounds", "1"]));
    let broker = Broker::of(&lab);
    let (adapter, arm) = broker.wait_for_burst(&lab, 1);
    send(process(&lab, &of(&lab, &adapter)), Signal::SIGKILL);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 0, "the other arm and the other round were measured: {}", done.stderr);
    let (experiment, runs) = read(&lab);
    let lost = assert_lost_once(&experiment, &runs, &arm);
    let reason = lost.failed.as_deref().expect("a reason");
    assert!(reason.contains(expected), "{reason}");
    let told = format!("{arm} is lost in this round: {reason}");
    assert!(done.stderr.contains(&told), "{}", done.stderr);
    let shown = flat(&done.stdout);
    let note = flat(&format!("{arm} is lost in round 1: {reason}"));
    assert_eq!(shown.matches(&note).count(), 1, "said once: {}", done.stdout);
    lab.assert_nothing_runs();
}

#[test]
fn a_producer_killed_in_the_middle_loses_its_run() {
    let expected = "the adapter ended (signal: 9 (SIGKILL)) instead of answering `turn`";
    killed(
        "study_faults/a_producer_killed_in_the_middle_loses_its_run",
        |_, adapter| adapter.to_owned(),
        expected,
    );
}

#[test]
fn a_consumer_killed_in_the_middle_costs_its_arm_that_run() {
    let expected = "its consumer is lost: the adapter ended (signal: 9 (SIGKILL)) instead of \
                    answering `turn`";
    let consumer = |lab: &Lab, _: &str| {
        lab.record()["consumer"]["adapter"].as_str().expect("a consumer").to_owned()
    };
    let test = "study_faults/a_consumer_killed_in_the_middle_costs_its_arm_that_run";
    killed(test, consumer, expected);
}

/// A study whose consumer is stopped in the first burst until the producers are done. Returns its
/// records, its stdout, and the burst's run.
fn held_up(test: &str, more: &[&str]) -> Option<(Vec<Run>, String, usize)> {
    let lab = study_lab(test, &["go"])?;
    let mut child = lab.start(words(&["go"], SOME, &[&["--rounds", "1"], more].concat()));
    let broker = Broker::of(&lab);
    // `count` does not show it in a small collection: the file exists before the turn.
    broker.wait_for_burst(&lab, 1);
    let consumer = lab.record()["consumer"]["adapter"].as_str().expect("a consumer").to_owned();
    let consumer = process(&lab, &consumer);
    send(consumer, Signal::SIGSTOP);
    broker.wait_for_marker();
    send(consumer, Signal::SIGCONT);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let (experiment, runs) = read(&lab);
    for run in &runs {
        assert_whole(&experiment, run);
    }
    lab.assert_nothing_runs();
    let held = runs.iter().position(|run| run.round == 1).expect("a round");
    Some((runs, flat(&done.stdout), held))
}

#[test]
fn a_consumer_slower_than_its_producers_is_reported_as_saturated() {
    let test = "study_faults/a_consumer_slower_than_its_producers_is_reported_as_saturated";
    let Some((runs, shown, held)) = held_up(test, &[]) else { return };
    let broker = of_phase(&runs[held], BURST);
    assert!(broker.consumer.saturated, "{broker:?}");
    assert!(broker.consumer.behind > u64::from(SOME / 2), "{}", broker.consumer.behind);
    assert_eq!((broker.sent, broker.lost, broker.duplicates), (SOME.into(), 0, 0), "only late");
    assert_eq!((broker.consumer.cursors, broker.consumer.cut_short), (1, false));
    // The other run's consumer may be behind as well, on a machine that is busy.
    let count = runs.iter().filter(|run| of_phase(run, BURST).consumer.saturated).count();
    let expected = format!("burst: the consumer was saturated in {count} of 2 runs.");
    assert!(shown.contains(&expected), "{shown}");
    for broker in runs.iter().flat_map(|run| &run.phases).filter_map(|it| it.broker.as_ref()) {
        let limit = 1_000_u64.max(broker.sent / 20);
        assert_eq!(broker.consumer.saturated, broker.consumer.behind > limit, "{broker:?}");
    }
}

#[test]
fn messages_overwritten_before_they_were_read_are_counted_as_lost() {
    let test = "study_faults/messages_overwritten_before_they_were_read_are_counted_as_lost";
    // Room for some 400 messages.
    let Some((runs, shown, held)) = held_up(test, &["--set=capped=102400"]) else { return };
    let broker = of_phase(&runs[held], BURST);
    assert!(broker.lost > u64::from(SOME / 2), "{broker:?}");
    assert_eq!(broker.sent, u64::from(SOME), "the producers notice nothing");
    assert_eq!(broker.duplicates, 0, "what it goes on with it had not read");
    assert!(broker.consumer.positions_lost >= 1, "{:?}", broker.consumer);
    assert_eq!(broker.consumer.cursors, broker.consumer.positions_lost + 1);
    let lost: u64 = runs.iter().map(|run| of_phase(run, BURST).lost).sum();
    let lost = format::count(lost);
    assert!(shown.contains(&format!("burst: {lost} lost; the consumer's cursor died")), "{shown}");
}

#[test]
fn a_cursor_that_dies_is_opened_again_where_it_was() {
    let test = "study_faults/a_cursor_that_dies_is_opened_again_where_it_was";
    let Some(lab) = study_lab(test, &["go"]) else { return };
    let mut child = lab.start(words(&["go"], MANY, &["--rounds", "1"]));
    let broker = Broker::of(&lab);
    broker.wait_for_burst(&lab, 1);
    assert_eq!(broker.kill_cursors(), 1, "one consumer, one cursor");
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let (experiment, runs) = read(&lab);
    for run in &runs {
        assert_whole(&experiment, run);
    }
    let records = |run: &'_ Run| -> Vec<_> {
        run.phases.iter().map(|it| it.broker.clone().expect("a broker")).collect()
    };
    let all: Vec<_> = runs.iter().flat_map(records).collect();
    let reopened: Vec<_> = all.iter().filter(|it| it.consumer.cursors != 1).collect();
    let [hit] = reopened[..] else { panic!("one phase was hit: {reopened:?}") };
    assert_eq!((hit.consumer.cursors, hit.consumer.positions_lost), (2, 0));
    assert_eq!((hit.lost, hit.duplicates, hit.received), (0, 0, u64::from(MANY)));
    assert!(!hit.consumer.cut_short);
    let shown = flat(&done.stdout);
    assert!(shown.contains("burst: the consumer's cursor died 1 time"), "{shown}");
    lab.assert_nothing_runs();
}

#[test]
fn a_driver_that_the_server_refuses_fails_with_the_server_that_would_work() {
    let test =
        "study_faults/a_driver_that_the_server_refuses_fails_with_the_server_that_would_work";
    let old = "node@1.4.3";
    let Some(lab) = study_lab(test, &[old, "go"]) else { return };
    let more = ["--rounds", "1", "--server", "embedded@6.0.5"];
    let output = lab.run(words(&[old, "go"], 200, &more));
    assert_eq!(code(&output), 0, "the other arm was measured: {}", said(&output));
    let (experiment, runs) = read(&lab);
    for run in &runs {
        if run.arm.starts_with("go@") {
            assert_whole(&experiment, run);
            continue;
        }
        let reason = run.failed.as_deref().expect("a reason");
        assert!(reason.contains("Unsupported OP_QUERY command"), "in its own words: {reason}");
        assert!(reason.contains("--server embedded@4.4"), "{reason}");
        assert!(run.phases.is_empty());
    }
    assert_eq!(runs.len(), 4);
    let shown = flat(&stdout(&output));
    assert_eq!(shown.matches("node@1.4.3 is lost in rounds 1, 2: ").count(), 1, "{shown}");
    // Alone there is nothing to show, which is an answer with a separate exit code.
    std::fs::remove_dir_all(lab.path("out")).expect("it is there");
    let output = lab.run(words(&[old], 200, &more));
    assert_eq!(code(&output), 6, "{}", said(&output));
    let expected = "error: nothing could be measured: each run is void\nhint: ";
    assert!(stderr(&output).contains(expected), "{}", said(&output));
    lab.assert_nothing_runs();
}

#[test]
fn a_second_experiment_keeps_out_of_the_folder_of_one_at_work() {
    let test = "study_faults/a_second_experiment_keeps_out_of_the_folder_of_one_at_work";
    let Some(lab) = study_lab(test, &["go"]) else { return };
    let mut child = lab.start(words(&["go"], 200, &["--rounds", "20"]));
    lab.wait_for_runs(1);
    let output = lab.run(["resume", "out"]);
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(stderr(&output).contains("error: an experiment is at work in "), "{}", said(&output));
    send(pid(&child), Signal::SIGINT);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 130, "the first one noticed nothing: {}", done.stderr);
    let (_, runs) = read(&lab);
    for run in &runs {
        assert_eq!(run.failed, None);
    }
    lab.assert_nothing_runs();
}

#[test]
fn inserts_that_fail_are_said_and_their_round_does_not_count() {
    let test = "study_faults/inserts_that_fail_are_said_and_their_round_does_not_count";
    let Some(lab) = study_lab(test, &["go"]) else { return };
    let mut child = lab.start(words(&["go"], MANY, &["--rounds", "1"]));
    Broker::of(&lab).wait_for_burst(&lab, 1);
    let (mongod, _) = lab.process("--dbpath=").expect("it runs");
    // Longer than a driver waits for a connection.
    send(mongod, Signal::SIGSTOP);
    std::thread::sleep(std::time::Duration::from_secs(7));
    send(mongod, Signal::SIGCONT);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let (_, runs) = read(&lab);
    let hit = runs.iter().find(|run| run.round == 1).expect("a round");
    assert_eq!(hit.failed, None, "the adapter answered all it was asked");
    let phase = hit.phases.last().expect("a burst");
    let failed: u64 = phase.errors.iter().map(|error| error.count).sum();
    assert!(failed > u64::from(MANY / 100), "{:?}", phase.errors);
    let broker = of_phase(hit, BURST);
    assert_eq!(broker.sent + failed, phase.by_operation[0].count);
    assert_eq!(broker.sent, broker.received + broker.lost, "what failed was not sent");
    let report = lab.run(["report", "out", "--format", "json"]);
    let table: StudyTable = serde_json::from_slice(&report.stdout).expect("a table");
    let mut of_burst = table.cells.iter().filter(|it| it.phase == BURST);
    let sent = of_burst.clone().find(|it| it.metric == "sent").expect("a cell");
    assert!(sent.note.as_ref().is_some_and(|it| it.starts_with("round 1: ")), "{sent:?}");
    let course = of_burst.find(|it| it.metric == "curve");
    assert_eq!(course, None, "the latency of survivors is no course");
    let shown = flat(&done.stdout);
    let in_bursts = runs.iter().filter_map(|run| run.phases.last()).flat_map(|it| &it.errors);
    let in_all: u64 = in_bursts.map(|error| error.count).sum();
    assert!(shown.contains(&format!(", {BURST}: {in_all} × ")), "in its own words: {shown}");
    assert!(shown.contains(&format!("{BURST}, round 1: go@")), "{shown}");
    assert!(shown.contains("operations; it does not count"), "{shown}");
    lab.assert_nothing_runs();
}
