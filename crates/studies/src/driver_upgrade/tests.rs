//! The study's plan, and its rules on made-up rows.

use super::version_cells::{come_and_go_per_s, push_correlations, push_together};
use super::version_rows::first_slow;
use super::*;
use crate::finished;
use crate::frame::{self, Question, QuestionSheet, Spread, StudyAnswer};
use crate::study::words;
use StudyAnswer::{No, NotShown, Yes};
use record::records::ClientSample;
use record::words::Words;
use serde_json::{Value, from_value, json};
use std::collections::BTreeMap;

fn parts(asked: &Asked) -> Vec<StudyPart> {
    DriverUpgradeStudy.plan(asked).expect("a plan")
}

fn with(request: Request) -> Vec<StudyPart> {
    parts(&Asked { request, ..Asked::default() })
}

#[test]
fn parts_have_every_version_or_the_ends_of_each_line() {
    let drivers = ["a@1", "a@2", "a@3", "b@7"].map(Words::new).into();
    let parts = with(Request { drivers, ..Request::default() });
    let arms = |part: &StudyPart| part.request.drivers().expect("drivers");
    let of: Vec<Vec<String>> = parts.iter().map(arms).collect();
    let (every, ends) = (vec!["a@1", "a@2", "a@3", "b@7"], vec!["a@1", "a@3", "b@7"]);
    let ends = || ends.clone();
    let concern = ["a@1/w=0", "a@3/w=0", "b@7/w=0", "a@1/w=1", "a@3/w=1", "b@7/w=1"];
    assert_eq!(of, [every, concern.to_vec(), ends(), ends(), ends(), ends(), ends()]);
    assert_eq!(parts.iter().filter(|part| !part.request.conduct.figures_only).count(), 2);
}

#[test]
fn one_thing_differs_between_two_arms_of_a_factor() {
    let parts = parts(&Asked::default());
    let concern = parts.iter().find(|it| it.name == CONCERN).expect("a part");
    let [oldest, newest] = ["1.6.1.4678", "1.9.2.235"];
    let arms = [
        format!("{oldest}/runtime=mono/from=folder/w=0"),
        format!("{newest}/runtime=mono/from=folder/api=server/w=0"),
        format!("{oldest}/runtime=mono/from=folder/w=1"),
        format!("{newest}/runtime=mono/from=folder/api=server/w=1"),
        format!("{newest}/runtime=mono/from=folder/api=client/w=1"),
    ];
    let all: Vec<String> = arms.iter().map(|arm| format!("-d csharp@{arm}")).collect();
    assert!(words(concern).contains(&all.join(" ")), "{concern:?}");
}

#[test]
fn a_users_parameter_wins_over_the_quick_one() {
    let parameters = BTreeMap::from([("warmup".to_owned(), "2".to_owned())]);
    let parts = with(Request { quick: true, parameters, ..Request::default() });
    assert_eq!(parts[0].request.parameters["warmup"], "2");
}

#[test]
fn fewer_connections_than_threads_are_accepted() {
    let limit = |threads: &str| {
        let parameters = BTreeMap::from([("threads".to_owned(), threads.to_owned())]);
        let parts = with(Request { parameters, ..Request::default() });
        let part = parts.into_iter().find(|it| it.name == CONNECTIONS).expect("a part");
        part.request.server_limits.connections.expect("a limit")
    };
    assert_eq!(["100", "500", "8"].map(limit), [60, 300, 30]);
    let uri = Some(Words::new("mongodb://h"));
    let theirs = with(Request { uri, ..Request::default() });
    assert!(theirs.iter().all(|it| it.name != CONNECTIONS), "their server has its own limit");
}

#[test]
fn each_thread_or_all_together() {
    let each = Asked { scale: Some(1.0), ..Asked::default() };
    assert_eq!(parts(&each)[0].request.parameters["operations"], "1000000");
    let total = |total: &str, scale| {
        let flags = BTreeMap::from([(TOTAL, total.to_owned())]);
        DriverUpgradeStudy.plan(&Asked { scale, flags, ..Asked::default() })
    };
    let all = total("10000", None).expect("a plan");
    assert_eq!(all[0].request.parameters["operations"], "10000");
    for (nonsense, scale, hint) in [
        ("many", None, "write --total 10000"),
        ("150", None, "give a multiple of 100, such as --total 200"),
        ("10000", Some(0.5), "give one of them"),
    ] {
        assert_eq!(total(nonsense, scale).expect_err(nonsense).hint, hint);
    }
}

