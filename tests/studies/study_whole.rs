//! The whole broker study, scaled down, with the drivers of 2012 to today; and its later reports.

use std::collections::BTreeMap;
use std::fs;

use crate::fake_support::real::lab_with;
use crate::fake_support::{Lab, code, flat, stderr, stdout};
use crate::study_support::{of_phase, read, study_lab};
use crate::support::{said, server};
use jsonschema::Validator;
use record::folder::Folder;
use record::records::{Ended, Experiment, Run};
use serde_json::Value;
use studies::Study as _;
use studies::StudyTable;
use studies::broker::BrokerStudy;
use studies::definition::Arm;

/// Producers as the study defines them, by the ids of their arms, which are in the same order.
fn producers(experiment: &Experiment) -> BTreeMap<String, Arm> {
    let ids = experiment.arms.iter().map(|arm| arm.id.clone());
    let producers = BrokerStudy.definition().arms;
    assert_eq!(producers.len(), experiment.arms.len(), "{:?}", experiment.unavailable);
    ids.zip(producers).collect()
}

fn assert_run(experiment: &Experiment, producer: &Arm, run: &Run) {
    let what = format!("{} in round {}", run.arm, run.round);
    assert_eq!(run.failed, None, "{what}");
    assert_eq!(run.tapped, run.round == 2, "{what}");
    let all = experiment.plan.phases.iter().map(|phase| &phase.name);
    let takes = |name: &&String| producer.phases.as_ref().is_none_or(|own| own.contains(name));
    let expected: Vec<&String> = all.filter(takes).collect();
    let names: Vec<&String> = run.phases.iter().map(|phase| &phase.phase).collect();
    assert_eq!(names, expected, "{what}");
    for name in names {
        let broker = of_phase(run, name);
        let what = format!("{what}, {name}: {broker:?}");
        assert!(broker.sent > 0, "{what}");
        assert_eq!((broker.received, broker.lost), (broker.sent, 0), "{what}");
        assert_eq!((broker.duplicates, broker.unclaimed), (0, 0), "{what}");
        let consumer = &broker.consumer;
        assert_eq!((consumer.cursors, consumer.cut_short), (1, false), "{what}");
        let matched = broker.parts.as_ref().map(|parts| (parts.matched, parts.unmatched));
        assert_eq!(matched, run.tapped.then_some((broker.received, 0)), "{what}");
    }
}

fn validator(lab: &Lab, name: &str) -> Validator {
    let output = lab.run(["schema", name]);
    let schema: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    jsonschema::validator_for(&schema).expect("a valid schema")
}

