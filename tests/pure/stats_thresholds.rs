//! Log ratios, decimals, thresholds, the A/A noise floor and the plan of looks.
#![allow(clippy::float_cmp, clippy::unreadable_literal)]

use crate::stats_verdicts::RUNS;
use stats::comparison::{Arms, Comparison, Rules, compare};
use stats::disturbed::{ForeignLoad, RoundStep, only_quiet, step, words};
use stats::looks::{Deciding, Look, LookPlan, NextStep};
use stats::noise::noise_floor_percent;
use stats::ratio::log_ratios;
use stats::threshold::{Direction, Interleave, Quantity, ThresholdOrigin, ThresholdParts};

fn seven_rounds(percents: [f64; 7]) -> Comparison {
    let b = percents.map(|percent| Some(1e9 * (1.0 + percent / 100.0)));
    let arms = Arms { name_a: "A", name_b: "B", a: &[Some(1e9); 7], b: &b };
    compare("m", Quantity::P50, &arms, &Rules::new(0.05, RUNS), &[])
}

#[test]
fn thresholds() {
    let floors = |interleave| {
        [
            Quantity::Throughput,
            Quantity::P50,
            Quantity::CpuPerOperation,
            Quantity::P90,
            Quantity::P99,
            Quantity::P999,
            Quantity::AllocatedBytes,
        ]
        .map(|quantity| quantity.floor_percent(interleave))
    };
    assert_eq!(floors(Interleave::Turns), [2.0, 2.0, 2.0, 4.0, 10.0, 20.0, 1.0]);
    assert_eq!(floors(Interleave::Runs), [3.0, 3.0, 3.0, 5.0, 10.0, 20.0, 1.0]);
    let noisy = ThresholdParts { noise_floor_percent: Some(2.5), ..RUNS };
    let of = |parts: ThresholdParts, quantity, base| {
        let threshold = parts.threshold(quantity, base);
        (threshold.percent, threshold.origin)
    };
    assert_eq!(of(noisy, Quantity::P50, 1e9), (5.0, ThresholdOrigin::Noise));
    assert_eq!(of(noisy.for_same_version(), Quantity::P50, 1e9), (3.0, ThresholdOrigin::Floor));
    // 2 us of a median of 20 us; with a timer of 1 us it is 5 us; throughput knows no timer.
    assert_eq!(of(noisy, Quantity::P50, 20_000.0), (10.0, ThresholdOrigin::Timer));
    let coarse = ThresholdParts { timer_cost_ns: 1_000.0, ..RUNS };
    assert_eq!(of(coarse, Quantity::P99, 20_000.0), (25.0, ThresholdOrigin::Timer));
    assert_eq!(of(coarse, Quantity::Throughput, 20_000.0), (3.0, ThresholdOrigin::Floor));
}

#[test]
fn looks_spend_five_percent_and_stop_when_settled() {
    let plans = [LookPlan::standard(), LookPlan::quick(), LookPlan::fixed(15)];
    for plan in &plans {
        let spent: f64 = plan.looks().iter().map(|look| look.alpha).sum();
        assert!((spent - 0.05).abs() < 1e-12);
    }
    let [standard, quick, fixed] = plans;
    assert_eq!((standard.first_rounds(), fixed.first_rounds(), quick.quick), (10, 15, true));
    let (settled, open) =
        (seven_rounds([0.1; 7]), seven_rounds([-9.0, 9.0, 8.0, -8.0, 7.0, -7.0, 0.0]));
    assert!(settled.settled() && !open.settled());
    let [first, second, last] = [0, 1, 2].map(|at| standard.looks()[at]);
    let after = |plan: &LookPlan, look: Look, comparisons: &[&Comparison]| {
        let comparisons = comparisons.iter().map(|it| (*it).clone()).collect();
        plan.after(look, look.rounds, &Deciding { comparisons, ..Deciding::default() })
    };
    assert_eq!(after(&standard, first, &[&settled]), NextStep::Stop);
    assert_eq!(after(&standard, first, &[&settled, &open]), NextStep::ContinueTo(20));
    assert_eq!(after(&standard, second, &[&open]), NextStep::ContinueTo(40));
    assert_eq!(after(&standard, last, &[&open]), NextStep::Stop);
    assert_eq!(after(&quick, quick.first(), &[&open]), NextStep::Stop);
}