#[test]
fn the_originals_size_makes_a_workload_in_every_part() {
    for part in parts(&Asked { scale: Some(1.0), ..Asked::default() }) {
        let workload = part.request.workload.get().expect("it is built in");
        builtin::open(workload, &part.request.parameters, 1).expect(&part.name);
    }
}

const FIRST: &str = "a@1";
const LAST: &str = "a@3";

fn over(median: f64, low: f64, high: f64) -> Spread {
    Spread { median, low: Some(low), high: Some(high), level: Some(0.97), rounds: 6 }
}

fn of_two_rounds(of: Spread) -> Spread {
    Spread { rounds: 2, level: Some(0.5), ..of }
}

fn push(cells: &mut Cells, at: [&str; 4], value: Spread) {
    // The first version is an arm of each part, without a ratio to itself.
    if cells.at([at[0], at[1], FIRST, "arrived_ms"]).is_none() {
        cells.push_plain([at[0], at[1], FIRST, "arrived_ms"], "ms", None);
    }
    cells.push_spread(at, "times", Some(value));
}

/// The last version to the first one in these parts, of all phases.
fn ratios(parts: &[(&str, Spread)]) -> Cells {
    let mut cells = Cells::default();
    for (part, of) in parts {
        for phase in [BOTH, CREATE, READ] {
            push(&mut cells, [part, phase, LAST, "over_first"], *of);
        }
    }
    cells
}

/// Counts of the arm `a@1` in one part.
fn counts(cells: &mut Cells, part: &str, counts: &[(&str, f64)]) {
    for (metric, count) in counts {
        cells.push_plain([part, BOTH, FIRST, metric], "count", Some(*count));
    }
}

fn all(cells: &Cells) -> Vec<Question> {
    let none =
        Outcome { made: Vec::new(), left_out: BTreeMap::new(), folder: String::new(), scale: None };
    finished::questions(&DriverUpgradeStudy, &DriverUpgradeStudy.definition(), &none, cells)
}

fn question(cells: &Cells, id: &str) -> Question {
    all(cells).into_iter().find(|it| it.id == id).expect(id)
}

fn answer(cells: &Cells, id: &str) -> StudyAnswer {
    question(cells, id).answer
}

#[test]
fn the_claims_are_the_originals_in_their_order() {
    let letters: Vec<String> =
        all(&Cells::default()).into_iter().filter_map(|it| it.claim).collect();
    assert_eq!(letters, ["a", "b", "b", "c", "d", "d"]);
    let of = |ratio| answer(&ratios(&[(VERSIONS, ratio)]), "halved");
    assert_eq!(of(over(2.02, 1.88, 2.63)), Yes);
    assert_eq!(of(over(1.2, 1.1, 1.3)), No);
    assert_eq!(of(over(1.5, 1.3, 1.7)), NotShown);
    assert_eq!(of(of_two_rounds(over(2.0, 1.9, 2.1))), NotShown);
}

#[test]
fn response_times_grow_where_one_kind_of_operation_does() {
    let of = |create, read| {
        let mut cells = Cells::default();
        push(&mut cells, [VERSIONS, CREATE, LAST, "over_first_p99"], create);
        push(&mut cells, [VERSIONS, READ, LAST, "over_first_p99"], read);
        answer(&cells, "response")
    };
    let (slower, same) = (over(1.3, 1.2, 1.4), over(1.0, 0.95, 1.05));
    assert_eq!([of(slower, same), of(same, same)], [Yes, No]);
    assert_eq!(of(same, over(1.1, 0.95, 1.2)), NotShown);
    assert_eq!(answer(&Cells::default(), "response"), NotShown);
}

