//! The study on made-up rounds.

use crate::study::words;
use record::request::Request;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::parts::{self, ScaleSeries, SeriesPart};
use super::*;
use crate::finished::{self, StudyTable};
use crate::frame::{self, CellSelector, Question, StudyAnswer, StudyCell};
use record::folder::Folder;
use record::records::{Experiment, Run};
use serde_json::{Value, json};
use workload::builtin;

const ROUNDS: u32 = 6;
const ARM: &str = "a@1";

/// Every part at the smallest scale, with its plan.
fn planned() -> &'static [(SeriesPart, StudyPart, workload::plan::Plan)] {
    static PLANNED: OnceLock<Vec<(SeriesPart, StudyPart, workload::plan::Plan)>> = OnceLock::new();
    PLANNED.get_or_init(|| {
        let of = |(cell, part): (SeriesPart, StudyPart)| {
            let Request { workload, parameters, .. } = &part.request;
            let workload = workload.get().expect("it is built in");
            let workload = builtin::open(workload, parameters, 1).expect("a workload");
            (cell, part, workload.plan)
        };
        parts::all(false).into_iter().zip(scaled(0.001)).map(of).collect()
    })
}

fn scaled(scale: f64) -> Vec<StudyPart> {
    let asked = Asked { scale: Some(scale), ..Asked::default() };
    CrudScaleStudy.plan(&asked).expect("a plan")
}

/// Rounds of each part, at so many operations a second that scatter by `noise`.
fn made_up(
    rate: impl Fn(SeriesPart, &str) -> f64,
    noise: f64,
) -> Vec<(StudyPart, Experiment, Vec<Run>)> {
    let of = |(cell, part, plan): &(SeriesPart, StudyPart, workload::plan::Plan)| {
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

fn analyse(outcome: &Outcome<'_>) -> StudyTable {
    finished::analyse(&CrudScaleStudy, outcome)
}

fn question<'a>(table: &'a StudyTable, id: &str) -> &'a Question {
    table.questions.iter().find(|it| it.id == id).expect(id)
}

#[track_caller]
fn all_are(table: &StudyTable, ids: &[&str], answer: StudyAnswer) {
    for id in ids {
        let it = question(table, id);
        assert_eq!(it.answer, answer, "{id}: {it:#?}");
    }
}

fn cell<'a>(table: &'a StudyTable, at: [&str; 4]) -> &'a StudyCell {
    let selector = CellSelector::of(at);
    table.cells.iter().find(|it| selector.has(it)).expect("a cell")
}

fn median(table: &StudyTable, at: [&str; 4]) -> f64 {
    cell(table, at).value.expect("a figure").median
}

/// The original's claims, six of which have a number.
const CLAIMS: [&str; 7] = [
    "insert-fastest",
    "id-faster",
    "search-steady",
    "scan-linear",
    "link-writes",
    "link-searches",
    "threads",
];
const ORIGINAL: &str = "the original";

/// Cells as in 2010; no part of what it did not measure is known, and more threads change nothing.
fn as_in_2010(part: SeriesPart, operation: &str) -> f64 {
    static KNOWN: OnceLock<Cells> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        let mut known = Cells::default();
        known.add_originals(&CrudScaleStudy.definition().originals);
        known
    });
    let series = match part.series {
        ScaleSeries::Remote => ScaleSeries::Remote,
        _ => ScaleSeries::OneWay,
    };
    let name = SeriesPart { series, ..part }.name();
    known.median([&name, operation, ORIGINAL, "per_s"]).unwrap_or(1_000.0)
}

/// Contrary to 2010: deletes are fastest, threads scale, searches grow, the link brakes writes and
/// no searches.
fn contrary(cell: SeriesPart, operation: &str) -> f64 {
    let millions = f64::from(cell.millions);
    let link = matches!(cell.series, ScaleSeries::Remote | ScaleSeries::RemoteAcknowledged);
    let own = match operation {
        "insert" if link => 1_000.0,
        "insert" if cell.series == ScaleSeries::ObjectId => 20_000.0,
        "insert" => 10_000.0,
        "search_value" => 10_000.0 / millions.powi(2),
        "delete" => 40_000.0 / millions.sqrt(),
        _ => 10_000.0 / millions.sqrt(),
    };
    own * f64::from(cell.threads) / (1.0 + 0.02 * f64::from(cell.threads - 1))
}

