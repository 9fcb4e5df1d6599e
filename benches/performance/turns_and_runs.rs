//! Goal: the rounds' A/A log ratios scatter at most half as much with turns as with whole runs.
//!
//! Rounds of both kinds alternate, so that disturbances fall on both alike.

use std::time::Instant;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng as _, SeedableRng as _};
use record::records::PhaseRun;

use crate::support::{Bench, deviation, percent, table};

const PHASES: [&str; 2] = ["find_one", "insert_one"];
const ROUNDS: u32 = 12;
const RATIO_MAX: f64 = 0.5;
const RESAMPLES: usize = 2000;

/// The log ratios of one adapter in one phase, one a round.
struct Cell {
    adapter: String,
    phase: &'static str,
    turns: Vec<f64>,
    runs: Vec<f64>,
    /// Measured seconds of the baseline over all rounds, per kind.
    measured_s: [f64; 2],
}

/// Prints a row for each phase and one for all of them together.
pub fn run(bench: &Bench) -> Result<bool, String> {
    let mut cells = Vec::new();
    let mut took_s = [0.0; 2];
    for adapter in &bench.adapters {
        let began = cells.len();
        for phase in PHASES {
            cells.push(Cell {
                adapter: adapter.clone(),
                phase,
                turns: vec![],
                runs: vec![],
                measured_s: [0.0; 2],
            });
        }
        for round in 0..ROUNDS {
            // Turns first, runs first, turns first, …
            let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
            for kind in order {
                let began_at = Instant::now();
                one_round(bench, adapter, kind, &mut cells[began..])?;
                took_s[kind] += began_at.elapsed().as_secs_f64();
            }
        }
    }
    println!(
        "mongodyno run crud --phase find_one --phase insert_one --rounds 1, {ROUNDS} of each kind, \
         alternating; with servers, warm-up and loading {:.0} s with turns and {:.0} s with whole \
         runs\n",
        took_s[0], took_s[1]
    );
    Ok(print(&cells))
}

fn one_round(bench: &Bench, adapter: &str, kind: usize, cells: &mut [Cell]) -> Result<(), String> {
    let interleave = ["turns", "runs"][kind];
    let mut words = vec!["crud", "-d", adapter, "--rounds", "1", "--interleave", interleave];
    words.extend(PHASES.iter().flat_map(|phase| ["--phase", phase]));
    let measured = bench.experiment(&words)?;
    for cell in cells {
        let throughput = |run: &PhaseRun| run.throughput;
        let (base, twin) = (
            measured.by_round(0, cell.phase, throughput),
            measured.by_round(1, cell.phase, throughput),
        );
        let ratios = base.iter().zip(&twin).map(|(base, twin)| (twin / base).ln());
        if kind == 0 {
            cell.turns.extend(ratios);
        } else {
            cell.runs.extend(ratios);
        }
        let seconds = measured.by_round(0, cell.phase, |run| run.measured_s);
        cell.measured_s[kind] += seconds.iter().sum::<f64>();
    }
    Ok(())
}

fn print(cells: &[Cell]) -> bool {
    let mut rows: Vec<Vec<String>> = cells.iter().map(row).collect();
    let (turns, runs) = pooled(cells);
    let (low, high) = interval(cells);
    let rounds: usize = cells.iter().map(|cell| cell.turns.len()).sum();
    rows.push(vec![
        "all".to_owned(),
        "both".to_owned(),
        percent(turns),
        percent(runs),
        format!("{:.2} [{low:.2}, {high:.2}]", turns / runs),
        rounds.to_string(),
        String::new(),
    ]);
    let head = ["adapter", "phase", "turns", "whole runs", "ratio", "rounds", "measured s a round"];
    table(&head, &rows);
    println!(
        "\nstandard deviation of ln(throughput of the A/A arm / throughput of the baseline); all: \
         root mean square of the rows, with a 95 % bootstrap interval\ngoal: ratio at most 0.5"
    );
    turns / runs <= RATIO_MAX
}

fn row(cell: &Cell) -> Vec<String> {
    let (turns, runs) = (deviation(&cell.turns), deviation(&cell.runs));
    let rounds = cell.turns.len().max(1) as f64;
    vec![
        cell.adapter.clone(),
        cell.phase.to_owned(),
        percent(turns),
        percent(runs),
        format!("{:.2}", turns / runs),
        cell.turns.len().to_string(),
        format!("{:.2} / {:.2}", cell.measured_s[0] / rounds, cell.measured_s[1] / rounds),
    ]
}

/// Root mean squares of the cells' standard deviations: turns, whole runs.
fn pooled(cells: &[Cell]) -> (f64, f64) {
    let mean = |values: fn(&Cell) -> &[f64]| {
        let squares: f64 = cells.iter().map(|cell| deviation(values(cell)).powi(2)).sum();
        (squares / cells.len() as f64).sqrt()
    };
    (mean(|cell| &cell.turns), mean(|cell| &cell.runs))
}

/// 95 % of the ratio when rounds are drawn again within each cell.
fn interval(cells: &[Cell]) -> (f64, f64) {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut draw = |values: &[f64]| -> Vec<f64> {
        let at = |random: u64| ((u128::from(random) * values.len() as u128) >> 64) as usize;
        values.iter().map(|_| values[at(random.next_u64())]).collect()
    };
    let mut ratios = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let again: Vec<Cell> = cells
            .iter()
            .map(|cell| Cell {
                adapter: String::new(),
                phase: cell.phase,
                turns: draw(&cell.turns),
                runs: draw(&cell.runs),
                measured_s: [0.0; 2],
            })
            .collect();
        let (turns, runs) = pooled(&again);
        ratios.push(turns / runs);
    }
    ratios.sort_by(f64::total_cmp);
    (ratios[RESAMPLES / 40], ratios[RESAMPLES - 1 - RESAMPLES / 40])
}
