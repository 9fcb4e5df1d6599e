//! The core drains at least 1.5 million samples a second from one adapter.
//!
//! Reads samples of four workers in turns of 50 ms, as an adapter writes them and a run reads them.
//! That checks answers and makes histograms, intervals and Little's law. A fresh process does it,
//! so that its peak memory is that of draining.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use adapter::protocol::{PhaseEnd, ReadTotals};
use base::child;
use measure::input_files::InputFiles;
use measure::measured::{Claimed, MeasuredPhase};
use measure::summary::{PhaseSource, summarise};
use measure::turn::{ArmTurn, Turned};
use record::folder::Folder;
use record::samples::{SAMPLE_BYTES, Sample};
use tokio::runtime::Builder;
use workload::{Workload, builtin};

use crate::support::{Bench, Outcome, megabytes, table};

/// First word of the command line of the process that drains.
pub const CHILD: &str = "drain-child";
const SAMPLES: u64 = 10_000_000;
const WORKERS: u64 = 4;
const TURN_NS: u64 = 50_000_000;
/// Between the starts of an arm's turns: another arm's turn lies between.
const LAP_NS: u64 = 110_000_000;
const SAMPLES_PER_SECOND_MIN: f64 = 1.5e6;
const MEMORY_BYTES_MAX: u64 = 200_000_000;

/// Measures it three times, each in a separate process.
pub fn run(bench: &Bench) -> Outcome {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut rows = Vec::new();
    let mut reached = true;
    for number in 0..3 {
        let folder = bench.scratch.join(format!("drain{number}"));
        let mut command = Command::new(&own);
        command.arg(CHILD).arg(SAMPLES.to_string()).arg(&folder);
        let output = command.output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let figures: Vec<f64> = text.split_whitespace().filter_map(|it| it.parse().ok()).collect();
        let [seconds, peak_bytes] = figures[..] else {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        };
        let rate = SAMPLES as f64 / seconds;
        reached &= rate >= SAMPLES_PER_SECOND_MIN && peak_bytes < MEMORY_BYTES_MAX as f64;
        rows.push(vec![
            SAMPLES.to_string(),
            format!("{seconds:.2}"),
            format!("{:.2}", rate / 1e6),
            format!("{:.0}", rate * SAMPLE_BYTES as f64 / 1e6),
            megabytes(peak_bytes as u64),
        ]);
        let _ = std::fs::remove_dir_all(&folder);
    }
    table(&["samples", "s", "million/s", "MB/s", "peak MB"], &rows);
    println!("\ngoal: 1.5 million/s (48 MB/s), peak below 200 MB");
    Ok(reached)
}

/// Prints seconds and peak bytes.
pub fn child(words: &[String]) -> ExitCode {
    let [samples, folder] = words else { return ExitCode::from(2) };
    let count = samples.parse().expect("a number of samples");
    match drain(count, Path::new(folder)) {
        Ok((seconds, peak_bytes)) => {
            println!("{seconds} {peak_bytes}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn drain(count: u64, path: &Path) -> Result<(f64, u64), String> {
    let text = |error: base::error::Error| error.to_string();
    let folder = Folder::create(path).map_err(text)?;
    let sets = BTreeMap::from([("threads".to_owned(), WORKERS.to_string())]);
    let workload = builtin::open("crud", &sets, 1).map_err(|error| error.to_string())?;
    let Workload { plan, pools, .. } = workload;
    let inputs =
        InputFiles::write(&plan, &BTreeSet::from([None]), pools, &folder, 3.0).map_err(text)?;
    let named = plan.phases.iter().position(|phase| phase.name == "find_one");
    let number = named.expect("crud has find_one");
    let file = PathBuf::from(inputs.samples(1, 0, number, 0, false));
    let turns = write_samples(count, &file).map_err(|error| error.to_string())?;
    let mut measured = MeasuredPhase::new(0);
    measured.ended = Some(PhaseEnd {
        totals: ReadTotals { documents: count, sum: 0, retries: None },
        ..PhaseEnd::default()
    });
    measured.turns = turns;
    measured.claimed = Claimed { counts: vec![count], fault: None };
    measured.turn_length = Duration::from_nanos(TURN_NS);

    let began = Instant::now();
    let source = PhaseSource {
        plan: &plan,
        number,
        files: vec![file],
        inputs: &inputs,
        exclusive: false,
        hlog: "hlog/drain.hlog".to_owned(),
        arm: "drained",
        tapped: None,
    };
    let runtime = Builder::new_current_thread().build().map_err(|error| error.to_string())?;
    let run = runtime.block_on(summarise(&source, &measured, &folder)).map_err(text)?;
    let seconds = began.elapsed().as_secs_f64();
    let counted: u64 = run.by_operation.iter().map(|operation| operation.count).sum();
    assert_eq!(counted, count, "every sample is counted");
    assert_eq!(run.answers.documents_expected, Some(count), "every sample finds its record");
    let (_, peak_bytes) = child::rss_bytes(nix::unistd::getpid()).expect("/proc tells");
    Ok((seconds, peak_bytes))
}

/// Writes samples as four workers do, each its own at the end of a turn; answers the turns.
fn write_samples(count: u64, path: &Path) -> std::io::Result<Vec<ArmTurn>> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut indices = [0_u32; WORKERS as usize];
    let (mut turns, mut written) = (Vec::new(), 0);
    while written < count {
        let began_ns = turns.len() as u64 * LAP_NS;
        let (mut operations, mut late, mut ended_ns) = (0, 0, began_ns);
        for (worker, index) in indices.iter_mut().enumerate() {
            let mut start_ns = began_ns + 20_000;
            while start_ns < began_ns + TURN_NS && written < count {
                let service_ns = service_ns(&mut random);
                let sample = Sample {
                    intended_ns: start_ns,
                    start_ns,
                    service_ns,
                    index: *index,
                    operation: 0,
                    outcome: 0,
                    worker: worker as u16,
                };
                file.write_all(&sample.to_bytes())?;
                *index += 1;
                written += 1;
                operations += 1;
                late += u64::from(sample.end_ns() > began_ns + TURN_NS);
                ended_ns = ended_ns.max(sample.end_ns());
                start_ns = sample.end_ns() + 3_000;
            }
        }
        let turned = Turned {
            began_ns,
            ended_ns,
            operations,
            completed_by_deadline: operations - late,
            errors: 0,
            exhausted: false,
            gave_up: false,
        };
        turns.push(ArmTurn { turned, until_ns: began_ns + TURN_NS, cpu_ns: TURN_NS });
    }
    file.flush()?;
    Ok(turns)
}

/// 80 us and an exponential tail of 40 us; one in a thousand takes milliseconds.
fn service_ns(random: &mut u64) -> u64 {
    // xorshift64: a stream of plausible times needs no better randomness.
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    let uniform = ((*random >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    let tail = if random.is_multiple_of(1000) { 1_500_000.0 } else { 40_000.0 };
    80_000 + (-uniform.ln() * tail) as u64
}
