//! The study on made-up rounds.

use crate::study::words;
use record::request::Request;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::cells::{self, Cell};
use super::*;
use crate::evidence::Shown;
use crate::study::Made;
use record::folder::Folder;
use record::records::{Experiment, Run};
use serde_json::json;
use stats::growth::Law;
use workload::builtin;

const ROUNDS: u32 = 6;
const ARM: &str = "a@1";

/// Every part at the smallest scale, with its plan.
fn planned() -> &'static [(Cell, StudyPart, workload::plan::Plan)] {
    static PLANNED: OnceLock<Vec<(Cell, StudyPart, workload::plan::Plan)>> = OnceLock::new();
    PLANNED.get_or_init(|| {
        let of = |(cell, part): (Cell, StudyPart)| {
            let Request { workload, parameters, .. } = &part.request;
            let workload = workload.get().expect("it is built in");
            let workload = builtin::open(workload, parameters, 1).expect("a workload");
            (cell, part, workload.plan)
        };
        cells::all(false).into_iter().zip(parts(0.001)).map(of).collect()
    })
}

fn parts(scale: f64) -> Vec<StudyPart> {
    let asked = Asked { scale: Some(scale), ..Asked::default() };
    CrudScaleStudy.plan(&asked).expect("a plan")
}

/// Rounds of each part, at so many operations a second that scatter by `noise`.
fn made_up(rate: impl Fn(Cell, &str) -> f64, noise: f64) -> Vec<(StudyPart, Experiment, Vec<Run>)> {
    let of = |(cell, part, plan): &(Cell, StudyPart, workload::plan::Plan)| {
        let runs = (1..=ROUNDS).map(|round| {
            let off = 1.0 + noise * (f64::from(round) - 3.5) / 2.5;
            let phases = plan.phases.iter().map(|it| phase(&it.name, rate(*cell, &it.name) * off));
            json!({
                "round": round, "arm": ARM, "position": 0, "failed": null, "noop_ns": 100.0,
                "started_at": "2026-11-22T10:00:00Z", "wakeup_us": 80.0,
                "phases": phases.collect::<Vec<_>>(),
                "machine_noise": {"steal_fraction": 0.0, "foreign_fraction": 0.0, "foreign": []},
            })
        });
        let runs = runs.map(|run| serde_json::from_value(run).expect("a run")).collect();
        let experiment = json!({
            "schema_version": 2, "mongodyno": "0.1.0", "id": "made-up",
            "started_at": "2026-11-22T10:00:00Z", "finished_at": "2026-11-22T10:01:00Z",
            "ended": "completed", "command": ["mongodyno", "study", "crud-scale"],
            "settings": {"seed": 1, "looks": stats::looks::LookPlan::fixed(ROUNDS),
                "interleave": [], "measured_s": 3.0, "keep_awake": true,
                "figures_only": true},
            "plan": plan, "unavailable": [],
            "arms": [{"id": ARM, "adapter": "fake", "is_aa": false, "driver": "fake",
                "version": "1", "native": null, "runtime": "fake 1", "concurrency": "threads",
                "resolved": {}, "lock_sha256": null}],
            "server": {"kind": "embedded", "version": "6.0.5", "uri": "mongodb://127.0.0.1:1/",
                "flags": [], "topology": "standalone", "source": null},
            "machine": {"cpu": "made up", "cores": 2, "memory_bytes": 8_000_000_000_u64,
                "os": "none", "kernel": "0", "clock_source": "tsc", "governor": null},
        });
        (part.clone(), serde_json::from_value(experiment).expect("an experiment"), runs)
    };
    planned().iter().map(of).collect()
}

/// A phase of 1,000 operations; searches behind one-way inserts find a tenth less.
fn phase(name: &str, throughput: f64) -> Value {
    let unwaited = name == "unwaited";
    let operation = if unwaited { "search_id" } else { "find_one" };
    let mean_us = 1e6 / throughput;
    json!({
        "phase": name, "turns": 1, "turn_ms": 50.0, "measured_s": 2.0, "operations": 1_000,
        "throughput": throughput, "exhausted": false, "errors": [],
        "by_operation": [{"operation": operation, "count": 1_000, "wrong": 0, "failed": 0,
            "service": {"mean_us": mean_us, "min_us": mean_us, "p50_us": mean_us, "p90_us": null,
                "p99_us": null, "p999_us": null, "max_us": mean_us}, "response": null}],
        "cpu_ns": 1, "cpu_us_per_op": 1.0, "rss_peak_bytes": 1, "rss_armed_bytes": 1,
        "document_bytes": 200, "idle_cpu_fraction": null, "server": {},
        "receipt": {"level": "opcounters", "claimed": {}, "counted": {}, "agrees": true},
        "answers": {"documents": if unwaited { 900 } else { 1_000 }, "sum": 0,
            "documents_expected": 1_000, "sum_expected": null},
        "little": null, "half_log_ratio": null, "warmup_throughput": [], "sizes": {}, "gates": [],
        "open_loop": null, "hlog": null, "samples": [],
    })
}

