//! Made-up cells where each rule holds, and where it must be silent or say no.

use std::collections::BTreeMap;

use super::*;
use crate::broker::BrokerStudy;
use crate::broker::message_cells::push_curves;
use crate::finished;
use crate::frame::{Names, Question};
use crate::outcome::Outcome;
use crate::study::Study as _;
use record::broker::{Part, Parts};
use stats::curve::{Class, Curve};
use stats::descriptive::Interval;

/// One arm in one phase.
#[derive(Clone)]
struct ArmRow {
    arm: String,
    original: bool,
    /// By round.
    curves: Vec<RoundCurve>,
    curves_since_intended: Vec<RoundCurve>,
    slope_us: f64,
    slope_predicted_us: f64,
    parts: Option<Parts>,
}

#[derive(Clone, Copy)]
struct RoundCurve {
    class: Class,
    growth_us: Interval,
    made_per_s: f64,
    received_per_s: f64,
    latency_p50_us: f64,
}

type PhaseRows = (&'static str, Vec<ArmRow>);

/// A row of as many rounds as there are classes.
fn row(arm: &str, classes: &[Class]) -> ArmRow {
    ArmRow {
        arm: arm.to_owned(),
        original: false,
        curves: classes.iter().map(|class| curve_of(*class)).collect(),
        curves_since_intended: vec![],
        slope_us: 0.0,
        slope_predicted_us: 0.0,
        parts: None,
    }
}

fn curve_of(class: Class) -> RoundCurve {
    RoundCurve {
        class,
        growth_us: match class {
            Class::Flat => around_zero(10.0),
            Class::Unclear => around_zero(5_000.0),
            _ => Interval { estimate: 500_000.0, low: 480_000.0, high: 520_000.0 },
        },
        made_per_s: 5_000.0,
        received_per_s: 5_000.0,
        latency_p50_us: 300.0,
    }
}

fn around_zero(reach: f64) -> Interval {
    Interval { estimate: reach / 4.0, low: -reach, high: reach }
}

fn flat(arm: &str) -> ArmRow {
    row(arm, &[Class::Flat; 5])
}

/// Grows by 100 us a message: 50,000 are made and 8,333 received a second.
fn grows(arm: &str) -> ArmRow {
    let mut row = row(arm, &[Class::Linear; 5]);
    for curve in &mut row.curves {
        (curve.made_per_s, curve.received_per_s) = (50_000.0, 8_333.0);
    }
    ArmRow { slope_us: 100.0, slope_predicted_us: 100.0, ..row }
}

/// In a burst: the time since the intention grows, whatever that since the making does.
fn burst_row(row: ArmRow, class: Class) -> ArmRow {
    let mut since = row.curves.clone();
    let growth = curve_of(class).growth_us;
    for curve in &mut since {
        (curve.class, curve.growth_us) = (class, growth);
    }
    ArmRow { curves_since_intended: since, ..row }
}

fn push_made_up(at: [&str; 3], since: &str, curves: &[RoundCurve], cells: &mut Cells) {
    let curve = |it: &RoundCurve| Curve {
        class: it.class,
        reason: "made up".to_owned(),
        threshold_us: 1_000.0,
        growth_us: Some(it.growth_us),
        ..Curve::of(std::iter::empty())
    };
    let curves: Vec<Curve> = curves.iter().map(curve).collect();
    let (rounds, each): (Vec<u32>, Vec<_>) = (1..).zip(curves.iter().map(Some)).unzip();
    push_curves(at, since, &rounds, &each, cells);
}

fn push(phase: &str, row: &ArmRow, cells: &mut Cells) {
    let at = |metric| ["", phase, row.arm.as_str(), metric];
    let around =
        |value: f64| (0..5).map(|it| Some(value * (1.0 + 0.005 * f64::from(it)))).collect();
    // The first of two cells is found.
    cells.push(at("slope_us"), "us", around(row.slope_us));
    cells.push(at("slope_predicted_us"), "us", around(row.slope_predicted_us));
    push_made_up(["", phase, &row.arm], "", &row.curves, cells);
    if !row.curves_since_intended.is_empty() {
        let since = &row.curves_since_intended;
        push_made_up(["", phase, &row.arm], SINCE_INTENDED, since, cells);
    }
    let of = |of: fn(&RoundCurve) -> f64| row.curves.iter().map(|it| Some(of(it))).collect();
    cells.push(at("made_per_s"), "per_s", of(|it| it.made_per_s));
    cells.push(at("received_per_s"), "per_s", of(|it| it.received_per_s));
    cells.push(at("latency_p50_us"), "us", of(|it| it.latency_p50_us));
    if row.original {
        cells.push_plain(at("as_original"), "count", Some(1.0));
    }
    for (name, part) in row.parts.iter().flat_map(Parts::named) {
        for (end, us) in [("first", part.first_us), ("last", part.last_us)] {
            let metric = format!("{name}_{end}_us");
            cells.push_plain(["", phase, &row.arm, &metric], "us", Some(us));
        }
    }
}

fn all(phases: &[PhaseRows]) -> Vec<Question> {
    let mut cells = Cells::default();
    for (phase, row) in
        phases.iter().flat_map(|(phase, rows)| rows.iter().map(move |it| (phase, it)))
    {
        push(phase, row, &mut cells);
    }
    let nothing =
        Outcome { made: Vec::new(), left_out: BTreeMap::new(), folder: String::new(), scale: None };
    finished::questions(&BrokerStudy, &BrokerStudy.definition(), &nothing, &cells)
}

fn found(phases: &[PhaseRows], id: &str) -> Option<Question> {
    all(phases).into_iter().find(|it| it.id == id)
}

fn shown(phases: &[PhaseRows], id: &str) -> Option<StudyAnswer> {
    found(phases, id).map(|it| it.answer)
}

/// The row of one arm.
fn of_arm(phases: &[PhaseRows], id: &str, arm: &str) -> (StudyAnswer, String) {
    let rows = found(phases, id).expect("an answer").rows;
    let row = rows.into_iter().find(|row| row.arm == arm).expect(arm);
    (row.answer, row.words)
}

fn course(row: &ArmRow) -> Option<Course> {
    let mut cells = Cells::default();
    push(BURST, row, &mut cells);
    ArmMessages::all(&cells, None).first().and_then(|it| it.course(""))
}

#[test]
fn nothing_is_said_of_what_was_not_measured() {
    assert_eq!(all(&[]), vec![]);
    let one = [(AWAITED, vec![flat("a")]), (BURST, vec![])];
    assert_eq!(all(&one), vec![], "one arm is no comparison");
    let lost = [(AWAITED, vec![row("a", &[]), row("b", &[])])];
    assert_eq!(all(&lost), vec![], "arms without a round");
}

#[test]
fn the_puzzle_is_there_where_some_originals_grow_and_others_do_not() {
    let original = |row: ArmRow| ArmRow { original: true, ..row };
    let rows = vec![original(grows("old")), grows("new")];
    let there = [(BURST, rows), (THINK, vec![original(flat("slow"))])];
    assert_eq!(shown(&there, "replay"), Some(Yes));
    let rows = found(&there, "replay").expect("an answer").rows;
    let rows: Vec<_> = rows.iter().map(|it| (it.arm.as_str(), it.answer)).collect();
    assert_eq!(rows, [("old", Yes), ("slow", No)]);
    let mixed = [Class::Linear, Class::Flat, Class::Linear, Class::Flat, Class::Unclear];
    let sometimes =
        [(BURST, vec![original(row("old", &mixed))]), (THINK, vec![original(flat("slow"))])];
    assert_eq!(shown(&sometimes, "replay"), Some(Yes));
    let (answer, words) = of_arm(&sometimes, "replay", "old");
    assert_eq!(answer, NotShown);
    assert!(words.starts_with("flat 2, linear 2, unclear 1 (round 1: made up; "), "{words}");
    let none = [(BURST, vec![original(flat("old"))])];
    assert_eq!(shown(&none, "replay"), Some(No));
    let every = [(BURST, vec![original(grows("old"))])];
    assert_eq!(shown(&every, "replay"), Some(NotShown));
}

#[test]
fn awaiting_ends_the_growth_only_where_nobody_grows() {
    let all_flat = [(AWAITED, vec![flat("a"), flat("b")])];
    assert_eq!(shown(&all_flat, "awaited"), Some(Yes));
    let one_grows = [(AWAITED, vec![flat("a"), grows("b")])];
    assert_eq!(shown(&one_grows, "awaited"), Some(No));
    assert_eq!(of_arm(&one_grows, "awaited", "b").0, No);
    let unclear = row("c", &[Class::Unclear; 5]);
    let half = [(AWAITED, vec![flat("a"), unclear.clone()])];
    assert_eq!(shown(&half, "awaited"), Some(Yes));
    let sentence = found(&half, "awaited").expect("an answer").sentence;
    assert!(sentence.ends_with("; yes: a; open: c."), "{sentence}");
    let mostly_unclear = [(AWAITED, vec![flat("a"), unclear.clone(), unclear])];
    assert_eq!(shown(&mostly_unclear, "awaited"), Some(NotShown));
    assert_eq!(shown(&[("rate", all_flat[0].1.clone())], "rate"), Some(Yes));
}

#[test]
fn one_round_of_five_may_be_otherwise_and_two_may_not() {
    let four = row("a", &[Class::Flat, Class::Flat, Class::Unclear, Class::Flat, Class::Flat]);
    assert_eq!(course(&four), Some(Course::Flat));
    let three = row("a", &[Class::Flat, Class::Unclear, Class::Unclear, Class::Flat, Class::Flat]);
    assert_eq!(course(&three), Some(Course::Mixed));
    // Each round alone is too short; together they do not grow.
    let mut level = row("a", &[Class::Unclear; 5]);
    let small = Interval { estimate: 200.0, low: -900.0, high: 1_300.0 };
    level.curves.iter_mut().for_each(|it| it.growth_us = small);
    assert_eq!(course(&level), Some(Course::Flat));
    level.curves.truncate(3);
    assert_eq!(course(&level), Some(Course::Mixed), "three rounds show nothing");
    let mut otherwise = row("a", &[Class::Unclear; 5]);
    let grown = Interval { estimate: 9_000.0, low: 5_000.0, high: 13_000.0 };
    otherwise.curves.iter_mut().for_each(|it| it.growth_us = grown);
    assert_eq!(course(&otherwise), Some(Course::Grows), "by no line and no logarithm");
    let two_kinds = row("a", &[Class::Linear, Class::Logarithmic, Class::Linear]);
    assert_eq!(course(&two_kinds), Some(Course::Grows));
    assert_eq!(course(&row("a", &[])), None);
}

#[test]
fn a_burst_grows_for_all_or_is_flat_for_some() {
    let all = vec![burst_row(grows("a"), Class::Linear), burst_row(flat("b"), Class::Linear)];
    assert_eq!(shown(&[(BURST, all)], "burst"), Some(Yes));
    let not = vec![burst_row(grows("a"), Class::Linear), burst_row(flat("b"), Class::Flat)];
    let phases = [(BURST, not)];
    assert_eq!(shown(&phases, "burst"), Some(No));
    assert_eq!(of_arm(&phases, "burst", "b").0, No);
}

#[test]
fn the_slope_is_held_against_the_rates() {
    let right = [(BURST, vec![grows("a")])];
    assert_eq!(shown(&right, "slope"), Some(Yes));
    let wrong = ArmRow { slope_predicted_us: 150.0, ..grows("a") };
    assert_eq!(shown(&[(BURST, vec![wrong.clone()])], "slope"), Some(No));
    let some = [(BURST, vec![grows("b"), wrong])];
    assert_eq!(shown(&some, "slope"), Some(NotShown));
    assert_eq!(shown(&[(BURST, vec![flat("a")])], "slope"), None);
}

#[test]
fn who_keeps_pace_is_flat() {
    let right = [(BURST, vec![grows("fast"), flat("even")])];
    assert_eq!(shown(&right, "keeps_pace"), Some(Yes));
    let mut flat_and_fast = grows("odd");
    flat_and_fast.curves.iter_mut().for_each(|it| it.growth_us = around_zero(10.0));
    let wrong = [(BURST, vec![grows("fast"), flat_and_fast, flat("even")])];
    assert_eq!(shown(&wrong, "keeps_pace"), Some(No));
    // The same driver keeps pace in some rounds only.
    let mut sometimes = grows("old");
    sometimes.curves[1] = curve_of(Class::Flat);
    let phases = [(BURST, vec![sometimes, flat("even")])];
    assert_eq!(shown(&phases, "keeps_pace"), Some(Yes));
    let rows = found(&phases, "keeps_pace").expect("an answer").rows;
    let said = "latency grows in 0 of 6 rounds; old, round by round: 6.00 times grows, 1.00 times \
                does not grow, ";
    assert!(rows[1].words.starts_with(said), "{rows:?}");
    let all_grow = [(BURST, vec![grows("a"), grows("b")])];
    assert_eq!(shown(&all_grow, "keeps_pace"), Some(NotShown));
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
    let with = |parts| [(BURST, vec![ArmRow { parts: Some(parts), ..grows("a") }])];
    let driver = with(parts(part(100.0, 90_100.0), part(100.0, 200.0)));
    assert_eq!(shown(&driver, "where"), Some(Yes));
    let words = of_arm(&driver, "where", "a").1;
    assert!(words.starts_with("of the growth is in the driver, "), "{words}");
    let both = with(parts(part(100.0, 5_100.0), part(100.0, 5_100.0)));
    assert_eq!(shown(&both, "where"), Some(NotShown));
    for little in [still, part(100.0, 900.0)] {
        let none = with(parts(still, little));
        assert_eq!(shown(&none, "where"), Some(NotShown));
        assert_eq!(of_arm(&none, "where", "a").1, "through the tap it did not grow");
    }
    assert_eq!(shown(&[(BURST, vec![grows("a")])], "where"), None, "no tap, no word");
}

#[test]
fn pools_and_processes_are_compared_with_their_like() {
    let grow = [(BURST, vec![grows("a/maxPoolSize=5"), grows("a/maxPoolSize=1024")])];
    assert_eq!(shown(&grow, "pool"), Some(No));
    let end = [(BURST, vec![grows("a/maxPoolSize=5"), flat("a/maxPoolSize=1024")])];
    assert_eq!(shown(&end, "pool"), Some(Yes));
    let open = row("b/maxPoolSize=1024", &[Class::Unclear; 5]);
    let mut some = grow.clone();
    some[0].1.extend([grows("b/maxPoolSize=5"), open]);
    assert_eq!(shown(&some, "pool"), Some(No));
    assert_eq!(of_arm(&some, "pool", "a/maxPoolSize=1024").0, No);
    let mut ends = end.clone();
    ends[0].1.extend(some[0].1[2..].to_vec());
    assert_eq!(shown(&ends, "pool"), Some(NotShown), "one is open");
    let (answer, words) = of_arm(&ends, "pool", "a/maxPoolSize=1024");
    assert_eq!(answer, Yes);
    assert!(words.starts_with("a/maxPoolSize=5: linear 5/5, 101 µs"), "{words}");
    let mut level = end.clone();
    level[0].1.extend([flat("b/maxPoolSize=5"), flat("b/maxPoolSize=1024")]);
    assert_eq!(shown(&level, "pool"), Some(Yes), "what does not grow decides nothing");
    let unlike = [(BURST, vec![grows("a/maxPoolSize=5"), flat("b/maxPoolSize=1024")])];
    assert_eq!(shown(&unlike, "pool"), None);
    let four = [(BURST, vec![grows("a"), grows("a/processes=4")])];
    assert_eq!(shown(&four, "processes"), Some(No));
}

/// An arm that receives so many messages a second, with this latency.
fn with(rate: f64, latency: f64) -> ArmRow {
    let mut row = flat("a");
    for curve in &mut row.curves {
        (curve.received_per_s, curve.latency_p50_us) = (rate, latency);
    }
    row
}

#[test]
fn the_pause_takes_half_the_rate_or_not() {
    let phases = |paused| [(AWAITED, vec![with(1_300.0, 300.0)]), (THINK, vec![paused])];
    assert_eq!(shown(&phases(with(660.0, 310.0)), "think"), Some(Yes));
    assert_eq!(shown(&phases(with(660.0, 600.0)), "think"), Some(No));
    assert_eq!(shown(&phases(with(1_200.0, 300.0)), "think"), Some(No));
    // Where the original slept, another driver decides nothing.
    let mut both = phases(ArmRow { original: true, ..with(660.0, 310.0) });
    for (_, rows) in &mut both {
        rows.push(flat("go@2"));
    }
    assert_eq!(shown(&both, "think"), Some(Yes));
}

#[test]
fn the_producer_of_the_first_claim_reaches_its_rate_or_not() {
    let all = BrokerStudy.definition().questions;
    let asked = all.into_iter().find(|it| it.id == "reached").expect("a question");
    let Names::One(start) = asked.of.arm else { panic!("the start of an arm's name") };
    let arm = start.replace('*', "3");
    let at = |rate| {
        let it = ArmRow { arm: arm.clone(), ..with(rate, 300.0) };
        shown(&[(AWAITED, vec![it, flat("go@2")])], "reached")
    };
    assert_eq!([at(1_300.0), at(5_000.0)], [Some(No), Some(Yes)]);
    assert_eq!(shown(&[(AWAITED, vec![flat("go@2")])], "reached"), None);
}

/// An arm's phases by both ways, with the median latency of each round, us.
fn both_ways(cursor: &[f64], stream: &[f64]) -> [PhaseRows; 2] {
    let by = |name, medians: &[f64]| {
        let mut arm = row("a", &vec![Class::Flat; medians.len()]);
        for (curve, us) in arm.curves.iter_mut().zip(medians) {
            curve.latency_p50_us = *us;
        }
        (name, vec![arm])
    };
    [by("tailable_cursor", cursor), by("change_stream", stream)]
}

#[test]
fn a_change_stream_is_later_or_not_by_the_interval_of_the_ratio() {
    let cursor = [400.0, 410.0, 390.0, 420.0, 400.0];
    let later = both_ways(&cursor, &cursor.map(|us| 3.0 * us));
    assert_eq!(shown(&later, "streams"), Some(Yes));
    assert_eq!(
        found(&later, "streams").expect("an answer").view().sentences,
        [
            "Yes. By a change stream a message takes 3.00 (3.00 to 3.00) times the latency by a \
             tailable cursor with a.",
            "a: 3.00 (3.00 to 3.00); change stream latency p50 1.20 ms (1.17 ms to 1.26 ms) to \
             tailable cursor latency p50 400 µs (390 µs to 420 µs).",
        ]
    );
    let alike = both_ways(&cursor, &cursor.map(|us| 1.01 * us));
    assert_eq!(shown(&alike, "streams"), Some(No));
    // The rounds do not agree.
    let mixed = both_ways(&cursor, &[380.0, 1_200.0, 390.0, 1_300.0, 1_100.0]);
    assert_eq!(shown(&mixed, "streams"), Some(NotShown));
    assert_eq!(shown(&later[..1], "streams"), None, "one way is no comparison");
}

#[test]
fn fewer_than_five_rounds_of_both_ways_show_nothing() {
    let (cursor, stream) = ([400.0; 5], [1_200.0; 5]);
    for rounds in 1..5 {
        let few = both_ways(&cursor[..rounds], &stream[..rounds]);
        assert_eq!(shown(&few, "streams"), Some(NotShown), "{rounds}");
        // A round counts where it has both.
        let lost = both_ways(&cursor, &stream[..rounds]);
        assert_eq!(shown(&lost, "streams"), Some(NotShown), "{rounds}");
    }
    assert_eq!(shown(&both_ways(&cursor, &stream), "streams"), Some(Yes));
    assert_eq!(shown(&both_ways(&cursor, &[]), "streams"), None);
}

#[test]
fn the_answer_stands_only_on_both_legs() {
    let burst =
        (BURST, vec![burst_row(grows("a"), Class::Linear), burst_row(flat("b"), Class::Linear)]);
    let both = [(AWAITED, vec![flat("a"), flat("b")]), burst.clone()];
    let answer = &all(&both)[0];
    assert_eq!((answer.id.as_str(), answer.answer), ("answer", Yes));
    let one = [(AWAITED, vec![flat("a"), grows("b")]), burst.clone()];
    let answer = &all(&one)[0];
    assert_eq!((answer.id.as_str(), answer.answer), ("answer", NotShown));
    assert!(answer.view().sentences[0].starts_with("Not shown"), "{answer:?}");
    assert_eq!(shown(&[burst], "answer"), Some(NotShown), "one leg was not measured");
}
