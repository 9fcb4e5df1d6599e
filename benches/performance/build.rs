//! From a clean clone to the binary: how long people wait, and how much CPU it takes.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::support::{Bench, Outcome, table};

const WALL_MINUTES_MAX: f64 = 4.0;
const CPU_MINUTES_MAX: f64 = 8.0;

/// Clones the last commit and builds it with an empty target folder; downloads are made before.
pub fn run(bench: &Bench) -> Outcome {
    let clone = bench.fresh();
    let root = env!("CARGO_MANIFEST_DIR");
    let target = clone.display().to_string();
    quiet(Path::new(root), "git", &["clone", "--quiet", "--shared", root, &target])?;
    quiet(&clone, "cargo", &["fetch", "--quiet", "--locked"])?;
    let (before_minutes, began) = (cpu_minutes()?, Instant::now());
    quiet(&clone, "cargo", &["build", "--quiet", "--release", "--locked", "--offline"])?;
    let wall_minutes = began.elapsed().as_secs_f64() / 60.0;
    let cpu_minutes = cpu_minutes()? - before_minutes;
    let binary = clone.join("target/release/mongodyno").metadata().map_err(|it| it.to_string())?;
    let row = [wall_minutes, cpu_minutes].map(|minutes| format!("{minutes:.2}"));
    let megabytes = format!("{:.0}", binary.len() as f64 / 1e6);
    let head = ["minutes", "minutes of CPU", "MB of the binary"];
    table(&head, &[[&row[..], &[megabytes]].concat()]);
    println!("\ngoal on two cores: at most {WALL_MINUTES_MAX} and {CPU_MINUTES_MAX} minutes");
    Ok(wall_minutes <= WALL_MINUTES_MAX && cpu_minutes <= CPU_MINUTES_MAX)
}

fn quiet(folder: &Path, program: &str, words: &[&str]) -> Result<(), String> {
    let mut command = Command::new(program);
    // Cargo's variables for this program's own build are wrong for the clone.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CARGO_")) {
        if name != "CARGO_HOME" {
            command.env_remove(name);
        }
    }
    command.args(words).current_dir(folder).stdin(Stdio::null());
    let status = command.status().map_err(|error| format!("{program}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{program} {}: {status}", words.join(" "))) }
}

/// CPU time of all children that have ended.
fn cpu_minutes() -> Result<f64, String> {
    let stat = fs::read_to_string("/proc/self/stat").map_err(|error| error.to_string())?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    // Fields 16 and 17, in hundredths of a second.
    let ticks: f64 = fields.skip(13).take(2).filter_map(|it| it.parse::<f64>().ok()).sum();
    Ok(ticks / 100.0 / 60.0)
}
