//! Faulty processes, files and words: wrong manifests, installers that outlive their mongodyno,
//! adapters that leave children, that do not read or that talk without end.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::fake_support::{Lab, QUICK, code, fake_command, pid, send, stderr, stdout, wait_until};
use crate::support::{HANG, said};
use adapter::adapter_process::{AdapterProcess, Failure};
use adapter::environment::Environment;
use adapter::protocol::AdapterRequest;
use nix::sys::signal::Signal;

/// An adapter whose manifest has `changed` in place of the fake's line of this name, or besides.
fn changed(lab: &Lab, name: &str, changed: &str) {
    lab.fake(name, &[QUICK, "op_ns=100000"]);
    let key = changed.split(' ').next().expect("a key");
    lab.rewrite(name, |text| {
        let kept = text.lines().filter(|line| line.split(' ').next() != Some(key));
        kept.chain([changed]).collect::<Vec<_>>().join("\n")
    });
}

#[test]
fn mistakes_in_a_manifest_are_named_with_their_file() {
    let lab = Lab::new();
    let needs = "[[needs]]\nrun = [\"true\"]\nmatch = \"\"\nwants = \"x\"\ninstall_hint = \"x\"";
    let generation = "[[generations]]\nversions = '^1'";
    let mistakes = [
        ("start = []", "`start` names no program"),
        ("start = [\"\"]", "`start` names no program"),
        ("start = \"x\"", "invalid type: string"),
        ("warmup_s = \"1\"", "invalid type: string"),
        ("warmup_s = -1.0", "`warmup_s` is from 0 to 3600, not -1"),
        ("warmup_s = nan", "`warmup_s` is from 0 to 3600, not NaN"),
        ("name = \"../x\"", "`name` is of letters, digits and . _ - +, not \"../x\""),
        ("default = \"\"", "`default` is of letters"),
        ("nmae = \"x\"", "unknown field `nmae`"),
        ("install = [[]]", "`install` names no program"),
        ("install_version = [[]]", "`install_version` names no program"),
        ("unknown_version = '('", "`unknown_version` is no regular expression: (: "),
        ("out_of_memory = '('", "`out_of_memory` is no regular expression: (: "),
        ("memory_flag = \"X\"", "`memory_flag` is NAME=VALUE with {mib} in it, not \"X\""),
        ("memory_flag = \"X=1\"", "`memory_flag` is NAME=VALUE with {mib} in it, not \"X=1\""),
        (&needs.replace("[\"true\"]", "[]"), "`needs.run` names no program"),
        (&needs.replace("match = \"\"", "match = '['"), "`needs.match` is no regular"),
        (&generation.replace("^1", "*"), "`generations.versions` is no regular expression: *: "),
        (&format!("{generation}\nstart = []"), "`generations.start` names no program"),
        (
            &format!("{generation}\noptions.a = {{ default = '', match = '+', wants = '' }}"),
            "`generations.options.match` is no regular expression",
        ),
    ];
    for (line, expected) in mistakes {
        changed(&lab, "wrong", line);
        let output = lab.run(["adapters", "list"]);
        let told = stderr(&output);
        let place = lab.path("adapters/wrong/adapter.toml").display().to_string();
        let is_said = told.starts_with(&format!("error: {place}: ")) && told.contains(expected);
        assert!(code(&output) == 5 && is_said, "{line}: {}", said(&output));
    }
    fs::write(lab.path("adapters/wrong/adapter.toml"), [0xff]).expect("a manifest");
    let output = lab.run(["adapters", "list"]);
    assert_eq!(code(&output), 5, "{}", said(&output));
    assert!(stderr(&output).contains("wrong/adapter.toml: stream did not contain valid UTF-8"));
    changed(&lab, "wrong", "test = []");
    let output = lab.run(["adapters", "test", "wrong"]);
    assert!(stderr(&output).starts_with("error: wrong has no tests\n"), "{}", said(&output));
}

/// The core does not know which tests want a server: the runner names those that it skips.
#[test]
fn adapters_test_claims_no_test_that_it_does_not_know() {
    let lab = Lab::new();
    changed(&lab, "even", "test = ['echo', '1 skipped']");
    let output = lab.run(["adapters", "test", "even"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert!(stdout(&output).contains("1 skipped"), "{}", said(&output));
    assert!(!stderr(&output).contains("server"), "{}", said(&output));
}

#[test]
fn a_path_that_is_no_utf8_is_refused() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK, "op_ns=100000"]);
    let name = OsStr::from_bytes(b"out\xff");
    let words = lab.words(&["even"], &["--rounds", "1"]);
    let words = words.iter().map(|it| if it == "out" { name } else { OsStr::new(it) });
    let output = lab.run(words);
    assert_eq!(code(&output), 2, "{}", said(&output));
    let expected = "out\u{fffd} is not UTF-8\nhint: choose another --out";
    assert!(stderr(&output).contains(expected), "{}", said(&output));
    assert!(!lab.path("").join(name).exists(), "nothing was begun");
    // Nor a folder to run in.
    fs::create_dir(lab.path("").join(name)).expect("a folder");
    let mut command = lab.command(lab.words(&["even"], &["--rounds", "1"]));
    let output = command.current_dir(lab.path("").join(name)).output().expect("it runs");
    assert_eq!(code(&output), 2, "{}", said(&output));
}

