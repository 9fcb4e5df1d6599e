//! Gate G8 and the open loop's timers in whole experiments. Other differences of arms than their
//! driver are said, drained, or forbid the comparison.

use crate::fake_support::{Lab, QUICK, code, comparison, flat, pid, send, stderr, stdout};
use crate::support::said;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_else(|| panic!("{key} of {row:#}"))
}

/// Two arms of one version, whose records are then changed.
fn changed(change: impl Fn(&mut Value)) -> (Lab, Value) {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    let more = ["--rounds", "6", "--phase", "first"];
    let output = lab.experiment(&["even", "even/maxPoolSize=5"], &more);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let mut record = lab.record();
    change(&mut record);
    lab.write("out/experiment.json", &record.to_string());
    let analysis = lab.analysis();
    (lab, analysis)
}

#[test]
fn an_arms_option_stands_in_its_sentence_and_in_every_report() {
    let (lab, analysis) = changed(|record| {
        for (arm, size) in [(0, 100), (1, 100), (2, 5)] {
            record["arms"][arm]["resolved"] = json!({ "max_pool_size": size });
        }
    });
    let row = comparison(&analysis, "even@1.0.0/maxPoolSize=5", "first", "throughput");
    assert!(text(row, "sentence").contains("(pool size 5 against 100)"), "{row:#}");
    assert_eq!(row["verdict"], "SAME", "{row:#}");
    let twin = comparison(&analysis, "even@1.0.0 (A/A)", "first", "throughput");
    assert!(!text(twin, "sentence").contains("pool size"), "{twin:#}");
    let line = "pool size: 100 (even@1.0.0), 5 (even@1.0.0/maxPoolSize=5)";
    for format in ["terminal", "md", "html"] {
        let page = stdout(&lab.run(["report", "out", "--format", format, "--details"]));
        assert!(page.replace("&#x2f;", "/").contains(line), "{format}: {page}");
    }
}

#[test]
fn a_condition_nobody_asked_for_is_not_comparable() {
    let (_, analysis) = changed(|record| {
        for (arm, w) in [(0, 1), (1, 1), (2, 0)] {
            let resolved = json!({ "write_concern": { "w": w }, "retry_writes": w == 1 });
            record["arms"][arm]["resolved"] = resolved;
        }
        record["plan"]["phases"][0]["operations"][0]["kind"] = json!("insert_one");
    });
    let row = comparison(&analysis, "even@1.0.0/maxPoolSize=5", "first", "throughput");
    let reason = "the arms differ in retried writes true against false, write concern w:1 against \
                  w:0";
    assert_eq!(row["verdict"], "NOT COMPARABLE");
    assert!(text(row, "sentence").contains(reason), "{row:#}");
}

const INSERTS: &str = "name: inserts\nwhy: Writes.\ncollections:\n  items:\n    document: {_id: \
                       {type: objectid, value: key}}\nphases:\n  - {operation: insert_one, \
                       collection: items, warmup: 0.1, duration: 0.3}\n";

#[test]
fn a_driver_that_waits_for_no_answers_by_default_gets_whole_runs() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK, "w=1"]);
    lab.fake("rash", &[QUICK, "w=0"]);
    lab.write("inserts.yaml", INSERTS);
    let words = ["run", "inserts.yaml", "--server", "absorber", "--out", "out", "--rounds", "1"];
    let output = lab.run(words.into_iter().chain(["-d", "even", "-d", "rash"]));
    // A fake inserts nothing, which its receipts say.
    assert!(stderr(&output).contains("insert_one takes whole runs"), "{}", said(&output));
    let chosen = &lab.record()["settings"]["interleave"][0];
    assert_eq!(chosen["interleave"], "runs");
    let reason = "`insert_one` of rash@1.0.0 is unacknowledged (w: 0): the server may still work \
                  on its writes in another arm's turn";
    assert_eq!(chosen["reason"], reason);
    assert!(lab.runs().iter().all(|run| run["phases"][0]["turns"] == 1), "{:#?}", lab.runs());
}

#[test]
fn whole_runs_that_a_driver_decided_on_are_gone_on_with() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK, "w=1"]);
    lab.fake("rash", &[QUICK, "w=0"]);
    lab.write("inserts.yaml", INSERTS);
    let words = ["run", "inserts.yaml", "--server", "absorber", "--out", "out", "--rounds", "2"];
    let mut child = lab.start(words.into_iter().chain(["-d", "even", "-d", "rash"]));
    lab.wait_for_runs(3);
    send(pid(&child), Signal::SIGINT);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 130, "{}", done.stderr);
    let decided = lab.record()["settings"]["interleave"].clone();
    assert_eq!(decided[0]["interleave"], "runs");
    let output = lab.run(["resume", "out", "--workload", "inserts.yaml"]);
    let record = lab.record();
    assert_eq!(record["ended"], "completed", "{}", said(&output));
    assert_eq!(record["settings"]["interleave"], decided);
    assert_eq!(lab.runs().len(), 6, "{}", said(&output));
}

