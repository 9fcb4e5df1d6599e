//! The class of a curve of latency against message number: how often it is wrong, how often it is
//! found, under noise as runs have it.
#![allow(missing_docs, clippy::print_stdout)]

use std::f64::consts::TAU;

use mongodyno::stats::curve::{Class, Curve};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

struct Random(ChaCha8Rng);

impl Random {
    fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }
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

/// What disturbs the latency of a message, us, about a level of 1 to 10 ms.
#[derive(Clone, Copy)]
struct Noise {
    /// Standard deviation of the log, of each message alone.
    own: f64,
    /// The same of what neighbours share, and over how many messages it is forgotten.
    shared: f64,
    memory: f64,
    /// Stalls of 10 to 50 ms a thousand messages; messages that arrive in one and in its drain wait.
    stalls: f64,
    /// A fifth of the messages takes so many times as long.
    second_mode: f64,
}

const QUIET: Noise = Noise { own: 0.2, shared: 0.0, memory: 1.0, stalls: 0.0, second_mode: 1.0 };
const USUAL: Noise = Noise { own: 0.3, shared: 0.1, memory: 20.0, stalls: 0.5, second_mode: 1.5 };
const ROUGH: Noise = Noise { own: 0.5, shared: 0.3, memory: 200.0, stalls: 2.0, second_mode: 2.0 };

/// Latencies of a run: `shape` (number from 1, us) times or plus what disturbs it.
fn run(random: &mut Random, count: usize, noise: Noise, shape: &dyn Fn(f64) -> f64) -> Vec<f64> {
    let keep = (-1.0 / noise.memory).exp();
    let (mut shared, mut waits_us) = (random.normal(), 0.0_f64);
    (0..count)
        .map(|at| {
            shared = keep * shared + (1.0 - keep * keep).sqrt() * random.normal();
            // One message each 1 ms, served at twice that rate once the stall is over.
            if random.uniform() < noise.stalls / 1e3 {
                waits_us = 10_000.0 + 40_000.0 * random.uniform();
            }
            waits_us = (waits_us - 500.0).max(0.0);
            let mode = if random.uniform() < 0.2 { noise.second_mode } else { 1.0 };
            let own = (noise.own * random.normal()).exp();
            let tail = if random.uniform() < 0.01 { 5.0 * random.exponential() } else { 0.0 };
            let level = shape(at as f64 + 1.0);
            level + 1_000.0 * (own * mode * (noise.shared * shared).exp() + tail) + waits_us
        })
        .collect()
}

fn curve(latencies: &[f64]) -> Curve {
    Curve::of(latencies.iter().copied())
}

/// Percent of flat, linear, logarithmic, unclear.
fn rates(name: &str, draws: u32, mut draw: impl FnMut() -> Vec<f64>) -> [f64; 4] {
    let mut counts = [0_u32; 4];
    let mut example = String::new();
    for _ in 0..draws {
        let found = curve(&draw());
        counts[found.class as usize] += 1;
        example = format!(
            "{} R2 {:.3} p {:?}",
            found.reason,
            found.explained.unwrap_or(0.0),
            found.exponent.map(|p| p.estimate)
        );
    }
    let [flat, linear, log, unclear] = counts.map(|it| 100.0 * f64::from(it) / f64::from(draws));
    println!(
        "{name:40} flat {flat:5.1} linear {linear:5.1} log {log:5.1} unclear {unclear:5.1} | {example}"
    );
    [flat, linear, log, unclear]
}

/// A queue: all at once, or so many us apart.
fn queue(
    random: &mut Random,
    count: usize,
    gap_us: f64,
    service_us: f64,
    scatter: f64,
) -> Vec<f64> {
    let mut waits = 0.0_f64;
    (0..count)
        .map(|_| {
            // Gamma-like: a mixture of constant and exponential keeps the mean.
            let service = service_us * (1.0 - scatter + scatter * random.exponential());
            let latency = waits + service;
            waits = (latency - gap_us).max(0.0);
            latency
        })
        .collect()
}

