//! A run of 10 million operations keeps the core below 200 MB.

use std::fs;
use std::process::{Child, ExitCode};
use std::time::{Duration, Instant};

use base::child;
use nix::unistd::Pid;

use crate::support::{Bench, Measured, Outcome, benches, megabytes, table};

const OPERATIONS: u64 = 10_000_000;
const MEMORY_BYTES_MAX: u64 = 200_000_000;
/// Between two readings of the peak: only growth in the last of them is missed.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// First word of the command line of the process that is the fake adapter.
pub const CHILD: &str = "fake-adapter";

/// Is that process: operations of 200 ns.
pub fn child() -> ExitCode {
    let done = double::run(&["op_ns=200".to_owned()], &mut std::io::stdout());
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes the manifest of the fake adapter, and answers the folder of adapters.
fn adapters(bench: &Bench) -> std::io::Result<String> {
    let adapters = bench.scratch.join("adapters-fake");
    let program = std::env::current_exe()?.display().to_string();
    let manifest = format!(
        "name = \"fake\"\ndriver = \"fake-driver\"\nlanguage = \"none\"\ndefault = \"1.0.0\"\n\
         versions = \"1.0.0\"\nwarmup_s = 0.1\nstart = [{program:?}, {CHILD:?}]\n"
    );
    fs::create_dir_all(adapters.join("fake"))?;
    fs::write(adapters.join("fake/adapter.toml"), manifest)?;
    Ok(adapters.display().to_string())
}

/// Runs the fake adapter, which answers at once, in the binary as it is.
pub fn run(bench: &Bench) -> Outcome {
    let adapters = adapters(bench).map_err(|error| error.to_string())?;
    let mut rows = Vec::new();
    let mut reached = true;
    for operations in [OPERATIONS / 10, OPERATIONS] {
        let workload = benches("workloads/noop.yaml");
        let set = format!("operations={operations}");
        let words = [
            workload.as_str(),
            "--set",
            &set,
            "-d",
            "fake",
            "--adapters-dir",
            &adapters,
            "--server",
            "none",
            "--rounds",
            "1",
            "--interleave",
            "runs",
        ];
        let (folder, mut command) = bench.run_command(&words)?;
        let began = Instant::now();
        let child = command.spawn().map_err(|error| error.to_string())?;
        let peak_bytes = peak_bytes(child)?;
        let seconds = began.elapsed().as_secs_f64();
        let measured = Measured::read(&folder)?;
        let counted: u64 = measured.by_round(0, "noop", |run| run.operations as f64)[0] as u64;
        if counted != operations {
            return Err(format!("{counted} operations were counted instead of {operations}"));
        }
        reached &= peak_bytes < MEMORY_BYTES_MAX;
        rows.push(vec![operations.to_string(), format!("{seconds:.1}"), megabytes(peak_bytes)]);
        let _ = fs::remove_dir_all(folder);
    }
    table(&["operations of each of two arms", "s in all", "peak MB of mongodyno"], &rows);
    println!("\ngoal: below 200 MB");
    Ok(reached)
}

/// Waits for the binary and answers its own peak. Not `wait4`: that counts its children in, and the
/// fake adapter holds all its samples.
pub fn peak_bytes(mut running: Child) -> Result<u64, String> {
    let pid = Pid::from_raw(running.id().cast_signed());
    let mut peak_bytes = 0;
    loop {
        if let Some((_, peak)) = child::rss_bytes(pid) {
            peak_bytes = peak;
        }
        match running.try_wait().map_err(|error| error.to_string())? {
            None => std::thread::sleep(LOOK_EVERY),
            Some(status) if matches!(status.code(), Some(0 | 6)) => return Ok(peak_bytes),
            Some(status) => return Err(format!("mongodyno: {status}")),
        }
    }
}
