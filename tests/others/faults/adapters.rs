//! Faults of adapters, interruptions, a full disk: each is named, finished runs stay readable, and
//! nothing is left behind. No server is needed here; `servers.rs` beside it needs one.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::Child;
use std::time::{Duration, Instant};

use crate::fake_support::{
    Done, Lab, QUICK, code, comparison, fake_command, flat, noop, pid, send, stderr, stdout,
    wait_until,
};
use crate::run::probe::served;
use crate::support::said;
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, getpgid};
use serde_json::Value;

fn arm<'a>(analysis: &'a Value, adapter: &str) -> &'a Value {
    let arms = analysis["arms"].as_array().expect("arms");
    let arm = arms.iter().find(|arm| arm["adapter"] == adapter && arm["is_aa"] == false);
    arm.unwrap_or_else(|| panic!("{adapter} in {analysis}"))
}

fn throughput<'a>(analysis: &'a Value, fake: &str) -> &'a Value {
    comparison(analysis, &format!("{fake}@1.0.0"), "first", "throughput")
}

/// Adapter, message of the fault, fault, and the reported loss.
const LOSSES: [[&str; 4]; 9] = [
    ["mute", "hello", "crash", "ended (signal: 6 (SIGABRT)) instead of answering `hello`"],
    ["weak", "prepare", "crash", "ended (signal: 6 (SIGABRT)) instead of answering `prepare`"],
    [
        "frail",
        "turn:9",
        "crash",
        "instead of answering `turn`; it said: the fake was told to crash",
    ],
    ["spent", "end:2", "crash", "instead of answering `end`; it said: the fake was told to crash"],
    ["noisy", "turn:9", "garbage", "`turn` with something that is no message: %PDF-1.4 this is"],
    ["babel", "hello", "garbage", "`hello` with something that is no message: %PDF-1.4 this is"],
    ["late", "clock", "clock", "the adapter's clock read 36"],
    ["proud", "hello", "refuse", "refused `hello` (internal): the fake was told to refuse"],
    ["picky", "prepare:3", "refuse", "refused `prepare` (internal): the fake was told to refuse"],
];

#[test]
fn lost_arms_are_named_and_given_up_and_the_others_are_compared() {
    let lab = Lab::even_and_slow();
    let mut drivers = vec!["even", "slow"];
    for [name, at, fault, _] in LOSSES {
        lab.fake(name, &[QUICK, &format!("at={at}"), &format!("fault={fault}")]);
        drivers.push(name);
    }
    let output = lab.experiment(&drivers, &["--rounds", "6"]);
    assert_eq!(code(&output), 0, "one comparison was decided: {}", said(&output));
    let (told, shown, analysis) = (stderr(&output), stdout(&output), lab.analysis());
    let shown = flat(&shown);
    for [name, _, _, how] in LOSSES {
        let arm = arm(&analysis, name);
        let reason = arm["reason"].as_str().expect("a reason");
        assert!(reason.starts_with("the adapter") && reason.contains(how), "{name}: {reason}");
        assert_eq!(arm["failed"], 6, "{name}: {arm}");
        // Three rounds of trying, three in which it is not started any more.
        let lines = |what: &str| told.matches(&format!("{name}@1.0.0 is lost {what}")).count();
        assert_eq!(lines("in this round: the adapter"), 3, "{told}");
        assert!(lines("in this round: given up: the adapter") >= 1, "{told}");
        assert_eq!(throughput(&analysis, name)["verdict"], "NOT COMPARABLE");
        assert!(shown.contains(&format!("{name}@1.0.0: 6 of 6 runs void")), "{shown}");
    }
    let slow = throughput(&analysis, "slow");
    assert_eq!(slow["verdict"], "SLOWER", "{slow}");
    assert_eq!(slow["rounds"], 6);
    lab.assert_nothing_runs();
}

