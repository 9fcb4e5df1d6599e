//! Figures where each rule holds, and figures where it must be silent or say no.

use super::*;
use record::broker::{Part, Parts};
use stats::descriptive::Interval;

const ROUNDS: u32 = 5;

/// A row of five rounds: their classes and figures.
fn row(arm: &str, classes: &[Class]) -> Row {
    let curve = |(round, class): (u32, &Class)| RoundCurve { round, ..row_of(*class) };
    Row {
        arm: arm.to_owned(),
        original: false,
        lost_rounds: vec![],
        curves: (1..).zip(classes).map(curve).collect(),
        curves_since_intended: vec![],
        latency_p50_us: around(300.0),
        latency_p90_us: around(900.0),
        slope_us: around(0.0),
        slope_predicted_us: around(0.0),
        received_per_s: around(5_000.0),
        made_per_s: around(5_000.0),
        sent: 5_000,
        received: 5_000,
        lost: 0,
        duplicates: 0,
        out_of_order_per_producer: 0,
        out_of_order: 0,
        saturated_rounds: 0,
        cursors_reopened: 0,
        positions_lost: 0,
        producer_cpu_us: None,
        consumer_cpu_us: None,
        producer_rss_bytes: None,
        consumer_rss_bytes: None,
        parts: None,
        tapped_p50_us: None,
    }
}

fn around(value: f64) -> Option<OverRounds> {
    let values: Vec<f64> =
        (0..ROUNDS).map(|round| value * (1.0 + 0.005 * f64::from(round))).collect();
    over_rounds(&values)
}

fn row_of(class: Class) -> RoundCurve {
    RoundCurve {
        round: 1,
        class,
        reason: "made up".to_owned(),
        growth_us: Some(match class {
            Class::Flat => around_zero(10.0),
            Class::Unclear => around_zero(5_000.0),
            _ => Interval { estimate: 500_000.0, low: 480_000.0, high: 520_000.0 },
        }),
        slope_us: Some(if class == Class::Flat { 0.0 } else { 100.0 }),
        threshold_us: 1_000.0,
        made_per_s: Some(5_000.0),
        received_per_s: Some(5_000.0),
        latency_p50_us: Some(300.0),
    }
}

fn around_zero(reach: f64) -> Interval {
    Interval { estimate: reach / 4.0, low: -reach, high: reach }
}

fn flat(arm: &str) -> Row {
    row(arm, &[Class::Flat; 5])
}

/// Grows by 100 us a message: 50,000 are made and 8,333 received a second.
fn grows(arm: &str) -> Row {
    let mut row = row(arm, &[Class::Linear; 5]);
    for curve in &mut row.curves {
        (curve.made_per_s, curve.received_per_s) = (Some(50_000.0), Some(8_333.0));
    }
    Row {
        slope_us: around(100.0),
        slope_predicted_us: around(100.0),
        made_per_s: around(50_000.0),
        received_per_s: around(8_333.0),
        ..row
    }
}

/// In a burst: the time since the intention grows, whatever that since the making does.
fn burst_row(row: Row, class: Class) -> Row {
    let mut since = row.curves.clone();
    let growth = row_of(class).growth_us;
    for curve in &mut since {
        (curve.class, curve.growth_us) = (class, growth);
    }
    Row { curves_since_intended: since, ..row }
}

fn phase_of(name: &str, rows: Vec<Row>) -> PhaseAnalysis {
    PhaseAnalysis { phase: name.to_owned(), pacing: "so and so".to_owned(), open: true, rows }
}

fn found(phases: &[PhaseAnalysis], id: &str) -> Option<Evidence> {
    all(phases).into_iter().find(|it| it.id == id)
}

fn shown(phases: &[PhaseAnalysis], id: &str) -> Option<Shown> {
    found(phases, id).map(|it| it.shown)
}

fn first(phases: &[PhaseAnalysis], id: &str) -> String {
    found(phases, id).expect("a finding").sentences[0].clone()
}

#[test]
fn nothing_is_said_of_what_was_not_measured() {
    assert_eq!(all(&[]), vec![]);
    let one = [phase_of(AWAITED, vec![flat("a")]), phase_of(BURST, vec![])];
    assert_eq!(all(&one), vec![], "one arm is no comparison");
    let lost = [phase_of(AWAITED, vec![row("a", &[]), row("b", &[])])];
    assert_eq!(all(&lost), vec![], "arms without a round");
}