/// Answers `look` about the study of these parts.
fn looked<T>(
    parts: &[(StudyPart, Experiment, Vec<Run>)],
    look: impl FnOnce(&Outcome<'_>) -> T,
) -> T {
    let path = tempfile::tempdir().expect("a folder");
    let folder = Folder::create(&path.path().join("it")).expect("a folder");
    let made = parts.iter().map(|(part, experiment, runs)| Made {
        part: &part.name,
        folder: &folder,
        experiment,
        runs,
    });
    let (made, left_out) = (made.collect(), BTreeMap::new());
    look(&Outcome { made, left_out, folder: "out".to_owned(), scale: None })
}

fn shown(analysis: &CrudScaleAnalysis, id: &str) -> Shown {
    analysis.evidence.iter().find(|it| it.id == id).expect(id).shown
}

/// As in 2010; no part of what it did not measure is known, and more threads change nothing.
fn as_in_2010(cell: Cell, operation: &str) -> f64 {
    let series = match cell.series {
        Series::Remote => Series::Remote,
        _ => Series::OneWay,
    };
    let known = originals::rate(series, operation, cell.millions);
    known.or_else(|| originals::rate(series, operation, 1)).unwrap_or(1_000.0)
}

/// Contrary to 2010: threads scale, searches grow, the link brakes writes and no searches.
fn contrary(cell: Cell, operation: &str) -> f64 {
    let millions = f64::from(cell.millions);
    let link = matches!(cell.series, Series::Remote | Series::RemoteAcknowledged);
    let own = match operation {
        "insert" if link => 1_000.0,
        "insert" if cell.series == Series::ObjectId => 20_000.0,
        "insert" => 10_000.0,
        "search_value" => 10_000.0 / millions.powi(2),
        _ => 10_000.0 / millions.sqrt(),
    };
    own * f64::from(cell.threads) / (1.0 + 0.02 * f64::from(cell.threads - 1))
}

#[test]
fn the_figures_of_2010_confirm_its_findings() {
    let analysis = looked(&made_up(as_in_2010, 0.005), analyse);
    let findings =
        ["insert-grows", "change-steady", "search-steady", "scan-linear", "link", "threads"];
    for id in findings {
        assert_eq!(shown(&analysis, id), Shown::Shown, "{id}: {:#?}", analysis.evidence);
    }
    let insert = &analysis.rates[0];
    assert_eq!((insert.documents, insert.per_s_2010), (1_000, Some(32_210.0)));
    let scan = analysis.growth.iter().find(|it| it.operation == "scan").expect("scans");
    assert_eq!(scan.growth.expect("growth").law, Some(Law::Linear), "{scan:?}");
}

#[test]
fn contrary_figures_refute_them() {
    let analysis = looked(&made_up(contrary, 0.005), analyse);
    let refuted =
        ["insert-grows", "change-steady", "search-steady", "scan-linear", "link", "threads"];
    for id in refuted {
        assert_eq!(shown(&analysis, id), Shown::Refuted, "{id}: {:#?}", analysis.evidence);
    }
    for id in ["objectid", "acknowledged", "unwaited"] {
        assert_eq!(shown(&analysis, id), Shown::Shown, "{id}: {:#?}", analysis.evidence);
    }
    assert_eq!((analysis.unwaited[0].searches, analysis.unwaited[0].missed), (6_000, 600));
    // Six numbers of threads, six rounds: the law has its contention back.
    let search = analysis.scaling.iter().find(|it| it.operation == "search_id").expect("a law");
    assert!((search.alpha.estimate - 0.02).abs() < 0.001, "{search:?}");
    assert_eq!(search.peak, None, "it was not reached");
    let ten = analysis.rates.iter().find(|it| it.threads == 10).expect("ten threads");
    let rates = [ten.per_s, ten.per_thread_s].map(|it| it.expect("rounds").median.estimate);
    assert!((rates[0] / rates[1] - 10.0).abs() < 1e-9, "{ten:?}");
}

#[test]
fn the_sixth_finding_is_of_one_way_writes() {
    let scaling = |series: Series| {
        let rate = |cell: Cell, operation: &str| {
            let threads = if cell.series == series { f64::from(cell.threads) } else { 1.0 };
            as_in_2010(cell, operation) * threads
        };
        looked(&made_up(rate, 0.005), analyse)
    };
    assert_eq!(shown(&scaling(Series::ThreadsOneWay), "threads"), Shown::Refuted);
    let acknowledged = scaling(Series::Threads);
    let it = acknowledged.evidence.iter().find(|it| it.id == "threads").expect("it");
    assert_eq!(it.shown, Shown::Shown, "{it:?}");
    assert!(it.sentences[0].contains(" Acknowledged: insert: 10 threads do 10.0 "), "{it:?}");
}

#[test]
fn two_rounds_decide_nothing() {
    let mut parts = made_up(contrary, 0.005);
    for (_, _, runs) in &mut parts {
        runs.truncate(2);
    }
    let analysis = looked(&parts, analyse);
    for id in ["link", "threads", "objectid", "acknowledged"] {
        let it = analysis.evidence.iter().find(|it| it.id == id).expect(id);
        assert_eq!(it.shown, Shown::NotShown, "{it:?}");
        assert!(it.sentences[0].contains(", too few rounds to decide)"), "{it:?}");
    }
}

#[test]
fn rough_figures_and_missing_parts_show_nothing() {
    let parts = made_up(as_in_2010, 0.6);
    let rough = looked(&parts, analyse);
    for id in ["insert-grows", "change-steady", "scan-linear", "link"] {
        assert_eq!(shown(&rough, id), Shown::NotShown, "{id}: {:#?}", rough.evidence);
    }
    let first = looked(&parts[..1], analyse);
    assert!(first.evidence.iter().all(|it| it.shown == Shown::NotShown), "{:#?}", first.evidence);
    assert_eq!((first.scaling.len(), first.unwaited.len()), (0, 0));
}

#[test]
fn a_run_that_does_not_count_is_named() {
    let mut parts = made_up(as_in_2010, 0.005);
    parts[0].2[0].phases[0].receipt.agrees = false;
    let analysis = looked(&parts, analyse);
    assert_eq!(analysis.rates[0].rounds[0], None);
    let note = "one-way-1m: insert does not count in 1 of 6 rounds: ";
    assert!(analysis.notes.iter().any(|it| it.starts_with(note)), "{:?}", analysis.notes);
}

#[test]
fn every_format_has_the_figures_of_2010_beside_ours() {
    let parts = made_up(as_in_2010, 0.005);
    for format in ["terminal", "html", "md", "svg"] {
        let render = |made: &Outcome<'_>| {
            crate::render(&CrudScaleStudy, made, format, &report::Options::default())
        };
        let text = String::from_utf8(looked(&parts, render).expect(format)).expect("text");
        let expected = if format == "svg" { "acknowledged: the cost" } else { "32,210" };
        assert!(text.contains(expected) && text.contains("2010"), "{format}: {text}");
    }
    let mut csv = Vec::new();
    looked(&parts, |made| CrudScaleStudy.csv(made, &mut csv)).expect("a table");
    let csv = String::from_utf8(csv).expect("text");
    // Twenty-four parts of six operations, without the one that waits for nobody.
    assert_eq!(csv.lines().count(), 1 + 24 * 6, "{csv}");
}