#[test]
fn rounds_are_added_until_those_that_count_give_an_interval() {
    let b = [Some(1.1e9), Some(1.2e9), None, Some(1.1e9), Some(1.2e9), Some(1.1e9)];
    let arms = Arms { name_a: "A", name_b: "B", a: &[Some(1e9); 6], b: &b };
    let short = compare("it", Quantity::Throughput, &arms, &Rules::new(0.05, RUNS), &[]);
    let wanted = "5 paired rounds give no 95 % interval; at least 6 needed (1 of 6 rounds lost).";
    assert_eq!(short.sentence, format!("INCONCLUSIVE: {wanted}"));
    let found = Deciding { comparisons: vec![short], ..Deciding::default() };
    let quick = LookPlan::quick();
    let after =
        |plan: &LookPlan, made: u32, found: &Deciding| plan.after(plan.first(), made, found);
    assert_eq!(after(&quick, 6, &found), NextStep::ContinueTo(7));
    assert_eq!(after(&quick, 11, &found), NextStep::ContinueTo(12));
    assert_eq!(after(&quick, 12, &found), NextStep::Stop, "twice the plan and no more");
    assert_eq!(after(&LookPlan::fixed(5), 5, &found), NextStep::Stop, "as was asked");
    // Rounds that count on one of two servers alone.
    let pairs = Deciding { pairs_short: 1, ..Deciding::default() };
    assert_eq!(after(&quick, 6, &pairs), NextStep::ContinueTo(7));
    assert_eq!(pairs.words(), "too few rounds that count on both servers");
    // A later look has the interval.
    assert_eq!(after(&LookPlan::standard(), 10, &pairs), NextStep::ContinueTo(20));
}

#[test]
fn a_gate_that_is_undecided_has_four_times_the_rounds_and_the_same_error() {
    let plan = LookPlan::quick().with_gates();
    let spent: f64 = plan.looks().iter().map(|look| look.alpha).sum();
    assert!((spent - 0.05).abs() < 1e-12 && plan.quick);
    let rounds: Vec<u32> = plan.looks().iter().map(|look| look.rounds).collect();
    assert_eq!(rounds, [6, 12, 24]);
    assert_eq!(plan.caution(), None, "six rounds still give an interval");
    assert!(LookPlan::fixed(5).caution().expect("too few").starts_with("5 rounds give no 95 %"));
    let open = seven_rounds([-9.0, 9.0, 8.0, -8.0, 7.0, -7.0, 0.0]);
    let found = |gates_open| Deciding {
        comparisons: vec![open.clone()],
        gates_open,
        ..Deciding::default()
    };
    let [first, second, last] = [0, 1, 2].map(|at| plan.looks()[at]);
    assert_eq!(plan.after(first, 6, &found(0)), NextStep::Stop, "a comparison is no gate");
    assert_eq!(plan.after(first, 6, &found(1)), NextStep::ContinueTo(12));
    assert_eq!(plan.after(second, 12, &found(1)), NextStep::ContinueTo(24));
    assert_eq!(plan.after(last, 24, &found(1)), NextStep::Stop);
    assert_eq!(LookPlan::standard().with_gates(), LookPlan::standard());
}

/// `.` a quiet round, `x` a disturbed one.
fn rounds(marks: &str) -> Vec<bool> {
    marks.chars().map(|mark| mark == 'x').collect()
}

#[test]
fn disturbed_rounds_are_made_again_until_the_machine_is_known_to_be_like_that() {
    let cases = [
        ("", RoundStep::Make),
        (".....", RoundStep::Make),
        ("......", RoundStep::Look),
        ("..x...", RoundStep::Make),
        ("..x....", RoundStep::Look),
        // Half of them is not more than half; two thirds are.
        ("xxx...", RoundStep::Make),
        ("xxxx..", RoundStep::Look),
        // The planned rounds are made in any case.
        ("xxxx.", RoundStep::Make),
        // At most the planned number again.
        ("x.x.x.x.x.", RoundStep::Make),
        ("x.x.x.x.x.x.", RoundStep::Look),
    ];
    for (marks, expected) in cases {
        assert_eq!(step(&rounds(marks), 6), expected, "{marks}");
    }
    let kept = [("......", true), ("..x....", true), ("....xxxxx", false)];
    let only_quiet =
        |disturbed: &[bool], look: Look| only_quiet(disturbed, look.rounds, look.alpha);
    let six = LookPlan::quick().first();
    for (marks, quiet) in kept {
        assert_eq!(only_quiet(&rounds(marks), six), quiet, "{marks}");
    }
    // An interrupted experiment needs 80 % of its rounds.
    let ten = LookPlan::standard().first();
    assert!(only_quiet(&rounds("....x"), ten) && !only_quiet(&rounds("...xx"), ten));
    // Five quiet ones of twelve give no interval, all twelve give one.
    assert!(!only_quiet(&rounds(".....xxxxxxx"), six));
}