#[test]
fn failed_operations_are_not_compared() {
    let lab = Lab::even_and_slow();
    lab.fake("broken", &[QUICK, "at=turn", "fault=errors"]);
    let output = lab.experiment(&["even", "broken"], &["--rounds", "1"]);
    assert_eq!(code(&output), 6, "{}", said(&output));
    let analysis = lab.analysis();
    let sentence = throughput(&analysis, "broken")["sentence"].as_str().expect("text");
    assert!(sentence.contains("failed in 10 of 10 operations"), "{sentence}");
    let warnings = analysis["warnings"].to_string();
    let expected = "broken@1.0.0, first: 10 × InterruptedAtShutdown (11600): pretended";
    assert!(warnings.contains(expected), "in the driver's own words: {warnings}");
    assert_eq!(throughput(&analysis, "broken")["verdict"], "NOT COMPARABLE");
    assert_eq!(arm(&analysis, "broken")["failed"], 0, "it answered everything");
    lab.assert_nothing_runs();
}

#[test]
fn chatter_on_stdout_goes_to_the_log_and_harms_nothing() {
    let lab = Lab::even_and_slow();
    lab.fake("chatty", &["turn_operations=10", "op_ns=108000", "at=turn", "fault=chatter"]);
    let output = lab.experiment(&["even", "chatty"], &["--rounds", "6"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let analysis = lab.analysis();
    assert_eq!(throughput(&analysis, "chatty")["verdict"], "SLOWER", "{analysis}");
    assert_eq!(arm(&analysis, "chatty")["failed"], 0);
    let log = fs::read_to_string(lab.path("out/logs/r01-arm2.log")).expect("a log");
    assert!(log.lines().all(|line| line == "driver: connection pool created"), "{log}");
    assert!(log.lines().count() > 80, "one a turn: {log}");
    assert!(!said(&output).contains("connection pool created"), "{}", said(&output));
}

#[test]
fn an_arm_lost_once_loses_that_round_alone() {
    let lab = Lab::even_and_slow();
    let once = format!("once={}", lab.path("once").display());
    lab.fake("frail", &[QUICK, "op_ns=108000", "at=turn:30", "fault=crash", &once]);
    let output = lab.experiment(&["even", "frail"], &["--rounds", "7"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let runs = lab.runs();
    let own = runs.iter().filter(|run| run["arm"] == "frail@1.0.0");
    let lost: Vec<bool> = own.map(|run| !run["failed"].is_null()).collect();
    assert_eq!(lost, [true, false, false, false, false, false, false]);
    let analysis = lab.analysis();
    let row = throughput(&analysis, "frail");
    assert_eq!((&row["verdict"], &row["rounds"]), (&"SLOWER".into(), &6.into()), "{row}");
    assert_eq!(arm(&analysis, "even")["failed"], 0);
    assert!(stdout(&output).contains("frail@1.0.0: 1 of 7 runs void"), "{}", said(&output));
}

#[test]
fn without_its_baseline_an_experiment_ends() {
    let lab = Lab::even_and_slow();
    // The probe is two turns: it finds nothing.
    lab.fake("frail", &[QUICK, "at=turn:9", "fault=crash"]);
    let output = served(&lab, "absorber", &["frail", "even"], "50");
    assert_eq!(code(&output), 6, "{}", said(&output));
    assert_eq!(lab.analysis()["rounds"], 3, "and not 50");
    let expected = "error: no comparison could be made: each one is NOT COMPARABLE\nhint: ";
    assert!(stderr(&output).contains(expected), "{}", said(&output));
    lab.assert_nothing_runs();
}

#[test]
fn an_adapter_that_hangs_is_killed_after_its_time() {
    let lab = Lab::even_and_slow();
    let once = format!("once={}", lab.path("once").display());
    lab.fake("stuck", &[QUICK, "at=turn:9", "fault=hang", &once]);
    let begin = Instant::now();
    let output = lab.experiment(&["even", "stuck"], &["--rounds", "2"]);
    // A busy machine takes longer, never less.
    assert!(begin.elapsed() >= Duration::from_secs(10), "it had its time");
    let expected = "stuck@1.0.0 is lost in this round: the adapter did not answer `turn` within \
                    10 s and was killed";
    assert!(stderr(&output).contains(expected), "{}", said(&output));
    let analysis = lab.analysis();
    assert_eq!(arm(&analysis, "stuck")["failed"], 1);
    assert_eq!(arm(&analysis, "even")["failed"], 0);
    lab.assert_nothing_runs();
}

/// An adapter that starts a child, as wrappers do, and then acts as the fake.
fn with_child(lab: &Lab, name: &str, behaviour: &str) {
    let fake = fake_command(&format!("{QUICK} {behaviour}"));
    lab.scripted(name, &format!("sleep 600 <&- >&- 2>&- & exec {fake}"));
}

#[test]
fn children_of_an_adapter_end_with_it() {
    let lab = Lab::new();
    with_child(&lab, "good", "op_ns=100000");
    with_child(&lab, "frail", "at=turn:9 fault=crash");
    let output = lab.experiment(&["good", "frail"], &["--rounds", "1"]);
    assert_eq!(code(&output), 6, "{}", said(&output));
    lab.assert_nothing_runs();

    fs::remove_dir_all(lab.path("out")).expect("it is there");
    with_child(&lab, "stuck", "at=turn:9 fault=hang");
    let mut child = lab.start(lab.words(&["good", "stuck"], &[]));
    wait_until("the children run", || lab.process("sleep 600").is_some());
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(700));
        send(pid(&child), Signal::SIGINT);
    }
    assert_eq!(lab.finish(&mut child).code, 130);
    lab.assert_nothing_runs();
}

/// A long experiment, interrupted in its second round.
fn interrupted(signal: Signal) {
    let lab = Lab::even_and_slow();
    let mut child = lab.start(lab.words(&["even", "slow"], &["--rounds", "1000"]));
    lab.wait_for_runs(3);
    send(pid(&child), signal);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 130, "{}", done.stderr);
    assert!(done.stderr.contains("stopping after this turn; what is finished is kept"));
    assert!(done.stderr.contains("\nerror: interrupted\n"), "{}", done.stderr);
    let last = done.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with("hint: to go on: mongodyno resume "), "{}", done.stderr);
    assert!(done.stdout.contains("interrupted; seed"), "finished rounds are shown");
    let analysis = lab.analysis();
    assert_eq!(analysis["ended"], "interrupted");
    let rounds = analysis["rounds"].as_u64().expect("a number") as usize;
    assert!(rounds >= 1 && rounds == lab.runs().len() / 3, "{rounds}");
    assert_eq!(arm(&analysis, "slow")["failed"], 0, "an interruption is no fault of an arm");
    assert!(lab.path("out/report.html").exists());
    lab.assert_nothing_runs();
}

