//! Theil-Sen, Mann-Kendall and the overload test, on series with known answers and on queues with
//! known laws.

use std::fs;
use std::path::Path;

use crate::stats_gates::little;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use serde_json::Value;
use stats::histogram::Histogram;
use stats::littles_law::Stretch;
use stats::mann_kendall::mann_kendall;
use stats::overload::{Growth, Overload, QueueDepth, capacity_per_s};
use stats::theil_sen::theil_sen;

const NS_PER_S: f64 = 1e9;

fn case(id: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/queueing-cases.json");
    let data: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    data["cases"].as_array().unwrap().iter().find(|case| case["id"] == id).unwrap().clone()
}

fn number(case: &Value, key: &str) -> f64 {
    case[key].as_f64().unwrap()
}

#[track_caller]
fn within(found: f64, expected: f64, relative: f64) {
    assert!((found - expected).abs() <= relative * expected.abs(), "{found}, not {expected}");
}

/// An operation: intended, start, end, ns.
type Operation = (u64, u64, u64);

/// A queue with so many servers: arrivals and services are drawn one by one, s.
fn queue(
    count: usize,
    servers: usize,
    mut gap_s: impl FnMut() -> f64,
    mut service_s: impl FnMut(usize) -> f64,
) -> Vec<Operation> {
    let ns = |seconds: f64| (seconds * NS_PER_S).round() as u64;
    let mut free = vec![0.0_f64; servers];
    let mut intended = 0.0;
    let mut operations = Vec::with_capacity(count);
    for number in 0..count {
        let first = (0..servers).min_by(|a, b| free[*a].total_cmp(&free[*b])).unwrap();
        let start = free[first].max(intended);
        free[first] = start + service_s(number);
        operations.push((ns(intended), ns(start), ns(free[first])));
        intended += gap_s();
    }
    operations
}

struct Random(ChaCha8Rng);