#[test]
fn the_puzzle_is_there_where_some_originals_grow_and_others_do_not() {
    let original = |row: Row| Row { original: true, ..row };
    let rows = vec![original(grows("old")), grows("new")];
    let there = [phase_of(BURST, rows), phase_of(THINK, vec![original(flat("slow"))])];
    assert_eq!(shown(&there, "replay"), Some(Shown::Shown));
    assert_eq!(
        first(&there, "replay"),
        "Issued as the programs of 2014 did, latency grows with the count for old, and stays \
         constant for slow."
    );
    let mixed = [Class::Linear, Class::Flat, Class::Linear, Class::Flat, Class::Unclear];
    let sometimes = [
        phase_of(BURST, vec![original(row("old", &mixed))]),
        phase_of(THINK, vec![original(flat("slow"))]),
    ];
    assert!(first(&sometimes, "replay").contains("not every time for old"));
    let said = found(&sometimes, "replay").expect("a finding").sentences[1].clone();
    assert!(said.contains("linear in 2 of 5 rounds") && said.contains("unclear in 1"), "{said}");
    let none = [phase_of(BURST, vec![original(flat("old"))])];
    assert_eq!(shown(&none, "replay"), Some(Shown::Refuted));
}

#[test]
fn awaiting_ends_the_growth_only_where_nobody_grows() {
    let all_flat = [phase_of(AWAITED, vec![flat("a"), flat("b")])];
    assert_eq!(shown(&all_flat, "awaited"), Some(Shown::Shown));
    let one_grows = [phase_of(AWAITED, vec![flat("a"), grows("b")])];
    assert_eq!(shown(&one_grows, "awaited"), Some(Shown::Refuted));
    assert!(first(&one_grows, "awaited").contains("still grows for b"));
    let unclear = row("c", &[Class::Unclear; 5]);
    let half = [phase_of(AWAITED, vec![flat("a"), unclear.clone()])];
    assert_eq!(shown(&half, "awaited"), Some(Shown::Shown));
    assert!(first(&half, "awaited").contains("flat for 1 of 2 and grows for none"));
    let mostly_unclear = [phase_of(AWAITED, vec![flat("a"), unclear.clone(), unclear])];
    assert_eq!(shown(&mostly_unclear, "awaited"), Some(Shown::NotShown));
}

#[test]
fn one_round_of_five_may_be_otherwise_and_two_may_not() {
    let four = row("a", &[Class::Flat, Class::Flat, Class::Unclear, Class::Flat, Class::Flat]);
    assert_eq!(course(&four.curves), Some(Course::Flat));
    let three = row("a", &[Class::Flat, Class::Unclear, Class::Unclear, Class::Flat, Class::Flat]);
    assert_eq!(course(&three.curves), Some(Course::Mixed));
    // Each round alone is too short; together they do not grow.
    let mut level = row("a", &[Class::Unclear; 5]);
    let small = Interval { estimate: 200.0, low: -900.0, high: 1_300.0 };
    level.curves.iter_mut().for_each(|it| it.growth_us = Some(small));
    assert_eq!(course(&level.curves), Some(Course::Flat));
    level.curves.truncate(3);
    assert_eq!(course(&level.curves), Some(Course::Mixed), "three rounds show nothing");
    let mut otherwise = row("a", &[Class::Unclear; 5]);
    let grown = Interval { estimate: 9_000.0, low: 5_000.0, high: 13_000.0 };
    otherwise.curves.iter_mut().for_each(|it| it.growth_us = Some(grown));
    assert_eq!(course(&otherwise.curves), Some(Course::Grows), "by no line and no logarithm");
    let two_kinds = row("a", &[Class::Linear, Class::Logarithmic, Class::Linear]);
    assert_eq!(course(&two_kinds.curves), Some(Course::Grows));
    assert_eq!(course(&[]), None);
}

#[test]
fn a_burst_grows_for_all_or_is_flat_for_some() {
    let all = vec![burst_row(grows("a"), Class::Linear), burst_row(flat("b"), Class::Linear)];
    assert_eq!(shown(&[phase_of(BURST, all)], "burst"), Some(Shown::Shown));
    let not = vec![burst_row(grows("a"), Class::Linear), burst_row(flat("b"), Class::Flat)];
    let phases = [phase_of(BURST, not)];
    assert_eq!(shown(&phases, "burst"), Some(Shown::Refuted));
    assert!(first(&phases, "burst").ends_with("is flat for b."));
}

