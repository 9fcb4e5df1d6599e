//! The study on made-up rounds.

use super::*;
use crate::finished::{self, StudyTable};
use crate::frame::{Question, SERVER};
use crate::outcome::Made;
use record::records::{Experiment, Run};
use record::request::Request;
use record::words::Words;
use serde_json::{Value, json};
use stats::looks::LookPlan;
use stats::order::Order;
use workload::builtin;

const ARMS: [&str; 4] = ["a@1", "a@1#2", "b@1", "b@1#2"];

/// Rounds of 80 s in which copies differ by `difference` (log units), once this way and once that.
fn made_up(rounds: u32, difference: f64, foreign: impl Fn(u32) -> f64) -> (Experiment, Vec<Run>) {
    // None of their documents is read.
    let sets = ["documents", "deletable"].map(|name| (name.to_owned(), "100".to_owned()));
    let mut plan = builtin::open("crud", &sets.into(), 0).expect("a workload").plan;
    plan.phases.truncate(2);
    let arm = |id: &&str| {
        json!({
            "id": id, "adapter": "fake", "is_aa": false, "driver": "fake", "version": "1",
            "native": null, "runtime": "fake 1", "concurrency": "tasks", "resolved": {},
            "lock_sha256": null,
        })
    };
    let experiment = json!({
        "schema_version": 1, "mongodyno": "0.1.0", "id": "made-up",
        "started_at": "2026-11-21T10:00:00Z",
        "finished_at": format!("2026-11-21T10:{:02}:{:02}Z", rounds * 80 / 60, rounds * 80 % 60),
        "ended": "completed", "command": ["mongodyno", "study", "noise"],
        "settings": {"seed": 1, "looks": LookPlan::fixed(rounds), "interleave": [],
            "measured_s": 1.0, "keep_awake": true, "figures_only": true},
        "plan": plan,
        "arms": ARMS.iter().map(arm).collect::<Vec<_>>(), "unavailable": [],
        "server": {"kind": "embedded", "version": "6.0.5", "uri": "mongodb://127.0.0.1:1/",
            "flags": [], "topology": "standalone", "source": null},
        "machine": {"cpu": "made up", "cores": 2, "memory_bytes": 8_000_000_000_u64,
            "os": "none", "kernel": "0", "clock_source": "tsc", "governor": null,
            "keep_awake": {"used": true, "reason": "cores halt, and wake up late",
                "round_trip_us": 60.0, "round_trip_awake_us": 12.0}},
    });
    let mut runs = Vec::new();
    for round in 1..=rounds {
        for (number, id) in ARMS.iter().enumerate() {
            let way = if round % 2 == 0 { difference } else { -difference };
            let throughput = 5_000.0 * if number % 2 == 0 { 1.0 } else { way.exp() };
            let phases = ["insert_one", "find_one"].map(|name| phase(name, throughput));
            let start = (round - 1) * 80;
            runs.push(json!({
                "round": round, "arm": id, "position": 0, "failed": null, "noop_ns": 100.0,
                "started_at": format!("2026-11-21T10:{:02}:{:02}Z", start / 60, start % 60),
                "wakeup_us": 80.0, "phases": phases, "machine_noise": {
                    "steal_fraction": 0.0, "foreign_fraction": foreign(round),
                    "foreign": [{"name": "compiler", "fraction": foreign(round)}]},
            }));
        }
    }
    let runs = runs.into_iter().map(|run| serde_json::from_value(run).expect("a run")).collect();
    (serde_json::from_value(experiment).expect("an experiment"), runs)
}

fn phase(name: &str, throughput: f64) -> Value {
    json!({
        "phase": name, "turns": 40, "turn_ms": 50.0, "measured_s": 2.0, "operations": 10_000,
        "throughput": throughput, "exhausted": false, "by_operation": [], "errors": [],
        "cpu_ns": 1, "cpu_us_per_op": 1.0, "rss_peak_bytes": 1, "rss_armed_bytes": 1,
        "document_bytes": 200, "idle_cpu_fraction": null, "server": {},
        "receipt": {"level": "opcounters", "claimed": {}, "counted": {}, "agrees": true},
        "answers": {"documents": 1, "sum": 0, "documents_expected": null, "sum_expected": null},
        "little": null, "half_log_ratio": null, "warmup_throughput": [], "sizes": {}, "gates": [],
        "open_loop": null, "hlog": null, "samples": [],
    })
}

