//! The class of a curve of latency against message number: its errors and its hits, under noise as
//! runs have it; and the two small helpers of the study's evidence.
#![allow(clippy::print_stdout)]

use std::f64::consts::TAU;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use stats::curve::{Class, Curve, MESSAGES_MIN};
use stats::descriptive::over_rounds;
use stats::overload::{capacity_per_s, predicted_slope_us};

/// Most runs in percent that may get a wrong class.
const WRONG_MAX: f64 = 5.0;
const DRAWS: u32 = 200;

struct Random(ChaCha8Rng);

impl Random {
    fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Uniform in (0, 1].
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos()
    }

    fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }
}

/// Disturbances of messages that would take 1 ms and the shape's share.
#[derive(Clone, Copy)]
struct Noise {
    name: &'static str,
    /// Standard deviation of the log, each message for itself.
    own: f64,
    /// The same, shared with neighbours (AR(1)): after `memory` messages 1/e of it is left.
    shared: f64,
    memory: f64,
    /// Stalls of 10 to 50 ms in a thousand messages. Messages meanwhile wait, each 0.5 ms less than
    /// the one before: a tooth of 20 to 100 messages.
    stalls: f64,
    /// A fifth of the messages take so many times as long.
    second_mode: f64,
}

const QUIET: Noise =
    Noise { name: "quiet", own: 0.2, shared: 0.0, memory: 1.0, stalls: 0.0, second_mode: 1.0 };
const USUAL: Noise =
    Noise { name: "usual", own: 0.3, shared: 0.1, memory: 20.0, stalls: 0.5, second_mode: 1.5 };
const ROUGH: Noise =
    Noise { name: "rough", own: 0.5, shared: 0.3, memory: 200.0, stalls: 2.0, second_mode: 2.0 };

/// Latencies of a run in us: the shape (of the message's number, from 1) and its disturbances.
fn run(random: &mut Random, count: usize, noise: Noise, shape: impl Fn(f64) -> f64) -> Vec<f64> {
    let keep = (-1.0 / noise.memory).exp();
    let (mut shared, mut waits_us) = (random.normal(), 0.0_f64);
    let mut latencies = Vec::with_capacity(count);
    for at in 0..count {
        shared = keep * shared + (1.0 - keep * keep).sqrt() * random.normal();
        waits_us = (waits_us - 500.0).max(0.0);
        if random.uniform() < noise.stalls / 1e3 {
            waits_us = 10_000.0 + 40_000.0 * random.uniform();
        }
        let mode = if random.uniform() < 0.2 { noise.second_mode } else { 1.0 };
        let tail = if random.uniform() < 0.01 { 5.0 * random.exponential() } else { 0.0 };
        let own = mode * (noise.own * random.normal() + noise.shared * shared).exp();
        latencies.push(shape(at as f64 + 1.0) + 1_000.0 * (own + tail) + waits_us);
    }
    latencies
}

/// Latencies of a queue with one consumer of 0.2 ms a message, us: services are constant but for
/// the share `scatter`, which is exponential; gap 0 is a burst.
fn queue(random: &mut Random, count: usize, gap_us: f64, scatter: f64) -> Vec<f64> {
    let mut waits_us = 0.0_f64;
    let mut latencies = Vec::with_capacity(count);
    for _ in 0..count {
        let latency = waits_us + 200.0 * (1.0 - scatter + scatter * random.exponential());
        waits_us = (latency - gap_us).max(0.0);
        latencies.push(latency);
    }
    latencies
}

/// AR(1) about 10 ms with the standard deviation 10 ms, forgotten after a `memory` of the run
/// (infinite: a random walk).
fn wanders(random: &mut Random, count: usize, memory: f64) -> Vec<f64> {
    let keep = (-1.0 / (memory * count as f64)).exp();
    let step = 10_000.0 * (1.0 - keep * keep).max(2.0 / count as f64).sqrt();
    let mut at = 10_000.0 * random.normal();
    let mut latencies = Vec::with_capacity(count);
    for _ in 0..count {
        at = keep * at + step * random.normal();
        latencies.push(10_000.0 + at);
    }
    latencies
}

