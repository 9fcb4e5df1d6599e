//! Limits of clients and servers: memory, cache, connections. A client that dies of memory is a
//! result.

use std::process::{Command, Output};

use crate::fake_support::real::lab_with;
use crate::fake_support::{Lab, QUICK, code, comparison, flat, stderr, stdout};
use crate::support::{said, skip};
use serde_json::Value;

/// The deaths of `out` by arm and round.
fn deaths(lab: &Lab) -> Vec<(String, Value)> {
    let runs = lab.runs().into_iter().filter(|run| !run["death"].is_null());
    runs.map(|run| (run["arm"].as_str().expect("an arm").to_owned(), run["death"].clone()))
        .collect()
}

#[test]
fn a_client_that_dies_of_memory_is_a_result_and_the_others_go_on() {
    let lab = Lab::even_and_slow();
    let hungry = ["turn_operations=10", "op_ns=100000", "at=turn:30", "fault=memory"];
    lab.fake("hungry", &hungry);
    let more = ["--rounds", "6", "--client-memory", "128MiB"];
    let output = lab.experiment(&["even", "slow", "hungry"], &more);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let (record, deaths) = (lab.record(), deaths(&lab));
    assert_eq!(record["client_memory"]["bytes"], 128 << 20);
    assert_eq!(deaths.len(), 3, "then it is started no more: {deaths:#?}");
    for (arm, death) in &deaths {
        assert_eq!((arm.as_str(), &death["phase"]), ("hungry@1.0.0", &"first".into()), "{death:#}");
        let used = death["used_bytes"].as_u64().expect("bytes");
        assert!((100 << 20..200 << 20).contains(&used), "{death:#}");
        assert!(death["operations"].as_u64() > Some(0), "its samples tell: {death:#}");
    }
    let analysis = lab.analysis();
    let slow = comparison(&analysis, "slow@1.0.0", "first", "throughput");
    assert_eq!(slow["verdict"], "SLOWER", "{slow}");
    let shown = flat(&stdout(&output));
    let expected = "Died of memory - hungry@1.0.0 died of memory at 1";
    assert!(shown.contains(expected), "{shown}");
    assert!(shown.contains("(limit 128 MiB) after at least "), "{shown}");
    assert!(shown.contains("(in 3 of 6 rounds; here the first)"), "{shown}");
    assert!(shown.contains("memory of each client: 128 MiB, by "), "{shown}");
    for format in ["md", "html", "svg"] {
        let page = stdout(&lab.run(["report", "out", "--format", format, "--details"]));
        assert!(flat(&page).contains("died of memory at"), "{format}: {page}");
    }
    lab.assert_nothing_runs();
}

#[test]
fn a_death_alone_answers_too() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    lab.fake("hungry", &[QUICK, "at=hello", "fault=memory"]);
    let more = ["--rounds", "1", "--client-memory", "128MiB"];
    let output = lab.experiment(&["even", "hungry"], &more);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let shown = flat(&stdout(&output));
    assert!(shown.contains("(limit 128 MiB), before its first phase"), "{shown}");
    lab.assert_nothing_runs();
}

const STORY: &str = "
name: at-once
why: Everything at once, beyond what the client has.
collections:
  items:
    document:
      _id: {type: objectid, value: key}
      a: {type: string, length: 8}
      b: {type: string, length: 8}
phases:
  - {name: some, operation: insert_many, collection: items, batch: 100, documents: 1000, warmup: 0}
  - {name: all, operation: insert_many, collection: items, batch: all, documents: 400000,
     continues: true}
";

/// The output of these words on a machine without cgroups; None: skipped.
fn without_cgroups(lab: &Lab, test: &str, words: &[String]) -> Option<Output> {
    let script = "umount -l /sys/fs/cgroup && exec \"$0\" \"$@\"";
    let private = Command::new("unshare").args(["-m", "umount", "-l", "/sys/fs/cgroup"]).output();
    if !private.is_ok_and(|output| output.status.success()) {
        skip(test, "`unshare -m` needs root");
        return None;
    }
    let mut command = lab.wrapped(&["unshare", "-m", "sh", "-c", script], words);
    Some(command.output().expect("it starts"))
}

