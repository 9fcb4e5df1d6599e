//! The study's plan, and its rules on made-up rows.

use super::analysis::{come_and_go_per_s, original_ms};
use super::answer::{all, first_slow};
use super::types::{Correlation, Ratio, UpgradeAnalysis};
use super::*;
use crate::evidence::Evidence;
use crate::evidence::Shown;
use crate::study::words;
use record::records::ClientSample;
use record::words::Words;
use serde_json::{from_value, json};
use stats::descriptive::{Interval, OverRounds};
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
    assert_eq!(parts.iter().filter(|part| !part.request.figures_only).count(), 2);
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

fn over(estimate: f64, low: f64, high: f64) -> OverRounds {
    OverRounds { rounds: 6, median: Interval { estimate, low, high }, level: 0.97 }
}

fn of_two_rounds(of: OverRounds) -> OverRounds {
    OverRounds { rounds: 2, level: 0.5, ..of }
}

/// Of the arm `a@1`, with these fields beside.
fn row(more: Value) -> Row {
    let mut row = json!({"arm": "a@1", "adapter": "a", "version": "1", "reads": 0,
        "reads_missed": 0, "failed": 0, "operations": 4_000});
    if let (Value::Object(row), Value::Object(more)) = (&mut row, more) {
        row.extend(more);
    }
    from_value(row).expect("a row")
}

fn part_rows(part: &str, more: Value) -> PartRows {
    PartRows { part: part.to_owned(), operations: 4_000, threads: 100, rows: vec![row(more)] }
}

fn ratio(part: &str, of: OverRounds) -> Ratio {
    Ratio {
        part: part.to_owned(),
        factor: String::new(),
        adapter: "a".to_owned(),
        first: "a@1".to_owned(),
        last: "a@3".to_owned(),
        create: Some(of),
        read: Some(of),
        total: Some(of),
        create_p99: Some(of),
        read_p99: None,
    }
}

fn factor(name: &str, of: OverRounds) -> Ratio {
    Ratio { factor: name.to_owned(), ..ratio(CONCERN, of) }
}

fn found(ratios: Vec<Ratio>, rho: Option<Interval>, id: &str) -> Evidence {
    found_in(Vec::new(), ratios, rho, id)
}

fn found_in(parts: Vec<PartRows>, ratios: Vec<Ratio>, rho: Option<Interval>, id: &str) -> Evidence {
    let correlation = Correlation {
        adapter: "a".to_owned(),
        of: "traffic".to_owned(),
        with: "time".to_owned(),
        versions: 10,
        rho,
    };
    let analysis = UpgradeAnalysis {
        parts,
        ratios,
        correlations: vec![correlation],
        evidence: Vec::new(),
        notes: Vec::new(),
    };
    let none =
        Outcome { made: Vec::new(), left_out: BTreeMap::new(), folder: String::new(), scale: None };
    all(&none, &analysis, &[]).into_iter().find(|it| it.id == id).expect(id)
}

#[test]
fn the_default_and_the_driver_are_told_apart() {
    let factors = |of: fn(OverRounds) -> OverRounds| {
        let names = ["default_first", "default_last", "driver_unanswered", "driver_answered"];
        let sizes = [1.88, 1.91, 1.24, 1.18];
        let each = names.into_iter().zip(sizes);
        let each = each.map(|(name, it)| factor(name, of(over(it, it - 0.05, it + 0.05))));
        let whole = ratio(VERSIONS, of(over(2.27, 2.1, 2.4)));
        [vec![whole], each.collect()].concat()
    };
    let rows = part_rows(VERSIONS, json!({"acknowledged": false}));
    let it = found_in(vec![rows], factors(|it| it), None, "concern");
    assert_eq!(it.shown, Shown::Shown);
    let said = "The driver is a factor of 1.24 (1.19 to 1.29) with unanswered writes, of 1.18 \
                (1.13 to 1.23) with answered ones.";
    assert!(it.sentences[0].ends_with(said), "{it:?}");
    let said = "To wait for answers (w:1 for w:0) is a factor of 1.88 (1.83 to 1.93) with a@1, of \
                1.91 (1.86 to 1.96) with a@3.";
    assert_eq!(it.sentences[1], said);
    let it = found(factors(of_two_rounds), None, "concern");
    assert_eq!(it.shown, Shown::NotShown);
    assert!(it.sentences[0].contains("too few rounds"), "{it:?}");
    let whole = vec![ratio(VERSIONS, over(2.0, 1.9, 2.1))];
    assert_eq!(found(whole, None, "concern").shown, Shown::NotShown);
}

