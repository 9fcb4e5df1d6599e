//! `mongodyno bisect`, with a driver whose later versions take longer.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::fake_support::{Lab, code, fake_command, flat, noop, stderr, stdout};
use crate::support::said;

/// A driver `lib`: from 1.5.0 on an operation takes `slow_ns`, before that 100,000 ns.
fn lab(slow_ns: u64) -> Lab {
    releases(8, "1.[0-4].0", slow_ns)
}

/// So many releases of `lib`, from 1.0.0 on. An operation of those that the shell's pattern `fast`
/// names takes 100,000 ns, of the others `slow_ns`.
fn releases(count: u32, fast: &str, slow_ns: u64) -> Lab {
    let (lab, pattern) = (Lab::new(), fast);
    let version = |op_ns: u64| {
        let words = format!("turn_operations=10 noise_percent=1 op_ns={op_ns} version={{version}}");
        fake_command(&words)
    };
    let (fast, slow) = (version(100_000), version(slow_ns));
    let script = format!("case {{version}} in {pattern}) exec {fast};; *) exec {slow};; esac");
    lab.scripted("lib", &script);
    let releases: Vec<String> = (0..count).map(|minor| format!("1.{minor}.0")).collect();
    lab.rewrite("lib", |text| {
        format!(
            "{text}releases = {{ command = [\"echo\", {:?}], format = \"words\" }}\n",
            releases.join(" ")
        )
    });
    lab
}

fn bisect(lab: &Lab, more: &[&str]) -> std::process::Output {
    search(lab, "lib@1.0.0..1.7.0", &[&["--server", "none"], more].concat())
}

fn search(lab: &Lab, versions: &str, more: &[&str]) -> std::process::Output {
    let mut words = vec!["bisect".to_owned(), noop(), "--quick".to_owned()];
    words.extend(["--out", "out", "-d", versions].map(str::to_owned));
    words.extend(more.iter().map(|word| (*word).to_owned()));
    lab.run(words)
}

/// One phase, without a server.
const ONE: [&str; 3] = ["--server", "none", "--phase=first"];

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn read(lab: &Lab, name: &str) -> String {
    fs::read_to_string(lab.path(name)).expect("a file")
}

/// Cuts an experiment as a kill in its last round does; returns the runs it had.
fn cut(lab: &Lab, experiment: &str) -> Vec<String> {
    let file = |name: &str| format!("out/{experiment}/{name}");
    let runs = read(lab, &file("runs.jsonl"));
    let lines: Vec<String> = runs.lines().map(str::to_owned).collect();
    lab.write(&file("runs.jsonl"), &format!("{}\n", lines[..lines.len() - 1].join("\n")));
    let mut record = json(&read(lab, &file("experiment.json")));
    (record["ended"], record["finished_at"]) = (Value::Null, Value::Null);
    lab.write(&file("experiment.json"), &record.to_string());
    lines
}