#[test]
fn where_no_cgroup_can_be_made_a_watchdog_looks_and_a_server_is_refused() {
    let test = "limits/where_no_cgroup_can_be_made_a_watchdog_looks_and_a_server_is_refused";
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    lab.fake("hungry", &[QUICK, "at=turn:30", "fault=memory"]);
    let more = ["--rounds", "1", "--client-memory", "128MiB"];
    let words = lab.words(&["even", "hungry"], &more);
    let Some(output) = without_cgroups(&lab, test, &words) else { return };
    assert_eq!(code(&output), 0, "{}", said(&output));
    let told = "--client-memory: this system has no memory cgroups; a watchdog looks at the";
    assert!(stderr(&output).contains(told), "{}", said(&output));
    assert_eq!(lab.record()["client_memory"]["no_cgroup"], "this system has no memory cgroups");
    let death = &deaths(&lab)[0].1;
    assert!(death["used_bytes"].as_u64() >= Some(128 << 20), "{death:#}");
    let shown = flat(&stdout(&output));
    assert!(shown.contains("memory of each client: 128 MiB, by watchdog"), "{shown}");
    lab.assert_nothing_runs();
    let lab = Lab::with_shared_cache();
    lab.fake("even", &[QUICK]);
    let words = ["run", "crud", "-d", "even", "--out", "out", "--server-memory", "1GiB"];
    let words = words.map(str::to_owned);
    let Some(output) = without_cgroups(&lab, test, &words) else { return };
    assert_eq!(code(&output), 5, "{}", said(&output));
    let told =
        "error: mongod cannot be kept to 1024 MiB: this system has no memory cgroups\nhint: ";
    assert!(stderr(&output).contains(told), "{}", said(&output));
}

#[test]
fn a_runtime_that_knows_its_limit_may_give_up_by_itself() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    // A trace may follow: these are not its last words.
    let script = "echo \"$HEAP\" >&2; echo 'heap out of memory' >&2; seq 9 >&2; exit 134";
    lab.scripted("spent", script);
    lab.rewrite("spent", |text| {
        format!("memory_flag = \"HEAP=at {{mib}} MiB\"\nout_of_memory = \"out of mem\"\n{text}")
    });
    let more = ["--rounds", "1", "--client-memory", "100MiB"];
    let output = lab.experiment(&["even", "spent/processes=2"], &more);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(deaths(&lab)[0].1["said"], "heap out of memory", "{}", said(&output));
    let shown = flat(&stdout(&output));
    assert!(shown.contains("before its first phase; it said: heap out of memory"), "{shown}");
    let log = std::fs::read_to_string(lab.path("out/logs/r01-arm2.log")).expect("a log");
    assert!(log.starts_with("at 45 MiB\n"), "nine tenths of its half: {log}");
    // Without a limit the same end is a crash.
    std::fs::remove_dir_all(lab.path("out")).expect("it is there");
    let output = lab.experiment(&["even", "spent"], &["--rounds", "1"]);
    assert_eq!(code(&output), 6, "{}", said(&output));
    assert!(deaths(&lab).is_empty(), "{}", said(&output));
}

#[test]
fn a_resumed_experiment_has_its_limits_again() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    lab.fake("hungry", &[QUICK, "at=hello", "fault=memory"]);
    let more = ["--rounds", "2", "--client-memory", "128MiB"];
    let output = lab.experiment(&["even", "hungry"], &more);
    assert_eq!(deaths(&lab).len(), 2, "{}", said(&output));
    let lines: Vec<String> = lab.runs().iter().take(3).map(|run| format!("{run}\n")).collect();
    lab.write("out/runs.jsonl", &lines.concat());
    let mut record = lab.record();
    record["ended"] = "interrupted".into();
    lab.write("out/experiment.json", &record.to_string());
    let output = lab.run(["resume", "out", "--workload", &crate::fake_support::noop()]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(lab.runs().len(), 6, "{}", said(&output));
    assert_eq!(deaths(&lab).len(), 2, "{}", said(&output));
}