#[test]
fn explore() {
    let draws = std::env::var("DRAWS").map_or(100, |it| it.parse().unwrap());
    for count in [100_usize, 500, 5_000, 50_000] {
        let n = count as f64;
        let draws = if count > 10_000 { draws / 4 } else { draws };
        let mut r = Random::new(count as u64);
        for (label, noise) in [("quiet", QUIET), ("usual", USUAL), ("rough", ROUGH)] {
            type S<'a> = Box<dyn Fn(f64) -> f64 + 'a>;
            let shapes: Vec<(&str, S)> = vec![
                ("flat", Box::new(|_| 0.0)),
                ("line 0.5", Box::new(|i| 500.0 * i / n)),
                ("line 1", Box::new(|i| 1_000.0 * i / n)),
                ("line 3", Box::new(|i| 3_000.0 * i / n)),
                ("line 30", Box::new(|i| 30_000.0 * i / n)),
                ("line 1000", Box::new(|i| 1e6 * i / n)),
                ("log 3", Box::new(|i| 3_000.0 * (i + 1.0).ln() / n.ln())),
                ("log 10", Box::new(|i| 10_000.0 * (i + 1.0).ln() / n.ln())),
                ("log 100", Box::new(|i| 100_000.0 * (i + 1.0).ln() / n.ln())),
                ("step 5", Box::new(|i| if i > n / 2.0 { 5_000.0 } else { 0.0 })),
                ("step 20% 50", Box::new(|i| if i > n / 5.0 { 50_000.0 } else { 0.0 })),
                ("step last 10%", Box::new(|i| if i > 0.9 * n { 50_000.0 } else { 0.0 })),
                ("staircase 4", Box::new(|i| 10_000.0 * (4.0 * i / n).floor())),
                ("sqrt 5", Box::new(|i| 5_000.0 * (i / n).sqrt())),
                ("sqrt 30", Box::new(|i| 30_000.0 * (i / n).sqrt())),
                ("sqrt 1000", Box::new(|i| 1e6 * (i / n).sqrt())),
                ("parabola 30", Box::new(|i| 30_000.0 * (i / n).powi(2))),
                ("hump 30", Box::new(|i| 30_000.0 * (1.0 - (2.0 * i / n - 1.0).powi(2)))),
                ("ramp to 30%", Box::new(|i| 30_000.0 * (i / n / 0.3).min(1.0))),
                ("ramp from 50%", Box::new(|i| 30_000.0 * (i / n - 0.5).max(0.0))),
                ("saturating", Box::new(|i| 30_000.0 * (1.0 - (-5.0 * i / n).exp()))),
                ("sawtooth 3", Box::new(|i| 30_000.0 * (3.0 * i / n).fract())),
                ("sawtooth 100", Box::new(|i| 30_000.0 * (100.0 * i / n).fract())),
                (
                    "one stall 20%",
                    Box::new(|i| {
                        let x = i / n - 0.4;
                        if x > 0.0 { (30_000.0 * (1.0 - x / 0.2)).max(0.0) } else { 0.0 }
                    }),
                ),
                ("stall at end", Box::new(|i| (30_000.0 * (i / n - 0.8) / 0.2).max(0.0))),
                ("falling 30", Box::new(|i| 30_000.0 * (1.0 - i / n))),
                ("cold 2% then flat", Box::new(|i| if i < 0.02 * n { 20_000.0 } else { 0.0 })),
                (
                    "cold 2% then line 5",
                    Box::new(|i| 5_000.0 * i / n + if i < 0.02 * n { 20_000.0 } else { 0.0 }),
                ),
            ];
            for (name, shape) in &shapes {
                rates(&format!("{count} {label} {name}"), draws, || {
                    run(&mut r, count, noise, shape)
                });
            }
        }
        for (name, gap, scatter) in [
            ("burst D", 0.0, 0.0),
            ("burst .5", 0.0, 0.5),
            ("burst M", 0.0, 1.0),
            ("lambda=2mu M", 100.0, 1.0),
            ("lambda=1.1mu M", 182.0, 1.0),
            ("critical M", 200.0, 1.0),
            ("load .95 M", 210.0, 1.0),
            ("load .8 M", 250.0, 1.0),
            ("load .5 M", 400.0, 1.0),
        ] {
            rates(&format!("{count} queue {name}"), draws, || {
                queue(&mut r, count, gap, 200.0, scatter)
            });
        }
        for (name, keep) in [
            ("random walk", 1.0),
            ("AR tau n/5", (-5.0 / n).exp()),
            ("AR tau n/20", (-20.0 / n).exp()),
        ] {
            rates(&format!("{count} {name}"), draws, || {
                let mut at = 0.0;
                (0..count)
                    .map(|_| {
                        at = keep * at + r.normal() * 100_000.0 / n.sqrt();
                        10_000.0 + at
                    })
                    .collect()
            });
        }
    }
}
