//! Installing: side by side, interrupted and continued, and only after everything else is right.
//! The installers are small scripts.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::fake_support::real::with_client;
use crate::fake_support::{Lab, QUICK, code, fixture, flat, pid, send, stderr, stdout, wait_until};
use crate::support::{said, skip};
use mongodb::bson::Document;
use nix::sys::signal::Signal;

/// An adapter that this script installs; `more` are further lines of its manifest.
fn scripted(lab: &Lab, name: &str, script: &str, more: &str) {
    lab.fake(name, &[QUICK, "op_ns=100000"]);
    let path = lab.path(&format!("adapters/{name}/adapter.toml"));
    let text = fs::read_to_string(&path).expect("a manifest");
    let install = format!("install = [[\"sh\", \"-c\", {script:?}]]");
    fs::write(path, format!("{text}{install}\n{more}\n")).expect("a manifest");
}

/// A command of the shell that waits for a file in the lab, and fails where it does not come.
fn waits_for(lab: &Lab, file: &str) -> String {
    let file = lab.path(file).display().to_string();
    format!(
        "n=0; until [ -e '{file}' ]; do n=$((n+1)); [ $n -lt 2000 ] || exit 9; sleep 0.02; done"
    )
}

fn touch(lab: &Lab, file: &str) -> String {
    format!("touch '{}'", lab.path(file).display())
}

/// The folder of an adapter's environment, whole or not.
fn environment(lab: &Lab, name: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(lab.path("home/adapters").join(name)).ok()?;
    entries.flatten().map(|entry| entry.path()).find(|path| path.is_dir())
}

fn has(lab: &Lab, name: &str, file: &str) -> bool {
    environment(lab, name).is_some_and(|folder| folder.join(file).exists())
}

#[test]
fn adapters_install_side_by_side() {
    let lab = Lab::new();
    // Each waits for the other one.
    for (own, other) in [("one", "two"), ("two", "one")] {
        scripted(&lab, own, &format!("{}; {}", touch(&lab, own), waits_for(&lab, other)), "");
    }
    let output = lab.experiment(&["one", "two"], &["--rounds", "1"]);
    let told = stderr(&output);
    assert_eq!(lab.runs().len(), 3, "{}", said(&output));
    let at = |words: &str| told.find(words).unwrap_or_else(|| panic!("{words} in {told}"));
    let begun = at("installing one@1.0.0\n").max(at("installing two@1.0.0\n"));
    assert!(begun < at("@1.0.0 is installed after "), "{told}");
    assert!(begun < at("(1 of 2)\n") && at("(1 of 2)\n") < at("(2 of 2)\n"), "{told}");
    // Installed ones are not mentioned.
    fs::remove_dir_all(lab.path("out")).expect("it is there");
    let again = lab.experiment(&["one", "two"], &["--rounds", "1"]);
    assert!(!stderr(&again).contains("install"), "{}", said(&again));
}

