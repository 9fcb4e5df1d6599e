//! Passwords: a server that wants one says so. A given one reaches only the drivers, however
//! much these print.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use crate::fake_support::real::{own_server, real_lab, with_client, words};
use crate::fake_support::{Lab, QUICK, code, fake_command, noop, pid, stderr, stdout};
use crate::support::said;
use mongodb::bson::doc;
use server::ServerHandle;

/// The password in the URI, and in the forms in which a driver may print it.
const PASSWORD: [&str; 3] = ["s3cret%2Fw0rd", "s3cret/w0rd", "s3cret%2fw0rd"];

/// A server with access control and one user; returns a URI without credentials, and one with.
fn with_password(test: &str) -> Option<(ServerHandle, String, String)> {
    let server = own_server(test, &["--auth"])?;
    let user = doc! { "createUser": "bob", "pwd": PASSWORD[1], "roles": ["root"] };
    // mongod lets a client of the same machine make the first user.
    with_client(server.uri(), async |client| client.database("admin").run_command(user).await);
    let bare = server.uri().to_owned();
    let full = bare.replace("mongodb://", &format!("mongodb://bob:{}@", PASSWORD[0]));
    Some((server, bare, full + "?authSource=admin&appName=lab@home"))
}

#[test]
fn a_server_that_needs_a_password_says_so() {
    let test = "faults_passwords/a_server_that_needs_a_password_says_so";
    let Some(lab) = real_lab(test) else { return };
    let Some((_server, bare, full)) = with_password(test) else { return };
    let wrong = full.replace("s3cret", "wr0ng");
    let needs = "needs a password\nhint: put user and password into the URI: mongodb://USER:";
    let refuses = "refuses these credentials\nhint: correct user and password, and name";
    for (uri, expected) in [(&bare, needs), (&wrong, refuses)] {
        let output = lab.run(words(&["--rounds", "1", "--uri", uri]));
        assert_eq!(code(&output), 4, "{}", said(&output));
        let told = stderr(&output);
        assert!(told.contains("error: mongodb://") && told.contains(expected), "{told}");
        assert!(!told.contains("wr0ng") && !told.contains("bob"), "{told}");
        assert_eq!(stdout(&output), "");
        assert!(!lab.path("out").exists(), "the same command may be given again");
        lab.assert_nothing_runs();
    }
    let output = lab.run(words(&["--rounds", "1", "--uri", &full]));
    assert!([0, 6].contains(&code(&output)), "the right one works: {}", said(&output));
}

#[test]
fn a_user_who_may_not_write_leaves_no_folder() {
    let test = "passwords/a_user_who_may_not_write_leaves_no_folder";
    let Some(lab) = real_lab(test) else { return };
    let Some((_server, _, full)) = with_password(test) else { return };
    let user = doc! { "createUser": "reader", "pwd": "reads", "roles": ["readAnyDatabase"] };
    with_client(&full, async |client| client.database("admin").run_command(user).await);
    let reader = full.replace(&format!("bob:{}", PASSWORD[0]), "reader:reads");
    for uri in [&reader, &full] {
        let output = lab.run(words(&["--rounds", "1", "--uri", uri]));
        let is_reader = *uri == reader;
        assert_eq!(code(&output) == 4, is_reader, "{}", said(&output));
        assert_eq!(!lab.path("out").exists(), is_reader, "the same command may be given again");
    }
}

