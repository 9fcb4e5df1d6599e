//! The study on made-up rounds.

use super::*;
use crate::evidence::Shown;
use crate::study::Made;
use record::records::{Experiment, Run};
use record::request::Request;
use record::words::Words;
use serde_json::json;
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

fn found<'a>(analysis: &'a NoiseAnalysis, id: &str) -> &'a Evidence {
    analysis.evidence.iter().find(|it| it.id == id).expect(id)
}

#[test]
fn rounds_and_minutes_follow_from_the_scatter() {
    let (experiment, runs) = made_up(6, 0.03, |_| 0.0);
    let analysis = analyse(&experiment, &runs);
    // 80 s for four arms; six differences of 0.03 scatter by 0.03 (6 / 5)^1/2.
    assert_eq!(analysis.arm_round_s, Some(20.0));
    for phase in &analysis.phases {
        let all = phase.all.as_ref().expect("a scatter");
        assert_eq!((all.degrees, phase.rows.len()), (10, 2));
        assert!((all.percent.estimate - 3.34).abs() < 0.01, "{all:?}");
        // (2.8016 x 0.03286 / ln 1.03)^2 + 1.92 = 11.6
        assert_eq!(all.told[0].rounds, 12);
    }
    let told = &found(&analysis, "told-find_one").sentences;
    let expected =
        "are told apart that differ by 3 % in 12 rounds (12 minutes), by 5 % in 6 rounds";
    assert!(told[0].contains(expected), "{told:?}");
    assert_eq!(found(&analysis, "machine").shown, Shown::Shown);
    assert!(found(&analysis, "machine").sentences[1].contains("kept awake 12.0 µs"));
    assert!(found(&analysis, "hint").sentences[0].starts_with("More rounds"));
}

#[test]
fn single_disturbed_rounds_are_left_out_and_many_are_the_rule() {
    let (experiment, runs) = made_up(8, 0.02, |round| if round == 3 { 0.4 } else { 0.0 });
    let analysis = analyse(&experiment, &runs);
    assert_eq!((&analysis.disturbed[..], analysis.counts_disturbed), (&[3][..], false));
    assert_eq!(analysis.phases[0].rows[0].rounds, 7);
    let said = &found(&analysis, "machine").sentences[0];
    assert!(said.contains("disturbed 1 of 8 rounds") && said.contains("compiler"), "{said}");
    let (experiment, runs) = made_up(6, 0.02, |_| 0.4);
    let analysis = analyse(&experiment, &runs);
    assert!(analysis.counts_disturbed);
    assert_eq!(analysis.phases[0].rows[0].rounds, 6);
    assert!(found(&analysis, "hint").sentences[0].starts_with("Stop other programs here"));
}

#[test]
fn too_few_rounds_show_nothing() {
    let (experiment, mut runs) = made_up(1, 0.02, |_| 0.0);
    assert_eq!(found(&analyse(&experiment, &runs), "told-find_one").shown, Shown::NotShown);
    runs.clear();
    let analysis = analyse(&experiment, &runs);
    assert_eq!(analysis.arm_round_s, None);
    assert!(analysis.phases.iter().all(|phase| phase.all.is_none()));
}

#[test]
fn a_rough_machine_is_told_how_many_rounds_to_ask_for() {
    let (experiment, runs) = made_up(6, 0.1, |_| 0.0);
    let analysis = analyse(&experiment, &runs);
    let hint = &found(&analysis, "hint").sentences[0];
    assert!(hint.contains("stops after 40 rounds; for 3 % give it --rounds "), "{hint}");
}

#[test]
fn a_fixed_order_is_said_in_what_compares() {
    let (mut experiment, runs) = made_up(6, 0.03, |_| 0.0);
    experiment.settings.order = Order::Reverse;
    let analysis = analyse(&experiment, &runs);
    let caution = Order::Reverse.caution().expect("one");
    let sentences = &found(&analysis, "told-find_one").sentences;
    assert!(sentences.iter().all(|it| it.ends_with(&format!("({caution})."))), "{sentences:#?}");
    assert!(analysis.notes.iter().any(|it| it == caution), "{:?}", analysis.notes);
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
        let bytes = crate::render(&NoiseStudy, &made, format, &report::Options::default());
        String::from_utf8(bytes.expect(format)).expect("text")
    };
    for format in ["terminal", "html", "md", "json"] {
        assert!(text(format).contains("b@1"), "{format}: {}", text(format));
    }
    let csv = text("csv");
    assert_eq!(csv.lines().count(), 1 + 2 * 2, "{csv}");
    assert!(csv.contains("\ninsert_one,a@1,6,3.3"), "{csv}");
    let none = crate::render(&NoiseStudy, &made, "svg", &report::Options::default());
    assert!(none.is_err(), "it draws nothing");
}
