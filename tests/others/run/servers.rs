//! `--server A,B`: the same arms on several servers, and the difference of their differences.

use serde_json::Value;

use crate::fake_support::{Lab, QUICK, code, flat, json_lines, noop, stderr, stdout};
use crate::support::{comes_true, said, server};

const BOTH: &str = "absorber,embedded@4.4";

/// A lab in which `go` takes its lengths by server, where rounds alternate; `even` is as quick on
/// each. None where there is no embedded server.
fn lab(test: &str, go_ns: &[u64]) -> Option<Lab> {
    server(test)?;
    let lab = Lab::with_shared_cache();
    lab.fake("even", &[QUICK, "op_ns=100000"]);
    lab.paced("go", go_ns, &[QUICK]);
    Some(lab)
}

fn words(more: &[&str]) -> Vec<String> {
    let noop = noop();
    let words = ["run", &noop, "--phase", "first", "--server", BOTH, "--out", "out"];
    let arms = ["-d", "even", "-d", "go"];
    words.iter().chain(&arms).chain(more).map(|it| (*it).to_owned()).collect()
}

fn json(lab: &Lab, words: &[&str]) -> Value {
    let output = lab.run(words);
    assert_eq!(code(&output), 0, "{}", said(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn difference<'a>(analysis: &'a Value, arm: &str, metric: &str) -> &'a Value {
    let mut rows = analysis["differences"].as_array().expect("rows").iter();
    rows.find(|row| row["arm"] == arm && row["metric"] == metric).expect("a row")
}

#[test]
fn a_lead_that_passes_to_the_other_driver_on_the_next_server_is_told() {
    // 10 % slower on the absorber, 10 % quicker on the other one.
    let test = "servers/a_lead_that_passes_to_the_other_driver_on_the_next_server_is_told";
    let Some(lab) = lab(test, &[110_000, 90_000]) else { return };
    let output = lab.run(words(&["--rounds", "6", "--details"]));
    assert_eq!(code(&output), 0, "{}", said(&output));
    let text = flat(&stdout(&output));
    for said in [
        "── absorber ──",
        "── embedded@4.4 ──",
        "SLOWER: go@1.0.0 takes 10.",
        "FASTER: go@1.0.0 takes 10.",
        "first: from absorber to embedded@4.4",
        "the time per op of go@1.0.0 over that of even@1.0.0 is 18.",
        "lower on embedded@4.4 than on absorber",
        "the lead passed from even@1.0.0 to go@1.0.0",
        "first: each driver on embedded@4.4 against itself on absorber",
        "FASTER: go@1.0.0 on embedded@4.4 takes 18.",
        "less time per op than on absorber",
        "even@1.0.0 on embedded@4.4 vs on absorber",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let (mut started, path) = (Vec::new(), lab.path("started"));
    for line in std::fs::read_to_string(path).expect("starts").lines() {
        started.push(line.split(' ').next_back().unwrap_or_default().to_owned());
    }
    assert_eq!(started.len(), 12, "a round on one server, then one on the other: {started:?}");

    let again = json(&lab, &["report", "out", "--format", "json"]);
    let schema = jsonschema::validator_for(&json(&lab, &["schema", "servers"]));
    assert!(schema.expect("a valid schema").is_valid(&again), "{again:#}");
    let row = difference(&again, "go@1.0.0", "throughput");
    assert_eq!((&row["verdict"], &row["rounds"]), (&"DIFFERS".into(), &6.into()), "{row:#}");
    assert!((row["estimate_percent"].as_f64().unwrap() + 18.18).abs() < 0.1, "{row:#}");
    assert_eq!((&row["from"], &row["to"]), (&"absorber".into(), &"embedded@4.4".into()));
    let twin = difference(&again, "even@1.0.0 (A/A)", "throughput");
    assert_eq!(twin["verdict"], "SAME", "{twin:#}");
    let itself = again["itself"].as_array().expect("rows");
    assert!(itself.iter().all(|row| row["arm"] != "even@1.0.0 (A/A)"), "{itself:#?}");
    let of = |arm: &str| itself.iter().find(|row| row["arm"] == arm).expect("a row");
    let (go, even) = (of("go@1.0.0"), of("even@1.0.0"));
    assert!((go["estimate_percent"].as_f64().unwrap() + 18.18).abs() < 0.1, "{go:#}");
    assert_eq!(
        (&even["verdict"], &even["floor_percent"]),
        (&"SAME".into(), &3.0.into()),
        "{even:#}"
    );
    let servers = again["servers"].as_array().expect("servers");
    assert_eq!(servers[0]["analysis"]["seed"], servers[1]["analysis"]["seed"], "the same work");
    assert!(lab.path("out/embedded@4.4/report.html").exists());
    let markdown = stdout(&lab.run(["report", "out", "--format", "md"]));
    assert!(markdown.contains("## first: from absorber to embedded@4.4"), "{markdown}");
    lab.assert_nothing_runs();
}

/// Two absorbers, for what needs no other server.
fn on_two(lab: &Lab, drivers: &[&str], more: &[&str]) -> std::process::Output {
    let noop = noop();
    let words = ["run", &noop, "--phase", "first", "--server", "absorber,absorber", "--out", "out"];
    let drivers = drivers.iter().flat_map(|driver| ["-d", driver]);
    lab.run(words.into_iter().chain(drivers).chain(more.iter().copied()))
}

#[test]
fn a_server_named_twice_is_an_experiment_of_two_that_are_the_same() {
    let lab = Lab::even_and_slow();
    let output = on_two(&lab, &["even", "slow"], &["--rounds", "6"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let same = "absorber and absorber are the same server: what differs between them is noise";
    assert!(flat(&stderr(&output)).contains(same), "{}", said(&output));
    let analysis = json(&lab, &["report", "out", "--format", "json"]);
    let itself = analysis["itself"].as_array().expect("rows").iter();
    let rows: Vec<_> = itself.filter(|row| row["metric"] == "throughput").collect();
    assert_eq!(rows.len(), 2, "{rows:#?}");
    for row in rows {
        assert_eq!(
            (&row["verdict"], &row["to"]),
            (&"SAME".into(), &"absorber#2".into()),
            "{row:#}"
        );
    }
    assert!(lab.path("out/absorber-2/report.html").exists());
    lab.assert_nothing_runs();
}

/// A folder of several experiments is diagnosed experiment by experiment, under their names.
#[test]
fn the_folder_of_several_servers_is_diagnosed_swept_or_not() {
    let lab = Lab::new();
    // A fake's simulated time counts as CPU: its one worker is always busy.
    lab.fake("loop", &[QUICK, "concurrency=loop"]);
    let sweep = ["--sweep", "warmup=0.2,0.1"];
    let plain = ["absorber", "absorber#2"].map(str::to_owned).to_vec();
    let cells = ["0.2", "0.1"].iter().flat_map(|value| {
        ["absorber", "absorber#2"].map(|server| format!("warmup={value} on {server}"))
    });
    for (more, wanted) in [(&[][..], plain), (&sweep[..], cells.collect())] {
        let output = on_two(&lab, &["loop"], &[&["--rounds", "1"], more].concat());
        assert_eq!(code(&output), 0, "{}", said(&output));
        let found = json(&lab, &["diagnose", "out", "--json"]);
        let each = found["cells"].as_array().expect("cells").iter();
        let names: Vec<&str> = each.clone().map(|it| it["cell"].as_str().expect("text")).collect();
        assert_eq!(names, wanted);
        for cell in each {
            assert_eq!(cell["findings"][0]["rule"], "generator-saturated", "{cell:#}");
        }
        let text = stdout(&lab.run(["diagnose", "out"]));
        for name in &wanted {
            assert!(text.contains(&format!("{name}: where the time goes\n")), "{name}: {text}");
        }
        let swept = text.contains("The sweep on absorber#2: where the time goes\n");
        assert_eq!(swept, !more.is_empty(), "{text}");
        std::fs::remove_dir_all(lab.path("out")).expect("it is there");
    }
}

#[test]
fn a_round_that_is_lost_on_one_server_is_made_again_on_both() {
    let lab = Lab::even_and_slow();
    let once = format!("once={}", lab.path("once").display());
    lab.fake("frail", &[QUICK, "op_ns=150000", "at=turn:5", "fault=crash", &once]);
    let output = on_two(&lab, &["even", "frail"], &["--rounds", "6"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let told = stderr(&output);
    let added = "look after 6 rounds: 1 of 1 comparisons open, too few rounds that count on both";
    assert!(told.contains(&format!("absorber: {added} servers; on to 7\n")), "{told}");
    let analysis = json(&lab, &["report", "out", "--format", "json"]);
    for server in analysis["servers"].as_array().expect("servers") {
        assert_eq!(server["analysis"]["rounds"], 7, "{}", server["server"]);
    }
    let row = difference(&analysis, "frail@1.0.0", "throughput");
    assert_eq!((&row["verdict"], &row["rounds"]), (&"SAME".into(), &6.into()), "{row:#}");
    let itself = analysis["itself"].as_array().expect("rows").iter();
    for row in itself.filter(|row| row["metric"] == "throughput") {
        assert_eq!(row["verdict"], "SAME", "{row:#}");
    }
    lab.assert_nothing_runs();
}

#[test]
fn an_interrupted_pair_goes_on_where_each_was_cut() {
    let test = "servers/an_interrupted_pair_goes_on_where_each_was_cut";
    let Some(lab) = lab(test, &[110_000, 90_000]) else { return };
    let mut child = lab.start(words(&["--rounds", "6", "--seed", "7"]));
    let of = |server: &str| json_lines(&lab.path(&format!("out/{server}/runs.jsonl"))).len();
    assert!(comes_true(|| of("embedded@4.4") >= 6), "two rounds on both");
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("a signal");
    let status = child.wait().expect("an end");
    let stderr_text = std::fs::read_to_string(lab.path("stderr")).expect("stderr");
    assert_eq!(status.code(), Some(130), "{stderr_text}");
    assert!(stderr_text.contains("to go on: mongodyno resume"), "{stderr_text}");
    let resumed = lab.run(["resume", "out", "--json", "--workload", &noop()]);
    assert_eq!(code(&resumed), 0, "{}", said(&resumed));
    assert_eq!((of("absorber"), of("embedded@4.4")), (18, 18), "six rounds of three arms");
    let analysis: Value = serde_json::from_slice(&resumed.stdout).expect("JSON");
    assert_eq!(difference(&analysis, "go@1.0.0", "throughput")["rounds"], 6);
    let complete = lab.run(["resume", "out", "--workload", &noop()]);
    assert_eq!(code(&complete), 2, "{}", said(&complete));
    assert!(stderr(&complete).contains("is complete"), "{}", said(&complete));
    lab.assert_nothing_runs();
}

#[test]
fn servers_that_make_no_sense_together_are_usage_errors() {
    let lab = Lab::even_and_slow();
    let noop = noop();
    let refused = |more: &[&str], wanted: &str| {
        let output = lab.run([&["run", &noop, "-d", "even", "-d", "slow"], more].concat());
        assert_eq!(code(&output), 2, "{}", said(&output));
        assert!(flat(&stderr(&output)).contains(wanted), "{wanted}: {}", said(&output));
    };
    refused(&["--server", "absorber,none"], "without a server there is nothing to compare");
    refused(&["--server", "absorber,"], "there is no server \"\"");
    refused(&["--server", "absorber,embedded@9.9"], "there is no embedded MongoDB \"9.9\"");
    let both = ["--server", BOTH, "--uri", "mongodb://127.0.0.1:1"];
    refused(&both, "the argument '--server <SERVER>' cannot be used with '--uri <URI>'");
    refused(&["--server", BOTH, "--service-time", "1ms"], "only an absorber has a load and faults");
    let words = ["bisect", &noop, "-d", "even@1.0.0", "-d", "even", "--server", BOTH];
    let bisect = lab.run(words);
    assert_eq!(code(&bisect), 2, "{}", said(&bisect));
    assert!(stderr(&bisect).contains("bisect searches on one server"), "{}", said(&bisect));
    assert!(!lab.path("mongodyno-results").exists(), "nothing is left behind");
}

#[test]
fn a_workload_names_its_hosts_unless_the_command_line_names_a_server() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    let workload = |hosts: &str| {
        format!(
            "why: Hosts.\nhosts: [{hosts}]\ncollections: {{c: {{document: {{a: int}}}}}}\n\
             phases: [{{operation: insert_one, collection: c}}]\n"
        )
    };
    let refused = |hosts: &str, more: &[&str]| {
        std::fs::write(lab.path("hosts.yaml"), workload(hosts)).expect("a workload");
        let output = lab.run([&["run", "hosts.yaml", "-d", "even"], more].concat());
        assert_ne!(code(&output), 0, "{}", said(&output));
        stderr(&output)
    };
    let two = "'127.0.0.1:1', '127.0.0.1:2'";
    assert!(refused(two, &[]).contains("127.0.0.1:1"), "{}", refused(two, &[]));
    let other = refused(two, &["--uri", "mongodb://127.0.0.1:3"]);
    assert!(other.contains("127.0.0.1:3") && !other.contains("127.0.0.1:1"), "{other}");
    let plan = |more: &[&str]| {
        let output = lab.run([&["run", "hosts.yaml", "-d", "even", "--plan"], more].concat());
        assert_eq!(code(&output), 0, "{}", said(&output));
        stdout(&output)
    };
    std::fs::write(lab.path("hosts.yaml"), workload(two)).expect("a workload");
    assert!(plan(&[]).contains("server    127.0.0.1:1, 127.0.0.1:2\n"), "{}", plan(&[]));
    // The one that is started where nothing is said is an answer too.
    let asked = plan(&["--server", "embedded"]);
    assert!(asked.contains("server    embedded\n"), "{asked}");
    let given = plan(&["--uri", "mongodb://me:secret@127.0.0.1:3"]);
    assert!(given.contains("127.0.0.1:3") && !given.contains("secret"), "{given}");
    let both = refused(two, &["--server", "embedded", "--hosts", "127.0.0.1:1,127.0.0.1:2"]);
    assert!(both.contains("cannot be used with"), "{both}");
    let one = refused("'127.0.0.1:1'", &[]);
    assert!(one.contains("hosts 127.0.0.1:1: not two or more of HOST:PORT"), "{one}");
}