fn analyse(experiment: &Experiment, runs: &[Run]) -> StudyTable {
    let path = tempfile::tempdir().expect("a folder");
    let folder = record::folder::Folder::create(&path.path().join("it")).expect("a folder");
    let made = Made { part: "copies", folder: &folder, experiment, runs };
    finished::analyse(&NoiseStudy, &Outcome::from(made))
}

fn found<'a>(analysis: &'a StudyTable, id: &str) -> &'a Question {
    analysis.questions.iter().find(|it| it.id == id).expect(id)
}

fn median(analysis: &StudyTable, phase: &str, arm: &str, metric: &str) -> Option<f64> {
    let cells = Cells { all: analysis.cells.clone() };
    cells.median(["copies", phase, arm, metric])
}

#[test]
fn rounds_and_minutes_follow_from_the_scatter() {
    let (experiment, runs) = made_up(6, 0.03, |_| 0.0);
    let analysis = analyse(&experiment, &runs);
    // 80 s for four arms; six differences of 0.03 scatter by 0.03 (6 / 5)^1/2.
    assert_eq!(median(&analysis, "", SERVER, "arm_round_s"), Some(20.0));
    for phase in ["insert_one", "find_one"] {
        let of = |metric| median(&analysis, phase, ALL, metric).expect(metric);
        assert_eq!(of("degrees").to_string(), "10");
        assert!((of("scatter_percent") - 3.34).abs() < 0.01, "{analysis:?}");
        // (2.8016 x 0.03286 / ln 1.03)^2 + 1.92 = 11.6
        assert_eq!(of("rounds_for_3_percent").to_string(), "12");
        assert_eq!(of("minutes_for_3_percent").to_string(), "12");
        assert_eq!(of("rounds_for_5_percent").to_string(), "6");
        for arm in ["a@1", "b@1"] {
            assert!(median(&analysis, phase, arm, "scatter_percent").is_some(), "{arm}");
        }
    }
    let told = found(&analysis, "told-find_one");
    assert_eq!(told.answer, StudyAnswer::Yes);
    assert!(told.sentence.starts_with("It takes 12 ("), "{told:?}");
    let machine = found(&analysis, "machine");
    assert_eq!(machine.answer, StudyAnswer::Yes);
    assert!(machine.rows[0].words.contains("round trip awake 12.0 µs"), "{machine:?}");
    assert!(found(&analysis, "hint").rows[0].words.starts_with("More rounds"));
}

#[test]
fn single_disturbed_rounds_are_left_out_and_many_are_the_rule() {
    let (experiment, runs) = made_up(8, 0.02, |round| if round == 3 { 0.4 } else { 0.0 });
    let analysis = analyse(&experiment, &runs);
    let difference = |analysis: &StudyTable| {
        let cells = Cells { all: analysis.cells.clone() };
        let at = ["copies", "insert_one", "a@1", "difference_percent"];
        cells.at(at).expect("a cell").by_round.len()
    };
    assert_eq!(median(&analysis, "", SERVER, "disturbed_rounds"), Some(1.0));
    assert_eq!(difference(&analysis), 7);
    let machine = found(&analysis, "machine");
    let said = &machine.rows[0].words;
    assert_eq!(machine.answer, StudyAnswer::No);
    assert!(said.contains("disturbed rounds 1 (") && said.contains("compiler"), "{said}");
    assert!(said.contains("left out"), "{said}");
    let count = |analysis: &StudyTable| {
        let notes = analysis.notes.iter().any(|it| it.contains("which count"));
        notes || analysis.questions.iter().any(|it| format!("{it:?}").contains("which count"))
    };
    assert!(!count(&analysis), "{analysis:?}");
    let (experiment, runs) = made_up(6, 0.02, |_| 0.4);
    let analysis = analyse(&experiment, &runs);
    assert_eq!(difference(&analysis), 6);
    assert!(found(&analysis, "machine").rows[0].words.contains("they count"));
    assert!(found(&analysis, "hint").rows[0].words.starts_with("Stop other programs here"));
}