#[test]
fn ctrl_c_ends_after_the_turn() {
    interrupted(Signal::SIGINT);
}

/// A terminal sends Ctrl-C to the whole process group of the program in front.
#[test]
fn ctrl_c_in_a_terminal_reaches_the_core_alone() {
    let lab = Lab::even_and_slow();
    let mut words = lab.words(&["even", "slow"], &["--rounds", "1000", "--tap"]);
    words.iter_mut().filter(|it| *it == "none").for_each(|it| "absorber".clone_into(it));
    let file = |name| fs::File::create(lab.path(name)).expect("a file");
    let mut command = lab.command(words);
    command.process_group(0).stdout(file("stdout")).stderr(file("stderr"));
    let mut child = command.spawn().expect("it starts");
    lab.wait_for_runs(4);
    let core = Pid::from_raw(pid(&child));
    for (other, words) in lab.processes().into_iter().filter(|(it, _)| *it != pid(&child)) {
        let group = getpgid(Some(Pid::from_raw(other)));
        assert_ne!(group, Ok(core), "{words} is in the terminal's group");
    }
    killpg(core, Signal::SIGINT).expect("it lives");
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 130, "{}", done.stderr);
    assert!(done.stdout.contains("interrupted; seed"), "finished rounds are shown");
    lab.assert_nothing_runs();
}

