//! The command line: help, plans, mistakes, exit codes. Texts are snapshots, so that a change of
//! one is seen (`INSTA_UPDATE=always` takes it over).

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::fake_support::{Lab, QUICK, code, fixture, stderr, stdout};
use crate::support::said;
use insta::assert_snapshot;
use serde_json::Value;

/// Runs each line of words and notes its output, without paths of this machine.
fn transcript(lab: &Lab, lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        let output = lab.run(line.split_whitespace());
        let said = (stdout(&output), stderr(&output), code(&output));
        let _ = write!(text, "$ mongodyno {line}\n{}{}[exit {}]\n\n", said.0, said.1, said.2);
    }
    plain(lab, &text)
}

fn plain(lab: &Lab, text: &str) -> String {
    let canonical = lab.path("").canonicalize().expect("a folder").display().to_string();
    let text = text
        .replace(&canonical, "LAB")
        .replace(&lab.path("").display().to_string(), "LAB/")
        .replace(&fixture("").display().to_string(), "FIXTURES/");
    let text = regex_lite::Regex::new("installed after [0-9]+ s")
        .expect("an expression")
        .replace_all(&text, "installed after N s");
    text.lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
}

/// A lab with `even` and `slow`, and the no-op workload as `noop.yaml`.
fn lab() -> Lab {
    let lab = Lab::even_and_slow();
    fs::copy(fixture("workloads/noop.yaml"), lab.path("noop.yaml")).expect("a copy");
    lab
}

#[test]
fn every_verb_explains_itself() {
    let verbs = [
        "",
        "run",
        "study broker",
        "resume",
        "report",
        "diagnose",
        "check",
        "clean",
        "workloads",
        "adapters",
        "server",
        "absorber",
        "tap",
        "schema",
    ];
    let lines: Vec<String> = verbs.iter().map(|verb| format!("{verb} --help")).collect();
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    assert_snapshot!("help", transcript(&lab(), &lines));
}