impl Random {
    fn exponential(&mut self, rate: f64) -> f64 {
        let unit = ((self.0.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        -unit.ln() / rate
    }
}

/// The test on a whole run, as the summary of a phase makes it, and the drain in s.
fn judged(operations: &[Operation], burst: bool) -> (Growth, QueueDepth, f64) {
    let last = operations.iter().map(|it| it.0).max().unwrap();
    let end = operations.iter().map(|it| it.2).max().unwrap();
    let mut depth = QueueDepth::new(operations[0].0, last, end);
    for it in operations {
        depth.add(it.0, it.2);
    }
    let stride = operations.len().div_ceil(1_000);
    let points: Vec<(f64, f64)> = operations
        .iter()
        .enumerate()
        .step_by(stride)
        .map(|(order, it)| (order as f64, (it.2 - it.0) as f64 / 1e3))
        .collect();
    let slope = theil_sen(&points).unwrap();
    let count = operations.len() as f64;
    let rate = (!burst).then(|| (count - 1.0) / ((last - operations[0].0) as f64 / NS_PER_S));
    let trend = mann_kendall(&depth.while_arriving());
    let mut service = Histogram::new();
    for it in operations {
        service.record(it.2 - it.1);
    }
    let growth = Growth {
        growth_low_us: slope.low * count,
        service_p50_us: service.percentile_ns(50.0).unwrap() as f64 / 1e3,
        depth_tau: trend.map_or(0.0, |it| it.tau),
        depth_p: trend.map_or(1.0, |it| it.p),
        capacity_per_s: capacity_per_s(slope.slope / 1e6, rate),
        busy_completions_per_s: depth.busy_completions_per_s(),
    };
    (growth, depth, (end - last) as f64 / NS_PER_S)
}

/// The beginning of pi: 1, 3 and 5 occur twice.
const DIGITS: [f64; 10] = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0];

#[track_caller]
fn assert_slope(points: &[(f64, f64)], expected: [f64; 3]) {
    let slope = theil_sen(points).unwrap();
    let found = [slope.slope, slope.low, slope.high];
    let near = found.iter().zip(expected).all(|(found, wanted)| (found - wanted).abs() < 1e-12);
    assert!(near, "{slope:?}, not {expected:?}");
}

#[test]
fn theil_sen_agrees_with_reference_values() {
    let line: Vec<(f64, f64)> =
        (0..50).map(|x| (f64::from(x), 3.0 - 0.25 * f64::from(x))).collect();
    let slope = theil_sen(&line).unwrap();
    assert!((slope.slope + 0.25).abs() < 1e-12 && (slope.low - slope.high).abs() < 1e-12);
    // A quarter of the points far away moves it little; least squares would be near 5.
    let mut bent = line.clone();
    for point in &mut bent[38..] {
        point.1 += 200.0;
    }
    assert!((theil_sen(&bent).unwrap().slope + 0.25).abs() < 0.2, "{:?}", theil_sen(&bent));
    // Sen's example of 1968; interval of scipy.stats.theilslopes 1.17.
    let xs = [1.0, 2.0, 3.0, 4.0, 10.0, 12.0, 18.0];
    let sen: Vec<_> = xs.into_iter().zip([9.0, 15.0, 19.0, 20.0, 45.0, 55.0, 78.0]).collect();
    assert_slope(&sen, [4.0, 3.714_285_714_285_714_4, 4.375]);
    // The same with ties in y.
    let ties: Vec<_> = (0..10).map(f64::from).zip(DIGITS).collect();
    assert_slope(&ties, [1.0 / 3.0, -0.5, 0.833_333_333_333_333_4]);
    assert_eq!(theil_sen(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None, "no two x differ");
    assert_eq!(theil_sen(&line[..2]), None);
}

#[test]
fn mann_kendall_agrees_with_reference_values() {
    let rising: Vec<f64> = (0..20).map(f64::from).collect();
    let trend = mann_kendall(&rising).unwrap();
    assert!((trend.tau - 1.0).abs() < 1e-12 && trend.p < 1e-8, "{trend:?}");
    let falling: Vec<f64> = rising.iter().rev().copied().collect();
    assert!((mann_kendall(&falling).unwrap().tau + 1.0).abs() < 1e-12);
    assert!((mann_kendall(&[5.0; 30]).unwrap().p - 1.0).abs() < 1e-12, "ties alone");
    // S = 12 with variance 122, for three values occur twice; tau-b as in scipy.stats.kendalltau, p
    // by the normal distribution of (12 - 1)/sqrt(122).
    let trend = mann_kendall(&DIGITS).unwrap();
    assert!((trend.tau - 0.276_026_223_736_941_7).abs() < 1e-12, "{trend:?}");
    assert!((trend.p - 0.319_302_036_482_854_9).abs() < 1e-12, "{trend:?}");
    assert_eq!(mann_kendall(&[1.0, 2.0]), None);
}

#[test]
fn an_overloaded_consumer_gives_its_capacity_away() {
    let case = case("d/d/1-overload");
    let (lambda, mu) = (number(&case, "lam"), number(&case, "mu"));
    let run = queue(number(&case, "n") as usize, 1, || 1.0 / lambda, |_| 1.0 / mu);
    // first 1.0 ms, last 500.5 ms, slope 0.5 ms/message; backlog slope lam-mu=1000/s; drain 0.5 s
    assert_eq!(run[0].2 - run[0].0, 1_000_000);
    assert_eq!(run[999].2 - run[999].0, 500_500_000);
    let (growth, depth, drain_s) = judged(&run, false);
    assert_eq!(growth.judge(), Overload::QueueGrows);
    within(growth.capacity_per_s.unwrap(), mu, 0.01);
    within(growth.busy_completions_per_s.unwrap(), mu, 0.05);
    within(growth.growth_low_us, 500_000.0, 0.01);
    within(drain_s, 0.5, 0.01);
    within(depth.peak() as f64, 500.0, 0.05);
    let depths = depth.while_arriving();
    assert!(depths.len() >= 19, "a run of half a second still has readings: {}", depths.len());
    let slope = theil_sen(&(0..).map(f64::from).zip(depths.iter().copied()).collect::<Vec<_>>());
    within(slope.unwrap().slope / 0.025, lambda - mu, 0.05);
}

#[test]
fn capacity_comes_back_within_one_percent_whatever_the_load() {
    for (lambda, mu, servers) in
        [(1_100.0, 1_000.0, 1), (10_000.0, 1_000.0, 1), (3_000.0, 500.0, 4), (500.0, 200.0, 2)]
    {
        // `mu` is one server's; together they are the consumer.
        let run = queue(20_000, servers, || 1.0 / lambda, |_| 1.0 / mu);
        let (growth, ..) = judged(&run, false);
        within(growth.capacity_per_s.unwrap(), mu * servers as f64, 0.01);
        assert_eq!(growth.judge(), Overload::QueueGrows, "{lambda} {mu} {servers}: {growth:?}");
    }
    // Poisson arrivals and services that scatter: still the same capacity, to a few percent.
    let mut random = Random(ChaCha8Rng::seed_from_u64(5));
    let mut other = Random(ChaCha8Rng::seed_from_u64(6));
    let run = queue(20_000, 1, || random.exponential(2_000.0), |_| other.exponential(1_000.0));
    let (growth, ..) = judged(&run, false);
    within(growth.capacity_per_s.unwrap(), 1_000.0, 0.03);
    assert_eq!(growth.judge(), Overload::QueueGrows);
}

#[test]
fn a_burst_has_the_slope_of_one_service() {
    let run = queue(1_000, 1, || 0.0, |_| 1e-3);
    let (growth, depth, drain_s) = judged(&run, true);
    within(growth.capacity_per_s.unwrap(), 1_000.0, 0.01);
    within(growth.busy_completions_per_s.unwrap(), 1_000.0, 0.01);
    within(drain_s, 1.0, 0.01);
    assert!(depth.while_arriving().is_empty(), "nothing arrives later");
    assert_eq!(growth.judge(), Overload::None, "its depth only falls");
}

#[test]
fn a_load_that_can_be_borne_is_no_growth() {
    let run = queue(5_000, 1, || 1.0 / 500.0, |_| 1e-3);
    assert_eq!(judged(&run, false).0.judge(), Overload::None);
    // A stall of 100 ms in the middle: a hump, and no trend.
    let run = queue(10_000, 1, || 1e-4, |number| if number == 5_000 { 0.1 } else { 5e-5 });
    let (growth, depth, _) = judged(&run, false);
    assert_eq!(growth.judge(), Overload::None);
    assert!(depth.peak() > 500 && growth.service_p50_us < 51.0, "{growth:?}");
}

#[test]
fn growth_that_is_no_saturated_consumers_is_called_otherwise() {
    // Service time rises with the number of operations. Capacity falls all the time, so the one
    // that the slope implies never existed.
    let run = queue(4_000, 1, || 1e-3, |number| 0.8e-3 * (1.0 + number as f64 / 1_500.0));
    let (growth, ..) = judged(&run, false);
    assert_eq!(growth.judge(), Overload::Otherwise, "{growth:?}");
}

#[test]
fn mm1_gives_its_closed_form_and_is_not_called_overload() {
    let case = case("m/m/1");
    let (lambda, mu) = (number(&case, "lam"), number(&case, "mu"));
    let mut arrivals = Random(ChaCha8Rng::seed_from_u64(1));
    let mut services = Random(ChaCha8Rng::seed_from_u64(2));
    let run = queue(4_000_000, 1, || arrivals.exponential(lambda), |_| services.exponential(mu));
    let mut response = Histogram::new();
    for it in &run {
        response.record(it.2 - it.0);
    }
    // W = 1/(mu-lam) = 5 ms, p50 = 3.466 ms, p99 = 23.03 ms, L = rho/(1-rho) = 4
    within(response.mean_ns().unwrap(), 5e6, 0.03);
    within(response.percentile_ns(50.0).unwrap() as f64, 3.466e6, 0.03);
    within(response.percentile_ns(99.0).unwrap() as f64, 23.03e6, 0.04);
    let end_ns = run.iter().map(|it| it.2).max().unwrap();
    let samples = run.iter().map(|it| (it.0, it.2));
    let found = little(samples, &[Stretch { start_ns: 0, end_ns }], None).unwrap();
    within(found.in_flight, 4.0, 0.03);
    assert!(found.discrepancy_percent().unwrap() < 0.1);
    // Runs of 3 s: one in a hundred may look as if it grew; a median over rounds does not.
    let runs: Vec<&[Operation]> = run.chunks(2_400).take(500).collect();
    let alarms = runs.iter().filter(|run| judged(run, false).0.judge() != Overload::None).count();
    assert!(alarms <= 5, "{alarms} of 500 runs at 80 % load");
}

#[test]
fn a_saturated_closed_loop_keeps_littles_law() {
    let case = case("closed-saturated");
    let mu = number(&case, "mu");
    for clients in case["clients"].as_array().unwrap() {
        let clients = clients.as_u64().unwrap();
        // One server, clients without a pause: each begins again where its last call ended.
        let service_ns = (NS_PER_S / mu) as u64;
        let calls = (0..2_000_u64).map(|turn| {
            let end = (turn + 1) * service_ns;
            (end.saturating_sub(clients * service_ns), end)
        });
        let stretch = Stretch { start_ns: 0, end_ns: 2_000 * service_ns };
        let found = little(calls, &[stretch], None).unwrap();
        // R = N/X = N ms at X = 1000/s; the first calls of all clients begin together.
        within(found.in_flight, clients as f64, 0.01);
        assert!(found.discrepancy_percent().unwrap() < 1.0, "{clients}: {found:?}");
    }
}
