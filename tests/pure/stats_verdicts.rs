//! Every verdict template, quick ones too. The numbers in the sentences were computed with the
//! reference program.
#![allow(clippy::float_cmp, clippy::unreadable_literal, clippy::print_stdout)]

use stats::comparison::{Arms, Comparison, Rules, compare, rounds_for_an_interval};
use stats::threshold::{Direction, Interleave, Quantity, ThresholdParts};
use stats::verdict::Verdict;
use stats::wording::BANNED;

pub const RUNS: ThresholdParts = ThresholdParts {
    interleave: Interleave::Runs,
    quick: false,
    noise_floor_percent: None,
    timer_cost_ns: 30.0,
};

/// Twenty evenly spread percentages around `centre`, shuffled by a fixed stride.
fn spread(centre: f64, half_range: f64, rounds: usize) -> Vec<f64> {
    (0..rounds)
        .map(|k| k * 7 % rounds)
        .map(|k| centre + half_range * (2.0 * k as f64 / (rounds - 1) as f64 - 1.0))
        .collect()
}

/// Compares time per op where B is `percents[k]` slower in round k.
fn slower_by(
    percents: &[f64],
    quantity: Quantity,
    parts: ThresholdParts,
    alpha: f64,
) -> Comparison {
    let a: Vec<Option<f64>> = (0..percents.len()).map(|k| Some(1e6 + k as f64)).collect();
    let b: Vec<Option<f64>> = a
        .iter()
        .zip(percents)
        .map(|(a, percent)| {
            let factor = 1.0 + percent / 100.0;
            a.map(|a| match quantity.direction() {
                Direction::LowerIsBetter => a * factor,
                Direction::HigherIsBetter => a / factor,
            })
        })
        .collect();
    let arms = Arms { name_a: "A", name_b: "B", a: &a, b: &b };
    compare("m", quantity, &arms, &Rules::new(alpha, parts), &[])
}

fn throughput(centre: f64, half_range: f64) -> Comparison {
    slower_by(&spread(centre, half_range, 20), Quantity::Throughput, RUNS, 0.05)
}

#[track_caller]
fn says(comparison: &Comparison, verdict: Verdict, direction_only: bool, sentence: &str) {
    assert_eq!(comparison.sentence, sentence);
    assert_eq!((comparison.verdict, comparison.direction_only), (verdict, direction_only));
    for banned in BANNED {
        assert!(!sentence.to_lowercase().contains(banned), "{banned}");
    }
}

#[test]
fn slower_and_faster() {
    let found = throughput(7.2, 7.2);
    says(
        &found,
        Verdict::Slower,
        false,
        "SLOWER: B takes 7.1 % longer per op than A (95.2 % CI 4.9 to 9.4 %, 20 paired rounds, \
         threshold 3 %).",
    );
    assert!(found.low_percent.unwrap() > 3.0 && found.settled() && found.p_value.unwrap() < 1e-4);
    says(
        &throughput(-7.2, 7.2),
        Verdict::Faster,
        false,
        "FASTER: B takes 7.3 % less time per op than A (95.2 % CI 5.0 to 9.5 %, 20 paired rounds, \
         threshold 3 %).",
    );
}

#[test]
fn same_with_and_without_direction() {
    says(
        &throughput(-0.4, 4.9),
        Verdict::Same,
        false,
        "SAME within ±3 %: B vs A -0.4 % (95.2 % CI -2.0 to 1.1 %, 20 paired rounds).",
    );
    says(
        &throughput(1.4, 2.1),
        Verdict::Same,
        false,
        "SAME within ±3 %: B vs A 1.39 % (95.2 % CI 0.73 to 2.06 %, 20 paired rounds) \
         (direction clear: B is slower, by less than 3 %).",
    );
}

#[test]
fn direction_only() {
    let found = throughput(3.4, 8.0);
    says(
        &found,
        Verdict::Slower,
        true,
        "SLOWER, size uncertain: at least 0.8 %, at most 5.9 %; the 3 % threshold is inside the \
         interval.",
    );
    assert!(!found.settled());
    says(
        &throughput(-3.4, 8.0),
        Verdict::Faster,
        true,
        "FASTER, size uncertain: at least 0.9 %, at most 6.0 %; the 3 % threshold is inside the \
         interval.",
    );
}