#[test]
fn options_that_drivers_would_ignore_are_refused() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK, "op_ns=100000"]);
    let told = |option: &str| {
        let output = lab.experiment(&["even"], &["--plan", "--option", option]);
        (code(&output), stderr(&output))
    };
    let refused = |name: &str, hint: &str| {
        format!("error: --option {name}: connection strings have no such option\nhint: {hint}\n")
    };
    let expected = refused("maxPolSize", "did you mean maxPoolSize?");
    assert_eq!(told("maxPolSize=3"), (2, expected));
    let own = "write an option of an adapter after its name: -d NAME/KEY=VALUE";
    assert_eq!(told("runtimeversion=3"), (2, refused("runtimeversion", own)));
    for option in ["maxpoolsize=3", "tlsCAFile=x", "replicaSet=rs"] {
        assert_eq!(told(option).0, 0, "{option}");
    }
}

/// The adapter `name` is this script, then the fake.
fn scripted(lab: &Lab, name: &str, script: &str) {
    lab.scripted(
        name,
        &format!("{script}\nexec {}", fake_command(&format!("{QUICK} op_ns=100000"))),
    );
}

#[test]
fn children_of_adapters_end_with_a_killed_mongodyno() {
    let lab = Lab::new();
    scripted(&lab, "wrapper", "sleep 601 <&- >&- 2>&- & setsid sleep 602 <&- >&- 2>&- &");
    let mut child = lab.start(lab.words(&["wrapper"], &["--rounds", "1000"]));
    wait_until("both run", || {
        lab.process("sleep 601").is_some() && lab.process("sleep 602").is_some()
    });
    send(pid(&child), Signal::SIGKILL);
    child.wait().expect("ends");
    lab.assert_nothing_runs();
}

#[test]
fn endless_output_of_an_adapter_is_cut() {
    let lab = Lab::new();
    scripted(&lab, "loud", "head -c 20000000 /dev/zero | tr '\\\\0' x | fold -w 1000 >&2");
    let output = lab.experiment(&["loud"], &["--rounds", "1"]);
    assert_eq!(lab.runs().iter().filter(|run| run["failed"].is_null()).count(), lab.runs().len());
    let log = lab.path("out/logs/r01-arm0.log");
    let text = fs::read_to_string(&log).unwrap_or_else(|it| panic!("{it}: {}", said(&output)));
    assert!((7 << 20..9 << 20).contains(&text.len()), "{}", text.len());
    let last = "\nmongodyno: more than 8 MiB; the rest is left out\n";
    assert!(text.ends_with(last), "{}", &text[text.len() - 100..]);
}

#[tokio::test]
async fn an_adapter_that_does_not_read_has_no_more_time_than_one_that_does_not_answer() {
    let environment = Environment::of_command(&["sleep".to_owned(), "600".to_owned()], vec![]);
    let log = crate::support::scratch("deaf").join("log");
    let mut process = AdapterProcess::spawn(&environment, &log, None).expect("it starts");
    let deaf = async {
        // More than a pipe holds.
        process.send_line(&"x".repeat(1 << 20)).await;
        process.request(&AdapterRequest::Close, Duration::from_millis(200)).await
    };
    let failure = tokio::time::timeout(HANG, deaf).await.expect("it does not hang");
    assert!(matches!(failure, Err(Failure::Hung { request: "close", .. })), "{failure:?}");
}

#[test]
fn an_adapter_of_an_older_contract_is_named() {
    let lab = Lab::new();
    let refusal = r#"{"type":"error","code":"protocol","message":"no version in common"}"#;
    lab.scripted("old", &format!("read line; echo '{refusal}'; sleep 60"));
    let text = said(&lab.experiment(&["old"], &["--rounds", "1"]));
    let expected = "the adapter speaks protocol 1, this mongodyno speaks 2; update the adapter";
    assert!(text.contains(expected), "{text}");
    lab.assert_nothing_runs();
}