/// Adapters that repeat their whole input: in the log, on stdout, in answers. Their words are in
/// files, for command lines are searched.
fn talkative(lab: &Lab) {
    let fake = fake_command(QUICK);
    let chatty = "echo \"heard $line\" >&2; echo \"heard $line\" >&3; echo s3cret/w0rd >&2";
    let answer = r#"{"type":"error","code":"connect","message":"no way to URI (s3cret/w0rd)"}"#;
    let answer = answer.replace("URI", "mongodb://bob:s3cret%2Fw0rd@host/");
    let case = "case \"$line\" in *'\"type\":\"open\"'*) printf '\\036%s\\n'";
    let refusing = format!("{case} '{answer}' >&3; continue;; esac");
    for (name, act) in [("chatty", chatty), ("refusing", &refusing)] {
        let hear = format!("while IFS= read -r line; do {act}; printf '%s\\n' \"$line\"; done");
        let told = r#"s/"resolved":{/&"pass":"s3cret%2fw0rd","uri":"mongodb:\/\/bob:s3cret@h",/"#;
        let told = lab.write("told.sed", told);
        let script = format!("{{ {hear} | {fake} | sed -u -f {}; }} 3>&1\n", told.display());
        let script = lab.write(&format!("{name}.sh"), &script);
        lab.scripted(name, &format!("exec sh {}", script.display()));
    }
}

fn assert_no_password(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for secret in PASSWORD {
        if let Some(at) = text.find(secret) {
            let around: String = text[..at].chars().rev().take(80).collect();
            let around: String = around.chars().rev().collect();
            panic!("the password stands in {what} after: {around}");
        }
    }
}

