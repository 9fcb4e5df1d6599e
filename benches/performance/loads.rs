//! Loading in batches against a hand-written loop with the same batches and threads, by the fastest
//! adapter, on the embedded server: what `study bulk-load` takes of a driver's rate.

use std::time::Duration;

use server::{Host, InstallProgress, Program, StartOptions};
use stats::descriptive::median;
use tokio::runtime::Runtime;

use crate::loops::{Loop, program};
use crate::stand::{DATABASE, Stand, environment, pairs};
use crate::support::{Bench, Outcome, ratio, table};

/// The least CPU an operation (`make bench -- recording`).
const FASTEST: &str = "c";
const PHASE: &str = "insert_small";
const BATCH: f64 = 1000.0;
const THREADS: [u32; 2] = [1, 4];
/// Some fifty batches.
const TURN: Duration = Duration::from_millis(500);
const PAIRS: u32 = 20;
const GOAL: f64 = 0.8;

pub fn run(bench: &Bench) -> Outcome {
    let environment = environment(FASTEST)?;
    let program = program(&environment)?;
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let (mut rows, mut reached) = (Vec::new(), true);
    for threads in THREADS {
        let mut options = StartOptions::new(bench.fresh());
        options.guard_program = Some(env!("CARGO_BIN_EXE_mongodyno").into());
        let started = async {
            let host = Host::detect()?;
            let mongod = Program::embedded(&host, None, InstallProgress { quiet: true })?;
            server::start(&host, &mongod, &options).await
        };
        let server = runtime.block_on(started).map_err(|error| error.to_string())?;
        let uri = server.uri();
        let mut stand = Stand::of(bench, "insert-many", threads)?;
        let collection = stand.load(uri, DATABASE, PHASE)?;
        let mut adapter = stand.start(&environment, uri, DATABASE, PHASE, 0)?;
        let pool = stand.pool(&collection)?;
        let threads = threads.to_string();
        let words = [uri, DATABASE, "loaded_by_loop", "insert_many", &threads, &pool];
        let mut bare = Loop::start(&environment, &program, &words)?;
        let [adapter_rates, loop_rates] = pairs(PAIRS, 4, |side| match side {
            0 => stand.turn(&mut adapter, TURN),
            _ => bare.turn(TURN),
        })?;
        stand.end(adapter)?;
        let both = adapter_rates.iter().zip(&loop_rates);
        let ratios: Vec<f64> = both.map(|(adapter, bare)| (adapter / bare).ln()).collect();
        let (middle, text) = ratio(&ratios)?;
        reached &= middle >= GOAL;
        let rate = |values: &[f64]| format!("{:.0}", median(values).unwrap_or(f64::NAN) * BATCH);
        rows.push(vec![threads, rate(&adapter_rates), rate(&loop_rates), text]);
    }
    let head = ["threads", "adapter documents/s", "loop documents/s", "ratio [95 %]"];
    table(&head, &rows);
    println!("\n{FASTEST}, batches of 1,000 documents of 275 bytes; goal: at least {GOAL}");
    Ok(reached)
}