/// The values of a sweep that [`swept`] makes.
const VALUES: [&str; 3] = ["warmup=0.2", "warmup=0.1", "warmup=0.3"];

/// Words of a sweep of two rounds each.
fn swept(lab: &Lab, drivers: &[&str]) -> Vec<String> {
    lab.words(drivers, &["--phase", "first", "--rounds", "2", "--sweep", "warmup=0.2,0.1,0.3"])
}

/// The sweep was interrupted, and goes on after these runs of its values.
fn sweep_goes_on(lab: &Lab, done: &Done, kept: [usize; 3]) {
    assert_eq!(done.code, 130, "{}", done.stderr);
    assert!(done.stderr.contains("\nerror: interrupted\n"), "{}", done.stderr);
    let last = done.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with("hint: to go on: mongodyno resume "), "{}", done.stderr);
    assert!(last.ends_with("/out"), "all of it, not one value: {}", done.stderr);
    assert!(done.stdout.contains("noop by warmup"), "what is finished is shown: {}", done.stdout);
    assert!(done.stdout.contains("warmup=0.3: not begun"), "{}", done.stdout);
    lab.assert_nothing_runs();
    let runs = |value: &str| {
        let path = lab.path("out").join(value).join("runs.jsonl");
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let before = VALUES.map(runs);
    assert_eq!(before.each_ref().map(Vec::len), kept);
    let resumed = lab.run(["resume", "out", "--workload", &noop()]);
    assert_eq!(code(&resumed), 0, "{}", said(&resumed));
    let after = VALUES.map(runs);
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before[..], after[..before.len()], "what was finished is kept");
        assert_eq!(after.len(), 6, "two rounds of three arms");
    }
    assert!(!stdout(&resumed).contains("not begun"), "{}", said(&resumed));
    lab.assert_nothing_runs();
}

#[test]
fn ctrl_c_in_a_value_of_a_sweep_keeps_the_finished_ones() {
    let lab = Lab::even_and_slow();
    // The fourth process, in the second round of the second value, hangs.
    let started = lab.path("started").display().to_string();
    let hangs = "at=turn fault=hang";
    lab.scripted(
        "stuck",
        &format!(
            "echo $$ >> '{started}'; [ $(grep -c . '{started}') = 4 ] && set -- {hangs}; exec {}",
            fake_command(&format!("{QUICK} $*"))
        ),
    );
    let mut child = lab.start(swept(&lab, &["even", "stuck"]));
    let processes = || fs::read_to_string(&started).unwrap_or_default().lines().count();
    wait_until("the process that hangs", || processes() == 4);
    send(pid(&child), Signal::SIGINT);
    let done = lab.finish(&mut child);
    assert!(done.stdout.contains("warmup=0.1: interrupted after 1 round"), "{}", done.stdout);
    sweep_goes_on(&lab, &done, [6, 3, 0]);
}

/// The first report finds its pipe full: the signal comes between two values.
#[test]
fn ctrl_c_between_two_values_of_a_sweep_is_heard() {
    let lab = Lab::even_and_slow();
    let (mut reader, mut writer) = std::io::pipe().expect("a pipe");
    let room = fcntl(&writer, FcntlArg::F_GETPIPE_SZ).expect("its size") as usize;
    writer.write_all(&vec![b' '; room]).expect("there is room");
    let file = fs::File::create(lab.path("stderr")).expect("a file");
    let mut command = lab.command(swept(&lab, &["even", "slow"]));
    let mut child = command.stdout(writer).stderr(file).spawn().expect("it starts");
    drop(command);
    let page = lab.path("out").join(VALUES[0]).join("report.html");
    wait_until("the page before the report", || page.exists());
    send(pid(&child), Signal::SIGINT);
    let mut told = String::new();
    reader.read_to_string(&mut told).expect("text");
    lab.write("stdout", &told);
    let done = lab.finish(&mut child);
    sweep_goes_on(&lab, &done, [6, 0, 0]);
}