fn curve(latencies: &[f64]) -> Curve {
    Curve::of(latencies.iter().copied())
}

/// Percent of so many runs.
#[derive(Debug)]
struct Rates {
    flat: f64,
    linear: f64,
    log: f64,
}

fn rates(name: &str, draws: u32, mut draw: impl FnMut() -> Vec<f64>) -> Rates {
    let mut counts = [0_u32; 4];
    let mut last = String::new();
    for _ in 0..draws {
        let found = curve(&draw());
        counts[found.class as usize] += 1;
        last = found.reason;
    }
    let [flat, linear, log, unclear] = counts.map(|it| 100.0 * f64::from(it) / f64::from(draws));
    println!(
        "{name:36} flat {flat:.1} linear {linear:.1} log {log:.1} unclear {unclear:.1} %; {last}"
    );
    Rates { flat, linear, log }
}

#[test]
fn runs_without_growth_are_neither_a_line_nor_a_logarithm() {
    let grows = |name: &str, found: &Rates| {
        assert!(found.linear + found.log <= WRONG_MAX, "{name}: {found:?}");
    };
    for count in [200, 1_000, 5_000] {
        let mut random = Random::new(1);
        for noise in [QUIET, USUAL, ROUGH] {
            let name = format!("{count} {} level", noise.name);
            let found = rates(&name, DRAWS, || run(&mut random, count, noise, |_| 0.0));
            grows(&name, &found);
            let enough = noise.name == "quiet" || noise.name == "usual" && count == 5_000;
            assert!(!enough || found.flat >= 90.0, "{name}: {found:?}");
        }
        // Loads below capacity, all of it random: at 0.95 the queue fills and empties in swings
        // that are longer than the run.
        for (load, gap_us) in [(0.5, 400.0), (0.8, 250.0), (0.95, 210.0), (1.0, 200.0)] {
            let name = format!("{count} load {load}");
            let found = rates(&name, DRAWS, || queue(&mut random, count, gap_us, 1.0));
            grows(&name, &found);
            assert!(load > 0.5 || count < 1_000 || found.flat >= 95.0, "{name}: {found:?}");
        }
        for memory in [0.05, 0.2, 1.0, f64::INFINITY] {
            let name = format!("{count} AR(1), memory {memory} of the run");
            grows(&name, &rates(&name, 2 * DRAWS, || wanders(&mut random, count, memory)));
        }
    }
}

/// Milliseconds by the share of the run, 0 to 1.
type Shape = fn(f64) -> f64;

/// Curves without a class.
const OTHER_SHAPES: [(&str, Shape); 16] = [
    ("step", |u| if u > 0.5 { 5.0 } else { 0.0 }),
    ("early step", |u| if u > 0.2 { 50.0 } else { 0.0 }),
    ("late step", |u| if u > 0.9 { 50.0 } else { 0.0 }),
    ("three steps", |u| 10.0 * (4.0 * u).floor()),
    ("small root", |u| 5.0 * u.sqrt()),
    ("root", |u| 30.0 * u.sqrt()),
    ("large root", |u| 1_000.0 * u.sqrt()),
    ("parabola", |u| 30.0 * u * u),
    ("hump", |u| 30.0 * u * (1.0 - u)),
    ("comes to rest", |u| 30.0 * (1.0 - (-5.0 * u).exp())),
    ("full from 30 % on", |u| 30.0 * (u / 0.3).min(1.0)),
    ("rises in the second half", |u| 30.0 * (u - 0.5).max(0.0)),
    ("three teeth", |u| 30.0 * (3.0 * u).fract()),
    ("a stall and its drain", |u| if u < 0.4 { 0.0 } else { (30.0 - 150.0 * (u - 0.4)).max(0.0) }),
    ("a queue at the end", |u| 150.0 * (u - 0.8).max(0.0)),
    ("falls", |u| 30.0 * (1.0 - u)),
];

