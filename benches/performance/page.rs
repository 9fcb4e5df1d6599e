//! The page of a large experiment: time to make it, its size, and how soon a browser answers.

use std::time::Instant;

use serde_json::Value;

use crate::browser;
use crate::support::{Bench, Outcome, benches, megabytes, table};

const ARMS: usize = 12;
/// Rounds, and operations of an arm in each: 0.5 and 10 million in all.
const SHORT: (usize, usize) = (4, 10_417);
const LONG: (usize, usize) = (20, 41_667);

/// Prints a row for each figure.
pub fn run(bench: &Bench) -> Outcome {
    let (rounds, operations) = if bench.long { LONG } else { SHORT };
    let workload = benches("workloads/noop.yaml");
    let driver = bench.adapters.iter().find(|it| *it == "rust").or(bench.adapters.first());
    let driver = driver.ok_or("no adapter can run here")?;
    let arms: Vec<String> = (1..=ARMS).map(|arm| format!("{driver}/maxPoolSize={arm}")).collect();
    let set = format!("operations={operations}");
    let rounds = rounds.to_string();
    let mut words = vec![&workload[..], "--set", &set, "--server", "none", "--rounds", &rounds];
    words.extend(arms.iter().flat_map(|arm| ["-d", arm.as_str()]));
    let (folder, mut command) = bench.run_command(&words)?;
    let status = command.status().map_err(|error| error.to_string())?;
    if !matches!(status.code(), Some(0 | 6)) {
        return Err(format!("run: {status}"));
    }
    let file = folder.join("page.html");
    let began = Instant::now();
    let mut report = std::process::Command::new(env!("CARGO_BIN_EXE_mongodyno"));
    let output = report.arg("report").arg(&folder).args(["--format", "html"]).output();
    let made_s = began.elapsed().as_secs_f64();
    let page = output.map_err(|error| error.to_string())?.stdout;
    std::fs::write(&file, &page).map_err(|error| error.to_string())?;
    let client = browser::at("time", &[&file.display().to_string()])?;
    let output = client.wait_with_output().map_err(|error| error.to_string())?;
    let found: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let ms = |name: &str| found[name].as_f64().ok_or(format!("no {name} in {found}"));
    let (interactive_ms, toggle_ms) = (ms("interactive_ms")?, ms("toggle_ms")?);
    let size = page.len() as u64;
    let row = |what: &str, found: String, goal: &str| vec![what.to_owned(), found, goal.to_owned()];
    let rows = [
        row("made, s", format!("{made_s:.2}"), "3"),
        row("size, MB", megabytes(size), "3"),
        row("interactive, ms", format!("{interactive_ms:.0}"), "1500"),
        row("an arm hidden or shown, ms", format!("{toggle_ms:.0}"), "100"),
    ];
    table(&["figure", "found", "below"], &rows);
    println!("\n{ARMS} arms, {rounds} rounds, {operations} operations of each arm in a round");
    Ok(made_s < 3.0 && size < 3_000_000 && interactive_ms < 1500.0 && toggle_ms < 100.0)
}
