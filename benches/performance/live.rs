//! The cost of `--live` to the arms, with the page open in a browser.
//!
//! Experiments with and without it alternate, so that disturbances fall on both alike.

use std::fs;
use std::io::Write as _;
use std::process::Child;
use std::time::Duration;

use crate::browser;
use crate::support::{Bench, Measured, Outcome, benches, ratio, table};

const PHASES: [&str; 2] = ["insert_one", "find_one"];
const PAIRS: usize = 2;
const LONG_PAIRS: usize = 12;
const ROUNDS: &str = "4";
/// Smallest ratio of throughputs.
const GOAL: f64 = 0.99;

/// Prints a row for each phase.
pub fn run(bench: &Bench) -> Outcome {
    let mut ratios = [Vec::new(), Vec::new()];
    for pair in 0..if bench.long { LONG_PAIRS } else { PAIRS } {
        let mut measured = [None, None];
        for live in if pair % 2 == 0 { [0, 1] } else { [1, 0] } {
            measured[live] = Some(experiment(bench, live == 1)?);
        }
        let [Some(without), Some(with)] = measured else { unreachable!("both were made") };
        for (phase, ratios) in PHASES.iter().zip(&mut ratios) {
            for arm in 0..without.experiment.arms.len() {
                let [base, live] =
                    [&without, &with].map(|it| it.by_round(arm, phase, |run| run.throughput));
                ratios.extend(base.iter().zip(&live).map(|(base, live)| (live / base).ln()));
            }
        }
    }
    let (mut rows, mut reached) = (Vec::new(), true);
    for (phase, ratios) in PHASES.iter().zip(&ratios) {
        let (middle, text) = ratio(ratios)?;
        reached &= middle >= GOAL;
        rows.push(vec![(*phase).to_owned(), ratios.len().to_string(), text, GOAL.to_string()]);
    }
    table(&["phase", "pairs of rounds", "throughput with / without [95 %]", "at least"], &rows);
    println!(
        "\nmongodyno run benches/workloads/turns.yaml --rounds {ROUNDS}, with and without --live \
         and its page open in Chromium"
    );
    Ok(reached)
}

fn experiment(bench: &Bench, live: bool) -> Result<Measured, String> {
    let workload = benches("workloads/turns.yaml");
    let driver = bench.adapters.iter().find(|it| *it == "rust").or(bench.adapters.first());
    let driver = driver.ok_or("no adapter can run here")?;
    let words = [&workload[..], "-d", driver, "--set", "seconds=1", "--rounds", ROUNDS];
    if !live {
        return bench.experiment(&words);
    }
    let (folder, mut command) = bench.run_command(&[&words[..], &["--live"]].concat())?;
    let mut page = browser::at("open", &[])?;
    let mut run = command.spawn().map_err(|error| error.to_string())?;
    let log = folder.with_extension("log");
    let mut ended = None;
    while ended.is_none() {
        ended = run.try_wait().map_err(|error| error.to_string())?;
        let text = fs::read_to_string(&log).unwrap_or_default();
        if let Some(address) = text.lines().find_map(|line| line.strip_prefix("live page: ")) {
            open(&mut page, address)?;
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let status = run.wait().map_err(|error| error.to_string())?;
    if page.stdin.is_some() {
        let _ = page.kill(); // there was no address
    }
    let output = page.wait_with_output().map_err(|error| error.to_string())?;
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    if !matches!(status.code(), Some(0 | 6)) || !seen.contains("\"state\":\"ended\"") {
        let log = fs::read_to_string(&log).unwrap_or_default();
        return Err(format!("run --live: {status}, the page: {seen}\n{log}"));
    }
    Measured::read(&folder)
}

/// The browser opens the page and leaves at its end.
fn open(page: &mut Child, address: &str) -> Result<(), String> {
    let mut input = page.stdin.take().ok_or("it has an address already")?;
    writeln!(input, "{address}").map_err(|error| error.to_string())
}