#[test]
fn other_shapes_have_no_class() {
    for count in [200, 1_000, 5_000] {
        let mut random = Random::new(2);
        for noise in [QUIET, USUAL, ROUGH] {
            for (shape, ms) in OTHER_SHAPES {
                let name = format!("{count} {} {shape}", noise.name);
                let found = rates(&name, DRAWS, || {
                    run(&mut random, count, noise, |i| 1_000.0 * ms(i / count as f64))
                });
                let wrong = found.flat + found.linear + found.log;
                assert!(wrong <= WRONG_MAX, "{name}: {found:?}");
            }
        }
    }
}

#[test]
fn a_fall_is_said() {
    let mut random = Random::new(3);
    let found = curve(&run(&mut random, 5_000, USUAL, |i| 30_000.0 - 6.0 * i));
    assert!(found.falls && found.class == Class::Unclear, "{found:?}");
    assert!(found.reason.starts_with("latency falls by 29"), "{}", found.reason);
    let slope = found.slope_us_per_message.unwrap();
    assert!((slope.estimate + 6.0).abs() < 0.1 && slope.high < 0.0, "{slope:?}");
}

#[test]
fn lines_are_found_and_their_intervals_hold() {
    let count = 5_000;
    let mut random = Random::new(4);
    // Growth in ms over the run, thresholds of 1 ms; noise; least share of lines.
    for (growth_ms, noise, least) in [
        (3.0, QUIET, 95.0),
        (3.0, USUAL, 90.0),
        (30.0, USUAL, 95.0),
        (1_000.0, USUAL, 95.0),
        (100.0, ROUGH, 90.0),
    ] {
        let slope_us = growth_ms * 1e3 / count as f64;
        let mut held = 0;
        let name = format!("line of {growth_ms} ms, {}", noise.name);
        let found = rates(&name, DRAWS, || {
            let latencies = run(&mut random, count, noise, |i| slope_us * i);
            let slope = curve(&latencies).slope_us_per_message.unwrap();
            held += u32::from(slope.low <= slope_us && slope_us <= slope.high);
            latencies
        });
        assert!(found.linear >= least && found.flat + found.log <= 1.0, "{name}: {found:?}");
        println!("  held {held}/{DRAWS}");
        assert!(f64::from(held) >= 0.92 * f64::from(DRAWS), "{name}: {held}");
    }
}

#[test]
fn growth_at_the_threshold_is_rarely_called() {
    let count = 5_000;
    let mut random = Random::new(5);
    // From the middle of the first of 40 blocks to that of the last: 39/40 of the run.
    let slope_us = 1_000.0 / (count as f64 * 39.0 / 40.0);
    for noise in [QUIET, USUAL, ROUGH] {
        let name = format!("line at the threshold, {}", noise.name);
        let found = rates(&name, DRAWS, || run(&mut random, count, noise, |i| slope_us * i));
        assert!(found.linear + found.log <= WRONG_MAX, "{name}: {found:?}");
        assert!(found.flat <= WRONG_MAX, "{name}: {found:?}");
    }
}

#[test]
fn logarithms_are_found() {
    let mut random = Random::new(6);
    // Increase per doubling, ms. Blocks of equal count see the last five doublings.
    for (count, doubling_ms, noise, draws, least) in [
        (5_000, 1.0, QUIET, DRAWS, 95.0),
        (5_000, 3.0, USUAL, DRAWS, 90.0),
        (50_000, 1.0, USUAL, 40, 95.0),
    ] {
        let name = format!("{count} logarithm of {doubling_ms} ms, {}", noise.name);
        let (true_us, mut missed) = (1e3 * doubling_ms, 0);
        let found = rates(&name, draws, || {
            let latencies = run(&mut random, count, noise, |i| true_us * (i + 1.0).log2());
            if let Some(it) = curve(&latencies).doubling_us {
                let bias = 0.02 * true_us;
                missed += u32::from(it.low > true_us + bias || it.high < true_us - bias);
            }
            latencies
        });
        println!("  interval and 2 % missed: {missed}/{draws}");
        assert!(f64::from(missed) <= 0.05 * f64::from(draws), "{name}: {missed}");
        assert!(found.log >= least && found.flat + found.linear <= 1.0, "{name}: {found:?}");
    }
}