#[test]
fn the_default_and_the_driver_are_told_apart() {
    let factors = |of: fn(Spread) -> Spread| {
        let mut cells = ratios(&[(VERSIONS, of(over(2.27, 2.1, 2.4)))]);
        let names = ["default_first", "default_last", "driver_unanswered", "driver_answered"];
        for (name, it) in names.into_iter().zip([1.88, 1.91, 1.24, 1.18]) {
            let at = [CONCERN, BOTH, "a@3/w=1", name];
            cells.push_spread(at, "times", Some(of(over(it, it - 0.05, it + 0.05))));
        }
        for (arm, waits) in [(FIRST, 0.0), (LAST, 1.0)] {
            cells.push_plain([VERSIONS, BOTH, arm, "acknowledged"], "count", Some(waits));
        }
        cells
    };
    let mut cells = factors(|it| it);
    let it = question(&cells, "concern");
    assert_eq!(it.answer, Yes);
    let said = it.view().sentences.join("\n");
    for said_so in [
        "versions: 2.27 (2.10 to 2.40); at their defaults.",
        "1.24 (1.19 to 1.29); the driver, with unanswered writes.",
        "1.18 (1.13 to 1.23); the driver, with answered writes.",
        "1.88 (1.83 to 1.93); to wait for answers (w:1 for w:0), the first version.",
        "1.91 (1.86 to 1.96); to wait for answers (w:1 for w:0), the last version.",
    ] {
        assert!(said.contains(said_so), "{said_so}: {said}");
    }
    let waits = cells.all.iter_mut().rfind(|it| it.metric == "acknowledged").expect("a cell");
    waits.value = Some(Spread::plain(0.0));
    let same = question(&cells, "concern");
    assert!(same.rows[0].words.ends_with("one: all of it is the driver"), "{same:?}");
    assert_eq!(answer(&factors(of_two_rounds), "concern"), NotShown);
    assert_eq!(answer(&ratios(&[(VERSIONS, over(2.0, 1.9, 2.1))]), "concern"), NotShown);
}

#[test]
fn an_end_like_that_of_2014_is_no_line_like_it() {
    let line = |here: [f64; 3]| {
        let mut cells = Cells::default();
        let builds = ["1.7.0.4714", "1.8.3.9", "1.9.2.235"];
        for (build, here) in builds.into_iter().zip(here) {
            let arm = format!("csharp@{build}/from=folder/runtime=mono");
            push(
                &mut cells,
                [VERSIONS, BOTH, &arm, "over_first"],
                over(here, here - 0.02, here + 0.02),
            );
        }
        cells.add_originals(&DriverUpgradeStudy.definition().originals);
        question(&cells, "original")
    };
    let it = line([1.55, 2.25, 2.1]);
    assert_eq!(it.answer, No);
    assert!(it.sentence.contains("; yes: csharp@1.9.2.235/"), "{it:?}");
    assert_eq!(it.rows[0].words, "1.17 in 2014, elsewhere");
    assert_eq!(it.rows[2].words, "2.09 in 2014");
    assert_eq!(line([1.17, 1.43, 2.09]).answer, Yes);
    assert!(all(&Cells::default()).iter().all(|it| it.id != "original"));
}

#[test]
fn the_order_and_growth_are_asked_of_reads_and_of_both_as_well() {
    let mut cells = ratios(&[(VERSIONS, over(5.3, 4.4, 5.8)), (REVERSE, over(5.0, 4.5, 5.5))]);
    let read =
        |it: &&mut frame::StudyCell| it.part == REVERSE && it.phase == READ && it.arm == LAST;
    cells.all.iter_mut().find(read).expect("a cell").value = Some(over(1.0, 0.95, 1.05));
    let it = question(&cells, "order");
    assert_eq!(it.answer, Yes, "of the reads");
    let names: Vec<&str> = it.rows.iter().map(|it| it.phase.as_str()).collect();
    assert_eq!(names, [BOTH, CREATE, READ]);
}

#[test]
fn the_order_makes_a_difference_that_the_reverse_order_does_not_have() {
    let of = |usual, reverse| answer(&ratios(&[(VERSIONS, usual), (REVERSE, reverse)]), "order");
    let slow = || over(5.35, 4.46, 5.81);
    assert_eq!(of(slow(), over(5.83, 4.51, 8.08)), No);
    assert_eq!(of(slow(), over(7.03, 5.82, 7.34)), No, "slower both ways");
    assert_eq!(of(slow(), over(1.0, 0.95, 1.05)), Yes);
    assert_eq!(of(slow(), over(0.5, 0.4, 0.6)), Yes);
    assert_eq!(of(slow(), over(1.3, 0.9, 2.0)), NotShown);
    assert_eq!(of(slow(), of_two_rounds(slow())), NotShown);
    assert_eq!(of(over(1.0, 0.95, 1.05), over(1.02, 0.97, 1.08)), No);
}

#[test]
fn a_difference_of_fresh_collections_does_not_come_from_growth() {
    let of = |fresh, growing| answer(&ratios(&[(VERSIONS, fresh), (GROWING, growing)]), "growing");
    let none = || over(1.0, 0.95, 1.05);
    assert_eq!(of(over(5.35, 4.46, 5.81), over(7.03, 5.82, 7.34)), No);
    assert_eq!(of(over(0.5, 0.4, 0.6), over(1.3, 0.9, 2.0)), No);
    assert_eq!(of(none(), over(2.0, 1.8, 2.2)), Yes);
    assert_eq!(of(none(), none()), No);
    assert_eq!(of(none(), over(1.3, 0.9, 2.0)), NotShown);
    assert_eq!(of(over(1.3, 0.9, 2.0), over(2.0, 1.8, 2.2)), NotShown);
    assert_eq!(of(of_two_rounds(none()), over(2.0, 1.8, 2.2)), NotShown);
}

