//! `mongodyno history`: experiments of the same request over time, and the gate against them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::fake_support::{Lab, code, flat, json_lines, noop, stderr, stdout};
use crate::support::said;

/// A night, as it differs from the one that was recorded.
#[derive(Clone, Copy)]
pub struct Night {
    pub version: &'static str,
    /// Time per operation of `slow`, of the A/A arm, and of all arms.
    pub slow: f64,
    pub twin: f64,
    pub all: f64,
    pub kernel: &'static str,
}

const USUAL: Night = Night { version: "6.4.0", slow: 1.0, twin: 1.0, all: 1.0, kernel: "6.1" };
const UPGRADED: Night = Night { version: "6.5.0", slow: 1.06, ..USUAL };

/// A lab with one experiment in `recorded`, and a copy of it for each night: `n01`, `n02`, …
pub fn nights(each: &[Night]) -> Lab {
    let lab = Lab::even_and_slow();
    let noop = noop();
    let words = ["run", &noop, "--server", "none", "--rounds", "6", "--phase", "first", "--out"];
    let output = lab.run([&words[..], &["recorded", "-d", "even", "-d", "slow"]].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    for (at, night) in each.iter().enumerate() {
        copy(&lab, at + 1, *night);
    }
    lab
}

fn copy(lab: &Lab, number: usize, night: Night) {
    let folder = lab.path(&format!("n{number:02}"));
    fs::create_dir(&folder).expect("a folder");
    let renamed = |text: String| text.replace("slow@1.0.0", &format!("slow@{}", night.version));
    let read = |name: &str| fs::read_to_string(lab.path("recorded").join(name)).expect("a record");
    let mut record: Value = serde_json::from_str(&renamed(read("experiment.json"))).expect("JSON");
    record["id"] = format!("night-{number}").into();
    record["started_at"] = format!("2026-11-{number:02}T03:00:00Z").into();
    record["machine"]["kernel"] = night.kernel.into();
    for arm in record["arms"].as_array_mut().expect("arms") {
        if arm["adapter"] == "slow" {
            arm["version"] = night.version.into();
        }
    }
    fs::write(folder.join("experiment.json"), record.to_string()).expect("a record");
    // Nights differ a little, and no two are alike.
    let day = night.all * (1.0 + 0.003 * ((number * 7 % 11) as f64 / 5.0 - 1.0));
    let mut lines = String::new();
    for mut run in json_lines(&lab.path("recorded/runs.jsonl")) {
        let cost = match run["arm"].as_str().expect("an arm") {
            "slow@1.0.0" => night.slow * (1.0 + 0.002 * ((number * 5 % 7) as f64 / 3.0 - 1.0)),
            "even@1.0.0 (A/A)" => night.twin,
            _ => 1.0,
        };
        for phase in run["phases"].as_array_mut().expect("phases") {
            let rate = phase["throughput"].as_f64().expect("a rate");
            phase["throughput"] = (rate / cost / day).into();
        }
        lines += &(renamed(run.to_string()) + "\n");
    }
    fs::write(folder.join("runs.jsonl"), lines).expect("runs");
}

fn upgrade() -> Vec<Night> {
    [vec![USUAL; 7], vec![UPGRADED; 5]].concat()
}

/// Twelve nights, the last five with the new version.
pub fn upgraded() -> Lab {
    nights(&upgrade())
}

fn folders(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("n{number:02}")).collect()
}

fn history(lab: &Lab, count: usize, more: &[&str]) -> String {
    let mut words = vec!["history".to_owned()];
    words.extend(folders(count));
    words.extend(more.iter().map(|word| (*word).to_owned()));
    let output = lab.run(words);
    assert_eq!(code(&output), 0, "{}", said(&output));
    stdout(&output)
}

#[test]
fn a_step_is_said_with_its_date_its_size_and_what_came_with_it() {
    let mut each = upgrade();
    // Days on which the whole machine is slow are no steps of a driver.
    (each[2].all, each[9].all) = (1.2, 1.3);
    let lab = nights(&each);
    let text = flat(&history(&lab, 12, &[]));
    let step = "slow, first: throughput since 2026-11-08: 6 % slower against even (5 experiments \
                compared with 7 before; p = 0.0";
    assert!(text.contains(step), "{text}");
    assert!(text.contains("together with driver 6.4.0 -> 6.5.0."), "{text}");
    assert!(text.contains("no step in throughput (3 %), "), "{text}");
    assert!(text.contains("Days differ, and the machine with them"), "{text}");
    let answer = history(&lab, 12, &["--format", "json"]);
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    let lines = answer[0]["machines"][0]["lines"].as_array().expect("lines");
    let line = lines.iter().find(|it| it["arm"] == "slow" && it["metric"] == "throughput");
    let line = line.expect("a line");
    assert_eq!(line["steps"][0]["at"], 7, "{line}");
    let page = history(&lab, 12, &["--format", "html"]);
    assert!(page.contains("<svg") && page.contains("since 2026-11-08: 6 % slower"), "a page");
    let table = history(&lab, 12, &["--format", "csv"]);
    let rows = table.lines().filter(|line| line.contains(",slow,6.5.0,first,"));
    assert!(rows.clone().any(|row| row.contains("night-8") && !row.ends_with(',')), "{table}");
}