#[test]
fn the_version_is_that_of_the_package() {
    let output = lab().run(["--version"]);
    assert_eq!(stdout(&output), format!("mongodyno {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn workloads_are_listed_and_printed_as_they_are() {
    let lab = lab();
    assert_snapshot!("workloads", transcript(&lab, &["workloads", "workloads nope"]));
    let text = stdout(&lab.run(["workloads", "crud"]));
    let file = crate::support::root().join("workloads/applications/crud.yaml");
    assert_eq!(text, fs::read_to_string(file).expect("a file"));
}

#[test]
fn adapters_are_listed_with_what_they_lack() {
    let lab = lab();
    absent(&lab);
    let rows = stdout(&lab.run(["adapters", "list", "--json"]));
    let rows: Vec<Value> = serde_json::from_str(&rows).expect("JSON");
    let state = |name: &str| {
        let row = rows.iter().find(|row| row["name"] == name);
        row.unwrap_or_else(|| panic!("{name} in {rows:?}"))["state"].as_str().expect("text")
    };
    assert_eq!(state("even"), "can run it");
    assert!(state("absent").contains("needs Absent 1 or newer (`no-such-toolchain` not found)"));
    assert!(state("absent").contains("apt install absent"));
    for name in ["go", "node", "python", "rust"] {
        assert!(!state(name).is_empty(), "{name} comes with the binary");
    }
    let text = stdout(&lab.run(["adapters", "list"]));
    assert!(text.contains("fake-driver (none)"), "{text}");
}

/// Makes an adapter whose toolchain no machine has.
fn absent(lab: &Lab) {
    lab.fake("absent", &[]);
    let needs = "[[needs]]\nrun = [\"no-such-toolchain\", \"--version\"]\nmatch = \"1\"\n\
                 wants = \"Absent 1 or newer\"\ninstall_hint = \"apt install absent\"\n";
    lab.rewrite("absent", |text| text.to_owned() + needs);
}

#[test]
fn a_plan_shows_what_would_be_done_and_does_nothing() {
    let lab = lab();
    let lines = [
        "run noop.yaml --plan -d even -d slow --seed 1 --server none",
        "run noop.yaml --plan -d even --seed 1 --interleave runs --rounds 12 --phase second",
        "run crud --plan -d even -d slow --seed 1 --quick --set size=1000",
        "run mixed --plan -d even --seed 1 --set threads=2",
        "run rate --plan -d even --seed 1",
        "run insert-many --plan -d even --seed 1 --phase insert_small",
        "run noop.yaml --plan -d even --seed 1 --phase first --sweep warmup=1,2",
    ];
    assert_snapshot!("plans", transcript(&lab, &lines));
    let installed = fs::read_dir(lab.path("home")).expect("the cache").count();
    assert_eq!(installed, 0, "a plan installs nothing");
    assert!(!lab.path("mongodyno-results").exists(), "a plan leaves no folder");
}

#[test]
fn mistakes_on_the_command_line_end_with_2() {
    let lab = lab();
    let lines = [
        "",
        "frob",
        "run --nope",
        "run noop.yaml -d even --option maxPoolSiez=3",
        "run noop.yaml -d evn",
        "run noop.yaml -d something-else",
        "run noop.yaml -d fake-driver",
        "run noop.yaml -d mongolian",
        "run noop.yaml -d even/tls=true",
        "-d even -d slow",
        "run noop.yaml -d even --rounds 0",
        "run noop.yaml -d even --rounds many",
        "run noop.yaml -d even --interleave sometimes",
        "run noop.yaml -d even --seed -1",
        "run noop.yaml -d even --set warmup",
        "run noop.yaml -d even --option maxPoolSize",
        "run noop.yaml -d even --sweep warmup",
        "run noop.yaml -d even --sweep warmup=",
        "run noop.yaml -d even --phase third",
        "run rate -d even --interleave turns",
        "run crud -d even --server none",
        "run crud -d even --server postgres",
        "run crud -d even --server mongodb://localhost",
        "run crud -d even --uri localhost",
        "run crud -d even --plan --server postgres",
        "run crud -d even --plan --server embedded@3",
        "run crud -d even --plan --uri localhost:27017",
        "run crud -d even --plan --uri a:1,b:2",
        "run crud -d even --plan --uri mongodb://a:1,mongodb://b:2",
        "run crud -d even --plan --uri mongodb://a/?nonsense=1",
        "run crud -d even --plan --hosts a:1",
        "run crud -d even --plan --out adapters",
        "run crud -d even --uri mongodb://localhost --server embedded",
        "report nowhere",
        "check even -- true",
        "adapters install evn",
        "server install mongod",
        "server install embedded@3",
        "server stop nothing",
        "schema nothing",
    ];
    let text = transcript(&lab, &lines);
    assert_eq!(text.matches("[exit 2]").count(), lines.len(), "{text}");
    assert_snapshot!("mistakes", text);
    assert!(!lab.path("home/servers").exists(), "no server is downloaded for a mistake");
}

#[test]
fn mistakes_in_a_workload_end_with_3() {
    let lab = lab();
    let files = [
        "text-for-number",
        "unknown-operation",
        "unknown-top-key",
        "unknown-keys",
        "negative-count",
        "above-16-mib",
        "too-small",
        "missing-why",
        "parameter-value",
        "no-yaml",
        "count-of-documents",
        "operation-as-key",
    ];
    let line = |file: &&str| format!("run FIXTURES/{file}.yaml -d even --plan");
    let lines: Vec<String> = files.iter().map(line).collect();
    let bad = fixture("workload/bad").display().to_string();
    let mut text = String::new();
    for line in lines {
        let output = lab.run(line.replace("FIXTURES", &bad).split_whitespace());
        assert_eq!(code(&output), 3, "{}", said(&output));
        assert_eq!(stdout(&output), "", "a mistake is no result");
        let _ = write!(text, "$ mongodyno {line}\n{}\n", stderr(&output));
    }
    assert_snapshot!("workload_mistakes", plain(&lab, &text));
    let lines = [
        "run nope -d even",
        "run nope.yaml -d even",
        "run noop.yaml -d even --set nope=1",
        "run noop.yaml -d even --sweep nope=1,2",
        "run crud -d even --set threads=none",
    ];
    assert_snapshot!("workload_not_there", transcript(&lab, &lines));
}

#[test]
fn a_folder_that_is_no_experiment_is_refused() {
    let lab = lab();
    assert_eq!(code(&lab.run(lab.words(&["even"], &["--rounds", "1"]))), 0);
    let record = fs::read_to_string(lab.path("out/experiment.json")).expect("a record");
    fs::create_dir(lab.path("empty")).expect("a folder");
    for (name, text) in [
        ("damaged", record.split_once("\"started_at\"").expect("a start").0.to_owned()),
        ("newer", record.replace("\"schema_version\": ", "\"schema_version\": 99")),
        ("torn", record),
    ] {
        fs::create_dir(lab.path(name)).expect("a folder");
        lab.write(&format!("{name}/experiment.json"), &text);
    }
    lab.write("torn/runs.jsonl", "{\"round\":\n{}\n{}\n");
    let lines = ["report empty", "report noop.yaml", "report damaged", "report newer"];
    let text = transcript(&lab, &lines);
    assert_eq!(text.matches("[exit 2]").count(), lines.len(), "{text}");
    assert_snapshot!("no_experiment", text);
    let torn = lab.run(["report", "torn"]);
    assert_eq!(code(&torn), 5, "{}", said(&torn));
    assert!(stderr(&torn).contains("torn/runs.jsonl:1: "), "{}", said(&torn));
}

#[test]
fn results_are_never_overwritten() {
    let lab = lab();
    fs::create_dir(lab.path("out")).expect("a folder");
    lab.write("out/thesis.txt", "three years of work");
    let output = lab.experiment(&["even"], &["--rounds", "1"]);
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(stderr(&output).contains("out exists and is not empty\nhint: choose another --out"));
    assert_eq!(fs::read_dir(lab.path("out")).expect("a folder").count(), 1);
}

#[test]
fn a_lack_of_the_machine_ends_with_5() {
    let lab = lab();
    absent(&lab);
    lab.fake("gone", &[]);
    let install = "install_version = [[\"sh\", \"-c\", \"echo no such version; exit 1\"]]\n\
                   unknown_version = \"no such version\"\n";
    lab.rewrite("gone", |text| text.to_owned() + install);
    let lines = [
        "run noop.yaml --server none -d absent",
        "run noop.yaml --server none -d gone@9.9",
        "run noop.yaml --server none -d even --out /proc/nowhere",
        "run noop.yaml --server none --adapters-dir nowhere -d even",
        "run crud --plan -d even --server ./nowhere",
        "run crud --plan -d absent",
        "run crud --plan -d even --offline",
        "run crud -d even --offline",
    ];
    let text = transcript(&lab, &lines);
    assert_eq!(text.matches("[exit 5]").count(), lines.len(), "{text}");
    assert_snapshot!("lacking", text);
}

#[test]
fn a_server_that_is_not_there_ends_with_4() {
    let lab = lab();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let uri = format!("mongodb://somebody:s3cret@{address}/");
    let words = ["run", "crud", "-d", "even", "--out", "out", "--uri", uri.as_str()];
    let output = lab.run(words);
    assert_eq!(code(&output), 4, "{}", said(&output));
    let text = stderr(&output);
    let expected = format!("error: no server listens at mongodb://***:***@{address}/");
    assert!(text.contains(&expected), "{text}");
    assert!(text.contains("\nhint: start the server, correct host and port"), "{text}");
    assert!(!said(&output).contains("s3cret"), "{}", said(&output));
    assert_eq!(stdout(&output), "");
}

#[test]
fn a_check_that_fails_ends_with_1_and_a_good_one_with_0() {
    let lab = lab();
    let output = lab.run(["check", "--offline", "--", "false"]);
    assert_eq!(code(&output), 1, "{}", said(&output));
    assert!(stdout(&output).contains("FAIL  "), "{}", said(&output));
    assert!(stderr(&output).contains("checks failed: "), "{}", said(&output));
    assert!(stderr(&output).contains("\nhint: protocol/SPEC.md"), "{}", said(&output));
}

#[test]
fn nothing_comparable_ends_with_6_and_is_shown() {
    let lab = lab();
    lab.fake("crash", &[QUICK, "at=turn:2", "fault=crash"]);
    let output = lab.experiment(&["even", "crash"], &["--rounds", "2"]);
    assert_eq!(code(&output), 6, "{}", said(&output));
    assert!(stdout(&output).contains("NOT COMPARABLE: crash@1.0.0"), "{}", said(&output));
    let expected = "error: no comparison could be made: each one is NOT COMPARABLE\nhint: ";
    assert!(stderr(&output).contains(expected), "{}", said(&output));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let lab = lab();
    let mut child = lab.command(["workloads", "crud"]);
    let mut child = child.stdout(std::process::Stdio::piped()).spawn().expect("starts");
    drop(child.stdout.take());
    assert!(child.wait().expect("ends").success());
}

#[test]
fn the_command_line_wins_over_the_variable() {
    let lab = lab();
    let words =
        |more: &[&str]| lab.words(&["even"], &[&["--rounds", "1", "--plan"], more].concat());
    let with = |words: &[String]| {
        let mut command = lab.command(words);
        command.env("MDYN_URI", "mongodb://bob:s3cret@h:1/").output().expect("it runs")
    };
    let output = with(&words(&[]));
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(stderr(&output), "--server was given: MDYN_URI is not used\n");
    let hosts = ["run", "noop.yaml", "-d", "even", "--plan", "--hosts", "h:1,h:2"];
    let output = with(&hosts.map(str::to_owned));
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(stderr(&output), "--hosts was given: MDYN_URI is not used\n");
    assert!(stdout(&output).contains("h:1, h:2"), "{}", said(&output));
    lab.write("uri", "mongodb://127.0.0.1:1/");
    let both = lab.run([&hosts[..], &["--uri-file", "uri"]].concat());
    assert_eq!(code(&both), 2, "{}", said(&both));
    assert!(stderr(&both).contains("cannot be used with"), "{}", said(&both));
    let clean = ["clean", "--uri-file", "uri"].map(str::to_owned);
    let output = with(&clean);
    assert_eq!(code(&output), 4, "{}", said(&output));
    assert!(stderr(&output).contains("warning: others may read uri: chmod 600 uri\n"));
    assert!(stderr(&output).contains("mongodb://127.0.0.1:1/"), "{}", said(&output));
    lab.write("uri", "");
    let output = with(&clean);
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(stderr(&output).contains("the file must hold one line"), "{}", said(&output));
}

/// Without rights over foreign files: root in a test may write everywhere.
fn powerless(lab: &Lab, words: &[String]) -> std::process::Command {
    if !nix::unistd::geteuid().is_root() {
        return lab.command(words);
    }
    lab.wrapped(&["setpriv", "--bounding-set=-all", "--inh-caps=-all"], words)
}

#[test]
fn a_cache_is_made_for_its_owner_and_may_then_be_read_only() {
    let lab = lab();
    let words = |out: &str| {
        let mut words = lab.words(&["even"], &["--rounds", "1"]);
        let at = words.iter().position(|it| it == "out").expect("--out out");
        out.clone_into(&mut words[at]);
        words
    };
    // Relative to its own folder.
    let output = lab.command(words("one")).env("MDYN_HOME", "home").output().expect("it runs");
    assert_eq!(code(&output), 0, "{}", said(&output));
    let mode = |name: &str| fs::metadata(lab.path(name)).expect("a folder").permissions().mode();
    assert_eq!(mode("home") & 0o777, 0o700);
    let chmod = |mode: &str| {
        let mut command = std::process::Command::new("chmod");
        let done = command.args(["-R", mode]).arg(lab.path("home")).status();
        assert!(done.expect("chmod runs").success());
    };
    chmod("a-w");
    let output = powerless(&lab, &words("two")).output().expect("it runs");
    chmod("u+w");
    assert_eq!(code(&output), 0, "{}", said(&output));
    lab.fake("more", &[QUICK]);
    let releases = "releases = { command = ['echo', '1.2.3'], format = 'words' }\n";
    lab.rewrite("more", |text| text.to_owned() + releases);
    chmod("a-w");
    let output = powerless(&lab, &["drivers", "--versions", "more"].map(str::to_owned)).output();
    assert_eq!(code(output.as_ref().expect("it runs")), 0, "what is asked is not kept: {output:?}");
    let more = ["adapters", "install", "more"].map(str::to_owned);
    let output = powerless(&lab, &more).output().expect("it runs");
    chmod("u+w");
    assert_eq!(code(&output), 5, "what is not there cannot be made: {}", said(&output));
}

#[test]
fn a_cache_is_its_owners_whatever_the_umask() {
    let lab = lab();
    for _ in 0..2 {
        let umask = ["sh", "-c", "umask 002; exec \"$0\" \"$@\""];
        let output = lab.wrapped(&umask, ["adapters", "install", "even"]).output();
        let output = output.expect("it runs");
        assert_eq!(code(&output), 0, "{}", said(&output));
    }
}

#[test]
fn a_cache_that_others_may_write_is_refused() {
    let lab = lab();
    let refused = |command: &mut std::process::Command, expected: &str| {
        let output = command.output().expect("it runs");
        assert_eq!(code(&output), 5, "{}", said(&output));
        assert!(stderr(&output).contains(expected), "{}", said(&output));
    };
    let words = ["adapters", "install", "even"];
    let mut homeless = lab.command(words);
    homeless.env_remove("MDYN_HOME").env_remove("XDG_CACHE_HOME").env_remove("HOME");
    refused(&mut homeless, "nor HOME is set\nhint: set MDYN_HOME to a folder that only you");
    fs::create_dir_all(lab.path("home/servers")).expect("a folder");
    for folder in ["home", "home/servers"] {
        for mode in [0o777, 0o1777, 0o775, 0o757] {
            let set =
                |mode| fs::set_permissions(lab.path(folder), fs::Permissions::from_mode(mode));
            set(mode).expect("it is ours");
            refused(&mut lab.command(words), "\nhint: chmod -R go-w ");
            set(0o755).expect("it is ours");
        }
    }
    if nix::unistd::geteuid().is_root() {
        std::os::unix::fs::chown(lab.path("home"), Some(12_345), None).expect("root may");
        refused(&mut lab.command(words), "error: somebody else owns ");
        std::os::unix::fs::chown(lab.path("home"), Some(0), None).expect("root may");
    }
    let output = lab.run(words);
    assert_eq!(code(&output), 0, "{}", said(&output));
}