#[test]
fn the_slope_is_held_against_the_rates() {
    let right = [phase_of(BURST, vec![grows("a")])];
    assert_eq!(shown(&right, "slope"), Some(Shown::Shown));
    let wrong = Row { slope_predicted_us: around(150.0), ..grows("a") };
    assert_eq!(shown(&[phase_of(BURST, vec![wrong.clone()])], "slope"), Some(Shown::Refuted));
    let some = [phase_of(BURST, vec![grows("a"), wrong])];
    assert_eq!(shown(&some, "slope"), Some(Shown::NotShown));
    assert_eq!(shown(&[phase_of(BURST, vec![flat("a")])], "slope"), None);
}

#[test]
fn who_keeps_pace_is_flat() {
    let right = [phase_of(BURST, vec![grows("fast"), flat("even")])];
    assert_eq!(shown(&right, "keeps_pace"), Some(Shown::Shown));
    let mut flat_and_fast = grows("odd");
    flat_and_fast.curves.iter_mut().for_each(|it| it.growth_us = Some(around_zero(10.0)));
    let wrong = [phase_of(BURST, vec![grows("fast"), flat_and_fast, flat("even")])];
    assert_eq!(shown(&wrong, "keeps_pace"), Some(Shown::Refuted));
    // The same driver keeps pace in some rounds only.
    let mut sometimes = grows("old");
    sometimes.curves[1] = RoundCurve { round: 2, ..row_of(Class::Flat) };
    let phases = [phase_of(BURST, vec![sometimes, flat("even")])];
    assert_eq!(shown(&phases, "keeps_pace"), Some(Shown::Shown));
    let said = found(&phases, "keeps_pace").expect("a finding").sentences[1].clone();
    assert!(
        said.starts_with("old, round by round: 6.00 times grows, 1.00 times does not"),
        "{said}"
    );
    let all_grow = [phase_of(BURST, vec![grows("a"), grows("b")])];
    assert_eq!(shown(&all_grow, "keeps_pace"), Some(Shown::NotShown));
}

#[test]
fn the_part_that_waits_is_named_only_where_it_has_nearly_all_of_the_growth() {
    let part = |first_us, last_us| Part { p50_us: first_us, first_us, last_us };
    let still = part(50.0, 50.0);
    let parts = |driver, server| Parts {
        matched: 5_000,
        unmatched: 0,
        program: still,
        driver,
        wire: still,
        server,
        consumer: still,
    };
    let with = |parts| [phase_of(BURST, vec![Row { parts: Some(parts), ..grows("a") }])];
    let driver = with(parts(part(100.0, 90_100.0), part(100.0, 200.0)));
    assert_eq!(shown(&driver, "where"), Some(Shown::Shown));
    assert_eq!(first(&driver, "where"), "Once made, what grows waits in the driver for a.");
    let both = with(parts(part(100.0, 5_100.0), part(100.0, 5_100.0)));
    assert_eq!(shown(&both, "where"), Some(Shown::NotShown));
    for little in [still, part(100.0, 900.0)] {
        let none = with(parts(still, little));
        assert_eq!(shown(&none, "where"), Some(Shown::NotShown));
        assert_eq!(first(&none, "where"), "Through the tap nothing grew.");
    }
    assert_eq!(shown(&[phase_of(BURST, vec![grows("a")])], "where"), None, "no tap, no word");
}

#[test]
fn pools_and_processes_are_compared_with_their_like() {
    let grow = [phase_of(BURST, vec![grows("a/maxPoolSize=5"), grows("a/maxPoolSize=1024")])];
    assert_eq!(shown(&grow, "pool"), Some(Shown::Refuted));
    let end = [phase_of(BURST, vec![grows("a/maxPoolSize=5"), flat("a/maxPoolSize=1024")])];
    assert_eq!(shown(&end, "pool"), Some(Shown::Shown));
    let open = row("b/maxPoolSize=1024", &[Class::Unclear; 5]);
    let mut some = grow.clone();
    some[0].rows.extend([grows("b/maxPoolSize=5"), open]);
    assert_eq!(shown(&some, "pool"), Some(Shown::Refuted));
    assert_eq!(first(&some, "pool"), "With the largest maxPoolSize it still grows for 1 of 2.");
    let mut ends = end.clone();
    ends[0].rows.extend(some[0].rows[2..].to_vec());
    assert_eq!(shown(&ends, "pool"), Some(Shown::NotShown), "one is open");
    let said = "With the largest maxPoolSize it ends for 1 of 2.";
    assert_eq!(first(&ends, "pool"), said);
    let unlike = [phase_of(BURST, vec![grows("a/maxPoolSize=5"), flat("b/maxPoolSize=1024")])];
    assert_eq!(shown(&unlike, "pool"), None);
    let four = [phase_of(BURST, vec![grows("a"), grows("a/processes=4")])];
    assert_eq!(shown(&four, "processes"), Some(Shown::Refuted));
}

