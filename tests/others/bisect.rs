//! `mongodyno bisect`, with a driver whose later versions take longer.

use std::fs;

use serde_json::Value;

use crate::fake_support::{Lab, code, fake_command, flat, noop, stderr, stdout};
use crate::support::said;

/// A driver `lib`: from 1.5.0 on an operation takes `slow_ns`, before that 100,000 ns.
fn lab(slow_ns: u64) -> Lab {
    let lab = Lab::new();
    let version = |op_ns: u64| {
        let words = format!("turn_operations=10 noise_percent=1 op_ns={op_ns} version={{version}}");
        fake_command(&words)
    };
    let (fast, slow) = (version(100_000), version(slow_ns));
    let script = format!("case {{version}} in 1.[0-4].0) exec {fast};; *) exec {slow};; esac");
    lab.scripted("lib", &script);
    let releases: Vec<String> = (0..8).map(|minor| format!("1.{minor}.0")).collect();
    lab.rewrite("lib", |text| {
        format!(
            "{text}releases = {{ command = [\"echo\", {:?}], format = \"words\" }}\n",
            releases.join(" ")
        )
    });
    lab
}

fn bisect(lab: &Lab, more: &[&str]) -> std::process::Output {
    let mut words = vec!["bisect".to_owned(), noop(), "--quick".to_owned()];
    words.extend(["--server", "none", "--out", "out"].map(str::to_owned));
    words.extend(["-d", "lib@1.0.0..1.7.0"].map(str::to_owned));
    words.extend(more.iter().map(|word| (*word).to_owned()));
    lab.run(words)
}

#[test]
fn a_step_is_found_confirmed_and_followed_to_the_last_version() {
    let lab = lab(115_000);
    let output = bisect(&lab, &[]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let told = stdout(&output);
    assert!(told.starts_with("SLOWER SINCE lib@1.5.0: lib@1.5.0 takes 15"), "{told}");
    assert!(told.contains("longer per op than lib@1.4.0"), "{told}");
    assert!(told.contains("Up to the last version: SAME within"), "{told}");
    // Each experiment is a folder with a page, as those of `run` are.
    for name in ["00-scan", "01-confirm", "02-until-last"] {
        assert!(lab.path("out").join(name).join("report.html").exists(), "{name}");
    }
    let scan = lab.run(["report", "out/00-scan"]);
    let scan = stdout(&scan);
    let step = "POSSIBLE CHANGE at 1.5.0, 15 % slower (scan only, p = 0.0";
    assert!(flat(&scan).contains(step), "{scan}");
    // A line of versions: in the terminal as bars, on the page as a chart.
    assert!(scan.contains(&format!("1.0.0  {}  10,0", "█".repeat(32))), "{scan}");
    let page = fs::read_to_string(lab.path("out/00-scan/report.html")).expect("a page");
    assert!(page.contains("lib, first: operations a second by version"), "a chart");
}

#[test]
fn a_search_goes_on_where_it_was_cut() {
    let lab = lab(115_000);
    let few = ["--phase=first", "-d", "lib@1.4.0,1.5.0"];
    let search = |more: &[&str]| {
        let mut words = vec!["bisect".to_owned(), noop(), "--quick".to_owned()];
        words.extend(["--server", "none", "--out", "out"].map(str::to_owned));
        words.extend(few.iter().chain(more).map(|word| (*word).to_owned()));
        lab.run(words)
    };
    let output = search(&["--json"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let read = |name: &str| fs::read_to_string(lab.path(name)).expect("a file");
    let (whole, scanned) = (read("out/bisect.json"), read("out/00-scan/runs.jsonl"));
    // As it is after a kill in the last round of the confirmation.
    let confirmed = read("out/01-confirm/runs.jsonl");
    let lines: Vec<&str> = confirmed.lines().collect();
    lab.write("out/01-confirm/runs.jsonl", &format!("{}\n", lines[..lines.len() - 1].join("\n")));
    let mut record: Value = serde_json::from_str(&read("out/01-confirm/experiment.json")).unwrap();
    (record["ended"], record["finished_at"]) = (Value::Null, Value::Null);
    lab.write("out/01-confirm/experiment.json", &record.to_string());
    let mut asked: Value = serde_json::from_str(&whole).expect("JSON");
    (asked["phase"], asked["steps"]) = (Value::Null, Value::Array(Vec::new()));
    lab.write("out/bisect.json", &asked.to_string());
    let output = lab.run(["resume", "out", "--workload", &noop(), "--json"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(read("out/00-scan/runs.jsonl"), scanned, "it was complete");
    let again = read("out/01-confirm/runs.jsonl");
    assert!(again.starts_with(&lines[..lines.len() - 3].join("\n")), "whole rounds stay");
    assert_eq!(again.lines().count(), lines.len());
    let steps = |text: &str| -> Vec<String> {
        let answer: Value = serde_json::from_str(text).expect("JSON");
        let steps = answer["steps"].as_array().expect("steps").iter();
        steps.map(|step| step["after"].to_string() + &step["confirmed"].to_string()).collect()
    };
    assert_eq!(steps(&read("out/bisect.json")), steps(&whole));
    assert_eq!(steps(&whole), ["\"lib@1.5.0\"true"], "{}", said(&output));
    // The same words again find all of it made; other ones are another search.
    let output = search(&[]);
    assert!(stdout(&output).starts_with("SLOWER SINCE lib@1.5.0"), "{}", said(&output));
    assert_eq!(read("out/01-confirm/runs.jsonl"), again);
    let output = search(&["--metric", "p50"]);
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(stderr(&output).contains("out has another search"), "{}", said(&output));
}

#[test]
fn versions_that_are_alike_have_no_step() {
    let lab = lab(100_000);
    let output = bisect(&lab, &["--json"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let answer: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(answer["steps"].as_array().map(Vec::len), Some(0), "{answer}");
    let sentence = answer["sentence"].as_str().expect("a sentence");
    assert!(
        sentence.starts_with("NO STEP of 5 % or more from 1.0.0 to 1.7.0 (8 versions"),
        "{answer}"
    );
}

#[test]
fn one_version_and_two_drivers_are_refused() {
    let lab = lab(100_000);
    lab.fake("other", &[]);
    for drivers in [&["lib@1.0.0"][..], &["lib@1.0.0", "other@1.0.0"], &[]] {
        let mut words = vec!["bisect"];
        for driver in drivers {
            words.extend(["-d", driver]);
        }
        let output = lab.run(words);
        assert_eq!(code(&output), 2, "{}", said(&output));
        assert!(stderr(&output).contains("bisect needs several versions of one driver"));
    }
}
