//! The cost of the tap: the same workload direct and tapped, pair by pair, on the absorber.

use std::time::Duration;

use stats::descriptive::median;

use crate::servers::Listening;
use crate::stand::{Stand, environment, pairs};
use crate::support::{Bench, Outcome, centre, ratio, table};

const TURN: Duration = Duration::from_millis(250);
const PAIRS: u32 = 20;
const LONG_PAIRS: u32 = 60;
/// Workers of the measurement of throughput.
const THREADS: u32 = 16;
const ADDED_US_MAX: f64 = 60.0;
const COMMANDS_PER_SECOND_MIN: f64 = 20_000.0;

/// Result of one cell.
struct Cell {
    rates: [Vec<f64>; 2],
    p50_us: [Vec<f64>; 2],
}

/// Measures round trips with one worker and throughput with many, both with the Rust adapter.
pub fn run(bench: &Bench) -> Outcome {
    let count = if bench.long { LONG_PAIRS } else { PAIRS };
    let mut rows = Vec::new();
    let mut reached = true;
    for phase in ["find_one", "insert_one"] {
        for threads in [1, THREADS] {
            let cell = cell(bench, phase, threads, count)?;
            let [direct, tapped] = &cell.p50_us;
            let added: Vec<f64> = direct.iter().zip(tapped).map(|(a, b)| b - a).collect();
            let added = centre(&added)?;
            let rates = cell.rates[0].iter().zip(&cell.rates[1]);
            let (_, kept) = ratio(&rates.map(|(a, b)| (b / a).ln()).collect::<Vec<_>>())?;
            let middle = |values: &[f64]| median(values).unwrap_or(f64::NAN);
            // p50 of many workers is the time in queues, which follows from the throughput.
            reached &= match threads {
                1 => added.estimate <= ADDED_US_MAX,
                _ => middle(&cell.rates[1]) >= COMMANDS_PER_SECOND_MIN,
            };
            rows.push(vec![
                phase.to_owned(),
                threads.to_string(),
                format!("{:.1}", middle(direct)),
                format!("{:.1}", middle(tapped)),
                format!("{:.1} [{:.1}, {:.1}]", added.estimate, added.low, added.high),
                format!("{:.0}", middle(&cell.rates[0])),
                format!("{:.0}", middle(&cell.rates[1])),
                kept,
            ]);
        }
    }
    let head = [
        "operation",
        "workers",
        "p50 us",
        "tapped us",
        "added us [95 %]",
        "direct /s",
        "tapped /s",
        "ratio [95 %]",
    ];
    table(&head, &rows);
    println!(
        "\nthe Rust adapter on the absorber, {count} pairs of turns of {} ms\ngoal: at most \
         {ADDED_US_MAX} us more at p50 with one worker, at least {COMMANDS_PER_SECOND_MIN} \
         commands a second through the tap with {THREADS}",
        TURN.as_millis()
    );
    Ok(reached)
}

fn cell(bench: &Bench, phase: &str, threads: u32, count: u32) -> Result<Cell, String> {
    let environment = environment("rust")?;
    let mut stand = Stand::of(bench, "crud", threads)?;
    // One absorber for both: with one each, the memory behind them would differ. Inserted keys do
    // not collide: each arm has a separate database.
    let absorber = Listening::absorber(bench, &["--memory", "4GiB"], &[])?;
    let tap = Listening::tap(bench, &absorber.address)?;
    let mut arms = Vec::new();
    for (number, server) in [&absorber, &tap].into_iter().enumerate() {
        let database = format!("arm{number}");
        stand.load(&absorber.uri(), &database, phase)?;
        arms.push(stand.start(&environment, &server.uri(), &database, phase, number)?);
    }
    let warmup = (environment.warmup_s / TURN.as_secs_f64()).ceil() as u32;
    let rates = pairs(count, warmup, |side| stand.turn(&mut arms[side], TURN))?;
    let mut p50_us = [Vec::new(), Vec::new()];
    for (side, arm) in arms.into_iter().enumerate() {
        p50_us[side] = stand.end(arm)?.split_off(warmup as usize);
    }
    Ok(Cell { rates, p50_us })
}