#[test]
fn inconclusive() {
    let found = throughput(0.8, 9.0);
    says(
        &found,
        Verdict::Inconclusive,
        false,
        "INCONCLUSIVE: between -2.1 % and +3.6 %; about 11 more rounds needed.",
    );
    assert_eq!(found.rounds_needed, Some(11));
    let wide = throughput(2.9, 30.0);
    says(
        &wide,
        Verdict::Inconclusive,
        false,
        "INCONCLUSIVE: between -7.6 % and +11.8 %; about 20 more rounds needed.",
    );
    assert_eq!(wide.warnings, ["B: with this scatter even 40 rounds would probably not decide"]);
    let last = slower_by(&spread(0.5, 30.0, 40), Quantity::Throughput, RUNS, 0.02);
    assert!(last.sentence.ends_with("; more than 40 rounds would be needed."), "{}", last.sentence);
    assert_eq!(last.rounds_needed, None);
    says(
        &slower_by(&[1.0; 5], Quantity::Throughput, RUNS, 0.05),
        Verdict::Inconclusive,
        false,
        "INCONCLUSIVE: 5 paired rounds give no 95 % interval; at least 6 needed.",
    );
    says(
        &slower_by(&[1.0; 1], Quantity::Throughput, RUNS, 0.05),
        Verdict::Inconclusive,
        false,
        "INCONCLUSIVE: 1 paired round gives no 95 % interval; at least 6 needed.",
    );
    assert_eq!((rounds_for_an_interval(0.05), rounds_for_an_interval(0.01)), (6, 8));
}

#[test]
fn not_comparable() {
    let lost = |n: usize| -> Comparison {
        let b: Vec<Option<f64>> = (0..10).map(|k| (k >= n).then_some(2.0)).collect();
        let arms = Arms { name_a: "A", name_b: "B", a: &[Some(1.0); 10], b: &b };
        compare("m", Quantity::Throughput, &arms, &Rules::new(0.05, RUNS), &[])
    };
    says(
        &lost(3),
        Verdict::NotComparable,
        false,
        "NOT COMPARABLE: 3 of 10 rounds were lost, more than 20 %.",
    );
    assert_eq!((lost(2).verdict, lost(2).rounds), (Verdict::Faster, 8));
    let (one, two) = ([Some(1.0); 10], [Some(1.0); 10]);
    let arms = Arms { name_a: "A", name_b: "B", a: &one, b: &two };
    let gates = ["B failed in 3 of 100 operations".to_owned(), "still drifting.".to_owned()];
    let found = compare("m", Quantity::Throughput, &arms, &Rules::new(0.05, RUNS), &gates);
    says(
        &found,
        Verdict::NotComparable,
        false,
        "NOT COMPARABLE: B failed in 3 of 100 operations; still drifting.",
    );
    assert_eq!(found.estimate_percent, Some(0.0));
    let none = Arms { name_a: "A", name_b: "B", a: &[], b: &[None] };
    let empty = compare("m", Quantity::Throughput, &none, &Rules::new(0.05, RUNS), &[]);
    assert_eq!((empty.verdict, empty.estimate_percent), (Verdict::NotComparable, None));
}

#[test]
fn other_quantities_name_what_they_are() {
    for (quantity, start) in [
        (Quantity::P50, "SLOWER: B takes 40.00 % longer per op at p50 than A ("),
        (Quantity::P90, "SLOWER: B takes 40.00 % longer per op at p90 than A ("),
        (Quantity::P99, "SLOWER: B takes 40.00 % longer per op at p99 than A ("),
        (Quantity::P999, "SLOWER: B takes 40.00 % longer per op at p99.9 than A ("),
        (Quantity::CpuPerOperation, "SLOWER: B uses 40.00 % more CPU time per op than A ("),
        (Quantity::AllocatedBytes, "SLOWER: B allocates 40.00 % more bytes per op than A ("),
        (Quantity::WireBytes, "SLOWER: B moves 40.00 % more bytes per op on the wire than A ("),
        (Quantity::PeakMemory, "SLOWER: B takes 40.00 % more memory at its peak than A ("),
        (
            Quantity::Other { direction: Direction::HigherIsBetter, floor_percent: 1.0 },
            "SLOWER: B costs 40.00 % more per op than A (",
        ),
    ] {
        let found = slower_by(&[40.0; 20], quantity, RUNS, 0.05);
        assert!(found.sentence.starts_with(start), "{}", found.sentence);
    }
}