#[test]
fn an_end_like_that_of_2014_is_no_line_like_it() {
    let line = |here: [f64; 3]| {
        let row = |(version, (original, here)): (usize, (f64, f64))| {
            row(json!({"version": version.to_string(), "original_over_first": original,
                "over_first": over(here, here - 0.02, here + 0.02)}))
        };
        let rows = [1.17, 1.43, 2.09].into_iter().zip(here).enumerate().map(row).collect();
        let part = PartRows { rows, ..part_rows(VERSIONS, json!({})) };
        found_in(vec![part], Vec::new(), None, "original")
    };
    let it = line([1.55, 2.25, 2.1]);
    assert_eq!(it.shown, Shown::Refuted);
    assert!(it.sentences[0].contains("2 of 3 versions lie elsewhere than in 2014"), "{it:?}");
    let elsewhere = "0: 1.17 in 2014, 1.55 (1.53 to 1.57) here; 1: 1.43 in 2014, 2.25";
    assert!(it.sentences[1].contains(elsewhere), "{it:?}");
    assert_eq!(it.sentences[2], "The last one ends alike: that may be chance.");
    assert_eq!(line([1.17, 1.43, 2.09]).shown, Shown::Shown);
}

#[test]
fn the_order_and_growth_are_asked_of_reads_and_of_both_as_well() {
    let mut reverse = ratio(REVERSE, over(5.0, 4.5, 5.5));
    reverse.read = Some(over(1.0, 0.95, 1.05));
    let it = found(vec![ratio(VERSIONS, over(5.3, 4.4, 5.8)), reverse], None, "order");
    assert_eq!(it.shown, Shown::Shown, "of the reads");
    let names: Vec<&str> = it.sentences.iter().map(|it| &it[..it.find(':').unwrap_or(0)]).collect();
    assert_eq!(names, ["Both", "Creations", "Reads"]);
}

#[test]
fn the_order_makes_a_difference_that_the_reverse_order_does_not_have() {
    let of = |usual, reverse| {
        found(vec![ratio(VERSIONS, usual), ratio(REVERSE, reverse)], None, "order").shown
    };
    let slow = || over(5.35, 4.46, 5.81);
    assert_eq!(of(slow(), over(5.83, 4.51, 8.08)), Shown::Refuted);
    assert_eq!(of(slow(), over(7.03, 5.82, 7.34)), Shown::Refuted, "slower both ways");
    assert_eq!(of(slow(), over(1.0, 0.95, 1.05)), Shown::Shown);
    assert_eq!(of(slow(), over(0.5, 0.4, 0.6)), Shown::Shown);
    assert_eq!(of(slow(), over(1.3, 0.9, 2.0)), Shown::NotShown);
    assert_eq!(of(slow(), of_two_rounds(slow())), Shown::NotShown);
    assert_eq!(of(over(1.0, 0.95, 1.05), over(1.02, 0.97, 1.08)), Shown::Refuted);
}

#[test]
fn a_difference_of_fresh_collections_does_not_come_from_growth() {
    let of = |fresh, growing| {
        found(vec![ratio(VERSIONS, fresh), ratio(GROWING, growing)], None, "growing").shown
    };
    let none = || over(1.0, 0.95, 1.05);
    assert_eq!(of(over(5.35, 4.46, 5.81), over(7.03, 5.82, 7.34)), Shown::Refuted);
    assert_eq!(of(over(0.5, 0.4, 0.6), over(1.3, 0.9, 2.0)), Shown::Refuted);
    assert_eq!(of(none(), over(2.0, 1.8, 2.2)), Shown::Shown);
    assert_eq!(of(none(), none()), Shown::Refuted);
    assert_eq!(of(none(), over(1.3, 0.9, 2.0)), Shown::NotShown);
    assert_eq!(of(over(1.3, 0.9, 2.0), over(2.0, 1.8, 2.2)), Shown::NotShown);
    assert_eq!(of(of_two_rounds(none()), over(2.0, 1.8, 2.2)), Shown::NotShown);
}

#[test]
fn the_new_api_alone_is_slower_or_it_is_not() {
    let api = |of| found(vec![factor("api", of)], None, "api").shown;
    assert_eq!(api(over(1.3, 1.2, 1.4)), Shown::Shown);
    assert_eq!(api(over(1.0, 0.95, 1.05)), Shown::Refuted);
    assert_eq!(api(over(1.1, 0.95, 1.2)), Shown::NotShown);
    assert_eq!(api(of_two_rounds(over(1.3, 1.2, 1.4))), Shown::NotShown);
}

#[test]
fn the_first_slow_version_is_one_that_takes_more_time() {
    let of = |metric: &str, rounds: u32, changes: Value, noise: Option<f64>| {
        let row = from_value(json!({"adapter": "a", "phase": CREATE, "operation": CREATE,
            "metric": metric, "versions": ["1", "2", "3", "4"], "rounds": rounds,
            "threshold_percent": 2.0, "changes": changes, "sentence": "it"}));
        first_slow(&[row.expect("a row")], |_| noise).shown
    };
    let since = |metric: &str, changes: Value| of(metric, 6, changes, None);
    let change = |percent: f64| {
        json!([{"before": "2", "after": "3", "change_percent": percent, "p_value": 0.001,
            "sentence": "it"}])
    };
    assert_eq!(of("throughput", 6, change(38.0), Some(71.0)), Shown::NotShown, "A/A is as far");
    assert_eq!(of("throughput", 1, json!([]), None), Shown::NotShown, "one round");
    assert_eq!(of("throughput", 4, change(60.0), None), Shown::NotShown, "four rounds");
    assert_eq!(since("throughput", change(60.0)), Shown::Shown);
    assert_eq!(since("throughput", change(-60.0)), Shown::Refuted);
    assert_eq!(since("throughput", json!([])), Shown::Refuted);
    assert_eq!(since("p99", change(60.0)), Shown::NotShown, "no other figure decides");
    assert_eq!(found(Vec::new(), None, "since").shown, Shown::NotShown);
}