#[test]
fn the_figures_of_2010_confirm_its_findings() {
    let table = looked(&made_up(as_in_2010, 0.005), analyse);
    let known: Vec<(&str, Option<&str>)> =
        table.questions.iter().map(|it| (it.id.as_str(), it.claim.as_deref())).collect();
    let numbers = ["1", "2", "3", "4", "5", "6"].map(Some).into_iter().chain([None]);
    assert_eq!(known[..7], CLAIMS.into_iter().zip(numbers).collect::<Vec<_>>());
    all_are(&table, &CLAIMS, StudyAnswer::Yes);
    all_are(&table, &["insert-grows", "change-steady", "threads-writes"], StudyAnswer::Yes);
    let documents = median(&table, ["one-way-1m", "insert", ARM, "documents"]);
    assert!((documents - 1_000.0).abs() < 1e-9);
    let law = |arm| cell(&table, ["one-way", "scan", arm, "exponent"]).note.as_deref();
    assert_eq!([ARM, ORIGINAL].map(law), [Some("linear"); 2]);
    let tenfold = median(&table, ["one-way", "insert", ORIGINAL, "tenfold_percent"]);
    assert!((tenfold - 59.4).abs() < 0.1, "{tenfold}");
}

#[test]
fn every_figure_of_the_original_stands_beside_ours() {
    let table = looked(&made_up(contrary, 0.005), analyse);
    let of = |part: &str| {
        let each = ["search_id", "search_key"];
        each.map(|operation| median(&table, [part, operation, ORIGINAL, "per_s"]))
    };
    assert_eq!([of("remote-1m"), of("remote-10m")], [[2_410.0, 1_470.0], [2_420.0, 1_440.0]]);
    let known = |it: &&StudyCell| it.original && it.metric == "per_s";
    let known: Vec<&StudyCell> = table.cells.iter().filter(known).collect();
    assert_eq!(known.len(), 2 * 5 * 6);
    assert!(known.iter().all(|it| it.unit == "per_s" && it.value.is_some()));
    let remote = question(&table, "link-searches").rows.iter().filter(|it| it.original);
    let remote: Vec<f64> = remote.filter_map(|it| Some(it.value?.median)).collect();
    assert_eq!(remote, [2_420.0 / 12_130.0, 1_440.0 / 9_010.0]);
}

#[test]
fn contrary_figures_refute_them() {
    let table = looked(&made_up(contrary, 0.005), analyse);
    all_are(&table, &CLAIMS, StudyAnswer::No);
    let refuted = ["insert-grows", "change-steady", "threads-writes", "threads-acknowledged"];
    all_are(&table, &refuted, StudyAnswer::No);
    all_are(&table, &["objectid", "acknowledged", "unwaited"], StudyAnswer::Yes);
    let unwaited = |metric| median(&table, ["unwaited-1m", "unwaited", ARM, metric]);
    assert_eq!((unwaited("searches"), unwaited("missed")), (6_000.0, 600.0));
    let words = &question(&table, "unwaited").rows[0].words;
    assert_eq!(words, "600 of 6,000 searches missed their document");
    // Six numbers of threads, six rounds: the law has its contention back.
    let law = |metric| cell(&table, ["threads", "search_id", ARM, metric]).value;
    let alpha = law("alpha").expect("a law");
    assert!((alpha.median - 0.02).abs() < 0.001, "{alpha:?}");
    assert_eq!(law("peak_threads"), None, "it was not reached");
    assert!(law("beta_guess").is_some(), "and it is no more than a guess");
    let ten = |metric| median(&table, ["threads-10", "insert", ARM, metric]);
    assert!((ten("per_s") / ten("per_thread_per_s") - 10.0).abs() < 1e-9);
    assert!((ten("threads") - 10.0).abs() < 1e-9);
}

#[test]
fn threads_are_those_of_one_way_writes() {
    let scaling = |series: ScaleSeries| {
        let rate = |part: SeriesPart, operation: &str| {
            let threads = if part.series == series { f64::from(part.threads) } else { 1.0 };
            as_in_2010(part, operation) * threads
        };
        looked(&made_up(rate, 0.005), analyse)
    };
    let one_way = scaling(ScaleSeries::ThreadsOneWay);
    all_are(&one_way, &["threads", "threads-writes"], StudyAnswer::No);
    all_are(&one_way, &["threads-acknowledged"], StudyAnswer::Yes);
    let acknowledged = scaling(ScaleSeries::Threads);
    all_are(&acknowledged, &["threads", "threads-writes"], StudyAnswer::Yes);
    all_are(&acknowledged, &["threads-acknowledged"], StudyAnswer::No);
    let words = &question(&one_way, "threads").rows[0].words;
    assert_eq!(words.matches("per thread 13,340/s").count(), 2, "{words}");
}