#[test]
fn a_step_is_found_confirmed_and_followed_to_the_last_version() {
    let lab = lab(115_000);
    // An arm's name is not the words that ask for it.
    let output = search(&lab, "lib@1.0.0..1.7.0/maxpoolsize=5", &["--server", "none"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let told = stdout(&output);
    let step = "\nSLOWER SINCE lib@1.5.0/maxpoolsize=5: lib@1.5.0/maxPoolSize=5 takes 15";
    assert!(told.contains(step), "{told}");
    assert!(told.contains("longer per op than lib@1.4.0"), "{told}");
    assert!(told.contains("Up to the last version: SAME within"), "{told}");
    // Each experiment is a folder with a page, as those of `run` are.
    for name in ["00-scan", "01-confirm", "02-until-last"] {
        assert!(lab.path("out").join(name).join("report.html").exists(), "{name}");
    }
    let scan = lab.run(["report", "out/00-scan", "--details"]);
    let scan = stdout(&scan);
    let step = "POSSIBLE CHANGE at 1.5.0, 15 % slower (1.5.0 to 1.7.0 compared with 1.0.0 to \
                1.4.0; scan only, p = 0.0";
    assert!(flat(&scan).contains(step), "{scan}");
    // A line of versions: in the terminal as bars, on the page as a chart.
    let bar = format!("1.0.0  {}  10,0", "█".repeat(32));
    for text in [&scan, &told] {
        let line = text.lines().find(|line| line.contains(&bar));
        let ends = line.and_then(|line| line.split_once(" (")).expect("an interval").1;
        assert!(ends.contains(" to 10,"), "{text}");
    }
    let page = read(&lab, "out/00-scan/report.html");
    assert!(page.contains("lib/maxPoolSize=5, first: operations a second by version"), "a chart");
}

#[test]
fn a_search_goes_on_where_it_was_cut() {
    let lab = lab(115_000);
    let few = |more: &[&str]| search(&lab, "lib@1.4.0,1.5.0", &[&ONE, more].concat());
    let output = few(&["--json"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let read = |name: &str| read(&lab, name);
    let (whole, scanned) = (read("out/bisect.json"), read("out/00-scan/runs.jsonl"));
    let lines = cut(&lab, "01-confirm");
    let mut asked = json(&whole);
    (asked["phase"], asked["steps"]) = (Value::Null, Value::Array(Vec::new()));
    lab.write("out/bisect.json", &asked.to_string());
    let output = lab.run(["resume", "out", "--workload", &noop(), "--json"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(read("out/00-scan/runs.jsonl"), scanned, "it was complete");
    let again = read("out/01-confirm/runs.jsonl");
    assert!(again.starts_with(&lines[..lines.len() - 3].join("\n")), "whole rounds stay");
    assert_eq!(again.lines().count(), lines.len());
    let steps = |text: &str| -> Vec<String> {
        let answer = json(text);
        let steps = answer["steps"].as_array().expect("steps").iter();
        steps.map(|step| step["after"].to_string() + &step["confirmed"].to_string()).collect()
    };
    assert_eq!(steps(&read("out/bisect.json")), steps(&whole));
    assert_eq!(steps(&whole), ["\"lib@1.5.0\"true"], "{}", said(&output));
    // The same words again find all of it made; other ones are another search.
    let output = few(&[]);
    assert!(stdout(&output).starts_with("SLOWER SINCE lib@1.5.0"), "{}", said(&output));
    assert_eq!(read("out/01-confirm/runs.jsonl"), again);
    let output = few(&["--metric", "p50"]);
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(stderr(&output).contains("out has another search"), "{}", said(&output));
}

#[test]
fn versions_that_are_alike_have_no_step() {
    let lab = lab(100_000);
    let output = bisect(&lab, &["--json"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let answer = json(&stdout(&output));
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

#[test]
fn what_belongs_to_run_alone_is_refused() {
    let lab = lab(100_000);
    let help = stdout(&lab.run(["bisect", "--help"]));
    assert!(help.contains("Versions of one driver: NAME@GOOD..BAD"), "{help}");
    for more in
        [&["--plan"][..], &["--live"], &["--sweep", "warmup=1,2"], &["--gate", "errors <= 0"]]
    {
        let output = bisect(&lab, more);
        assert_eq!(code(&output), 2, "{}", said(&output));
        let wanted = format!("error: bisect takes no {}\nhint: use `mongodyno run`", more[0]);
        assert!(stderr(&output).contains(&wanted), "{}", said(&output));
        assert!(!help.contains(more[0]), "{help}");
    }
    assert!(!lab.path("out").exists(), "nothing was measured");
}

#[test]
fn of_three_versions_neighbours_are_compared() {
    let lab = lab(115_000);
    let output = search(&lab, "lib@1.3.0..1.5.0", &ONE);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let told = stdout(&output);
    let (first, rest) = told.split_once('\n').expect("lines");
    assert!(first.starts_with("No step is shown at lib@1.4.0: SAME within"), "{told}");
    assert!(rest.starts_with("SLOWER SINCE lib@1.5.0: lib@1.5.0 takes 15"), "{told}");
}

/// Among 32 releases 1.1.0 does not start, and the newest cannot be installed.
#[test]
fn of_many_versions_those_that_cannot_be_measured_are_named() {
    let lab = releases(32, "1.0.0", 115_000);
    lab.rewrite("lib", |text| {
        let text = text.replace("case {version} in ", "case {version} in 1.1.0) exit 1;; ");
        format!("{text}install_version = [['sh', '-c', '[ {{version}} != 1.31.0 ]']]\n")
    });
    let output = search(&lab, "lib@1.0.0..1.31.0", &ONE);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let told = stdout(&output);
    let step = "SLOWER SINCE lib@1.2.0 AT THE LATEST: lib@1.2.0 takes 15";
    assert!(told.starts_with(step), "{}", said(&output));
    let gap = "It began after lib@1.0.0 and no later than lib@1.2.0; lib@1.1.0 was not measured.";
    assert!(told.contains(gap), "{told}");
    assert!(told.contains(" Up to the last version: SAME within"), "{told}");
    for lost in ["1.1.0", "1.31.0"] {
        let lost = format!("lib@{lost} cannot be measured: the search goes on without it\n");
        assert!(stderr(&output).contains(&lost), "{}", said(&output));
    }
    let answer = json(&read(&lab, "out/bisect.json"));
    assert_eq!(answer["unavailable"], json(r#"["lib@1.31.0"]"#));
    assert_eq!(answer["steps"][0]["not_measured"], json(r#"["lib@1.1.0"]"#));
    // The same way again, and nothing is left to be measured.
    let runs = lab.files("out").into_iter().filter(|(name, _)| name.ends_with("runs.jsonl"));
    let runs: Vec<_> = runs.collect();
    let again = search(&lab, "lib@1.0.0..1.31.0", &ONE);
    assert_eq!(stdout(&again), told, "{}", said(&again));
    let after = lab.files("out").into_iter().filter(|(name, _)| name.ends_with("runs.jsonl"));
    assert_eq!(after.collect::<Vec<_>>(), runs);
}

#[test]
fn ends_that_do_not_differ_are_the_answer_also_of_a_search_that_was_cut() {
    let lab = releases(31, "none", 100_000);
    let output = search(&lab, "lib@1.0.0..1.30.0", &[&ONE[..], &["--json"]].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    let runs = cut(&lab, "00-ends");
    let resumed = lab.run(["resume", "out", "--workload", &noop(), "--json"]);
    assert_eq!(code(&resumed), 0, "{}", said(&resumed));
    assert!(stderr(&resumed).contains("going on after round 5"), "{}", said(&resumed));
    assert_eq!(read(&lab, "out/00-ends/runs.jsonl").lines().count(), runs.len());
    for output in [output, resumed] {
        let answer = json(&stdout(&output));
        assert_eq!(answer["steps"], json("[]"), "{answer}");
        let sentence = answer["sentence"].as_str().expect("a sentence");
        assert!(sentence.starts_with("The ends do not differ: SAME within"), "{answer}");
    }
}

#[test]
fn versions_stand_once_and_in_the_order_of_their_releases() {
    let lab = lab(100_000);
    let output = search(&lab, "lib@1.7.0,1.0.0", &ONE);
    assert_eq!(code(&output), 2, "{}", said(&output));
    let expected = "error: the versions run backwards: lib@1.0.0 comes before lib@1.7.0\n\
                    hint: name them in the order of their releases\n";
    assert!(stderr(&output).ends_with(expected), "{}", said(&output));
    let output = search(&lab, "lib@1.0.0", &[&ONE[..], &["-d", "lib"]].concat());
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(stderr(&output).contains("several versions of one driver"), "{}", said(&output));
    assert!(!lab.path("out").exists(), "nothing was measured");
}

#[test]
fn the_server_of_a_file_is_the_one_that_is_measured() {
    let lab = lab(100_000);
    lab.write("uri", "mongodb://127.0.0.1:1/");
    let more = ["--uri-file", "uri", "-d", "lib@1.3.0..1.7.0"];
    let output = search(&lab, "lib@1.0.0..1.5.0", &more);
    assert_eq!(code(&output), 4, "{}", said(&output));
    assert!(stderr(&output).contains("mongodb://127.0.0.1:1/"), "{}", said(&output));
    let asked = json(&read(&lab, "out/bisect.json"));
    assert_eq!(asked["versions"].as_array().map(Vec::len), Some(8), "each once: {asked}");
}

#[test]
fn an_option_that_is_a_secret_is_not_repeated() {
    let lab = lab(100_000);
    let option = "tlsCertificateKeyFilePassword=hunter2";
    let output = bisect(&lab, &["--option", option, "--phase", "hunter2"]);
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(stderr(&output).contains("--phase ***"), "{}", said(&output));
    assert!(!said(&output).contains("hunter2"), "{}", said(&output));
}

#[test]
fn no_link_is_followed_out_of_the_folder_of_a_search() {
    let lab = lab(100_000);
    for folder in ["out", "elsewhere"] {
        fs::create_dir(lab.path(folder)).expect("a folder");
    }
    let versions = r#"["lib@1.0.0", "lib@1.7.0"]"#;
    let asked = format!(r#"{{"metric": "throughput", "versions": {versions}, "seed": null}}"#);
    let file = lab.write("file", &asked);
    let refused = |name: &str| {
        let resumed = lab.run(["resume", "out", "--workload", &noop()]);
        for output in [resumed, search(&lab, "lib@1.0.0,1.7.0", &ONE)] {
            assert_eq!(code(&output), 2, "{name}: {}", said(&output));
            let expected = format!("{name} is no ordinary file\nhint: start anew, with another");
            assert!(stderr(&output).contains(&expected), "{}", said(&output));
        }
    };
    symlink(&file, lab.path("out/bisect.json")).expect("room");
    refused("out/bisect.json");
    fs::remove_file(lab.path("out/bisect.json")).expect("it is there");
    lab.write("out/bisect.json", &asked);
    symlink(lab.path("elsewhere"), lab.path("out/00-scan")).expect("room");
    refused("out/00-scan");
    assert_eq!(read(&lab, "file"), asked);
    assert!(lab.files("elsewhere").is_empty());
}

#[test]
fn versions_with_other_options_are_a_series_of_their_own() {
    let lab = lab(100_000);
    let drivers = ["lib@1.0.0..1.3.0", "lib@1.0.0..1.3.0/maxPoolSize=5"];
    let output = lab.experiment(&drivers, &["--rounds", "1", "--phase=first"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let told = flat(&stdout(&output));
    for label in ["lib", "lib/maxPoolSize=5"] {
        let expected = format!("{label}, first: NO ANSWER: one round shows neither a step nor");
        assert!(told.contains(&expected), "{told}");
    }
}
