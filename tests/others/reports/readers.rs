//! Formats for other programs, read back by these programs. They are looked for on PATH, where
//! `.ci/run` puts them; where one is not there, its test is skipped.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::over_time::nights;
use crate::fake_support::{Lab, code, stdout};
use crate::support::{root, said, skip};

/// The program on PATH; None: the test is skipped.
fn reader(test: &str, name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name));
    let found = found.into_iter().find(|program| program.is_file());
    if found.is_none() {
        skip(test, &format!("{name} is not on PATH"));
    }
    found
}

fn recorded() -> Lab {
    nights(&[])
}

fn report(lab: &Lab, format: &str) -> String {
    let output = lab.run(["report", "recorded", "--format", format]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    stdout(&output)
}

fn read_by(program: &mut Command) -> String {
    let output = program.output().expect("the reader starts");
    assert!(output.status.success(), "{}", said(&output));
    stdout(&output)
}

#[test]
fn benchstat_reads_its_text() {
    let Some(benchstat) = reader("benchstat_reads_its_text", "benchstat") else { return };
    let lab = recorded();
    let file = lab.write("bench.txt", &report(&lab, "benchstat"));
    let mut command = Command::new(benchstat);
    let table = read_by(command.args(["-col", "/driver"]).arg(file));
    assert!(table.contains("even@1.0.0") && table.contains("slow@1.0.0"), "{table}");
    assert!(table.contains("+8.00%"), "{table}");
}

#[test]
fn otava_finds_the_step_in_its_csv() {
    let Some(otava) = reader("otava_finds_the_step_in_its_csv", "otava") else { return };
    let lab = super::over_time::upgraded();
    let mut words = vec!["history".to_owned()];
    words.extend((1..=12).map(|number| format!("n{number:02}")));
    words.extend(["--format".to_owned(), "otava".to_owned()]);
    let output = lab.run(words);
    assert_eq!(code(&output), 0, "{}", said(&output));
    lab.write("history.csv", &stdout(&output));
    let guide = std::fs::read_to_string(root().join("docs/ci.md")).expect("docs/ci.md");
    let start = guide.find("tests:\n  nightly:").expect("the configuration of Otava");
    let config = &guide[start..start + guide[start..].find("```").expect("its end")];
    let config = config.replace("python__insert_one__insert_one", "slow__first__noop");
    lab.write("otava.yaml", &config);
    let mut command = Command::new(otava);
    command.current_dir(lab.path(".")).env("HOME", lab.path("."));
    command.args(["analyze", "nightly", "--config-file", "otava.yaml", "--since", "2026-10-01"]);
    let table = read_by(&mut command);
    assert!(table.contains("night-12") && table.contains("-5."), "{table}");
}

#[test]
fn the_histograms_are_logs_that_hdrhistogram_reads() {
    let test = "the_histograms_are_logs_that_hdrhistogram_reads";
    // The Python library is in the same environment.
    let Some(otava) = reader(test, "otava") else { return };
    let python = otava.canonicalize().expect("a program").with_file_name("python");
    let lab = recorded();
    let script = "import sys\nfrom hdrh.histogram import HdrHistogram\n\
                  from hdrh.log import HistogramLogReader\n\
                  sum = HdrHistogram(1, 3600000000000, 3)\n\
                  reader = HistogramLogReader(sys.argv[1], sum)\n\
                  while reader.add_next_interval_histogram() is not None: pass\n\
                  print(sum.get_total_count(), sum.get_value_at_percentile(50))\n";
    let run = &crate::fake_support::json_lines(&lab.path("recorded/runs.jsonl"))[0];
    let phase = &run["phases"][0];
    let log = lab.path("recorded").join(phase["hlog"].as_str().expect("a log"));
    let read = read_by(Command::new(python).args(["-c", script]).arg(log));
    let (count, p50_ns) = read.trim().split_once(' ').expect("two numbers");
    let own = &phase["by_operation"][0];
    assert_eq!(count, own["count"].to_string(), "{own}");
    let p50_us = own["service"]["p50_us"].as_f64().expect("a p50");
    let read_us = p50_ns.parse::<f64>().expect("a number") / 1e3;
    assert!((read_us / p50_us - 1.0).abs() < 0.002, "{read_us} {p50_us}");
}

/// Neither is in a registry that tests may use: the action is not on npm, and Bencher's reader is
/// its server. What they take is published: a list of names, units and values, and a JSON Schema.
#[test]
fn lists_for_trackers_have_one_name_for_all_versions() {
    let lab = recorded();
    let list: Value = serde_json::from_str(&report(&lab, "github-action-benchmark")).expect("JSON");
    let list = list.as_array().expect("a list");
    let names: Vec<&str> = list.iter().map(|it| it["name"].as_str().expect("a name")).collect();
    assert!(names.contains(&"noop/first/noop/slow: time per operation"), "{names:?}");
    for it in list {
        assert!(it["unit"].is_string() && it["value"].is_f64() && it["extra"].is_string(), "{it}");
    }
    let time = &list[names.iter().position(|it| it.ends_with("slow: time per operation")).unwrap()];
    assert_eq!(time["value"], 108.0, "{time}");
    let benchmarks: Value = serde_json::from_str(&report(&lab, "bencher")).expect("JSON");
    let measures = &benchmarks["noop/first/noop/slow"];
    let throughput = &measures["throughput"];
    assert!((throughput["value"].as_f64().expect("a rate") - 9_259.0).abs() < 1.0, "{measures}");
    assert!(throughput["lower_value"].is_f64() && throughput["upper_value"].is_f64());
    let latency = measures["latency"]["value"].as_f64().expect("ns");
    assert!((latency / 108_000.0 - 1.0).abs() < 0.002, "{measures}");
}