#[test]
fn a_driver_without_memory_tells_how_far_it_came() {
    let test = "limits/a_driver_without_memory_tells_how_far_it_came";
    let Some(lab) = lab_with(test, &["python"]) else { return };
    lab.write("at-once.yaml", STORY);
    let words = ["run", "at-once.yaml", "--out", "out", "-d", "python", "--rounds", "1"];
    let output = lab.run(words.into_iter().chain(["--client-memory", "80MiB"]));
    assert_eq!(code(&output), 0, "{}", said(&output));
    let deaths = deaths(&lab);
    // A disturbed round is made once more.
    assert!([2, 4].contains(&deaths.len()), "with its A/A arm: {}", said(&output));
    for (_, death) in &deaths {
        assert_eq!((&death["phase"], &death["warmup"]), (&"all".into(), &false.into()));
        assert_eq!((&death["operations"], &death["documents"]), (&0.into(), &0.into()));
        // What the phase before has left.
        assert_eq!(death["server"]["collStats.count"], 1000, "{death:#}");
        assert!(death["server"]["dbStats.dataSize"].as_u64() > Some(0), "{death:#}");
    }
    let shown = flat(&stdout(&output));
    assert!(shown.contains("the server holds 1,000 of its documents"), "{shown}");
    lab.assert_nothing_runs();
}

#[test]
fn limits_that_cannot_be_are_refused() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    let refused = |more: &[&str], expected: &str| {
        let output = lab.experiment(&["even"], more);
        assert!(code(&output) == 2 && stderr(&output).contains(expected), "{}", said(&output));
    };
    refused(&["--client-memory", "10kB"], "--client-memory: no program works in");
    let expected = "--server-cache: only a mongod that mongodyno starts has this limit";
    refused(&["--server-cache", "1GiB"], expected);
    let other = ["--server", "absorber", "--server-connections", "20"];
    let output = lab.run(["run", "crud", "-d", "even"].into_iter().chain(other));
    assert!(code(&output) == 2, "{}", said(&output));
    let own = ["--uri", "mongodb://localhost", "--server-memory", "1GiB"];
    let output = lab.run(["run", "crud", "-d", "even"].into_iter().chain(own));
    assert!(code(&output) == 2, "{}", said(&output));
    let small = ["--server-cache", "100MiB"];
    let output = lab.run(["run", "crud", "-d", "even"].into_iter().chain(small));
    let expected = "--server-cache: mongod has no cache of 100 MiB";
    assert!(stderr(&output).contains(expected), "{}", said(&output));
}

#[test]
fn limits_are_said_in_the_plan() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    let words = ["run", "crud", "--plan", "-d", "even", "--client-memory", "1GiB"];
    let server = ["--server-cache", "512MiB", "--server-connections", "50"];
    let plan = stdout(&lab.run(words.into_iter().chain(server)));
    let plan = flat(&plan);
    let expected = "server embedded server cache 512 MiB server connections 50 arms";
    assert!(plan.contains(expected), "{plan}");
    assert!(plan.contains("memory 1.00 GiB, by "), "{plan}");
}

/// Forty workers, whose operations take so long that all of them are under way at one time.
const CROWD: &str = "
name: crowd
why: More connections than the server has.
collections:
  items:
    documents: 100
    document: {_id: {type: int, value: key}}
phases:
  - name: read
    operation: find_one
    collection: items
    filter:
      _id: 0
      # It keeps the server busy for some 100 ms.
      $expr: {$gte: [{$sum: {$map: {input: {$range: [0, 300000]}, in: '$$this'}}}, 0]}
    workers: 40
    warmup: 0
    duration: 1
";

#[test]
fn a_server_without_connections_lets_some_fail_and_some_wait() {
    let test = "limits/a_server_without_connections_lets_some_fail_and_some_wait";
    let Some(lab) = lab_with(test, &["python"]) else { return };
    lab.write("crowd.yaml", CROWD);
    let words = ["run", "crowd.yaml", "--out", "out", "-d", "python/maxPoolSize=2", "-d", "python"];
    let more = ["--rounds", "1", "--interleave", "runs", "--server-connections", "25", "--details"];
    let output = lab.run(words.iter().chain(&more));
    let record = lab.record();
    assert_eq!(record["server"]["options"]["connections"], 25, "{}", said(&output));
    assert!(record["server"]["flags"].to_string().contains("--maxConns=25"), "{record:#}");
    let failed = |arm: &str| {
        let runs = lab.runs();
        let run = runs.iter().find(|run| run["arm"] == arm).expect("a run").clone();
        let operation = &run["phases"][0]["by_operation"][0];
        operation["failed"].as_u64().unwrap_or_else(|| panic!("{run:#}: {}", said(&output)))
    };
    assert_eq!(failed("python@4.20.0/maxPoolSize=2"), 0, "it waits: {}", said(&output));
    assert!(failed("python@4.20.0") > 0, "it is refused: {}", said(&output));
    let shown = flat(&stdout(&output));
    assert!(shown.contains("- server connections: 25"), "{shown}");
}