#[test]
fn too_few_rounds_show_nothing() {
    let (experiment, mut runs) = made_up(1, 0.02, |_| 0.0);
    let one = analyse(&experiment, &runs);
    let told = found(&one, "told-find_one");
    let why = "Nothing was measured: too few rounds have both copies.";
    assert_eq!((told.answer, &*told.sentence), (StudyAnswer::NotShown, why));
    runs.clear();
    let none = analyse(&experiment, &runs);
    assert_eq!(median(&none, "", SERVER, "arm_round_s"), None);
    assert_eq!(found(&none, "told-insert_one").answer, StudyAnswer::NotShown);
    assert_eq!(median(&none, "find_one", ALL, "scatter_percent"), None);
}

#[test]
fn a_rough_machine_is_told_how_many_rounds_to_ask_for() {
    let (experiment, runs) = made_up(6, 0.1, |_| 0.0);
    let analysis = analyse(&experiment, &runs);
    let hint = &found(&analysis, "hint").rows[0].words;
    assert!(hint.contains("stops after 40 rounds; for 3 % give it --rounds "), "{hint}");
}

#[test]
fn a_fixed_order_is_said_in_what_compares() {
    let (mut experiment, runs) = made_up(6, 0.03, |_| 0.0);
    experiment.settings.conduct.order = Some(Order::Reverse);
    let analysis = analyse(&experiment, &runs);
    let caution = Order::Reverse.caution().expect("one");
    let words = &found(&analysis, "told-find_one").rows[0].words;
    assert!(words.contains(&format!("({caution})")), "{words}");
    assert!(analysis.notes.iter().any(|it| it.ends_with(caution)), "{:?}", analysis.notes);
}

#[test]
fn every_driver_has_a_copy_also_when_both_are_asked_for_again() {
    let planned = |drivers: &[String]| {
        let drivers = drivers.iter().map(Words::new).collect();
        let request = Request { drivers, ..Request::default() };
        let [part] = &NoiseStudy.plan(&Asked { request, ..Asked::default() }).expect("a plan")[..]
        else {
            panic!("it has one part")
        };
        part.request.clone()
    };
    let once = planned(&["a", "b"].map(str::to_owned));
    let drivers = once.drivers().expect("they are named");
    assert_eq!(drivers, ["a", "a", "b", "b"]);
    assert_eq!(planned(&drivers), once);
    let plan = builtin::open("crud", &once.parameters, 0).expect("a workload").plan;
    let has = |name: &String| plan.phases.iter().any(|phase| &phase.name == name);
    assert!(once.phases.iter().all(has), "names are those of the workload: {:?}", once.phases);
}

#[test]
fn every_format_has_a_row_a_driver() {
    let path = tempfile::tempdir().expect("a folder");
    let (experiment, runs) = made_up(6, 0.03, |_| 0.0);
    let folder = record::folder::Folder::create(&path.path().join("it")).expect("a folder");
    let made = Made { part: "", folder: &folder, experiment: &experiment, runs: &runs };
    let made = Outcome::from(made);
    let text = |format: &str| {
        let bytes = report::study_text(
            &crate::finished(&NoiseStudy, &made),
            format,
            &report::Options::default(),
        );
        String::from_utf8(bytes.expect(format)).expect("text")
    };
    for format in ["terminal", "html", "md", "json"] {
        assert!(text(format).contains("b@1"), "{format}: {}", text(format));
    }
    let csv = text("csv");
    assert!(csv.contains(",insert_one,a@1,scatter_percent,percent,3.3"), "{csv}");
    let none = report::study_text(
        &crate::finished(&NoiseStudy, &made),
        "svg",
        &report::Options::default(),
    );
    assert!(none.is_err(), "it draws nothing");
}