#[test]
fn private_documents_stay_private() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK, "op_ns=100000"]);
    let documents = lab.write("documents.jsonl", "{\"a\": 1}\n");
    fs::set_permissions(&documents, fs::Permissions::from_mode(0o600)).expect("it is ours");
    let workload = format!(
        "name: x\nwhy: x\ncollections:\n  c:\n    file: {}\nphases:\n  - operation: insert_one\n",
        documents.display()
    );
    lab.write("x.yaml", &workload);
    let words =
        ["run", "x.yaml", "--server", "absorber", "--out", "out", "-d", "even", "--rounds=1"];
    let output = lab.run(words);
    let pool = lab.path("out/materials/pool0.bson");
    let mode = fs::metadata(&pool).unwrap_or_else(|it| panic!("{it}: {}", said(&output)));
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
}

#[test]
fn an_orphaned_installer_and_the_next_one_do_not_meet() {
    let lab = Lab::new();
    // The installer notes its begin and end, and its child would go on without it.
    let notes = lab.path("notes").display().to_string();
    let script = format!(
        "echo begin >>{notes}; (trap '' TERM HUP; sleep 3; touch late); \
                          echo end >>{notes}"
    );
    changed(&lab, "slow", &format!("install = [[\"sh\", \"-c\", {script:?}]]"));
    let noted = || fs::read_to_string(lab.path("notes")).unwrap_or_default();
    let mut first = lab.start(["adapters", "install", "slow"]);
    wait_until("the installer works", || noted() == "begin\n");
    send(pid(&first), Signal::SIGKILL);
    first.wait().expect("ends");
    let output = lab.run(["adapters", "install", "slow"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(noted(), "begin\nbegin\nend\n", "the orphan was ended before");
    let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(Path::new(&folder).join("late").exists() && Path::new(&folder).join(".ready").exists());
    lab.assert_nothing_runs();
}

#[test]
fn a_background_server_keeps_nothing_of_its_caller() {
    let lab = Lab::with_shared_cache();
    let lock = lab.write("lock", "");
    // A shell script would call it like this, with `exec 9>lock; flock 9`, in a pipe.
    let script = "exec 9>>lock 8>&1; flock 9; exec \"$0\" server start >started";
    let mut shell = Command::new("sh");
    shell
        .args(["-c", script, env!("CARGO_BIN_EXE_mongodyno")])
        .current_dir(lab.path(""))
        .stdout(Stdio::piped());
    shell.stderr(File::create(lab.path("stderr")).expect("a file"));
    let child = shell.spawn().expect("it starts");
    // Ends only when no one holds the pipe any more.
    let output = child.wait_with_output().expect("it ends");
    let told = fs::read_to_string(lab.path("stderr")).expect("a file");
    let free = File::open(&lock).expect("a file").try_lock();
    let name = told.split(" runs; ").next().and_then(|it| it.lines().last()).expect("its name");
    let stopped = lab.run(["server", "stop", name]);
    assert!(output.status.success(), "{told}");
    assert!(free.is_ok(), "the lock is held: {free:?}");
    assert!(stopped.status.success(), "{}", said(&stopped));
}

#[test]
fn a_file_that_may_grow_no_more_is_an_error_for_people() {
    let lab = Lab::even_and_slow();
    let words = lab.words(&["even", "slow"], &["--rounds", "1"]);
    let shell = ["sh", "-c", "ulimit -f 8; exec \"$0\" \"$@\""];
    let output = lab.wrapped(&shell, words).output().expect("it starts");
    assert_eq!(code(&output), 5, "{}", said(&output));
    let told = stderr(&output);
    assert!(told.contains("File too large"), "{}", said(&output));
    assert!(told.contains("hint: raise the limit of a file's size (ulimit -f)"), "{told}");
}

#[test]
fn without_proc_nothing_panics() {
    let private = Command::new("unshare").args(["-m", "true"]).output();
    if !private.is_ok_and(|output| output.status.success()) {
        let test = "faults_processes/without_proc_nothing_panics";
        return crate::support::skip(test, "`unshare -m` needs root");
    }
    let lab = Lab::even_and_slow();
    fs::create_dir(lab.path("empty")).expect("a folder");
    let hidden = "mount --bind empty /proc || exit 99; exec \"$0\" \"$@\"";
    let wrapper = ["unshare", "-m", "sh", "-c", hidden];
    let run = lab.words(&["even", "slow"], &["--rounds", "1"]);
    let embedded = ["server", "start"].map(str::to_owned).to_vec();
    let limited = lab.words(&["even", "slow"], &["--rounds", "1", "--client-memory", "256MiB"]);
    for words in [run, limited, embedded] {
        let output = lab.wrapped(&wrapper, &words).output().expect("it starts");
        let told = said(&output);
        assert!(output.status.code().is_some_and(|code| code < 99), "{told}");
        assert!(!told.contains("panicked"), "{told}");
        let _ = fs::remove_dir_all(lab.path("out"));
    }
}