#[test]
fn looks_count_undisturbed_rounds() {
    let plan = LookPlan::standard();
    let at = |marks: &str| {
        let (look, step) = plan.standing(&rounds(marks));
        (look.rounds, step)
    };
    let ten = ".".repeat(10);
    assert_eq!(at(""), (10, RoundStep::Make));
    assert_eq!(at(&ten), (10, RoundStep::Look));
    assert_eq!(at(".........x"), (10, RoundStep::Make));
    assert_eq!(at(".........x."), (10, RoundStep::Look));
    // Beyond a look its error is spent: an interrupted experiment is judged with the next one's.
    assert_eq!(at(&format!("{ten}.")), (20, RoundStep::Make));
    assert_eq!(at(&".".repeat(20)), (20, RoundStep::Look));
    assert_eq!(at(&".".repeat(40)), (40, RoundStep::Look));
    assert_eq!(at(&".".repeat(41)), (40, RoundStep::Look));
    // A machine that is never quiet is looked at after the planned rounds.
    assert_eq!(at(&"x".repeat(10)), (10, RoundStep::Look));
    assert_eq!(at(&"x".repeat(11)), (20, RoundStep::Make));
    assert_eq!(at(&"x".repeat(20)), (20, RoundStep::Look));
}

#[test]
fn a_disturbance_is_named() {
    let around = |steal_fraction, foreign_fraction, processes: &[(&'static str, f64)]| {
        ForeignLoad { steal_fraction, foreign_fraction, processes: processes.to_vec() }
    };
    let quiet = around(0.02, 0.03, &[]);
    let restless = around(0.0, 0.10, &[("cron", 0.1)]);
    let busy = around(0.0, 0.49, &[("chrome", 0.1), ("rustc", 0.3), ("a", 0.01), ("b", 0.02)]);
    let stolen = around(0.2, 0.0, &[]);
    let each = [&quiet, &restless, &busy, &stolen];
    assert_eq!(each.map(ForeignLoad::is_disturbed), [false, false, true, true]);
    assert_eq!(each.map(ForeignLoad::is_restless), [false, true, false, false]);
    assert_eq!(words(std::slice::from_ref(&busy)), "other processes used 49 %: rustc, chrome, b");
    assert_eq!(words(std::slice::from_ref(&stolen)), "the hypervisor took 20 %");
    assert_eq!(
        words(&[around(0.03, 0.2, &[])]),
        "other processes used 20 %; the hypervisor took 3 %"
    );
}

#[test]
fn the_noise_floor_needs_ten_rounds_and_repeats_itself() {
    let rounds: Vec<f64> = (0..10).map(|k| 0.05 * (f64::from(k) / 4.5 - 1.0)).collect();
    let floor = noise_floor_percent(std::slice::from_ref(&rounds), 7).unwrap();
    // Scatter 3.2 %, so the estimate's is about 1.1 %: its 95th percentile lies near 2 %.
    assert!((1.4..2.6).contains(&floor), "{floor}");
    assert_eq!(noise_floor_percent(std::slice::from_ref(&rounds), 7), Some(floor));
    assert_eq!(noise_floor_percent(&[rounds[..9].to_vec()], 7), None);
    assert_eq!(noise_floor_percent(&[], 7), None);
}

#[test]
fn log_ratios_are_time_per_operation() {
    let (a, b) = ([Some(100.0), Some(0.0), Some(1.0), None, Some(-1.0)], [Some(50.0), Some(0.0)]);
    let times = log_ratios(Direction::LowerIsBetter, &a, &b);
    let rates = log_ratios(Direction::HigherIsBetter, &a, &b);
    assert_eq!(times, [Some(0.5_f64.ln()), Some(0.0), None, None, None]);
    assert_eq!(rates[0], Some(2.0_f64.ln()));
    assert_eq!(log_ratios(Direction::LowerIsBetter, &[Some(0.0)], &[Some(1.0)]), [None]);
}