#[test]
fn an_option_that_asks_for_no_answers_is_seen_in_the_plan_wherever_it_stands() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    lab.write("inserts.yaml", INSERTS);
    let plan = |drivers: &[&str], more: &[&str]| {
        let words = [&["run", "inserts.yaml", "--plan"], drivers, more].concat();
        let output = lab.run(words);
        format!("{}{}", stdout(&output), stderr(&output))
    };
    let even = ["-d", "even"];
    assert!(plan(&even, &[]).contains("insert_one in turns"));
    for (drivers, more, who) in [
        (&["-d", "even", "-d", "even/w=0"][..], &[][..], "even/w=0"),
        (&even[..], &["--option", "w=0"][..], "even"),
        (&even[..], &["--uri", "mongodb://localhost/?w=0"][..], "even"),
    ] {
        let said = plan(drivers, more);
        let reason = format!("as whole runs (`insert_one` of {who} is unacknowledged (w: 0)");
        assert!(said.contains(&reason), "{said}");
    }
    assert!(plan(&["-d", "even/w=1"], &["--option", "w=0"]).contains("in turns"));
    let refused = plan(&["-d", "even/w=0"], &["--interleave", "turns"]);
    assert!(refused.contains("cannot take turns: `insert_one` of even/w=0"), "{refused}");
}

fn open_loop(lab: &Lab, workers: u32, drivers: &[&str], rounds: &str) -> Value {
    let text = format!(
        "name: open\nwhy: Timers.\nphases:\n  - {{name: open, operation: noop, rate: 5000, \
         workers: {workers}, duration: 0.3, warmup: 0.1}}\n"
    );
    lab.write("open.yaml", &text);
    let mut words = vec!["run", "open.yaml", "--server", "none", "--out", "out", "--json"];
    words.extend(["--rounds", rounds]);
    words.extend(drivers.iter().flat_map(|driver| ["-d", driver]));
    let output = lab.run(words);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", said(&output)))
}

#[test]
fn response_times_are_not_judged_where_timers_differ_more() {
    let lab = Lab::new();
    lab.fake("exact", &["op_ns=100000"]);
    lab.fake("late", &["op_ns=50000", "lag_ns=1500000"]);
    lab.fake("slow", &["op_ns=200000"]);
    let analysis = open_loop(&lab, 16, &["exact", "late", "slow"], "6");
    for metric in ["p50", "p90"] {
        let row = comparison(&analysis, "late@1.0.0", "open", metric);
        assert_eq!(row["verdict"], "INCONCLUSIVE", "{row:#}");
        let sentence = format!(
            "INCONCLUSIVE: not judged: the arms' timers differ by 1.50 ms ({metric}), more than \
             the arms (1.45 ms)."
        );
        assert_eq!(row["sentence"], sentence);
        assert_eq!(comparison(&analysis, "slow@1.0.0", "open", metric)["verdict"], "SLOWER");
    }
    let late = lab.run(["report", "out", "--details"]);
    let late = flat(&stdout(&late));
    assert!(late.contains("own timers late by (p50/p99): exact@1.0.0 1.00 ns/"), "{late}");
    assert!(late.contains("late@1.0.0 1.50 ms/"), "{late}");
}

#[test]
fn waiting_for_a_worker_is_no_lateness_of_a_timer() {
    let lab = Lab::new();
    lab.fake("full", &["op_ns=1000000"]);
    let analysis = open_loop(&lab, 1, &["full"], "1");
    let run = &lab.runs()[0]["phases"][0];
    let lag = &run["open_loop"];
    assert!(lag["pacer_lag_p99_us"].as_f64().expect("a lag") > 50_000.0, "{lag:#}");
    assert!(lag["own_lag"]["max_us"].as_f64().expect("a lag") < 1.0, "{lag:#}");
    let gates: Vec<&str> =
        run["gates"].as_array().expect("gates").iter().map(|it| text(it, "reason")).collect();
    assert!(gates.iter().any(|it| it.ends_with("all its workers are busy")), "{gates:?}");
    assert!(!gates.iter().any(|it| it.contains("timers")), "{gates:?}");
    assert_eq!(analysis["rounds"], 1);
}
