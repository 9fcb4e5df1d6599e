//! Histograms and interval logs against the numbers of the Java original (`hdr-cases.json`).
#![allow(clippy::float_cmp, clippy::unreadable_literal, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use stats::histogram::{HIGHEST_NS, Histogram, values_needed};
use stats::hlog::{HlogError, Interval, IntervalLog};

fn cases() -> Value {
    serde_json::from_str(include_str!("../data/hdr-cases.json")).unwrap()
}

fn data(file: &str) -> Vec<u8> {
    match file {
        "jHiccup-2.0.6.logV1.hlog" => &include_bytes!("../data/hdr/jHiccup-2.0.6.logV1.hlog")[..],
        "jHiccup-2.0.7S.logV2.hlog" => include_bytes!("../data/hdr/jHiccup-2.0.7S.logV2.hlog"),
        "tagged-Log.logV2.hlog" => include_bytes!("../data/hdr/tagged-Log.logV2.hlog"),
        other => panic!("no data file {other}"),
    }
    .to_vec()
}

#[test]
fn interval_logs_give_the_numbers_of_the_java_reader() {
    for case in cases()["logs"].as_array().unwrap() {
        let file = case["file"].as_str().unwrap();
        let log = IntervalLog::read(&data(file)).unwrap();
        if let Some(start) = case["start"].as_f64() {
            assert!((log.start_time.unwrap().as_secs_f64() - start).abs() < 1e-6);
        }
        let range: Vec<u64> = case["range_s"]
            .as_array()
            .map_or(vec![0, 3600], |r| r.iter().map(|s| s.as_u64().unwrap()).collect());
        let (from, to) = (Duration::from_secs(range[0]), Duration::from_secs(range[1]));
        let inside: Vec<&Interval> =
            log.intervals.iter().filter(|i| (from..to).contains(&i.start)).collect();
        assert_eq!(inside.len() as u64, case["histograms"].as_u64().unwrap(), "{file}");
        let mut by_tag: BTreeMap<&str, u64> = BTreeMap::new();
        let mut sum = Histogram::new();
        for interval in &inside {
            *by_tag.entry(interval.tag.as_deref().unwrap_or("")).or_default() += 1;
            sum.add(&interval.histogram);
        }
        assert_eq!(sum.count(), case["total"].as_u64().unwrap(), "{file}");
        for (tag, count) in case["tags"].as_object().into_iter().flatten() {
            assert_eq!(by_tag[tag.as_str()], count.as_u64().unwrap());
        }
        if let Some(max) = case["max"].as_u64() {
            assert_eq!(sum.max_ns(), Some(max), "{file}");
            assert_eq!(sum.percentile_ns(99.9), case["p99_9"].as_u64(), "{file}");
        }
    }
}

#[test]
fn logs_survive_a_round_trip() {
    let mut log = IntervalLog {
        start_time: Some(Duration::from_millis(1_234_567)),
        ..IntervalLog::default()
    };
    for second in 0..3_u64 {
        let mut histogram = Histogram::new();
        (1..1000).for_each(|i| histogram.record(i * i * (second + 1)));
        for tag in [None, Some("service".to_owned())] {
            let (start, length) = (Duration::from_secs(second), Duration::from_secs(1));
            log.intervals.push(Interval { tag, start, length, histogram: histogram.clone() });
        }
    }
    let mut text = Vec::new();
    log.write(&mut text).unwrap();
    assert_eq!(IntervalLog::read(&text).unwrap(), log);
    let first = String::from_utf8(text).unwrap();
    assert!(first.starts_with("#[Histogram log format version 1.3]\n#[StartTime: 1234.567 (sec"));
    assert!(first.lines().nth(4).unwrap().starts_with("0.000,1.000,0.998,"), "{first}");
    assert!(first.contains("\nTag=service,1.000,1.000,") && first.contains(",HISTFAAAA"));
    log.intervals[0].tag = Some("a,b".to_owned());
    assert!(log.write(&mut Vec::new()).is_err());
}