fn assert_valid(validator: &Validator, value: &Value) {
    let faults: Vec<String> = validator
        .iter_errors(value)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

fn report(lab: &Lab, format: &str) -> Vec<u8> {
    let mut command = lab.command(["report", "out", "--format", format, "--details"]);
    // Names of arms are not cut in two.
    let output = command.env("COLUMNS", "180").output().expect("the binary runs");
    assert_eq!(code(&output), 0, "{format}: {}", said(&output));
    output.stdout
}

fn assert_reports(lab: &Lab, runs: &[Run], ids: &[&str]) {
    let analysis = report(lab, "json");
    let value: Value = serde_json::from_slice(&analysis).expect("JSON");
    assert_valid(&validator(lab, "study"), &value);
    let table: StudyTable = serde_json::from_value(value).expect("a table");
    assert!(!table.questions.is_empty(), "it has an answer, if only what is not shown");
    let ours =
        |metric: &str| table.cells.iter().filter(|it| it.metric == metric && !it.original).count();
    assert!(ours("sent") > 0 && ours("sent") == ours("curve"), "{:?}", table.notes);

    let csv = String::from_utf8(report(lab, "csv")).expect("text");
    let sent = runs.iter().flat_map(|run| &run.phases);
    let sent: u64 = sent.map(|phase| phase.broker.as_ref().expect("a broker").sent).sum();
    assert_eq!(csv.lines().count() as u64, sent + 1, "a head, and a line a message");
    let script = String::from_utf8(report(lab, "gnuplot")).expect("text");
    assert_eq!(Some(script.as_str()), BrokerStudy.gnuplot());

    let text = String::from_utf8(report(lab, "terminal")).expect("text");
    let page = String::from_utf8(report(lab, "html")).expect("text");
    let picture = String::from_utf8(report(lab, "svg")).expect("text");
    for id in ids {
        assert!(flat(&text).contains(id), "{id} in {text}");
        assert!(page.contains(id), "{id} in the page");
        assert!(picture.contains(id), "{id} in the picture");
    }
    assert!(page.starts_with("<!") && page.contains("<svg"), "a page with pictures");
    assert!(picture.starts_with("<svg"), "{}", &picture[..200]);
}

#[test]
fn the_drivers_of_then_and_of_today() {
    let arms = BrokerStudy.definition().arms;
    let drivers: Vec<&str> = arms.iter().map(|it| it.driver.as_str()).collect();
    let Some(lab) = study_lab("study_whole/the_drivers_of_then_and_of_today", &drivers) else {
        return;
    };
    let small = ["--set=messages=300", "--set=seconds_max=0.3", "--set=rate_messages=50"];
    let words = ["study", "broker", "--quick", "--rounds", "1", "--seed", "7", "--out", "out"];
    let output = lab.run([&words[..], &small, &["--details"]].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    let (experiment, runs) = read(&lab);
    assert_eq!(experiment.ended, Some(Ended::Completed));
    assert!(experiment.server.version.starts_with("4.4."), "{:?}", experiment.server);
    assert!(experiment.settings.conduct.figures_only && experiment.settings.conduct.tap_last_round);
    let producers = producers(&experiment);
    assert_eq!(runs.len(), 2 * producers.len(), "{}", stderr(&output));
    for run in &runs {
        assert_run(&experiment, &producers[&run.arm], run);
    }
    let record = lab.record();
    assert_valid(&validator(&lab, "experiment"), &record);
    let of_run = validator(&lab, "run");
    lab.runs().iter().for_each(|run| assert_valid(&of_run, run));
    let ids: Vec<&str> = experiment.arms.iter().map(|arm| arm.id.as_str()).collect();
    for arm in &experiment.arms {
        assert!(!arm.driver.is_empty() && !arm.runtime.is_empty(), "who they are: {arm:?}");
        assert!(arm.resolved.is_object(), "with what they work: {arm:?}");
    }
    for id in &ids {
        assert!(flat(&stdout(&output)).contains(id.split('/').next().expect("a part")), "{id}");
    }
    assert_reports(&lab, &runs, &ids);
    lab.assert_nothing_runs();
}

/// No third adapter is needed: of these two the faster reader reads.
#[test]
fn two_of_the_originals_languages_alone() {
    let drivers = ["ruby", "cpp"];
    let Some(lab) = study_lab("study_whole/two_of_the_originals_languages_alone", &drivers) else {
        return;
    };
    let small = ["--set=messages=100", "--set=think_messages=20", "--set=rate_messages=20"];
    let words =
        ["study", "broker", "-d", "ruby", "-d", "cpp", "--quick", "--rounds=1", "--out=out"];
    let output = lab.run([&words[..], &small].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    let (experiment, runs) = read(&lab);
    let reader = experiment.consumer.as_ref().expect("a reader");
    assert_eq!(reader.adapter, "cpp", "{reader:?}");
    assert!(reader.limits.is_some() && experiment.arms.iter().all(|arm| arm.limits.is_some()));
    assert_eq!(runs.len(), 2 * drivers.len());
    for run in &runs {
        assert_run(&experiment, &Arm::default(), run);
    }
    let ids: Vec<&str> = experiment.arms.iter().map(|arm| arm.id.as_str()).collect();
    assert_reports(&lab, &runs, &ids);
}

#[test]
fn a_change_stream_beside_a_tailable_cursor() {
    let test = "study_whole/a_change_stream_beside_a_tailable_cursor";
    if server(test).is_none() {
        return;
    }
    let Some(lab) = lab_with(test, &["python", "node"]) else { return };
    let words = ["study", "broker", "--parts", "streams", "--quick", "--rounds=1", "--out=out"];
    let output = lab.run([&words[..], &["--details"]].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    let (folder, experiment) = Folder::open(&lab.path("out/streams")).expect("a part");
    let topology = &experiment.server.topology;
    assert!(topology.starts_with("replica set"), "{topology}");
    let runs = folder.runs().expect("runs");
    let ids: Vec<&str> = experiment.arms.iter().map(|arm| arm.id.as_str()).collect();
    assert_eq!((ids.len(), runs.len()), (2, 2), "{}", said(&output));
    for run in &runs {
        for name in ["tailable_cursor", "change_stream"] {
            let broker = of_phase(run, name);
            assert_eq!((broker.sent, broker.received), (300, 300), "{name}: {broker:?}");
            assert_eq!((broker.lost, broker.duplicates), (0, 0), "{name}: {broker:?}");
        }
    }
    let shown = flat(&stdout(&output));
    assert!(shown.contains("A change stream beside a tailable cursor"), "{shown}");
    let question = "Does a message arrive more than 5 % later by a change stream";
    assert!(shown.contains(question), "{shown}");
    assert!(shown.contains("Not shown. By a change stream a message takes "), "{shown}");
    assert_reports(&lab, &runs, &ids);
    lab.assert_nothing_runs();
}

#[test]
fn the_workload_can_be_had_changed_and_run() {
    let lab = Lab::with_shared_cache();
    let eject = ["study", "broker", "--scale", "0.02", "--eject", "mine"];
    let output = lab.run(eject);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(stdout(&output), "mine\n");
    let script = fs::read_to_string(lab.path("mine/study.sh")).expect("commands");
    assert!(script.contains("mongodyno run broker.yaml --set messages=2000 "), "{script}");
    assert!(script.contains(" -d go ") && script.contains(" --server embedded@4.4 "), "{script}");
    let server = ["--server", "embedded@4.4", "-d", "go", "--plan"];
    let output = lab.run([&["run", "mine/broker.yaml"], &server[..]].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    for phase in ["awaited", "think", "rate", "burst"] {
        assert!(stdout(&output).contains(phase), "{phase}: {}", said(&output));
    }
    let output = lab.run(eject);
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(stderr(&output).contains("nothing is written over"), "{}", said(&output));
    assert_eq!(fs::read_to_string(lab.path("mine/study.sh")).expect("commands"), script);
}