#[test]
fn a_saturated_consumer_makes_a_line_of_the_slope_that_its_capacity_predicts() {
    let count = 20_000;
    let mut random = Random::new(7);
    for (issued_per_s, scatter) in [(None, 0.0), (None, 0.5), (None, 1.0), (Some(10_000.0), 0.5)] {
        let gap_us = issued_per_s.map_or(0.0, |rate: f64| 1e6 / rate);
        let predicted = predicted_slope_us(5_000.0, issued_per_s);
        let name = format!("issued {issued_per_s:?}, scatter {scatter}");
        let mut far = 0.0_f64;
        let found = rates(&name, 20, || {
            let latencies = queue(&mut random, count, gap_us, scatter);
            let slope = curve(&latencies).slope_us_per_message.unwrap().estimate;
            far = far.max((slope / predicted - 1.0).abs());
            latencies
        });
        println!("  predicted {predicted} us a message, at most {:.2} % off", 100.0 * far);
        assert!(found.linear >= 95.0, "{name}: {found:?}");
        // A slope of half the size has the same scatter.
        let allowed = if issued_per_s.is_none() && scatter < 1.0 { 0.02 } else { 0.04 };
        assert!(far <= allowed, "{name}: {far}");
    }
}

#[test]
fn the_prediction_is_the_capacity_turned_round() {
    for (capacity, issued) in [(1_000.0, None), (1_000.0, Some(2_000.0)), (5_000.0, Some(5_500.0))]
    {
        let slope_us = predicted_slope_us(capacity, issued);
        let back = capacity_per_s(slope_us / 1e6, issued).unwrap();
        assert!((back / capacity - 1.0).abs() < 1e-9, "{capacity} {issued:?}: {back}");
    }
    // D/D/1 of methodology 8.2: 2 000/s arrive, 1 000/s complete.
    assert!((predicted_slope_us(1_000.0, Some(2_000.0)) - 500.0).abs() < 1e-9);
    assert!(predicted_slope_us(1_000.0, Some(900.0)).abs() < 1e-12, "it keeps pace");
}

#[test]
fn a_cold_start_and_a_stray_stall_change_no_class() {
    let mut random = Random::new(8);
    for (class, slope_us) in [(Class::Flat, 0.0), (Class::Linear, 2.0)] {
        let mut latencies = run(&mut random, 5_000, QUIET, |i| slope_us * i);
        let whole = curve(&latencies);
        for (at, latency) in latencies.iter_mut().enumerate().take(100) {
            *latency += 200_000.0 * (-(at as f64) / 30.0).exp();
        }
        for (at, latency) in latencies.iter_mut().skip(3_000).take(100).enumerate() {
            *latency += 50_000.0 - 500.0 * at as f64;
        }
        let found = curve(&latencies);
        assert_eq!((whole.class, found.class), (class, class), "{found:?}");
    }
}

#[test]
fn time_in_another_unit_and_time_that_everything_takes() {
    let mut random = Random::new(9);
    let shapes: [fn(f64) -> f64; 4] = [
        |_| 20_000.0,
        |i| 20_000.0 + 20.0 * i,
        |i| 20_000.0 + 9_000.0 * i.ln(),
        |i| 20_000.0 + 900.0 * i.sqrt(),
    ];
    for shape in shapes {
        let latencies = run(&mut random, 5_000, QUIET, shape);
        let found = curve(&latencies);
        // A level of 20 ms: the threshold is a share of it, so that all figures scale.
        for factor in [0.5, 10.0] {
            let scaled = Curve::of(latencies.iter().map(|it| it * factor));
            assert_eq!((scaled.class, scaled.exponent), (found.class, found.exponent));
            let (a, b) = (scaled.growth_us.unwrap(), found.growth_us.unwrap());
            assert!((a.low - factor * b.low).abs() < 1e-6 * b.high.abs(), "{a:?} {b:?}");
        }
        let later = Curve::of(latencies.iter().map(|it| it + 5_000.0));
        assert_eq!(later.class, found.class);
        let (a, b) = (later.growth_us.unwrap(), found.growth_us.unwrap());
        assert!((a.estimate - b.estimate).abs() < 1e-6 * b.high.abs(), "{a:?} {b:?}");
    }
    // Where neither holds: growth of 6 ms is nothing beside 100 ms, and 0.6 ms is nothing at all.
    let grows = run(&mut random, 5_000, QUIET, |i| 6_000.0 * i / 5_000.0);
    assert_eq!(curve(&grows).class, Class::Linear);
    assert_eq!(Curve::of(grows.iter().map(|it| it + 100_000.0)).class, Class::Flat);
    assert_eq!(Curve::of(grows.iter().map(|it| it / 10.0)).class, Class::Flat);
}