#[test]
fn quick_is_marked_and_has_a_threshold_of_five() {
    let quick = ThresholdParts { quick: true, ..RUNS };
    for (percents, end) in [
        (spread(20.0, 1.0, 6), "threshold 5 %) (quick)."),
        (spread(0.0, 1.0, 6), "6 paired rounds) (quick)."),
        (spread(6.0, 4.0, 6), "the 5 % threshold is inside the interval (quick)."),
        (spread(0.0, 40.0, 6), "more rounds needed (quick)."),
        (spread(0.0, 40.0, 5), "at least 6 needed (quick)."),
    ] {
        let found = slower_by(&percents, Quantity::Throughput, quick, 0.05);
        assert!(found.sentence.ends_with(end), "{}", found.sentence);
        assert_eq!(found.threshold_percent, 5.0);
    }
}

#[test]
fn a_comparison_survives_json() {
    let found = slower_by(&[1.0; 5], Quantity::Throughput, RUNS, 0.05);
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(
        (json["verdict"].as_str(), json["low_percent"].is_null()),
        (Some("INCONCLUSIVE"), true)
    );
    let read: Comparison = serde_json::from_value(json).unwrap();
    assert_eq!((read.sentence, read.rounds, read.p_value), (found.sentence, 5, found.p_value));
    let word = serde_json::to_value(Verdict::NotComparable).unwrap();
    assert_eq!(word, "NOT COMPARABLE");
}

#[test]
fn outliers_are_kept_and_named() {
    let mut percents = spread(0.0, 0.4, 20);
    percents[0] = 60.0;
    let first = slower_by(&percents, Quantity::P50, RUNS, 0.05);
    // Base times differ by parts per million, so only B shows an outlier: one of twenty.
    assert_eq!(first.warnings, ["B: the first round is much slower than the others (kept)"]);
    assert_eq!(first.rounds, 20);
    percents[5..8].fill(70.0);
    let many = slower_by(&percents, Quantity::Throughput, RUNS, 0.05);
    assert!(many.warnings.contains(&"B has outliers: 4 of 20 runs (kept)".to_owned()));
}

/// The name of one arm may begin that of the other, or be part of a reason.
#[test]
fn conditions_stand_behind_the_arm_and_change_no_other_name() {
    let (name_a, name_b) = ("python@4.20.0/readPreference=nearest", "python@4.20.0");
    let told = |b: [f64; 7], reasons: &[String]| {
        let b = b.map(|percent| Some(1e9 * (1.0 + percent / 100.0)));
        let arms = Arms { name_a, name_b, a: &[Some(1e9); 7], b: &b };
        let rules = Rules { conditions: Some("read preference"), ..Rules::new(0.05, RUNS) };
        compare("m", Quantity::Throughput, &arms, &rules, reasons).sentence
    };
    let claims = format!("{name_a} claims 5 operations, 4 were counted");
    let expected = format!("NOT COMPARABLE: {claims} (read preference).");
    assert_eq!(told([0.0; 7], &[claims]), expected);
    let clear = told([-30.0; 7], &[]);
    let expected = format!("SLOWER: {name_b} (read preference) takes ");
    assert!(clear.starts_with(&expected) && clear.contains(&format!("than {name_a} (")), "{clear}");
    let open = told([-9.0, 9.0, 8.0, -8.0, 7.0, -7.0, 0.0], &[]);
    assert!(open.ends_with(" (read preference)."), "{open}");
}