#[test]
fn parts_are_a_star_of_the_original_s_sizes() {
    let parts = parts(1.0);
    let of = |name: &str| {
        let part = parts.iter().find(|it| it.name == name).expect(name);
        assert!(part.request.figures_only);
        words(part)
    };
    let largest = of("one-way-10m");
    for word in ["documents=10000000", "tenth=1000000", "searches=1000", "w=0", "threads=1"] {
        assert!(largest.contains(word), "{word}: {largest}");
    }
    assert!(of("remote-1m").contains("--link lan-100mbit"));
    assert!(of("threads-10").contains("documents=1000000 "));
    assert!(of("threads-one-way-10").contains("--set threads=10 --set w=0"));
    assert!(of("unwaited-1m").contains("documents=230000"), "a schedule holds no more");
}

#[test]
fn a_parameter_goes_to_the_parts_that_have_it() {
    let sets = BTreeMap::from([("searches".to_owned(), "7".to_owned())]);
    let request = Request { parameters: sets, ..Request::default() };
    let parts = CrudScaleStudy.plan(&Asked { request, ..Asked::default() }).expect("a plan");
    let searches = |part: &StudyPart| part.request.parameters.get("searches").cloned();
    let with = parts.iter().filter(|part| searches(part).as_deref() == Some("7"));
    let without: Vec<&str> =
        parts.iter().filter(|part| searches(part).is_none()).map(|it| it.name.as_str()).collect();
    assert_eq!((with.count(), without), (24, vec!["unwaited-1m"]));
}
