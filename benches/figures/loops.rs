//! An adapter against a hand-written loop of the same calls in the same language. It runs on the
//! absorber, where nothing but the client's own work takes time.
//!
//! The loops (`benches/loops`) make the same documents, consume the results and keep both clock
//! readings. They have the same concurrency. They use the driver of the adapter's own environment,
//! so that nothing else differs.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use adapter::environment::Environment;
use stats::descriptive::median;

use crate::servers::Listening;
use crate::stand::{DATABASE, Stand, environment, pairs};
use crate::support::{Bench, Outcome, benches, ratio, table};

const PHASES: [&str; 2] = ["insert_one", "find_one"];
/// One worker, as `crud` has it, and several.
const THREADS: [u32; 2] = [1, 8];
const TURN: Duration = Duration::from_millis(250);
const PAIRS: u32 = 20;
const LONG_PAIRS: u32 = 60;

/// Smallest ratio of throughputs; other adapters have no loop.
fn goal(adapter: &str) -> Option<f64> {
    match adapter {
        "rust" | "go" => Some(0.97),
        "python" | "node" => Some(0.95),
        _ => None,
    }
}

pub fn run(bench: &Bench) -> Outcome {
    let pairs = if bench.long { LONG_PAIRS } else { PAIRS };
    let mut rows = Vec::new();
    let mut reached = true;
    for adapter in &bench.adapters {
        let Some(goal) = goal(adapter) else { continue };
        let environment = environment(adapter)?;
        let program = program(&environment)?;
        for threads in THREADS {
            for phase in PHASES {
                let rates = cell(bench, &environment, &program, threads, phase, pairs)?;
                let [adapter_rates, loop_rates] = rates;
                let both = adapter_rates.iter().zip(&loop_rates);
                let ratios: Vec<f64> = both.map(|(adapter, bare)| (adapter / bare).ln()).collect();
                let (middle, text) = ratio(&ratios)?;
                reached &= middle >= goal;
                let rate = |values: &[f64]| format!("{:.0}", median(values).unwrap_or(f64::NAN));
                rows.push(vec![
                    format!("{adapter}@{}", environment.version),
                    phase.to_owned(),
                    threads.to_string(),
                    rate(&adapter_rates),
                    rate(&loop_rates),
                    text,
                    format!("{goal:.2}"),
                ]);
            }
        }
    }
    let head =
        ["adapter", "operation", "workers", "adapter /s", "loop /s", "ratio [95 %]", "at least"];
    table(&head, &rows);
    println!("\n{pairs} pairs of turns of {} ms on the absorber", TURN.as_millis());
    Ok(reached)
}

/// Operations a second of the adapter and of the loop, pair by pair.
fn cell(
    bench: &Bench,
    environment: &Environment,
    program: &[String],
    threads: u32,
    phase: &str,
    count: u32,
) -> Result<[Vec<f64>; 2], String> {
    let stand = Stand::crud(bench, threads)?;
    let absorber = Listening::absorber(bench, &["--memory", "4GiB"])?;
    let uri = absorber.uri();
    let collection = stand.load(&uri, DATABASE, phase)?;
    let mut adapter = stand.start(environment, &uri, DATABASE, phase, 0)?;
    // Inserted documents have a collection of their own: the keys are the same.
    let own = if phase == "insert_one" { "inserted_by_loop" } else { collection.as_str() };
    let pool = stand.pool(&collection).display().to_string();
    let words = [uri.as_str(), DATABASE, own, phase, &threads.to_string(), &pool];
    let mut bare = Loop::start(environment, program, &words)?;
    let warmup = (environment.warmup_s / TURN.as_secs_f64()).ceil() as u32;
    let rates = pairs(count, warmup, |side| match side {
        0 => stand.turn(&mut adapter, TURN),
        _ => bare.turn(TURN),
    })?;
    stand.end(adapter)?;
    Ok(rates)
}

/// A hand-written loop that lives, as an adapter does.
struct Loop {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Loop {
    fn start(
        environment: &Environment,
        program: &[String],
        words: &[&str],
    ) -> Result<Self, String> {
        let mut command = environment.command(program);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{program:?}: {error}"))?;
        let stdin = child.stdin.take().expect("piped");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        Ok(Self { child, stdin, stdout })
    }

    /// Lets it go for a while; answers operations a second.
    fn turn(&mut self, length: Duration) -> Result<f64, String> {
        let mut line = String::new();
        let asked = writeln!(self.stdin, "{}", length.as_millis());
        let answered = asked.and_then(|()| self.stdout.read_line(&mut line));
        let numbers: Vec<f64> = line.split_whitespace().filter_map(|it| it.parse().ok()).collect();
        match (answered, &numbers[..]) {
            (Ok(_), [operations, ns]) => Ok(operations * 1e9 / ns),
            _ => Err("a loop ended; what it said stands above".to_owned()),
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The loop's program and arguments, built if its language wants that.
fn program(environment: &Environment) -> Result<Vec<String>, String> {
    let source = |name: &str| benches(&format!("loops/{}/{name}", environment.adapter));
    match environment.adapter.as_str() {
        "python" => Ok(vec![environment.start[0].clone(), source("loop.py")]),
        "node" => Ok(vec![environment.start[0].clone(), source("loop.mjs")]),
        "go" => build_go(environment, &source("main.go")),
        "rust" => build_rust(environment, &source("main.rs")),
        other => Err(format!("there is no loop for {other}")),
    }
}

/// A package with the adapter's modules.
fn build_go(environment: &Environment, source: &str) -> Result<Vec<String>, String> {
    let folder = package(environment, &["go.mod", "go.sum"])?;
    copy(Path::new(source), &folder.join("main.go"))?;
    let flags = ["GOTOOLCHAIN=local", "GOWORK=off", "GOFLAGS=-mod=readonly"];
    let words = ["go", "build", "-buildvcs=false", "-trimpath", "-o", "loop", "."];
    finish(Command::new("env").args(flags).args(words), &folder)?;
    Ok(vec![folder.join("loop").display().to_string()])
}

/// An example of the adapter's package: its manifest, lock file and compiled dependencies serve
/// both.
fn build_rust(environment: &Environment, source: &str) -> Result<Vec<String>, String> {
    let folder = package(environment, &["Cargo.toml", "Cargo.lock"])?;
    for (name, text) in [("examples/loop.rs", source), ("src/adapter.rs", source)] {
        copy(Path::new(text), &folder.join(name))?;
    }
    let target = environment.folder.join("target");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "--example", "loop", "--target-dir"]);
    finish(cargo.arg(&target), &folder)?;
    Ok(vec![target.join("release/examples/loop").display().to_string()])
}

/// A folder with some files of the adapter's environment.
fn package(environment: &Environment, files: &[&str]) -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loops").join(&environment.adapter);
    for name in files {
        copy(&environment.folder.join(name), &folder.join(name))?;
    }
    Ok(folder)
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let parent = to.parent().expect("below a folder");
    let copied = fs::create_dir_all(parent).and_then(|()| fs::copy(from, to));
    copied.map(|_| ()).map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
}

/// Runs a compiler to its end.
fn finish(command: &mut Command, folder: &Path) -> Result<(), String> {
    let output = command.current_dir(folder).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}