#[test]
fn no_verdict_goes_across_a_machine_or_beyond_the_aa_arm() {
    let mut each = upgrade();
    each.iter_mut().skip(7).for_each(|night| night.kernel = "6.8");
    let text = flat(&history(&nights(&each), 12, &[]));
    assert!(text.contains("2026-11-08: another machine or kernel ("), "{text}");
    assert!(text.contains("no verdict is given across it"), "{text}");
    assert!(
        text.contains("NO ANSWER from 7 experiments, it takes 8: even, first; slow, first."),
        "{text}"
    );
    assert!(!text.contains("slower against"), "{text}");
    let mut each = upgrade();
    each.iter_mut().skip(7).for_each(|night| night.twin = 1.05);
    let text = flat(&history(&nights(&each), 12, &[]));
    let said = "NO VERDICT since 2026-11-08: 6 % slower against even, but the A/A arm moved by +5 \
                % as well";
    assert!(text.contains(said), "{text}");
}

#[test]
fn a_store_grows_by_what_is_new_and_names_a_broken_line() {
    let lab = nights(&upgrade());
    let folders = folders(12);
    let store = |dirs: &[String]| {
        let words = ["history".to_owned(), "--store".to_owned(), "s.jsonl".to_owned()];
        lab.run([&words[..], dirs].concat())
    };
    assert!(stderr(&store(&folders[..5])).contains("s.jsonl: 5 experiments appended"));
    assert!(stderr(&store(&folders)).contains("s.jsonl: 7 experiments appended"));
    let whole = fs::read(lab.path("s.jsonl")).expect("a store");
    let (read, made) = (store(&[]), history(&lab, 12, &[]));
    assert_eq!((code(&read), stdout(&read)), (0, made.clone()));
    fs::write(lab.path("s.jsonl"), [&whole[..], b"{\"id\""].concat()).expect("torn");
    let torn = store(&[]);
    assert_eq!((code(&torn), stdout(&torn)), (0, made));
    assert!(stderr(&torn).contains("s.jsonl:13:5: no experiment of a store, left out"));
    // Another request has its own lines, and the difference is named.
    let record = fs::read_to_string(lab.path("n01/experiment.json")).expect("a record");
    let mut record: Value = serde_json::from_str(&record).expect("JSON");
    (record["id"], record["request"]["rounds"]) = ("other".into(), 7.into());
    lab.write("n01/experiment.json", &record.to_string());
    let text = flat(&stdout(&store(&folders[..1])));
    let differs = "another request than the first one of this history: it differs in rounds";
    assert!(text.contains(differs), "{text}");
    let nothing = lab.run(["history", "adapters"]);
    assert!(stderr(&nothing).contains("adapters has no experiment"), "{}", said(&nothing));
}

#[test]
fn a_gate_holds_an_experiment_against_the_nights_before_it() {
    let mut each = vec![USUAL; 12];
    (each[9].slow, each[10].slow) = (1.005, 1.12);
    each[11].kernel = "6.8";
    let lab = nights(&each);
    history(&lab, 9, &["--store", "s.jsonl"]);
    let gate = "slower than history <= 3%";
    let held = |folder: &str, store: &str| {
        let words = ["report", folder, "--gate", gate, "--history", store, "--format", "json"];
        let output = lab.run(words);
        let analysis: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let rows = analysis["objectives"].as_array().expect("gates").clone();
        assert_eq!(rows.len(), 1, "{rows:?}");
        (code(&output), rows[0]["sentence"].as_str().expect("text").to_owned())
    };
    let (exit, said) = held("n10", "s.jsonl");
    assert!(exit == 0 && said.contains("kept. slow@6.4.0, first: "), "{exit} {said}");
    let against = "against 9 experiments since 2026-11-01 (80 % interval; through even)";
    assert!(said.contains(against), "{said}");
    let (exit, said) = held("n11", "s.jsonl");
    assert!(exit == 1 && said.contains("BROKEN. slow@6.4.0, first: +12"), "{exit} {said}");
    let (exit, said) = held("n05", "s.jsonl");
    assert!(exit == 125 && said.contains("4 of the 8 experiments of one level"), "{exit} {said}");
    let (exit, said) = held("n12", "s.jsonl");
    assert!(exit == 125 && said.contains("none on this machine and kernel"), "{exit} {said}");
    let (exit, said) = held("n10", "missing.jsonl");
    assert!(exit == 125 && said.contains("no experiment before this one"), "{exit} {said}");
    let forgotten = lab.experiment(&["even", "slow"], &["--gate", gate]);
    assert_eq!(code(&forgotten), 2, "{}", crate::support::said(&forgotten));
    assert!(stderr(&forgotten).contains("add --history FILE"));
    assert!(!Path::new(&lab.path("out")).exists());
}