/// Seen with forty versions of a driver: as many package managers ran at once.
#[test]
fn only_some_of_many_adapters_install_at_a_time() {
    let lab = Lab::new();
    let (at_work, notes) = (lab.path("at-work"), lab.path("notes"));
    fs::create_dir(&at_work).expect("room");
    let names: Vec<String> = (0..24).map(|number| format!("a{number}")).collect();
    let script = format!(
        "cd '{}'; touch $$; ls | wc -l >>'{}'; sleep 0.2; rm $$",
        at_work.display(),
        notes.display()
    );
    for name in &names {
        scripted(&lab, name, &script, "");
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let output = lab.experiment(&names, &["--rounds", "1"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let counts = fs::read_to_string(notes).expect("notes");
    let counts: Vec<usize> = counts.lines().map(|it| it.parse().expect("a number")).collect();
    let most = std::thread::available_parallelism().map_or(1, usize::from).max(4);
    let at_once = counts.iter().max().copied();
    assert_eq!(counts.len(), names.len());
    assert!(at_once > Some(1) && at_once <= Some(most), "{at_once:?} of {most} at once");
}

#[test]
fn the_same_adapter_twice_is_installed_once() {
    let lab = Lab::new();
    let notes = lab.path("notes");
    scripted(&lab, "one", &format!("echo x >>'{}'", notes.display()), "");
    let output = lab.experiment(&["one", "one"], &["--rounds", "1"]);
    assert_eq!(lab.runs().len(), 3, "{}", said(&output));
    assert_eq!(fs::read_to_string(notes).expect("notes"), "x\n");
}

#[test]
fn a_failure_stops_no_other_installation_and_is_told() {
    let lab = Lab::new();
    let fails = |name: &str| format!("echo cause of {name}; {}; exit 3", touch(&lab, name));
    scripted(&lab, "bad", &fails("bad"), "");
    scripted(&lab, "worse", &fails("worse"), "");
    // It goes on for a while after both have failed.
    let waits = [waits_for(&lab, "bad"), waits_for(&lab, "worse"), "sleep 1".to_owned()];
    scripted(&lab, "good", &waits.join("; "), "");
    let output = lab.experiment(&["good", "bad", "worse"], &["--rounds", "1"]);
    let told = stderr(&output);
    assert_eq!(code(&output), 0, "one is left: {told}");
    assert!(told.contains("good@1.0.0 is measured alone"), "{told}");
    for name in ["bad", "worse"] {
        let failed = format!("installing {name}@1.0.0 failed: `sh -c ");
        assert!(told.contains(&failed) && told.contains(&format!("\n  cause of {name}")), "{told}");
    }
    assert!(has(&lab, "good", ".ready"), "{told}");
    let hint = "is the package registry reachable? run --offline takes what is installed";
    assert!(flat(&told).contains(hint), "{told}");
    assert!(!lab.runs().is_empty(), "{told}");
}

#[test]
fn without_names_those_that_do_not_install_are_left_out() {
    let lab = Lab::new();
    // In place of those that the binary carries; the last one of them is no exception.
    let carried = fs::read_dir(crate::support::root().join("adapters")).expect("adapters");
    let carried = carried.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> =
        carried.map(|name| name.to_str().expect("a name").to_owned()).collect();
    names.retain(|name| name != "rust");
    for name in &names {
        lab.fake(name, &[QUICK, "op_ns=100000"]);
    }
    scripted(&lab, "rust", "exit 3", "");
    let output = lab.experiment(&[], &["--rounds", "1"]);
    assert_eq!(lab.runs().len(), names.len() + 1, "and the A/A arm: {}", said(&output));
    let left_out = lab.record()["unavailable"].to_string();
    assert!(left_out.contains("installing rust@1.0.0 failed"), "{left_out}");
}

#[test]
fn an_installation_that_was_killed_goes_on() {
    let lab = Lab::new();
    let script = "
        if [ -e built/part ]; then [ ! -e rest ] && echo goes on; exit $?; fi
        mkdir built && touch built/part rest && exec sleep 605
    ";
    scripted(&lab, "slow", script, "keep = [\"built\"]");
    let mut first = lab.start(["adapters", "install", "slow"]);
    wait_until("half of it is built", || has(&lab, "slow", "rest"));
    send(pid(&first), Signal::SIGKILL);
    first.wait().expect("ends");
    let output = lab.run(["adapters", "install", "slow"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let folder = PathBuf::from(stdout(&output).trim());
    let log = fs::read_to_string(folder.join("install.log")).expect("a log");
    assert!(log.ends_with("\ngoes on\n"), "{log}");
    lab.assert_nothing_runs();
}

#[test]
fn what_was_kept_and_fails_again_is_not_kept_for_ever() {
    let lab = Lab::new();
    let script = format!(
        "[ ! -e built/damaged ] || exit 3; [ ! -e '{0}' ] || exit 0; \
         mkdir built; touch built/damaged '{0}'; exit 4",
        lab.path("tried").display()
    );
    scripted(&lab, "frail", &script, "keep = [\"built\"]");
    for expected in ["exit status: 4", "exit status: 3"] {
        let output = lab.run(["adapters", "install", "frail"]);
        assert_eq!(code(&output), 5, "{}", said(&output));
        assert!(stderr(&output).contains(expected), "{}", said(&output));
    }
    let output = lab.run(["adapters", "install", "frail"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
}

#[test]
fn what_a_full_disk_cuts_is_not_used_and_goes_on_with_more_room() {
    let test = "installs/what_a_full_disk_cuts_is_not_used_and_goes_on_with_more_room";
    let lab = Lab::new();
    scripted(&lab, "big", "dd if=/dev/zero of=part bs=64k count=64", "");
    let private = Command::new("unshare").args(["-m", "true"]).output();
    if !private.is_ok_and(|output| output.status.success()) {
        return skip(test, "`unshare -m` needs root");
    }
    fs::create_dir(lab.path("home")).expect("a folder");
    let script = r#"
        mount -t tmpfs -o mode=700,size=1m tmpfs home || exit 99
        "$0" "$@"; echo $? >first
        [ -z "$(find home -name .ready)" ] || exit 98
        mount -o remount,size=64m home
        "$0" "$@" && [ -n "$(find home -name .ready)" ]
    "#;
    let words = ["adapters", "install", "big"];
    let output = lab.wrapped(&["unshare", "-m", "sh", "-c", script], words).output();
    let output = output.expect("it starts");
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(fs::read_to_string(lab.path("first")).expect("a code"), "5\n");
    assert!(stderr(&output).contains("No space left on device"), "{}", said(&output));
}

#[test]
fn ctrl_c_while_installing_leaves_no_process_and_says_how_to_go_on() {
    let lab = Lab::new();
    // One that stays in the installer's process group and one that leaves it.
    let script = "setsid sh -c 'touch left; exec sleep 603' & touch stayed; sleep 604";
    scripted(&lab, "slow", script, "");
    let run = lab.words(&["slow"], &["--rounds", "1"]);
    let verbs = [run, ["adapters", "install", "slow"].map(str::to_owned).to_vec()];
    for (words, signal) in verbs.into_iter().zip([Signal::SIGINT, Signal::SIGTERM]) {
        let mut child = lab.start(&words);
        wait_until("the installer works", || {
            has(&lab, "slow", "left") && has(&lab, "slow", "stayed")
        });
        send(pid(&child), signal);
        let done = lab.finish(&mut child);
        assert_eq!(done.code, 130, "{}", done.stderr);
        let expected =
            "error: interrupted\nhint: the same command goes on with what is installed\n";
        assert!(done.stderr.ends_with(expected), "{}", done.stderr);
        lab.assert_nothing_runs();
        assert!(!lab.path("out").exists());
        let folder = environment(&lab, "slow").expect("what was begun");
        assert!(!folder.join(".ready").exists());
        fs::remove_dir_all(folder).expect("it is there");
    }
}

#[test]
fn of_two_that_install_the_same_the_second_waits_and_says_so() {
    let lab = Lab::new();
    let notes = lab.path("notes");
    let script = format!("echo x >>'{}'; {}", notes.display(), waits_for(&lab, "go"));
    scripted(&lab, "slow", &script, "");
    let mut first = lab.start(["adapters", "install", "slow"]);
    wait_until("the first one installs", || notes.exists());
    let mut second = lab.command(["adapters", "install", "slow"]);
    let told = fs::File::create(lab.path("second")).expect("a file");
    let mut second = second.stdout(Stdio::null()).stderr(told).spawn().expect("it starts");
    let waits = "another mongodyno is installing slow@1.0.0; waiting for it\n";
    wait_until("it says so", || {
        fs::read_to_string(lab.path("second")).is_ok_and(|told| told.contains(waits))
    });
    lab.write("go", "");
    assert!(second.wait().expect("ends").success());
    assert_eq!(lab.finish(&mut first).code, 0);
    assert_eq!(fs::read_to_string(notes).expect("notes"), "x\n", "once");
}

#[test]
fn a_server_that_refuses_is_named_before_anything_is_installed() {
    let lab = Lab::new();
    scripted(&lab, "dear", &touch(&lab, "installed"), "");
    let noop = fixture("workloads/noop.yaml").display().to_string();
    let uri = ["--uri", "mongodb://127.0.0.1:9/"];
    let verbs: [&[&str]; 3] = [
        &["run", &noop, "-d", "dear", "--out", "out"],
        &["check", "dear"],
        &["study", "broker", "-d", "dear", "--consumer", "dear", "--out", "out"],
    ];
    for words in verbs {
        let output = lab.run([words, &uri[..]].concat());
        assert_eq!(code(&output), 4, "{}", said(&output));
        let expected = "error: no server listens at mongodb://127.0.0.1:9/: connection refused\n";
        assert!(stderr(&output).contains(expected), "{}", said(&output));
    }
    let output = lab.run(["run", "no-such-workload", "-d", "dear"]);
    assert_eq!(code(&output), 3, "{}", said(&output));
    assert!(!lab.path("installed").exists() && !lab.path("out/cursor").exists());
}

/// More documents than the server loads in a minute.
const LOADED: &str = "
name: loaded
why: A collection that takes long to load.
collections:
  items:
    documents: 400000
    size_bytes: 2000
    document:
      _id: {type: objectid, value: key}
      note: {type: string, length: fill, fill: text}
phases:
  - operation: find_one
    collection: items
";

#[test]
fn ctrl_c_while_loading_leaves_no_database() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK, "op_ns=100000"]);
    lab.write("loaded.yaml", LOADED);
    let mut absorber = lab.command(["absorber", "--listen=127.0.0.1:0", "--service-time=1s"]);
    let mut absorber = absorber.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(absorber.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let listening: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    let uri = format!("mongodb://{}/", listening["address"].as_str().expect("an address"));
    let databases = || with_client(&uri, async |client| client.list_database_names().await);
    let is_ours = |name: &String| name.starts_with("mongodyno_");

    let words = ["run", "loaded.yaml", "-d", "even", "--out", "out", "--uri", &uri];
    let mut child = lab.start(words);
    wait_until("documents are there", || {
        databases().into_iter().filter(is_ours).any(|name| {
            with_client(&uri, async |client| {
                let items = client.database(&name).collection::<Document>("items");
                items.estimated_document_count().await
            }) > 0
        })
    });
    send(pid(&child), Signal::SIGINT);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 130, "{}", done.stderr);
    assert_eq!(lab.record()["ended"], "interrupted");
    assert!(!databases().iter().any(is_ours), "{:?}", databases());
    send(pid(&absorber), Signal::SIGTERM);
    absorber.wait().expect("ends");
    lab.assert_nothing_runs();
}