#[test]
fn damaged_logs_are_refused_with_their_place() {
    assert_eq!(IntervalLog::read(b"#c\nnot a line\n"), Err(HlogError::Line(2)));
    assert_eq!(IntervalLog::read(b"#c\n0.1,1.0,2.0,HISTF"), Err(HlogError::Line(2)));
    for histogram in ["HISTFAAAAAAA", "HISTIgAAAA", "HISTIgAAAAB4nA==", "!", ""] {
        let line = format!("0.1,1.0,2.0,{histogram}\n");
        let error = IntervalLog::read(line.as_bytes()).unwrap_err();
        assert!(matches!(error, HlogError::Histogram(1, _)), "{error}");
    }
}

#[test]
fn percentile_rule_of_the_original() {
    for case in cases()["percentile_rule"].as_array().unwrap() {
        let mut histogram = Histogram::new();
        for value in case["values"].as_array().unwrap() {
            histogram.record(value.as_u64().unwrap());
        }
        let percent = case["p"].as_f64().unwrap();
        assert_eq!(histogram.percentile_ns(percent), case["want"].as_u64());
    }
    let mut thousand = Histogram::new();
    (1..=1000).for_each(|value| thousand.record(value));
    for (percent, want) in [(0.0, 1), (50.0, 500), (99.0, 990), (99.9, 999), (100.0, 1000)] {
        assert_eq!(thousand.percentile_ns(percent), Some(want), "p{percent}");
    }
    assert_eq!(Histogram::new().percentile_ns(50.0), None);
    assert_eq!(thousand.percentile_ns(f64::NAN), None);
}

#[test]
fn the_hundred_second_pause() {
    let pause = &cases()["coordinated_omission"];
    let mut raw = Histogram::new();
    raw.record_n(1_000, 10_000);
    raw.record(100_000_000);
    // The product never back-fills a schedule; only the reading of such data is tested.
    let mut filled = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 3_600_000_000, 3).unwrap();
    filled.record_n_correct(1_000, 10_000, 10_000).unwrap();
    filled.record_correct(100_000_000, 10_000).unwrap();
    let corrected = Histogram::from_other_geometry(&filled);
    for (name, histogram) in [("raw", raw), ("corrected", corrected)] {
        assert_eq!(histogram.count(), pause[name]["count"].as_u64().unwrap());
        for (key, want) in pause[name].as_object().unwrap() {
            let Some(percent) = key.strip_prefix('p') else {
                continue;
            };
            let percent: f64 = percent.replace('_', ".").parse().unwrap();
            let got = histogram.percentile_ns(percent).unwrap() as f64;
            let want = want.as_f64().unwrap();
            assert!((got / want - 1.0).abs() <= 1e-3, "{name} {key}: {got} {want}");
        }
        let below = |percent| histogram.percentile_ns(percent).unwrap() <= 5_010;
        let want = pause["pct_at_or_below_5000"][name].as_f64().unwrap();
        assert!(below(want - 0.01) && !below(want + 0.01), "{name}: {want}");
    }
}

#[test]
fn values_are_clamped_and_merging_is_exact() {
    let (mut a, mut b, mut both) = (Histogram::new(), Histogram::new(), Histogram::new());
    for value in [0, 1, 77, 1_000_000, HIGHEST_NS, u64::MAX] {
        a.record(value);
        b.record_n(value / 3, 2);
        both.record(value);
        both.record_n(value / 3, 2);
    }
    a.add(&b);
    assert_eq!(a, both);
    assert_eq!((a.min_ns(), a.count()), (Some(1), 18));
    assert!(
        a.max_ns().unwrap() >= HIGHEST_NS && a.max_ns().unwrap() < HIGHEST_NS + HIGHEST_NS / 1000
    );
}

#[test]
fn percentiles_are_printed_only_with_enough_values() {
    for (percent, needed) in [(50.0, 200), (90.0, 1_000), (99.0, 10_000), (99.9, 100_000)] {
        assert_eq!(values_needed(percent), Some(needed));
        let mut histogram = Histogram::new();
        histogram.record_n(5, needed - 1);
        assert_eq!(histogram.printable_percentile_ns(percent), None);
        histogram.record(5);
        assert_eq!(histogram.printable_percentile_ns(percent), Some(5));
    }
    assert_eq!(values_needed(100.0), None);
}