#[test]
fn the_pause_takes_half_the_rate_or_not() {
    let with = |rate, latency| Row {
        received_per_s: around(rate),
        latency_p50_us: around(latency),
        ..flat("a")
    };
    let phases =
        |paused| [phase_of(AWAITED, vec![with(1_300.0, 300.0)]), phase_of(THINK, vec![paused])];
    assert_eq!(shown(&phases(with(660.0, 310.0)), "think"), Some(Shown::Shown));
    assert_eq!(shown(&phases(with(660.0, 600.0)), "think"), Some(Shown::Refuted));
    assert_eq!(shown(&phases(with(1_200.0, 300.0)), "think"), Some(Shown::Refuted));
}

/// An arm's phases by both ways, with the median latency of each round, us.
fn both_ways(cursor: &[f64], stream: &[f64]) -> [PhaseAnalysis; 2] {
    let by = |name: &str, medians: &[f64]| {
        let mut arm = row("a", &vec![Class::Flat; medians.len()]);
        for (curve, us) in arm.curves.iter_mut().zip(medians) {
            curve.latency_p50_us = Some(*us);
        }
        phase_of(name, vec![Row { latency_p50_us: over_rounds(medians), ..arm }])
    };
    [by("tailable_cursor", cursor), by("change_stream", stream)]
}

#[test]
fn a_change_stream_is_later_or_not_by_the_interval_of_the_ratio() {
    let cursor = [400.0, 410.0, 390.0, 420.0, 400.0];
    let later = both_ways(&cursor, &cursor.map(|us| 3.0 * us));
    assert_eq!(shown(&later, "streams"), Some(Shown::Shown));
    assert_eq!(
        found(&later, "streams").expect("a finding").sentences,
        [
            "By a change stream a message arrives more than 5 % later for all 1.",
            "a: 3.00 [3.00, 3.00] times the latency by a tailable cursor; median latency 1,200 \
             [1,170, 1,260] us by a change stream, 400 [390, 420] us by a tailable cursor.",
        ]
    );
    let alike = both_ways(&cursor, &cursor.map(|us| 1.01 * us));
    assert_eq!(shown(&alike, "streams"), Some(Shown::Refuted));
    // The rounds do not agree.
    let mixed = both_ways(&cursor, &[380.0, 1_200.0, 390.0, 1_300.0, 1_100.0]);
    assert_eq!(shown(&mixed, "streams"), Some(Shown::NotShown));
    assert_eq!(shown(&later[..1], "streams"), None, "one way is no comparison");
}

#[test]
fn fewer_than_five_rounds_of_both_ways_show_nothing() {
    let (cursor, stream) = ([400.0; 5], [1_200.0; 5]);
    for rounds in 1..5 {
        let few = both_ways(&cursor[..rounds], &stream[..rounds]);
        assert_eq!(shown(&few, "streams"), Some(Shown::NotShown), "{rounds}");
        assert_eq!(first(&few, "streams"), "There are fewer than five rounds for 1 of 1.");
        // A round counts where it has both.
        let lost = both_ways(&cursor, &stream[..rounds]);
        assert_eq!(shown(&lost, "streams"), Some(Shown::NotShown), "{rounds}");
    }
    assert_eq!(shown(&both_ways(&cursor, &stream), "streams"), Some(Shown::Shown));
    assert_eq!(shown(&both_ways(&cursor, &[]), "streams"), None);
}

#[test]
fn the_answer_stands_only_on_both_legs() {
    let burst = phase_of(
        BURST,
        vec![burst_row(grows("a"), Class::Linear), burst_row(flat("b"), Class::Linear)],
    );
    let both = [phase_of(AWAITED, vec![flat("a"), flat("b")]), burst.clone()];
    let answer = &all(&both)[0];
    assert_eq!((answer.id.as_str(), answer.shown), ("answer", Shown::Shown));
    let one = [phase_of(AWAITED, vec![flat("a"), grows("b")]), burst];
    let answer = &all(&one)[0];
    assert_eq!((answer.id.as_str(), answer.shown), ("answer", Shown::NotShown));
    assert!(answer.sentences[0].starts_with("Not shown"), "{answer:?}");
}