#[test]
fn the_new_api_alone_is_slower_or_it_is_not() {
    let api = |of| {
        let mut cells = Cells::default();
        cells.push_spread([CONCERN, BOTH, LAST, "api"], "times", Some(of));
        answer(&cells, "api")
    };
    assert_eq!(api(over(1.3, 1.2, 1.4)), Yes);
    assert_eq!(api(over(1.0, 0.95, 1.05)), No);
    assert_eq!(api(over(1.1, 0.95, 1.2)), NotShown);
    assert_eq!(api(of_two_rounds(over(1.3, 1.2, 1.4))), NotShown);
}

#[test]
fn the_first_slow_version_is_one_that_takes_more_time() {
    let definition = DriverUpgradeStudy.definition();
    let sheet = |it: &&QuestionSheet| it.id == "since";
    let sheet = definition.questions.iter().find(sheet).expect("a question");
    let of = |metric: &str, rounds: u32, changes: Value, noise: Option<f64>| {
        let row = from_value(json!({"adapter": "a", "phase": CREATE, "operation": CREATE,
            "metric": metric, "versions": ["1", "2", "3", "4"], "rounds": rounds,
            "threshold_percent": 2.0, "changes": changes, "sentence": "it"}));
        let rows = first_slow(&[row.expect("a row")], |_| noise);
        Question::of(sheet, rows, Vec::new()).expect("a question").answer
    };
    let since = |metric: &str, changes: Value| of(metric, 6, changes, None);
    let change = |percent: f64| {
        json!([{"before": "2", "after": "3", "change_percent": percent, "p_value": 0.001,
            "sentence": "it"}])
    };
    assert_eq!(of("throughput", 6, change(38.0), Some(71.0)), NotShown, "A/A is as far");
    assert_eq!(of("throughput", 1, json!([]), None), NotShown, "one round");
    assert_eq!(of("throughput", 4, change(60.0), None), NotShown, "four rounds");
    assert_eq!(since("throughput", change(60.0)), Yes);
    assert_eq!(since("throughput", change(-60.0)), No);
    assert_eq!(since("throughput", json!([])), No);
    assert_eq!(since("p99", change(60.0)), NotShown, "no other figure decides");
    assert_eq!(answer(&Cells::default(), "since"), NotShown);
}

#[test]
fn connections_run_out_where_somebody_waits_or_fails() {
    let found = |limited: &[(&str, f64)], p99_us: Option<f64>| {
        let mut cells = Cells::default();
        counts(&mut cells, VERSIONS, &[("connections_peak", 102.0)]);
        counts(&mut cells, CONNECTIONS, &[("operations", 4_000.0)]);
        counts(&mut cells, CONNECTIONS, limited);
        cells.push_plain([CONNECTIONS, CREATE, FIRST, "p99_us"], "us", p99_us);
        question(&cells, "connections")
    };
    assert_eq!(found(&[("connections_peak", 101.0)], None).answer, NotShown);
    let fails = [("connections_peak", 101.0), ("failed", 1.0)];
    assert_eq!(found(&fails, None).answer, Yes);
    let waits = found(&[("connections_peak", 53.0)], None);
    assert_eq!(waits.answer, Yes);
    let said = "at most 53 connections in place of 102, no operation failed";
    assert_eq!(waits.rows[0].words, said);
    let fails = found(&[("connections_peak", 53.0), ("failed", 1_200.0)], Some(7e3));
    let said = "at most 53 connections in place of 102, 1,200 of 4,000 operations failed, p99 \
                7.00 ms";
    assert_eq!(fails.rows[0].words, said);
}

#[test]
fn reads_miss_only_where_some_did() {
    let found = |of: &[(&str, f64)]| {
        let mut cells = Cells::default();
        counts(&mut cells, UNWAITED, of);
        question(&cells, "missed")
    };
    let none = found(&[("reads", 0.0), ("reads_missed", 0.0)]);
    assert_eq!(none.answer, NotShown);
    assert!(none.remarks[0].contains("does not write without an answer"), "{none:?}");
    assert_eq!(found(&[("reads", 30_000.0), ("reads_missed", 0.0)]).answer, NotShown);
    let some = found(&[("reads", 30_000.0), ("reads_missed", 12.0)]);
    assert_eq!(some.answer, Yes);
    assert_eq!(some.view().sentences[1], "a@1: 12; reads 30,000.");
}