#[test]
fn exact_curves_give_exact_figures() {
    let line = Curve::of((1..4_001).map(|i| 1_000.0 + 5.0 * f64::from(i)));
    assert_eq!(line.class, Class::Linear);
    let slope = line.slope_us_per_message.unwrap();
    assert!([slope.estimate, slope.low, slope.high].iter().all(|it| (it - 5.0).abs() < 1e-6));
    // 40 blocks of 100: middles 50.5 and 3950.5.
    assert!((line.growth_us.unwrap().estimate - 19_500.0).abs() < 1e-6, "{line:?}");
    assert!((line.level_us - (1_000.0 + 5.0 * 200.5)).abs() < 1e-6, "{}", line.level_us);
    assert!((line.blocks[1].message - 150.5).abs() < 1e-9 && line.blocks.len() == 40);
    let log = Curve::of((1..4_001).map(|i| 1_000.0 + 3_000.0 * f64::from(i).log2()));
    assert_eq!(log.class, Class::Logarithmic);
    // A block's median is that of its two middle messages, here of a curve: not to the last digit.
    assert!((log.doubling_us.unwrap().estimate / 3_000.0 - 1.0).abs() < 1e-4, "{log:?}");
    assert_eq!(line.doubling_us, None);
}

#[test]
fn runs_of_any_length_have_an_answer() {
    for count in [0, 1, 2, 20, MESSAGES_MIN - 1] {
        let found = curve(&vec![1_000.0; count]);
        assert_eq!((found.class, found.messages), (Class::Unclear, count as u64));
        assert_eq!(found.reason, format!("{count} messages are too few, 100 are needed"));
        assert!(found.growth_us.is_none() && found.blocks.len() <= 20, "{found:?}");
    }
    for count in [MESSAGES_MIN, 101, 999, 1_000_000] {
        let found = Curve::of((0..count).map(|_| 1_000.0));
        assert_eq!((found.class, found.explained), (Class::Flat, None), "{found:?}");
        let text = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<Curve>(&text).unwrap(), found, "{text}");
    }
    let mut random = Random::new(10);
    let latencies = run(&mut random, 1_000, ROUGH, |i| 3.0 * i);
    assert_eq!(curve(&latencies), curve(&latencies));
    let text = serde_json::to_string(&curve(&latencies)).unwrap();
    let back: Curve = serde_json::from_str(&text).unwrap();
    assert_eq!(back.reason, curve(&latencies).reason);
}

#[test]
fn five_rounds_have_a_median_with_the_level_they_can_have() {
    let of = |values: &[f64]| over_rounds(values).map(|it| (it.median, it.level, it.rounds));
    let (median, level, rounds) = of(&[5.0, 1.0, 4.0, 2.0, 3.0]).unwrap();
    assert_eq!(rounds, 5);
    let figures = [median.estimate, median.low, median.high, level];
    for (found, wanted) in figures.into_iter().zip([3.0, 1.0, 5.0, 0.9375]) {
        assert!((found - wanted).abs() < 1e-12, "{figures:?}");
    }
    let six: Vec<f64> = (0..6).map(f64::from).collect();
    let (median, level, _) = of(&six).unwrap();
    assert!((median.low - 0.0).abs() < 1e-12 && (level - 0.968_75).abs() < 1e-12);
    let ten: Vec<f64> = (0..10).map(f64::from).collect();
    let (median, level, _) = of(&ten).unwrap();
    assert!((median.low - 1.0).abs() < 1e-12 && level > 0.95 && level < 0.99, "{level}");
    assert!(of(&[1.0]).is_none() && of(&[]).is_none());
}