#[test]
fn sigterm_ends_after_the_turn() {
    interrupted(Signal::SIGTERM);
}

#[test]
fn a_closed_terminal_ends_after_the_turn() {
    interrupted(Signal::SIGHUP);
}

/// An experiment with a finished round, in which an adapter hangs.
fn hanging(lab: &Lab) -> Child {
    // While the file exists nothing happens; the process that makes it anew hangs.
    let switch = lab.write("switch", "");
    let once = format!("once={}", switch.display());
    lab.fake("stuck", &[QUICK, "at=turn", "fault=hang", &once]);
    let child = lab.start(lab.words(&["even", "stuck"], &["--rounds", "1000"]));
    lab.wait_for_runs(3);
    fs::remove_file(&switch).expect("it is there");
    wait_until("an adapter hangs", || switch.exists());
    child
}

#[test]
fn ctrl_c_twice_ends_at_once() {
    let lab = Lab::even_and_slow();
    let mut child = hanging(&lab);
    send(pid(&child), Signal::SIGINT);
    let told = || fs::read_to_string(lab.path("stderr")).expect("a file");
    wait_until("it is heard", || told().contains("(again: stop at once)"));
    send(pid(&child), Signal::SIGINT);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 130, "{}", done.stderr);
    assert!(!done.stderr.contains("did not answer"), "it was not waited for: {}", done.stderr);
    let analysis = lab.analysis();
    assert_eq!(analysis["ended"], "interrupted");
    assert!(analysis["rounds"].as_u64() >= Some(1), "{analysis}");
    lab.assert_nothing_runs();
}

#[test]
fn a_killed_mongodyno_takes_its_adapters_along() {
    let lab = Lab::even_and_slow();
    let mut child = hanging(&lab);
    send(pid(&child), Signal::SIGKILL);
    assert_eq!(child.wait().expect("ends").signal(), Some(9));
    lab.assert_nothing_runs();
    let analysis = lab.analysis();
    assert_eq!(analysis["ended"], "unfinished");
    assert!(analysis["rounds"].as_u64() >= Some(1), "{analysis}");
}

#[test]
fn a_full_disk_is_named_and_finished_rounds_stay_readable() {
    fills("faults/a_full_disk_is_named_and_finished_rounds_stay_readable", 256);
}

/// An adapter meets it: the samples of a calibration take more, and are removed behind it.
#[test]
fn a_disk_that_is_full_in_a_calibration_alone_is_named() {
    fills("faults/a_disk_that_is_full_in_a_calibration_alone_is_named", 4352);
}

fn fills(test: &str, room_kb: u32) {
    let lab = Lab::even_and_slow();
    let words = lab.words(&["even", "slow"], &["--rounds", "30"]);
    let Some(output) = lab.on_a_full_disk(test, (6, room_kb), &words, "") else { return };
    let told = fs::read_to_string(lab.path("stderr")).unwrap_or_default();
    assert_eq!(code(&output), 5, "{}{told}", said(&output));
    let small = lab.path("small/out").canonicalize().unwrap_or_else(|_| lab.path("small/out"));
    let expected = format!("error: cannot write {}", small.display());
    let at = told.find(&expected).unwrap_or_else(|| panic!("{expected} in {told}"));
    let error = &told[at..];
    assert!(error.contains("No space left on device (os error 28)\n"), "{error}");
    let hint = "\nhint: free some disk space, or choose another --out or MDYN_HOME\n";
    assert!(error.ends_with(hint), "{error}");
    assert!(told.contains("what was finished is kept: mongodyno report "), "{told}");
    let report = fs::read(lab.path("report.json")).expect("a report");
    let analysis: Value = serde_json::from_slice(&report).expect("JSON");
    assert!(analysis["rounds"].as_u64() >= Some(2), "{analysis}");
    assert_eq!(arm(&analysis, "even")["failed"], 0, "{analysis}");
    lab.assert_nothing_runs();
}