#[test]
fn connections_run_out_where_somebody_waits_or_fails() {
    let found = |limited: Value| {
        let usual = part_rows(VERSIONS, json!({"connections_peak": 102}));
        let parts = vec![usual, part_rows(CONNECTIONS, limited)];
        found_in(parts, Vec::new(), None, "connections")
    };
    assert_eq!(found(json!({"connections_peak": 101})).shown, Shown::NotShown);
    assert_eq!(found(json!({"connections_peak": 101, "failed": 1})).shown, Shown::Shown);
    let waits = found(json!({"connections_peak": 53}));
    assert_eq!(waits.shown, Shown::Shown);
    let said = "a@1: at most 53 connections in place of 102, no operation failed.";
    assert_eq!(waits.sentences, [said]);
    let fails = found(json!({"connections_peak": 53, "failed": 1_200, "create_p99_us": 7e3}));
    let said = "a@1: at most 53 connections in place of 102, 1,200 of 4,000 operations failed, p99 \
                7.00 ms.";
    assert_eq!(fails.sentences, [said]);
}

#[test]
fn reads_miss_only_where_some_did() {
    let found = |row: Value| found_in(vec![part_rows(UNWAITED, row)], Vec::new(), None, "missed");
    assert_eq!(found(json!({})).sentences, ["No driver here writes without an answer."]);
    assert_eq!(found(json!({"reads": 30_000})).shown, Shown::NotShown);
    let some = found(json!({"reads": 30_000, "reads_missed": 12}));
    assert_eq!(
        (some.shown, &*some.sentences[0]),
        (Shown::Shown, "a@1: 12 of 30,000 reads missed.")
    );
}

#[test]
fn totals_of_2014_stand_beside_the_same_builds_on_mono() {
    let arm = |id: &str, version: &str| {
        let arm = json!({"id": id, "adapter": "csharp", "is_aa": false, "driver": "it",
            "version": version, "native": null, "runtime": "it", "concurrency": "threads",
            "resolved": {}, "lock_sha256": null});
        from_value(arm).expect("an arm")
    };
    let mono = arm("csharp@1.9.2.235/runtime=mono", "1.9.2.235");
    assert_eq!(original_ms(VERSIONS, &mono), Some(59_171.0));
    assert_eq!(original_ms(REVERSE, &mono), None);
    assert_eq!(original_ms(VERSIONS, &arm("csharp@1.9.2.235", "1.9.2.235")), None);
    let other = arm("csharp@1.9.20/runtime=mono", "1.9.20");
    assert_eq!(original_ms(VERSIONS, &other), None);
    let eighth = arm("csharp@1.8.3.9/runtime=mono", "1.8.3.9");
    assert_eq!(original_ms(VERSIONS, &eighth), Some(40_477.0), "all ten of them");
    let part = part_rows(VERSIONS, json!({"original_ms": 59_171.0, "failed": 3}));
    let shown = view::part(&part);
    let at = shown.table.columns.iter().position(|it| it.name == "2014").expect("a column");
    assert_eq!(shown.table.rows[0].cells[at], "59,171");
    let size = "4,000 creations and 4,000 reads by 100 threads together.";
    assert!(shown.about.ends_with(size), "{}", shown.about);
    let mut csv = Vec::new();
    view::times(&[part], &mut csv).expect("a table");
    let csv = String::from_utf8(csv).expect("text");
    let row: BTreeMap<&str, &str> = {
        let mut lines = csv.lines().map(|line| line.split(','));
        let (head, row) = (lines.next().expect("a head"), lines.next().expect("a row"));
        head.zip(row).collect()
    };
    assert_eq!((row["driver"], row["failed"], row["original_ms"]), ("a@1", "3", "59171"), "{csv}");
}

#[test]
fn traffic_is_said_to_fall_only_where_the_interval_says_so() {
    let rho = |low, high| {
        found(
            Vec::new(),
            Some(Interval { estimate: f64::midpoint(low, high), low, high }),
            "traffic",
        )
        .shown
    };
    assert_eq!(rho(-0.99, -0.6), Shown::Shown);
    assert_eq!(rho(-0.9, 0.2), Shown::NotShown);
    assert_eq!(rho(0.3, 0.9), Shown::Refuted);
    assert_eq!(found(Vec::new(), None, "traffic").shown, Shown::NotShown);
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