#[test]
fn a_sharded_collection_is_refused_on_a_server_that_is_not() {
    let test = "limits/a_sharded_collection_is_refused_on_a_server_that_is_not";
    let Some(lab) = lab_with(test, &["python"]) else { return };
    let text = "why: It takes shards.\ncollections:\n  items:\n    shard: hashed\n    \
                document: {_id: {type: long, value: key}}\n\
                phases: [{operation: insert_one, operations: 10}]\n";
    lab.write("dealt.yaml", text);
    let output = lab.run(["run", "dealt.yaml", "-d", "python", "--out", "out", "--quick"]);
    assert_eq!(code(&output), 3, "{}", said(&output));
    let told = flat(&stderr(&output).replace('│', " "));
    assert!(told.contains("`items` is sharded, and this server is not: standalone"), "{told}");
    assert!(told.contains("[dealt.yaml:4:12]") && told.contains("mongod:shards=2"), "{told}");
}

/// The refusal of a workload, with its exit code and its line.
fn refused(lab: &Lab, phase: &str, more: &[&str]) -> String {
    lab.fake("even", &[QUICK]);
    let text = format!(
        "name: big\nwhy: It fits nowhere.\ncollections:\n  items:\n    documents: 2000000000\n    \
         document:\n      _id: {{type: long, value: key}}\n      \
         a: {{type: string, length: 9000}}\n\
         phases:\n  - {phase}\n"
    );
    lab.write("big.yaml", &text);
    let words = ["run", "big.yaml", "-d", "even", "--out", "out"];
    let output = lab.run(words.iter().chain(more));
    assert_eq!(code(&output), 3, "{}", said(&output));
    assert!(!lab.path("out").exists(), "nothing has begun");
    flat(&stderr(&output).replace('│', " "))
}

#[test]
fn documents_that_fit_no_disk_are_refused_with_their_line() {
    let lab = Lab::with_shared_cache();
    let told = refused(&lab, "{operation: find_one, collection: items, filter: {_id: 0}}", &[]);
    assert!(told.contains("[big.yaml:5:16]"), "{told}");
    assert!(told.contains("2,000,000,000 documents of 9,0"), "{told}");
    assert!(told.contains(" bytes are 16.") && told.contains(" TiB, and /"), "{told}");
    assert!(told.contains(" free"), "{told}");
    let many = "{operation: insert_many, collection: items, batch: 100000, documents: 3000000000}";
    let told = refused(&lab, many, &[]);
    assert!(told.contains("10,000,000,000 documents of 9,0"), "{told}");
    assert!(told.contains(" for 2 arms at a time are 82"), "with its A/A arm: {told}");
    assert!(told.contains("[big.yaml:10:"), "{told}");
}

#[test]
fn documents_at_once_beyond_the_clients_memory_are_refused_with_their_line() {
    let lab = Lab::new();
    let phase = "{operation: insert_many, collection: items, batch: all, documents: 100000}";
    let more = ["--client-memory", "512MiB", "--server", "absorber"];
    let told = refused(&lab, phase, &more);
    assert!(told.contains("[big.yaml:10:"), "{told}");
    let expected = "100,000 documents at once are 86";
    assert!(told.contains(expected), "{told}");
    assert!(told.contains(" MiB of BSON, and --client-memory is 512 MiB"), "{told}");
    // Without a limit it is what the machine has.
    let phase = "{operation: insert_many, collection: items, batch: all, documents: 1000000000}";
    let told = refused(&lab, phase, &["--server", "absorber"]);
    assert!(told.contains("1,000,000,000 documents at once are 8."), "{told}");
    assert!(told.contains(" TiB of BSON, and the free memory is "), "{told}");
}
