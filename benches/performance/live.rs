//! The cost to the arms of a live page that is open in a browser.
//!
//! Within one run the page is open in two rounds of four: neighbours are compared, which have the
//! same server and the same minutes.

use std::fs;
use std::io::Write as _;
use std::time::Duration;

use crate::browser;
use crate::support::{Bench, Measured, Outcome, benches, ratio, table};

const PHASES: [&str; 2] = ["insert_one", "find_one"];
const ROUNDS: usize = 8;
const LONG_ROUNDS: usize = 80;
/// Smallest ratio of throughputs.
const GOAL: f64 = 0.99;

fn is_open(round: usize) -> bool {
    matches!(round % 4, 2 | 3)
}

/// Prints a row for each phase.
pub fn run(bench: &Bench) -> Outcome {
    let rounds = if bench.long { LONG_ROUNDS } else { ROUNDS };
    let measured = experiment(bench, rounds)?;
    let (mut rows, mut reached) = (Vec::new(), true);
    for phase in PHASES {
        let mut ratios = Vec::new();
        for arm in 0..measured.experiment.arms.len() {
            let rates = measured.by_round(arm, phase, |run| run.throughput);
            for (pair, rates) in rates.chunks_exact(2).enumerate() {
                let change = (rates[1] / rates[0]).ln();
                ratios.push(if is_open(2 * pair + 2) { change } else { -change });
            }
        }
        let (middle, text) = ratio(&ratios)?;
        reached &= middle >= GOAL;
        rows.push(vec![phase.to_owned(), ratios.len().to_string(), text, GOAL.to_string()]);
    }
    table(&["phase", "pairs of rounds", "throughput open / closed [95 %]", "at least"], &rows);
    println!(
        "\nmongodyno run benches/workloads/turns.yaml --rounds {rounds} --live, its page open in \
         Chromium in two rounds of four"
    );
    Ok(reached)
}

fn experiment(bench: &Bench, rounds: usize) -> Result<Measured, String> {
    let workload = benches("workloads/turns.yaml");
    let driver = bench.adapters.iter().find(|it| *it == "rust").or(bench.adapters.first());
    let driver = driver.ok_or("no adapter can run here")?;
    let rounds = rounds.to_string();
    let words = [&workload[..], "-d", driver, "--set", "seconds=1", "--rounds", &rounds, "--live"];
    let (folder, mut command) = bench.run_command(&words)?;
    let mut client = browser::at("visit", &[])?;
    let mut visit = client.stdin.take().ok_or("its input")?;
    let mut run = command.spawn().map_err(|error| error.to_string())?;
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let (log, runs, mut was_open) =
        (folder.with_extension("log"), folder.join("runs.jsonl"), false);
    let status = loop {
        if let Some(status) = run.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        // The baseline and its A/A arm have a line each in every round.
        let round = read(&runs).lines().count() / 2 + 1;
        if is_open(round) != was_open {
            was_open = !was_open;
            let text = read(&log);
            let address = text.lines().find_map(|line| line.strip_prefix("live page: "));
            let address = address.filter(|_| was_open).unwrap_or("about:blank");
            writeln!(visit, "{address}").map_err(|error| error.to_string())?;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    drop(visit);
    let output = client.wait_with_output().map_err(|error| error.to_string())?;
    let seen = String::from_utf8_lossy(&output.stdout);
    if !matches!(status.code(), Some(0 | 6)) || !seen.contains("run under way: round ") {
        return Err(format!("run --live: {status}, the page: {seen}\n{}", read(&log)));
    }
    Measured::read(&folder)
}