#[test]
fn two_rounds_decide_nothing() {
    let mut parts = made_up(contrary, 0.005);
    for (_, _, runs) in &mut parts {
        runs.truncate(2);
    }
    let table = looked(&parts, analyse);
    let of_medians = [&CLAIMS[..2], &CLAIMS[4..], &["objectid", "acknowledged"]].concat();
    all_are(&table, &of_medians, StudyAnswer::NotShown);
    assert!(question(&table, "threads").number.is_some());
}

#[test]
fn searches_behind_the_inserts_are_missed_slower_or_the_same() {
    let of = |missed, low, high| {
        let mut cells = Cells::default();
        let at = |metric| [unwaited::PART, "unwaited", ARM, metric];
        cells.push_plain(at("searches"), "count", Some(100.0));
        cells.push_plain(at("missed"), "count", Some(missed));
        let interval =
            stats::descriptive::Interval { estimate: f64::midpoint(low, high), low, high };
        let times = frame::Spread::interval(interval, 0.97, 6);
        cells.push_spread(at("wait_times"), "times", Some(times));
        unwaited::rows(&cells)[0].answer
    };
    assert_eq!(of(1.0, 0.9, 1.0), StudyAnswer::Yes);
    assert_eq!(of(0.0, 1.2, 1.4), StudyAnswer::Yes);
    assert_eq!(of(0.0, 0.9, 1.05), StudyAnswer::No);
    assert_eq!(of(0.0, 0.9, 1.4), StudyAnswer::NotShown);
}

#[test]
fn rough_figures_and_missing_parts_show_nothing() {
    let parts = made_up(as_in_2010, 0.6);
    let rough = looked(&parts, analyse);
    let open = ["insert-grows", "change-steady", "scan-linear", "link-writes", "link-searches"];
    all_are(&rough, &open, StudyAnswer::NotShown);
    let first = looked(&parts[..1], analyse);
    let open = first.questions.iter().all(|it| it.answer == StudyAnswer::NotShown);
    assert!(open, "{:#?}", first.questions);
    let fitted = |it: &StudyCell| it.part == "threads" || it.part == unwaited::PART;
    assert!(!first.cells.iter().any(fitted));
}

#[test]
fn a_run_that_does_not_count_is_named() {
    let mut parts = made_up(as_in_2010, 0.005);
    parts[0].2[0].phases[0].receipt.agrees = false;
    let table = looked(&parts, analyse);
    let insert = cell(&table, ["one-way-1m", "insert", ARM, "per_s"]);
    assert_eq!((insert.by_round[0], insert.by_round.len()), (None, 6));
    let note = "one-way-1m: insert does not count in 1 of 6 rounds: ";
    assert!(table.notes.iter().any(|it| it.starts_with(note)), "{:?}", table.notes);
}

#[test]
fn every_format_has_the_figures_of_2010_beside_ours() {
    let parts = made_up(as_in_2010, 0.005);
    for format in ["terminal", "html", "md", "svg"] {
        let options = report::Options { details: true, ..report::Options::default() };
        let render = |made: &Outcome<'_>| {
            report::study_text(&crate::finished(&CrudScaleStudy, made), format, &options)
        };
        let text = String::from_utf8(looked(&parts, render).expect(format)).expect("text");
        let expected = if format == "svg" { "acknowledged: the cost" } else { "32,210" };
        assert!(text.contains(expected) && text.contains(ORIGINAL), "{format}: {text}");
    }
    let csv = looked(&parts, |made| {
        report::study_text(
            &crate::finished(&CrudScaleStudy, made),
            "csv",
            &report::Options::default(),
        )
    });
    let csv = String::from_utf8(csv.expect("a table")).expect("text");
    // Twenty-one parts of six operations, without the one that awaits no answer.
    let rows = |name: &str| csv.lines().filter(|line| line.contains(name)).count();
    let ours = format!(",{ARM},per_s,");
    assert_eq!((rows(&ours), rows(",the original,per_s,")), (21 * 6, 60), "{csv}");
}

#[test]
fn parts_are_a_star_of_the_original_s_sizes() {
    let parts = scaled(1.0);
    let of = |name: &str| {
        let part = parts.iter().find(|it| it.name == name).expect(name);
        assert!(part.request.conduct.figures_only);
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
    assert_eq!((with.count(), without), (21, vec!["unwaited-1m"]));
}
