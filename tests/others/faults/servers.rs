//! Faults of servers, with a real driver: death in the middle of a run, interruptions. Nothing of
//! other people's is touched and nothing left behind.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use crate::fake_support::real::{databases, own_server, real_lab, with_client, words};
use crate::fake_support::{Done, Lab, QUICK, code, noop, pid, send, stderr, wait_until};
use crate::support::said;
use mongodb::bson::{Document, doc};
use nix::sys::signal::Signal;

fn database(lab: &Lab) -> String {
    let record = lab.record();
    let last = record["databases"].as_array().and_then(|it| it.last()).expect("a database");
    last["name"].as_str().expect("a name").to_owned()
}

fn flag(words: &str, name: &str) -> String {
    let mut all = words.split_whitespace();
    let value = all.find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("{name} in {words}")).to_owned()
}

/// The embedded server of an experiment that runs.
struct Mongod {
    pid: i32,
    port: String,
    data: String,
}

impl Mongod {
    fn of(lab: &Lab) -> Self {
        wait_until("mongod runs", || lab.process("--dbpath=").is_some());
        let (pid, words) = lab.process("--dbpath=").expect("it runs");
        let data = flag(&words, "--dbpath");
        let data = data.strip_suffix("/db").expect("a folder of ours").to_owned();
        assert!(Path::new(&data).exists());
        Self { pid, port: flag(&words, "--port"), data }
    }

    /// No process, no port, no data.
    fn assert_gone(&self, lab: &Lab) {
        lab.assert_nothing_runs();
        assert!(!Path::new(&self.data).exists(), "{} is left", self.data);
        let address = format!("127.0.0.1:{}", self.port);
        assert!(std::net::TcpStream::connect(&address).is_err(), "{address} still listens");
    }
}

/// Starts an experiment on an embedded server and waits for its first round.
fn embedded(lab: &Lab, more: &[&str]) -> (Child, Mongod) {
    let child = lab.start(words(&[&["--rounds", "9"], more].concat()));
    let mongod = Mongod::of(lab);
    lab.wait_for_runs(2);
    (child, mongod)
}

fn assert_readable(lab: &Lab, ended: &str) {
    let analysis = lab.analysis();
    assert_eq!(analysis["ended"], ended, "{analysis}");
    assert!(analysis["rounds"].as_u64() >= Some(1), "{analysis}");
    assert_eq!(analysis["arms"][0]["failed"], 0, "{analysis}");
}

#[test]
fn an_embedded_server_that_dies_is_named() {
    let Some(lab) = real_lab("faults_server/an_embedded_server_that_dies_is_named") else { return };
    dies(&lab, &[]);
}

#[test]
fn a_host_that_dies_in_the_middle_of_a_round_robin_is_named() {
    let test = "faults_server/a_host_that_dies_in_the_middle_of_a_round_robin_is_named";
    let Some(lab) = real_lab(test) else { return };
    dies(&lab, &["--server", "embedded:hosts=2"]);
}

fn dies(lab: &Lab, more: &[&str]) {
    let (mut child, mongod) = embedded(lab, more);
    send(mongod.pid, Signal::SIGKILL);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 4, "{}", done.stderr);
    let which = format!("error: the server (mongod 6.0.5 on 127.0.0.1:{})", mongod.port);
    let expected = format!("{which} was killed (signal 9; often: out of memory).");
    assert!(done.stderr.contains(&expected), "{}", done.stderr);
    assert!(done.stderr.contains("out/logs/mongod"), "{}", done.stderr);
    let hint = "\nhint: remove the cause named in its log and run again; finished runs are kept\n";
    assert!(done.stderr.ends_with(hint), "{}", done.stderr);
    assert!(done.stderr.contains("what was finished is kept: mongodyno report "));
    assert_readable(lab, "failed");
    mongod.assert_gone(lab);
}

/// 60 MB of each arm, that no compression takes off and no round removes: 1 GB in nine rounds.
const FILLING: &str = "
name: filling
why: A server's disk gets full.
collections:
  log:
    keep: experiment
    document: {_id: {type: long, value: key}, body: {type: bytes, length: 100000}}
phases:
  - {operation: insert_many, collection: log, batch: 20, documents: 600, warmup: 0}
";

