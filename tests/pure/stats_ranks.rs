//! Rank statistics against published and independently computed answers (`tests/data/ranks.json`).
#![allow(clippy::float_cmp, clippy::unreadable_literal, clippy::print_stdout)]

use std::sync::LazyLock;

use serde_json::Value;
use stats::descriptive::{
    Outliers, first_run_slow, median, median_absolute_deviation, median_interval, quantile,
};
use stats::multiple::benjamini_hochberg;
use stats::rank::{
    hodges_lehmann, hodges_lehmann_estimate, interval_rank, signed_rank_counts, signed_rank_p,
};

static DATA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../data/ranks.json")).unwrap());

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn near(got: f64, want: f64, relative: f64) -> bool {
    (got - want).abs() <= relative * want.abs().max(1e-300)
}

#[test]
fn signed_rank_counts_are_complete_and_symmetric() {
    assert_eq!(signed_rank_counts(3), [1, 1, 1, 2, 1, 1, 1]);
    for pairs in 0..=50 {
        let counts = signed_rank_counts(pairs);
        assert_eq!(counts.iter().sum::<u64>(), 1 << pairs);
        assert!(counts.iter().eq(counts.iter().rev()));
    }
}

#[test]
fn interval_ranks_are_those_of_r() {
    let rows = DATA["hodges_lehmann_ci"]["ranks"].as_array().unwrap();
    assert_eq!(rows.len(), 27);
    for row in rows {
        let n = row["n"].as_u64().unwrap() as usize;
        for (alpha, name) in [(0.05, "95"), (0.01, "99")] {
            let (rank, level) = interval_rank(n, alpha);
            assert_eq!(rank as u64, row[format!("rank{name}")].as_u64().unwrap(), "n {n}");
            match row[format!("achieved{name}")].as_f64() {
                Some(achieved) => assert!(near(level, achieved, 1e-14), "n {n}: {level}"),
                None => assert_eq!((rank, level), (0, 1.0)),
            }
        }
        let all_positive: Vec<f64> = (1..=n).map(|v| v as f64).collect();
        let smallest_p = row["min_p_signed_rank"].as_f64().unwrap();
        assert!(near(signed_rank_p(&all_positive), smallest_p, 1e-14));
    }
}

#[test]
fn normal_ranks_continue_the_exact_ones() {
    // Exact ranks and levels counted with a reference program.
    for (n, alpha, rank, level) in [
        (51, 0.05, 454, 0.951_029_995),
        (51, 0.01, 391, 0.990_193_601),
        (60, 0.05, 649, 0.950_718_494),
        (100, 0.01, 1780, 0.990_047_269),
    ] {
        let (got, got_level) = interval_rank(n, alpha);
        // The normal curve is up to 1 % of the ranks too wide and one rank too narrow.
        assert!((rank - 4..=rank + 1).contains(&got), "{n} {alpha}: {got} {rank}");
        assert!((got_level - level).abs() < 1e-3, "{n} {alpha}: {got_level} {level}");
    }
    assert_eq!(interval_rank(60, 1e-30).0, 0);
}

#[test]
fn hodges_lehmann_intervals() {
    for case in DATA["hodges_lehmann_ci"]["cases"].as_array().unwrap() {
        let (x, alpha) = (numbers(&case["x"]), case["alpha"].as_f64().unwrap());
        let got = hodges_lehmann(&x, alpha).unwrap();
        assert_eq!(got.estimate, case["estimate"].as_f64().unwrap());
        assert_eq!(got.low, case["lower"].as_f64().unwrap());
        assert_eq!(got.high, case["upper"].as_f64().unwrap());
        assert_eq!(got.level, case["achieved_confidence"].as_f64().unwrap());
        assert_eq!(hodges_lehmann_estimate(&x), Some(got.estimate));
    }
    let five = hodges_lehmann(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.05).unwrap();
    assert_eq!((five.low, five.high, five.rank), (f64::NEG_INFINITY, f64::INFINITY, 0));
    assert_eq!(hodges_lehmann(&[], 0.05), None);
}

#[test]
fn signed_rank_p_values_with_zeros_and_ties() {
    // Values of the same reference program.
    let cases: [(&[f64], f64); 5] = [
        (&[0.0, 0.0], 1.0),
        (&[1.0, -1.0, 2.0, 2.0, 3.0], 0.1875),
        (&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.03125),
        (&[-3.0, -1.0, 0.0, 1.0, 3.0, 4.0, 6.0], 0.34375),
        (&[2.0, 2.0, 2.0, -2.0, 2.0, 2.0, 2.0, 2.0], 0.0703125),
    ];
    for (x, want) in cases {
        assert!(near(signed_rank_p(x), want, 1e-14), "{x:?}: {}", signed_rank_p(x));
    }
    // Fifty-one pairs: normal here, counted by the reference program.
    let values: Vec<f64> = (1..=51).map(|i| f64::from(if i % 3 == 0 { -i } else { i })).collect();
    assert!(near(signed_rank_p(&values[..50]), 0.026_166_968_171_196_46, 1e-12));
    assert!(near(signed_rank_p(&values), 0.055_980_190_979_947_33, 1e-2));
}

#[test]
fn benchstat_limits() {
    let values = |n: u32| (0..n).map(f64::from).collect::<Vec<_>>();
    assert!(median_interval(&values(5), 0.05).is_none());
    assert_eq!(median_interval(&values(6), 0.05), Some((0.0, 5.0, 0.96875)));
    assert!(median_interval(&values(7), 0.01).is_none());
    assert!(median_interval(&values(8), 0.01).is_some());
    let row = &DATA["benchstat"]["benchstat_row"];
    let (old, new) = (numbers(&row["old_ns"]), numbers(&row["new_ns"]));
    let change = median(&new).unwrap() / median(&old).unwrap() - 1.0;
    assert_eq!(format!("{:.2}%", 100.0 * change), "-17.20%");
}

#[test]
fn benjamini_hochberg_as_r() {
    // R: p.adjust(c(0.01, 0.02, 0.03, 0.5, 0.04), "BH")
    let got = benjamini_hochberg(&[0.01, 0.02, 0.03, 0.5, 0.04]);
    for (got, want) in got.iter().zip([0.05, 0.05, 0.05, 0.5, 0.05]) {
        assert!(near(*got, want, 1e-12), "{got}");
    }
    assert_eq!(benjamini_hochberg(&[f64::NAN]), [1.0]);
    assert!(benjamini_hochberg(&[]).is_empty());
}

#[test]
fn medians_and_outliers() {
    assert_eq!((median(&[]), median(&[3.0, 1.0, 2.0])), (None, Some(2.0)));
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    assert_eq!(median_absolute_deviation(&[1.0, 2.0, 3.0, 10.0]), Some(1.0));
    assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.25), Some(1.75));
    let mut values: Vec<f64> = (0..19).map(|i| 100.0 + f64::from(i % 5)).collect();
    values.push(150.0);
    let one = Outliers::count(&values);
    assert_eq!((one.far_from_median, one.tukey_mild, one.tukey_severe), (1, 1, 1));
    assert!(!one.many());
    values.extend([150.0, 160.0]);
    assert!(Outliers::count(&values).many());
    assert!(first_run_slow(&[9.0, 1.0, 1.01, 0.99, 1.0, 1.02]));
    assert!(!first_run_slow(&[0.1, 1.0, 1.01, 0.99, 1.0, 1.02]));
    assert!(!first_run_slow(&[]));
}
