//! The causes of a wider interval: drift, order, two copies that differ, waiting arms at work. And
//! their effect on a verdict.
#![allow(clippy::float_cmp, clippy::unreadable_literal)]

use crate::stats_verdicts::RUNS;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng as _, SeedableRng as _};
use stats::bias::{self, Bias};
use stats::comparison::{Arms, Comparison, Rules, compare};
use stats::gates::GateId;
use stats::judge::{Entrant, Measure, Terms, judge};
use stats::threshold::{Interleave, Quantity, ThresholdParts};
use stats::verdict::Verdict;

fn logs(percents: &[f64]) -> Vec<Option<f64>> {
    percents.iter().map(|percent| Some((percent / 100.0).ln_1p())).collect()
}

fn percent(bias: Option<Bias>) -> Option<f64> {
    bias.map(|bias| (bias.percent() * 1e3).round() / 1e3)
}

#[test]
fn a_drift_that_is_shown_counts_by_its_half() {
    let still = logs(&[0.0; 10]);
    let of = |b: &[f64], interleave| {
        let found = bias::drift(("A", &still), ("B", &logs(b)), interleave, 0.05)?;
        Some((found.sentence(), percent(bias::of_drift(&found))))
    };
    let (sentence, size) = of(&[3.0; 10], Interleave::Turns).unwrap();
    let said = "B against A: +3.00 % (95.1 % CI 3.00 to 3.00 %) from first to second half";
    assert_eq!((sentence.as_str(), size), (said, Some(1.489)));
    // Large on the whole, but no test separates it from nothing in so few rounds: it is printed.
    let (sentence, size) = of(&[-4.0, 16.0, -5.0, 9.0, -6.0, 12.0], Interleave::Turns).unwrap();
    assert!(sentence.contains("CI -6 to 16 %"), "{sentence}");
    assert_eq!(size, None);
    let (sentence, size) = of(&[-2.0; 10], Interleave::Runs).unwrap();
    assert!(sentence.starts_with("B: -2.00 %"), "{sentence}");
    assert_eq!(size, Some(1.015));
    assert_eq!(of(&[9.0; 5], Interleave::Turns), None, "no interval from five rounds");
}

#[test]
fn a_drift_of_all_arms_is_said() {
    let (a, b, c) = (logs(&[4.0; 6]), logs(&[5.0; 6]), logs(&[0.5, -0.5, 0.2, -0.2, 0.1, 0.0]));
    let said = bias::shared_drift(&[&a, &b], 0.05, 2.0);
    let expected = "all arms became 4 % slower within the phase: their rates are means over it";
    assert_eq!(said.as_deref(), Some(expected));
    assert_eq!(bias::shared_drift(&[&a, &b, &c], 0.05, 2.0), None);
    assert_eq!(bias::shared_drift(&[&a, &logs(&[-4.0; 6])], 0.05, 2.0), None);
    assert_eq!(bias::shared_drift(&[&logs(&[1.0; 6]), &logs(&[1.0; 6])], 0.05, 2.0), None);
}

/// Places of `arms` arms in so many rounds, drawn anew for each.
fn places(arms: usize, rounds: usize, random: &mut ChaCha8Rng) -> Vec<Vec<Option<u32>>> {
    let mut places = vec![Vec::new(); arms];
    for _ in 0..rounds {
        let mut order: Vec<u32> = (0..arms as u32).collect();
        for last in (1..arms).rev() {
            order.swap(last, random.next_u64() as usize % (last + 1));
        }
        for (arm, place) in order.into_iter().enumerate() {
            places[arm].push(Some(place));
        }
    }
    places
}

#[test]
fn an_effect_of_the_order_is_found_with_its_size() {
    let random = &mut ChaCha8Rng::seed_from_u64(1);
    let places = places(3, 12, random);
    let values = |effect: f64| -> Vec<Vec<Option<f64>>> {
        let arm = |arm: &Vec<Option<u32>>| {
            let of = |(round, place): (usize, &Option<u32>)| {
                place.map(|place| effect * f64::from(place) + 0.1 * round as f64)
            };
            arm.iter().enumerate().map(of).collect()
        };
        places.iter().map(arm).collect()
    };
    let found = bias::order(&values(0.02), &places, 1).unwrap();
    assert_eq!(found.gate, GateId::Order);
    // From the middle to either end of three places it is one place.
    assert!((found.size - 0.02).abs() < 1e-9, "{found:?}");
    assert_eq!(bias::order(&values(0.0), &places, 1), None);
    assert_eq!(bias::order(&[], &[], 1), None);
}