#[test]
fn a_server_that_runs_out_of_disk_is_named_and_finished_rounds_stay_readable() {
    let test =
        "faults_server/a_server_that_runs_out_of_disk_is_named_and_finished_rounds_stay_readable";
    let Some(lab) = real_lab(test) else { return };
    lab.write("filling.yaml", FILLING);
    let words = ["run", "filling.yaml", "--out", "out", "-d", "python", "--rounds", "9"];
    // A mongod with a small cache writes early.
    let words = [&words[..], &["--server-cache", "256MiB"]].concat();
    let then = r#"[ -z "$(ls "$disk")" ] || exit 96"#;
    let Some(output) = lab.with_a_full_server(test, 2, &words, then) else { return };
    let told = fs::read_to_string(lab.path("stderr")).unwrap_or_default();
    assert_eq!(code(&output), 5, "{}{told}", said(&output));
    let at = told.find("error: the server (mongod 6.0.5 on 127.0.0.1:");
    let at = at.unwrap_or_else(|| panic!("{told}"));
    let error = &told[at..];
    assert!(error.contains(" ran out of disk in "), "{error}");
    assert!(error.contains(" (No space left on device); it "), "{error}");
    assert!(error.contains("Reason: "), "{error}");
    assert!(error.contains("The end of its log, "), "{error}");
    assert!(error.contains("/out/logs/mongod.log:\n"), "{error}");
    let hint =
        "\nhint: free some disk space, or choose another MDYN_HOME; finished runs are kept\n";
    assert!(error.ends_with(hint), "{error}");
    assert!(told.contains("what was finished is kept: mongodyno report "), "{told}");
    assert_readable(&lab, "failed");
    lab.assert_nothing_runs();
}

/// A database made by somebody else, called and filled nearly as an experiment's.
struct Foreign {
    uri: String,
    before: Vec<Document>,
}

const FOREIGN: [&str; 3] = ["precious", "mongodyno_precious", "mongodyno"];

impl Foreign {
    fn make(uri: &str) -> Self {
        with_client(uri, async |client| {
            for name in FOREIGN {
                for collection in ["thesis", "items", "items_0", "items_1_warmup"] {
                    let documents = (0..50).map(|number| doc! { "_id": number, "of": name });
                    let collection = client.database(name).collection::<Document>(collection);
                    collection.insert_many(documents).await?;
                }
            }
            Ok(())
        });
        Self { uri: uri.to_owned(), before: Self::look(uri) }
    }

    /// Hashes and counts of everything in the foreign databases.
    fn look(uri: &str) -> Vec<Document> {
        with_client(uri, async |client| {
            let mut found = Vec::new();
            for name in FOREIGN {
                let hash = client.database(name).run_command(doc! { "dbHash": 1 }).await?;
                assert_eq!(hash.get_document("collections").expect("hashes").len(), 4, "{hash}");
                found.push(doc! { "all": hash.get_str("md5").expect("a hash"), "of": name });
            }
            Ok(found)
        })
    }

    fn assert_untouched(&self, database: &str) {
        assert_eq!(Self::look(&self.uri), self.before);
        let names = databases(&self.uri);
        assert!(!names.contains(&database.to_owned()), "{database} is left: {names:?}");
    }
}

#[test]
fn foreign_data_is_never_touched() {
    let test = "faults_server/foreign_data_is_never_touched";
    let (Some(lab), Some(server)) = (real_lab(test), own_server(test, &[])) else { return };
    let foreign = Foreign::make(server.uri());
    let uri = ["--uri", server.uri()];
    // While it runs its own database is there: without that the rest would prove nothing.
    let is_there = |lab: &Lab| {
        lab.path("out/experiment.json").exists() && databases(server.uri()).contains(&database(lab))
    };

    let mut child = lab.start(words(&[&["--rounds", "1"], &uri[..]].concat()));
    wait_until("it writes", || is_there(&lab));
    let done = lab.finish(&mut child);
    assert!([0, 6].contains(&done.code), "a complete run: {}", done.stderr);
    assert_eq!(lab.analysis()["ended"], "completed");
    foreign.assert_untouched(&database(&lab));

    let again = |what: &str, signal: Option<Signal>, exit: i32| -> Done {
        fs::remove_dir_all(lab.path("out")).expect("it is there");
        let mut child = lab.start(words(&[&["--rounds", "9"], &uri[..]].concat()));
        wait_until("it writes", || is_there(&lab));
        match signal {
            Some(signal) => {
                wait_until("a driver works", || lab.process("adapter.py").is_some());
                std::thread::sleep(Duration::from_millis(500));
                send(pid(&child), signal);
            }
            // The file for the readings of the server, one a second, is blocked in the middle of a
            // phase. It is as good as a disk that fails.
            None => wait_until("it stands there", || {
                let path = lab.path("out/server.jsonl");
                let _ = fs::remove_file(&path);
                fs::create_dir(&path).is_ok()
            }),
        }
        let done = lab.finish(&mut child);
        assert_eq!(done.code, exit, "{what}: {}", done.stderr);
        foreign.assert_untouched(&database(&lab));
        lab.assert_nothing_runs();
        done
    };
    again("an interrupted run", Some(Signal::SIGINT), 130);
    let failed = again("a failed run", None, 5);
    assert!(failed.stderr.contains("error: cannot write "), "{}", failed.stderr);
    assert!(failed.stderr.contains("out/server.jsonl: Is a directory"), "{}", failed.stderr);
}