#[test]
fn a_password_appears_nowhere() {
    let test = "faults_passwords/a_password_appears_nowhere";
    let Some(lab) = real_lab(test) else { return };
    let Some((server, _, uri)) = with_password(test) else { return };
    talkative(&lab);
    let noop = noop();
    let drivers = ["-d", "python", "-d", "chatty", "-d", "refusing"];
    let mut samples = 0;
    lab.write("secret", &format!("{uri}\n"));
    // On the command line, in a file, and in the environment, there with one more child.
    for given in [format!("--uri={uri}"), "--uri-file=secret".to_owned(), "--tap".to_owned()] {
        let workload = if given.starts_with("--uri=") { "inserts.yaml" } else { &noop };
        let phase = if given.starts_with("--uri=") { "insert_one" } else { "first" };
        // Whole runs: turns would be added until they scatter little.
        let words = ["run", workload, "--out", "out", "--rounds", "1", "--interleave", "runs"];
        let words = [&words, &["--phase", phase][..], &drivers].concat();
        let mut command = lab.command(words.into_iter().map(str::to_owned).chain([given.clone()]));
        if given == "--tap" {
            command.env("MDYN_URI", &uri);
        }
        let open = |name| fs::File::create(lab.path(name)).expect("a file");
        command.stdout(open("stdout")).stderr(open("stderr"));
        let mut child = command.spawn().expect("it starts");
        while child.try_wait().expect("a child").is_none() {
            for (it, words) in lab.processes() {
                // Until its exec a child has its parent's words and variables.
                if it == pid(&child) || words.is_empty() || words.contains("mongodyno run ") {
                    continue;
                }
                assert_no_password("a command line", words.as_bytes());
                let environment = fs::read(format!("/proc/{it}/environ")).unwrap_or_default();
                assert_no_password(&format!("the environment of {words}"), &environment);
                samples += 1;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let mut found = lab.files("out");
        for name in ["stdout", "stderr"] {
            found.push((name.to_owned(), fs::read(lab.path(name)).expect("a file")));
        }
        for format in ["terminal", "html", "md", "json", "csv", "series", "benchstat"] {
            let output = lab.run(["report", "out", "--format", format]);
            assert_eq!(code(&output), 0, "{}", said(&output));
            found.push((format!("the {format} report"), output.stdout));
        }
        assert!(found.iter().any(|(name, _)| name.ends_with("report.html")));
        for (name, bytes) in &found {
            assert_no_password(name, bytes);
        }
        // The talkers did talk: their words were masked, and not missing.
        let log = fs::read_to_string(lab.path("out/logs/r01-arm2.log")).expect("a log");
        let heard = "heard {\"type\":\"open\",\"clients\":[{\"uri\":\"mongodb://***";
        assert!(log.contains(heard), "{log}");
        let reasons = lab.analysis()["arms"].to_string() + &lab.record()["unavailable"].to_string();
        assert!(reasons.contains("no way to mongodb://***:***@host/ (***)"), "{reasons}");
        assert_eq!(lab.analysis()["arms"][0]["failed"], 0, "{reasons}");
        assert_eq!(lab.record()["arms"][2]["resolved"]["pass"], "***");
        fs::remove_dir_all(lab.path("out")).expect("it is there");
    }
    assert!(samples > 0, "no child was looked at");
    drop(server);
}

#[test]
fn a_connection_string_in_the_wrong_place_is_not_repeated() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    let secret =
        "mongodb://bob:s3cret%2Fw0rd@host/?appName=a@b&authMechanismProperties=TOKEN:t0k3n";
    let noop = noop();
    let run =
        |more: &[&'static str]| [&["run", &noop, "--server", "none", "-d", "even"], more].concat();
    let (set, option) = (format!("n={secret}"), format!("appName={secret}"));
    let lines: [Vec<&str>; 14] = [
        vec!["report", secret],
        vec!["diagnose", secret],
        vec!["resume", secret],
        vec!["check", secret, "--offline"],
        vec!["run", secret],
        vec!["tap", "--to", secret],
        vec!["tap", "--to", "bob:s3cret/w0rd@host:27017"],
        vec!["tap", "--to", "127.0.0.1:1", "--link", secret],
        vec!["absorber", "--listen", secret],
        vec!["server", "start", secret],
        vec!["clean", secret],
        [&run(&["--set"])[..], &[&set]].concat(),
        [&run(&["--link"])[..], &[secret]].concat(),
        [&run(&["--option"])[..], &[&option, "--plan", "--phase", secret]].concat(),
    ];
    for line in lines {
        let output = lab.run(&line);
        assert!([2, 3, 5].contains(&code(&output)), "{line:?}: {}", said(&output));
        for part in ["s3cret", "t0k3n", "bob"] {
            assert!(!said(&output).contains(part), "{line:?}: {}", said(&output));
        }
    }
}

/// A verb, and what its `--help` says of its words.
struct Verb {
    words: Vec<String>,
    /// Flags that take a value, each with that value's name.
    flags: Vec<(String, String)>,
    variables: Vec<String>,
}

impl Verb {
    /// A verb and all below it: what is new is there as well.
    fn all(lab: &Lab, words: Vec<String>) -> Vec<Self> {
        let help = words.iter().map(String::as_str).chain(["--help"]);
        let help = stdout(&lab.run(help));
        let found = |pattern: &str| {
            let pattern = regex_lite::Regex::new(pattern).expect("a pattern");
            let each = pattern.captures_iter(&help).map(|it| it.extract::<2>().1);
            each.map(|it| it.map(str::to_owned)).collect::<Vec<_>>()
        };
        let flags = found(r"(?m)^ +(?:-\w, )?(--[a-z-]+)[ =\[]+<([^>]+)>");
        let variables = found(r"\[env: (MDYN_([A-Z_]+))=");
        let below = help.split("\nCommands:\n").nth(1).unwrap_or_default();
        let below = below.split("\n\n").next().unwrap_or_default().lines();
        let names = below.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        let names = names.filter(|name| !["", "help"].contains(name));
        let each = names.flat_map(|it| Self::all(lab, [&words[..], &[it.to_owned()]].concat()));
        let below: Vec<Self> = each.collect();
        let flags = flags.into_iter().map(|[flag, value]| (flag, value)).collect();
        let variables = variables.into_iter().map(|[name, _]| name).collect();
        [Self { words, flags, variables }].into_iter().chain(below).collect()
    }

    /// Words that bring it as far as it comes without a server, in the way of `--plan`.
    fn whole(&self, noop: &str) -> Vec<String> {
        let more = match self.words.first().map(String::as_str) {
            Some("run") => vec![noop, "-d", "even", "--plan"],
            Some("study") if self.words.len() > 1 => vec!["-d", "even", "--plan"],
            Some("bisect") => vec![noop, "--server", "none", "-d", "none", "--phase", "none"],
            Some("report" | "resume" | "diff" | "diagnose" | "check") => vec!["none"],
            _ => vec![],
        };
        self.words.iter().map(String::as_str).chain(more).map(str::to_owned).collect()
    }
}

/// In every word, variable and file that there is, in the place of a driver too. Read are what is
/// printed, what is written and the words of children.
#[test]
fn no_flag_repeats_a_password() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    let uri = "mongodb://bobby:s3cretW0rd@127.0.0.1:1/?appName=a@b";
    let host = "bobby:s3cretW0rd@127.0.0.1:1";
    lab.write("uri", uri);
    lab.write("host", host);
    let noop = noop();
    let mut lines: Vec<(Vec<String>, Option<String>)> = Vec::new();
    let mut seen = BTreeSet::new();
    for mut verb in Verb::all(&lab, Vec::new()) {
        // All studies have the flags of one, and some more.
        let first = verb.words.first().cloned();
        verb.flags.retain(|(flag, _)| seen.insert((first.clone(), flag.clone())));
        verb.variables.retain(|name| seen.insert((first.clone(), name.clone())));
        let is_run = verb.words == ["run"];
        let mut give = |words: &[&str], variable: Option<&String>| {
            let own = || words.iter().map(|it| (*it).to_owned());
            lines.push((verb.whole(&noop).into_iter().chain(own()).collect(), variable.cloned()));
            if is_run {
                // To its end, where the value is one that can be.
                let out = format!("out-{}", lines.len());
                let run = lab.words(&["even"], &["--rounds", "1", "--phase", "first"]);
                let run = run.into_iter().map(|it| if it == "out" { out.clone() } else { it });
                lines.push((run.chain(own()).collect(), variable.cloned()));
            }
        };
        give(&[uri], None);
        give(&[host], None);
        for (flag, value) in &verb.flags {
            give(&[flag, uri], None);
            give(&[flag, host], None);
            give(&[&format!("{flag}={host}")], None);
            if value == "FILE" {
                give(&[flag, "uri"], None);
                give(&[flag, "host"], None);
            }
        }
        verb.variables.iter().for_each(|variable| give(&[], Some(variable)));
    }
    assert!(lines.len() > 300, "the help was read: {}", lines.len());
    let (lab, lines) = (&lab, &lines);
    std::thread::scope(|scope| {
        let parts = [0, 1].map(|part| {
            scope.spawn(move || {
                for (words, variable) in lines.iter().skip(part).step_by(2) {
                    let mut command = lab.wrapped(&["timeout", "60"], words);
                    command.envs(variable.iter().map(|name| (name, host)));
                    let output = command.stdin(Stdio::null()).output().expect("it runs");
                    assert_hidden(&format!("{words:?} {variable:?}"), &said(&output));
                    assert_ne!(code(&output), 124, "{words:?} goes on");
                }
            })
        });
        // The words of the binary itself are the user's.
        let is_own = |words: &str| words.contains("/mongodyno ") || words.contains("timeout ");
        while parts.iter().any(|part| !part.is_finished()) {
            for (_, words) in lab.processes().into_iter().filter(|(_, words)| !is_own(words)) {
                assert_hidden("a command line", &words);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let given = ["./uri", "./host"].map(|name| lab.path(name).display().to_string());
    let written = lab.files(".").into_iter();
    let written: Vec<_> = written.filter(|(path, _)| !given.contains(path)).collect();
    assert!(written.iter().any(|(path, _)| path.ends_with("experiment.json")), "some ran");
    for (path, bytes) in written {
        assert_hidden("a name", &path);
        assert_hidden(&path, &String::from_utf8_lossy(&bytes));
    }
}

fn assert_hidden(what: &str, text: &str) {
    for secret in ["s3cret", "W0rd", "bobby"] {
        assert!(!text.contains(secret), "{what}: {text}");
    }
}

/// `adapter:package@version` is told from user, password and host by the packages of adapters.
#[test]
fn a_driver_is_no_password() {
    let lab = Lab::new();
    let told = |driver: &str| said(&lab.run(["run", &noop(), "-d", driver, "--plan"]));
    for driver in ["node:mongolian@0.0.0", "csharp:MongoDB-CSharp@0.0.0"] {
        assert!(!told(driver).contains("***"), "{}", told(driver));
    }
    let other = told("java:hunter2@0.0.0");
    assert!(other.contains("error: java has no package ***"), "{other}");
}

/// Where no one expects user and password: in hosts, in parameters, in the lines of a workload.
#[test]
fn a_plan_and_a_mistake_show_no_password() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    let host = "bob:s3cret%2Fw0rd@h1:1";
    let uri = format!("mongodb://{host}/");
    let text = fs::read_to_string(noop()).expect("a workload");
    let hosts = format!("hosts: [\"{host}\", \"{host}2\"]\n");
    lab.write("hosts.yaml", &(text.clone() + &hosts));
    lab.write("wrong.yaml", &(text.clone() + "mistake: 1\n" + &hosts));
    let parameter = text.replace("why: Nothing", "why: By ${host}, nothing");
    lab.write("set.yaml", &parameter.replace("parameters:\n", "parameters:\n  host: h\n"));
    let pair = format!("{host},{host}2");
    let run = |workload: &str, more: &[&str]| {
        let words = [&["run", workload, "-d", "even"], more].concat();
        words.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let (set, sweep) = (format!("host={host}"), format!("host={host},{uri}"));
    let set_uri = format!("host={uri}");
    let noop = noop();
    let mut lines = Vec::new();
    for plan in [&["--plan"][..], &[]] {
        for (workload, words) in [
            (noop.as_str(), vec!["--server", &uri]),
            (&noop, vec!["--server", host]),
            (&noop, vec!["--hosts", &pair]),
            ("hosts.yaml", vec![]),
            ("wrong.yaml", vec![]),
            ("set.yaml", vec!["--server", "none", "--rounds", "1", "--out", "a", "--set", &set]),
            (
                "set.yaml",
                vec!["--server", "none", "--rounds", "1", "--out", "b", "--set", &set_uri],
            ),
            (
                "set.yaml",
                vec!["--server", "none", "--rounds", "1", "--out", "c", "--sweep", &sweep],
            ),
        ] {
            lines.push(run(workload, &[&words[..], plan].concat()));
        }
        let study = ["study", "crud-scale", "-d", "even", "--out", "d", "--server", &uri];
        lines.push(study.iter().chain(plan).map(|word| (*word).to_owned()).collect());
    }
    lines.push(["tap", "--to", host].map(str::to_owned).to_vec());
    for line in lines {
        let output = lab.run(&line);
        assert!([0, 2, 3, 6].contains(&code(&output)), "{line:?}: {}", said(&output));
        for part in ["s3cret", "w0rd", "bob"] {
            assert!(!said(&output).contains(part), "{line:?}: {}", said(&output));
        }
    }
    assert!(lab.path("a/experiment.json").exists() && lab.path("c").exists(), "they ran");
    for folder in ["a", "b", "c"] {
        for (name, bytes) in lab.files(folder) {
            assert_no_password(&name, &bytes);
            assert_no_password("a name", name.as_bytes());
        }
    }
}

#[test]
fn installers_do_not_tell_the_password_of_a_mirror() {
    let lab = Lab::new();
    lab.fake("broken", &[QUICK]);
    let install =
        "install = [[\"sh\", \"-c\", \"echo no way to https://me:hunter2@mirror/x; exit 1\"]]";
    lab.rewrite("broken", |text| text.to_owned() + install);
    let output = lab.run(["adapters", "install", "broken"]);
    assert_eq!(code(&output), 5, "{}", said(&output));
    assert!(stderr(&output).contains("no way to https://***@mirror/x"), "{}", said(&output));
    let found = lab.files("home");
    let log = found.iter().find(|(name, _)| name.ends_with("install.log")).expect("a log");
    let log = String::from_utf8_lossy(&log.1);
    assert!(log.contains("https://***@mirror/x") && !log.contains("hunter2@"), "{log}");
}