#[test]
fn totals_of_2014_stand_beside_the_same_builds_on_mono() {
    let mut cells = Cells::default();
    let mono = "csharp@1.9.2.235/from=folder/runtime=mono";
    let arms =
        [mono, "csharp@1.9.1.221", "csharp@1.9.20/runtime=mono", "csharp@1.8.3/runtime=mono"];
    for arm in arms {
        for (phase, ms) in [(CREATE, 1_000.0), (READ, 500.0)] {
            cells.push([VERSIONS, phase, arm, "arrived_ms"], "ms", vec![Some(ms); 6]);
        }
        push_together(VERSIONS, arm, &mut cells);
    }
    assert_eq!(cells.median([VERSIONS, BOTH, mono, "arrived_ms"]), Some(1_500.0));
    cells.add_originals(&DriverUpgradeStudy.definition().originals);
    let of_2014 = |arm: &str| {
        let of = |it: &&frame::StudyCell| it.original && it.arm == arm && it.metric == "arrived_ms";
        cells.all.iter().find(of).and_then(|it| it.value).map(|it| it.median)
    };
    let each = arms.map(of_2014);
    assert_eq!(each, [Some(59_171.0), None, None, Some(40_477.0)], "a shorter name is as good");
    assert_eq!(of_2014("csharp@1.9.1.221/runtime=mono"), Some(60_077.0), "a row of its own");
    let all = cells.all.iter().filter(|it| it.original && it.metric == "arrived_ms");
    assert_eq!(all.count(), 10, "all ten of them");
    let mut csv = Vec::new();
    frame::cells_csv(&cells.all, &mut csv).expect("a table");
    let csv = String::from_utf8(csv).expect("text");
    assert!(csv.contains(&format!("versions,both,{mono},arrived_ms,ms,59171,,,,0,true")), "{csv}");
}

#[test]
fn traffic_is_said_to_fall_only_where_the_interval_says_so() {
    let rho = |low, high| {
        let mut cells = Cells::default();
        let at = [VERSIONS, BOTH, "a", "traffic_with_time_rho"];
        cells.push_spread(at, "rho", Some(over(f64::midpoint(low, high), low, high)));
        answer(&cells, "traffic")
    };
    assert_eq!(rho(-0.99, -0.6), Yes);
    assert_eq!(rho(-0.9, 0.2), NotShown);
    assert_eq!(rho(0.3, 0.9), No);
    assert_eq!(answer(&Cells::default(), "traffic"), NotShown);
    let mut cells = Cells::default();
    let arms = ["a@1", "a@2", "a@3", "a@4", "a@5", "a@6"];
    for (at, arm) in arms.iter().enumerate() {
        let time = 1.0 + at as f64;
        for (metric, value) in
            [("arrived_ms", time), ("in_bytes_per_s", 1.0 / time), ("out_bytes_per_s", 1.0 / time)]
        {
            cells.push_plain([VERSIONS, BOTH, arm, metric], "", Some(value));
        }
    }
    push_correlations("a", &arms, &mut cells);
    assert_eq!(answer(&cells, "traffic"), Yes);
    assert_eq!(cells.median([VERSIONS, BOTH, "a", "bytes_per_op_with_time_rho"]), None);
}

#[test]
fn threads_come_and_go_within_a_phase_alone() {
    let at = |second: u64, round: u32, phase: &str, arm: &str, threads: u64| ClientSample {
        at_ns: second * 1_000_000_000,
        round,
        phase: phase.to_owned(),
        arm: arm.to_owned(),
        consumer: false,
        processes: 1,
        rss_bytes: 0,
        cpu_ns: 0,
        threads,
        connections: None,
    };
    let clients = [
        at(0, 1, "", "a", 1),
        at(1, 1, "create", "a", 10),
        at(1, 1, "create", "b", 90),
        at(2, 1, "create", "a", 14),
        at(3, 1, "create", "a", 12),
        at(4, 1, "read", "a", 100),
        at(5, 2, "read", "a", 50),
        at(7, 2, "read", "a", 50),
    ];
    let of = |arm| come_and_go_per_s(&clients, arm, |sample| Some(sample.threads));
    assert_eq!(of("a"), [Some(1.0), Some(0.5)], "4 came and 2 went in 4 s");
    assert_eq!(of("b"), [None, None], "one reading shows no change");
}