#[test]
fn a_foreign_server_that_dies_is_named() {
    let test = "faults_server/a_foreign_server_that_dies_is_named";
    let (Some(lab), Some(server)) = (real_lab(test), own_server(test, &[])) else { return };
    let mut child = lab.start(words(&["--rounds", "9", "--uri", server.uri()]));
    lab.wait_for_runs(2);
    send(server.pid().expect("ours").cast_signed(), Signal::SIGKILL);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 4, "{}", done.stderr);
    assert!(done.stderr.contains("\nerror: "), "{}", done.stderr);
    assert!(done.stderr.contains("\nhint: "), "{}", done.stderr);
    let warning = format!("warning: the database {} was not dropped: ", database(&lab));
    assert!(done.stderr.contains(&warning), "what is left is named: {}", done.stderr);
    assert_readable(&lab, "failed");
    lab.assert_nothing_runs();
}

/// Interrupts an experiment on an embedded server in its second round.
fn interrupted(test: &str, signal: Signal) {
    let Some(lab) = real_lab(test) else { return };
    let (mut child, mongod) = embedded(&lab, &[]);
    send(pid(&child), signal);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 130, "{}", done.stderr);
    assert!(done.stderr.contains("\nerror: interrupted\n"), "{}", done.stderr);
    let last = done.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with("hint: to go on: mongodyno resume "), "{}", done.stderr);
    assert!(done.stdout.contains("python@"), "finished rounds are shown: {}", done.stdout);
    // Ended, not killed: mongod had the time to close its files.
    let log = fs::read_to_string(lab.path("out/logs/mongod.log")).expect("its log is kept");
    assert!(log.contains("\"exitCode\":0"), "{log}");
    assert_readable(&lab, "interrupted");
    mongod.assert_gone(&lab);
}

#[test]
fn ctrl_c_stops_the_embedded_server() {
    interrupted("faults_server/ctrl_c_stops_the_embedded_server", Signal::SIGINT);
}

#[test]
fn sigterm_stops_the_embedded_server() {
    interrupted("faults_server/sigterm_stops_the_embedded_server", Signal::SIGTERM);
}

#[test]
fn ctrl_c_twice_leaves_no_server() {
    let Some(lab) = real_lab("faults_server/ctrl_c_twice_leaves_no_server") else { return };
    let (mut child, mongod) = embedded(&lab, &[]);
    wait_until("a driver works", || lab.process("adapter.py").is_some());
    send(pid(&child), Signal::SIGINT);
    send(pid(&child), Signal::SIGTERM); // counts as well; two of one kind may become one
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 130, "{}", done.stderr);
    assert_readable(&lab, "interrupted");
    mongod.assert_gone(&lab);
}

#[test]
fn a_killed_mongodyno_leaves_no_server() {
    let Some(lab) = real_lab("faults_server/a_killed_mongodyno_leaves_no_server") else { return };
    let (mut child, mongod) = embedded(&lab, &[]);
    send(pid(&child), Signal::SIGKILL);
    child.wait().expect("it ended");
    mongod.assert_gone(&lab);
    assert_readable(&lab, "unfinished");
}

#[test]
fn ctrl_c_while_the_server_starts_leaves_nothing() {
    let test = "faults_server/ctrl_c_while_the_server_starts_leaves_nothing";
    let Some(lab) = real_lab(test) else { return };
    let mut child = lab.start(words(&["--rounds", "9"]));
    let mongod = Mongod::of(&lab);
    send(pid(&child), Signal::SIGINT);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 130, "{}", done.stderr);
    let out = lab.path("out");
    assert!(!out.exists() || out.join("experiment.json").exists(), "no half folder");
    mongod.assert_gone(&lab);
}

#[test]
fn arms_that_cannot_connect_are_named() {
    let Some(uri) = crate::support::server("faults_server/arms_that_cannot_connect_are_named")
    else {
        return;
    };
    let lab = Lab::new();
    let faults = [("even", "none"), ("frail", "crash"), ("proud", "refuse"), ("noisy", "garbage")];
    for (name, fault) in faults {
        lab.fake(name, &[QUICK, "at=open", &format!("fault={fault}")]);
    }
    let noop = noop();
    let mut words = vec!["run", &noop, "--out", "out", "--rounds", "1", "--uri", uri];
    words.extend(faults.iter().flat_map(|(name, _)| ["-d", name]));
    let output = lab.run(words);
    assert_eq!(code(&output), 6, "{}", said(&output));
    for expected in [
        "frail@1.0.0 is lost in this round: the adapter ended (signal: 6 (SIGABRT)) instead of \
         answering `open`",
        "proud@1.0.0 is lost in this round: the adapter refused `open` (internal): the fake",
        "noisy@1.0.0 is lost in this round: the adapter answered `open` with something that is no",
    ] {
        assert!(stderr(&output).contains(expected), "{}", said(&output));
    }
    assert_readable(&lab, "completed");
    lab.assert_nothing_runs();
}