/// The tabled p-value of Spearman's rho rejects 9 % of such experiments.
#[test]
fn the_test_of_the_order_errs_as_often_as_it_says() {
    for (arms, rounds) in [(2, 10), (3, 6)] {
        let random = &mut ChaCha8Rng::seed_from_u64(5);
        let mut found = 0;
        let draws = if cfg!(debug_assertions) { 150 } else { 1_000 };
        for _ in 0..draws {
            let places = places(arms, rounds, random);
            let mut value = || Some((random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64);
            let logs: Vec<Vec<Option<f64>>> =
                (0..arms).map(|_| (0..rounds).map(|_| value()).collect()).collect();
            found += u32::from(bias::order(&logs, &places, 1).is_some());
        }
        let share = f64::from(found) / f64::from(draws);
        assert!(share <= 0.01 + 3.0 * (0.0099 / f64::from(draws)).sqrt(), "{arms}: {share}");
    }
}

#[test]
fn copies_that_differ_and_waiting_arms_at_work() {
    let ratios = |percents: &[f64]| -> Vec<f64> { logs(percents).into_iter().flatten().collect() };
    let unclear = [0.1, -0.1, 0.2, -0.2, 0.3, -0.3, 0.1, 0.0, 0.0, -0.1];
    assert_eq!(bias::same_version("m", &ratios(&unclear), 0.05), None);
    let found = bias::same_version("m", &ratios(&[-4.0; 10]), 0.05).unwrap();
    assert_eq!(found.gate, GateId::SameVersion);
    assert_eq!(percent(Some(found.clone())), Some(4.167), "1 / 0.96");
    assert!(found.caution.starts_with("two copies of one version differ in m by -4"), "{found:?}");
    assert_eq!(bias::idle_cpu("B", 0.02), None);
    let idle = bias::idle_cpu("B", 0.04).unwrap();
    assert!(idle.caution.starts_with("beside B, the waiting arms used 4.0 % CPU"), "{idle:?}");
    let said =
        |sizes: &[f64], waiting: &[(&str, u64)]| bias::waiting_cpu(sizes.iter().copied(), waiting);
    assert_eq!(said(&[], &[("java@5", 9)]), None, "nobody waited for more than the limit");
    let all = said(&[0.04, 0.092, 0.0401], &[("c@1", 30), ("java@5", 120), ("go@2", 50)]);
    let wanted = "while one arm worked, those that waited used 4.0 to 9.2 % CPU, 60 % of it java@5 \
        (gate G9); a longer warm-up or --interleave runs helps";
    assert_eq!(all.as_deref(), Some(wanted));
    let old = said(&[0.04], &[("c@1", 0), ("go@2", 0)]).expect("a record that has no such clocks");
    assert!(
        old.starts_with("while one arm worked, those that waited used 4.0 % CPU (gate"),
        "{old}"
    );
    let biases = [found, idle];
    assert_eq!(bias::largest(&biases).map(|it| it.gate), Some(GateId::SameVersion));
}

const TURNS: ThresholdParts =
    ThresholdParts { interleave: Interleave::Turns, timer_cost_ns: 0.0, ..RUNS };

fn judged(percents: &[f64], rules: &Rules<'_>) -> Comparison {
    let a = vec![Some(1e6); percents.len()];
    let b: Vec<_> = percents.iter().map(|percent| Some(1e6 * (1.0 + percent / 100.0))).collect();
    let arms = Arms { name_a: "A", name_b: "B", a: &a, b: &b };
    compare("m", Quantity::Other { direction: LOWER, floor_percent: 2.0 }, &arms, rules, &[])
}

const LOWER: stats::threshold::Direction = stats::threshold::Direction::LowerIsBetter;

#[test]
fn a_bias_widens_the_interval_before_the_verdict() {
    let bias =
        |percent: f64| bias::idle_cpu("B", (percent / 100.0).ln_1p()).expect("above the limit");
    let seven = [6.0, 6.5, 7.0, 7.5, 8.0, 6.0, 6.5, 7.0, 7.5, 8.0];
    let with = |bias: &Bias| judged(&seven, &Rules { bias: Some(bias), ..Rules::new(0.05, TURNS) });
    let found = with(&bias(3.0));
    assert_eq!(
        found.sentence,
        "SLOWER: B costs 7.0 % more per op than A (95.1 % CI 3.4 to 10.7 %, of which 3 % either \
         side for the CPU of waiting arms, 10 paired rounds, threshold 2 %)."
    );
    assert_eq!(percent(Some(bias(3.0))), Some(3.0));
    // Enough of it leaves only the direction, and then nothing.
    let found = with(&bias(5.0));
    assert!(found.direction_only && found.verdict == Verdict::Slower, "{}", found.sentence);
    assert_eq!(with(&bias(9.0)).verdict, Verdict::Inconclusive);
    let void = with(&bias(11.0));
    assert_eq!(void.verdict, Verdict::NotComparable);
    assert!(void.sentence.contains("too much to be noise"), "{}", void.sentence);
}

#[test]
fn noise_widens_the_threshold_and_not_the_floor() {
    let noisy = ThresholdParts { noise_floor_percent: Some(3.0), ..TURNS };
    let spread = [2.5, 3.0, 3.5, 4.0, 4.5, 2.5, 3.0, 3.5, 4.0, 4.5];
    let found = judged(&spread, &Rules::new(0.05, noisy));
    // Within ±6 %, but SAME means 2 %.
    assert_eq!((found.verdict, found.direction_only), (Verdict::Slower, true));
    assert!(found.sentence.contains("the 6 % threshold is beyond the interval"));
    let near = spread.map(|percent| percent - 3.5);
    assert_eq!(judged(&near, &Rules::new(0.05, noisy)).verdict, Verdict::Same);
    // A busy machine doubles the one and leaves the other.
    let busy = Rules { busy: Some("other processes used 49 %: rustc"), ..Rules::new(0.05, TURNS) };
    let found = judged(&near, &busy);
    assert_eq!((found.threshold_percent, found.floor_percent), (4.0, 2.0));
    let end = "10 paired rounds) on a busy machine (other processes used 49 %: rustc).";
    assert!(found.sentence.ends_with(end), "{}", found.sentence);
}

#[test]
fn a_quick_same_needs_the_second_half_and_the_other_copy() {
    let arm = |name, is_aa, halves: f64| Entrant {
        name,
        is_aa,
        halves: logs(&[halves; 6]),
        positions: vec![None; 6],
        ..Entrant::default()
    };
    let judged = |halves: f64, copy: f64, interleave: Interleave, whole_job: bool| {
        let rate = |percent: f64| -> Vec<Option<f64>> {
            let noise = [0.3, -0.3, 0.2, -0.2, 0.1, -0.1];
            noise.iter().map(|it| Some(1e3 / (1.0 + (percent + it) / 100.0))).collect()
        };
        let measure = Measure {
            name: "throughput".to_owned(),
            quantity: Quantity::Throughput,
            values: vec![rate(0.0), rate(copy), rate(1.0)],
        };
        let terms = Terms { interleave, whole_job, quick: true, alpha: 0.05, seed: 1, busy: None };
        let arms = [arm("A", false, 0.0), arm("A2", true, 0.0), arm("B", false, halves)];
        judge(&arms, &[measure], &terms).judged.pop().expect("B").comparison
    };
    let of = |halves: f64, copy: f64| judged(halves, copy, Interleave::Turns, false);
    assert_eq!(of(0.0, 0.0).verdict, Verdict::Same);
    // The second half is some 5 % slower, also against the copy.
    let late = of(8.5, 0.0);
    assert_eq!(late.verdict, Verdict::Inconclusive, "{}", late.sentence);
    // Where that much is no doubt, the whole time of a job is what was asked for.
    let of = |whole_job: bool| judged(45.0, 0.0, Interleave::Runs, whole_job);
    assert_eq!(of(false).verdict, Verdict::NotComparable, "{}", of(false).sentence);
    assert_ne!(of(true).verdict, Verdict::NotComparable, "{}", of(true).sentence);
    let other = judged(0.0, -4.5, Interleave::Turns, false);
    assert_eq!(other.verdict, Verdict::Inconclusive, "{}", other.sentence);
}
