//! A study that records 1,000,000 messages keeps the core below 200 MB.

use std::fs;
use std::time::Instant;

use crate::core_memory::peak_bytes;
use crate::support::{Bench, Measured, Outcome, megabytes, table};

/// `--scale`, and the messages of each burst with it.
const SCALES: [(&str, u64); 2] = [("1", 100_000), ("10", 1_000_000)];
const MEMORY_BYTES_MAX: u64 = 200_000_000;

/// Runs the study with one producer: an iteration, and one through the tap. There the tap's record
/// is joined with both samples. A few threads make the producer's burst. A million tasks of an
/// asynchronous driver take 13 GB, and none of that is the core's.
pub fn run(bench: &Bench) -> Outcome {
    let mut rows = Vec::new();
    let mut reached = true;
    for (scale, messages) in SCALES {
        let words = ["study", "broker", "-d", "python", "--rounds", "1", "--scale", scale];
        let (folder, mut command) = bench.command(&words)?;
        let began = Instant::now();
        let child = command.spawn().map_err(|error| error.to_string())?;
        let peak_bytes = peak_bytes(child)?;
        let seconds = began.elapsed().as_secs_f64();
        let measured = Measured::read(&folder)?;
        let received = |round: u32| {
            let runs = measured.runs.iter().filter(|run| run.round == round);
            let bursts = runs.flat_map(|run| &run.phases).filter(|phase| phase.phase == "burst");
            bursts.filter_map(|phase| Some(phase.broker.as_ref()?.received)).sum::<u64>()
        };
        if (received(1), received(2)) != (messages, messages) {
            return Err(format!("{} and {} of {messages} came", received(1), received(2)));
        }
        reached &= peak_bytes < MEMORY_BYTES_MAX;
        rows.push(vec![messages.to_string(), format!("{seconds:.0}"), megabytes(peak_bytes)]);
        let _ = fs::remove_dir_all(folder);
    }
    table(&["messages of a burst", "s in all", "peak MB of mongodyno"], &rows);
    println!("\ngoal: below 200 MB");
    Ok(reached)
}
