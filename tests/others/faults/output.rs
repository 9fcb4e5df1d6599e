//! Lost streams and files. Lost results are an error, lost words on stderr are none, and unreadable
//! samples are the loss of their arm.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::fake_support::real::databases;
use crate::fake_support::{Lab, QUICK, code, comparison, noop, pid, send, stderr};
use crate::support::said;
use nix::sys::signal::Signal;
use serde_json::Value;

fn full() -> Stdio {
    File::options().write(true).open("/dev/full").expect("Linux has it").into()
}

/// The writing end of a pipe that no one reads.
fn unread() -> Stdio {
    std::io::pipe().expect("a pipe").1.into()
}

#[test]
fn results_that_are_lost_are_an_error_and_a_reader_that_went_is_none() {
    let lab = Lab::even_and_slow();
    let words = lab.words(&["even", "slow"], &["--rounds", "1"]);
    let run = |out: &str, stdout: Stdio| {
        let mut words = words.clone();
        words.iter_mut().filter(|it| *it == "out").for_each(|it| out.clone_into(it));
        lab.command(words).stdout(stdout).output().expect("the binary runs")
    };
    // Before its six rounds nothing is decided.
    assert_eq!(code(&run("out", Stdio::piped())), 0);
    let lost = run("lost", full());
    assert_eq!(code(&lost), 5, "{}", said(&lost));
    assert!(lab.path("lost/report.html").exists(), "the results are in the folder");
    let workload = noop();
    for words in [
        &["report", "out"][..],
        &["report", "out", "--format", "json"],
        &["report", "out", "--format", "html"],
        &["diagnose", "out"],
        &["diagnose", "out", "--json"],
        &["workloads"],
        &["workloads", "crud"],
        &["schema", "run"],
        &["adapters", "list"],
        &["server", "list"],
        &["run", &workload, "--server", "none", "-d", "even", "--plan"],
        &["--help"],
        &["run", "--help"],
    ] {
        let output = lab.command(words).stdout(full()).output().expect("the binary runs");
        assert_eq!(code(&output), 5, "{words:?}: {}", said(&output));
        let help = words.last().is_some_and(|it| *it == "--help");
        let expected = "error: the output could not be written: No space left on device";
        assert!(help || stderr(&output).starts_with(expected), "{words:?}: {}", said(&output));
        let output = lab.command(words).stdout(unread()).output().expect("the binary runs");
        assert_eq!(code(&output), 0, "{words:?}: {}", said(&output));
    }
}

#[test]
fn an_experiment_goes_on_when_nobody_hears_it() {
    let lab = Lab::even_and_slow();
    for (number, stream) in [full(), unread()].into_iter().enumerate() {
        let words = lab.words(&["even", "slow"], &["--rounds", "1"]);
        let words =
            words.iter().map(|it| if it == "out" { format!("out{number}") } else { it.clone() });
        let output = lab.command(words).stderr(stream).output().expect("the binary runs");
        assert_eq!(code(&output), 0, "{}", said(&output));
    }
    // Read at first, as with `2> >(head -2)`.
    let mut command = lab.command(lab.words(&["even", "slow"], &["--rounds", "2"]));
    let mut child =
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(child.stderr.take().expect("piped")).read_line(&mut line).expect("a line");
    assert!(child.wait().expect("it ends").success());
    assert_eq!((lab.record()["ended"].clone(), lab.runs().len()), ("completed".into(), 6));
}

#[test]
fn a_terminal_that_is_closed_interrupts() {
    let lab = Lab::even_and_slow();
    let mut command = lab.command(lab.words(&["even", "slow"], &["--rounds", "50"]));
    // Every write to a closed terminal fails.
    let mut child = command.stdout(full()).stderr(full()).spawn().expect("it starts");
    lab.wait_for_runs(3);
    send(pid(&child), Signal::SIGHUP);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(lab.record()["ended"], "interrupted");
    lab.assert_nothing_runs();
}

#[test]
fn samples_that_cannot_be_read_void_their_arm() {
    let lab = Lab::even_and_slow();
    lab.fake("mute", &[QUICK, "op_ns=100000", "at=end", "fault=no_samples"]);
    lab.fake("folder", &[QUICK, "op_ns=100000", "at=end", "fault=folder"]);
    let words = lab.words(&["even", "slow", "mute", "folder"], &["--rounds", "6"]);
    // It once read the folder for ever and handled no signal.
    let mut command = lab.wrapped(&["timeout", "-s", "KILL", "240"], words);
    let output = command.output().expect("it runs");
    assert_eq!(code(&output), 0, "{}", said(&output));
    let reason = |name: &str| {
        let runs = lab.runs();
        let own = runs.iter().find(|run| run["arm"] == format!("{name}@1.0.0"));
        own.expect("a run")["failed"].clone()
    };
    assert!(
        reason("mute").as_str().is_some_and(|it| it.contains("No such file")),
        "{}",
        said(&output)
    );
    assert!(reason("folder").as_str().is_some_and(|it| it.ends_with(": no ordinary file")));
    assert_eq!(reason("even"), Value::Null);
    let analysis = lab.analysis();
    let slow = comparison(&analysis, "slow@1.0.0", "first", "throughput");
    assert_eq!((&slow["verdict"], &slow["rounds"]), (&"SLOWER".into(), &6.into()), "{slow}");
}

#[test]
fn a_database_goes_with_a_terminal_that_is_closed() {
    let test = "faults_output/a_database_goes_with_a_terminal_that_is_closed";
    let Some(uri) = crate::support::server(test) else { return };
    let lab = Lab::even_and_slow();
    let words = ["run", "crud", "-d", "even", "--rounds", "50", "--uri", uri, "--out", "out"];
    let mut child = lab.command(words).stdout(full()).stderr(full()).spawn().expect("it starts");
    lab.wait_for_runs(1);
    let record = lab.record();
    let database = record["databases"][0]["name"].as_str().expect("it is recorded").to_owned();
    let is_there = || databases(uri).contains(&database);
    assert!(is_there(), "it has one");
    send(pid(&child), Signal::SIGHUP);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(!is_there(), "it is dropped");
}
