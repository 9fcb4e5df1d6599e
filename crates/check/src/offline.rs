//! Checks that need no external server: vectors, wake-up, the two ways to end.

use std::path::Path;
use std::time::Duration;

use crate::{ANSWER_TIMEOUT, CheckResult, ask, sampled, start, vectors};
use adapter::adapter_process::AdapterProcess;
use adapter::environment::Environment;
use adapter::protocol::{AdapterAnswer, AdapterRequest, Prepare};
use base::child::usable_cores;
use base::clock::Epoch;
use measure::input_files::noop_prepare;
use measure::input_files::write_noop_schedule;
use stats::descriptive::quantile;

/// Longest median time from message to first operation, us (SPEC section 7).
const WAKEUP_MAX_US: f64 = 1000.0;
/// Longest time in nine of ten turns, us. A busy machine adds a millisecond or two to some of them.
const WAKEUP_P90_MAX_US: f64 = 5000.0;
const WAKEUP_TURNS: usize = 20;
/// Length of a turn; in shorter ones a runtime that is slow to yield its processor is seldom
/// noticed.
const WAKEUP_TURN: Duration = Duration::from_millis(50);
/// Longest wait until a stopped adapter has ended (SPEC section 1).
const ENDS: Duration = Duration::from_secs(5);

pub async fn check(environment: &Environment, folder: &Path, epoch: &Epoch) -> Vec<CheckResult> {
    let mut checked = vectors::replay(environment, folder, epoch).await;
    checked.push(CheckResult::of(
        "wake-up on one core below 1 ms",
        wakeup(environment, folder, epoch).await,
    ));
    checked.push(CheckResult::of("stop signal in a turn", stop(environment, folder, epoch).await));
    let idle = stop_between_turns(environment, folder, epoch).await;
    checked.push(CheckResult::of("stop signal between two turns", idle));
    for in_turn in [false, true] {
        let name = if in_turn { "end of its input in a turn" } else { "end of its input" };
        let ended = end_of_input(environment, folder, epoch, in_turn).await;
        checked.push(CheckResult::of(name, ended));
    }
    checked
}

/// Starts a process that is ready for no-ops without end.
async fn ready(
    environment: &Environment,
    folder: &Path,
    epoch: &Epoch,
) -> Result<AdapterProcess, String> {
    let schedule = folder.join("check.schedule");
    write_noop_schedule(&schedule, 1, 64).map_err(|error| error.to_string())?;
    let mut prepare = noop_prepare(&folder.join("check.bin"), &schedule);
    prepare.limits = None;
    let mut process = start(environment, folder, epoch).await?;
    let prepare = AdapterRequest::Prepare(Box::new(Prepare::Worker(prepare)));
    ask(&mut process, &prepare, "ready", ANSWER_TIMEOUT).await?;
    Ok(process)
}

/// Checks the best of three attempts: a neighbour's burst is not the adapter's fault. On one core,
/// which is what clients have if server and clients have separate cores, a runtime has to yield its
/// only processor: Go's took 10 to 20 ms in every second turn, and 0.2 ms on two cores.
async fn wakeup(environment: &Environment, folder: &Path, epoch: &Epoch) -> Result<(), String> {
    let cores = usable_cores().into_iter().take(1).collect();
    let environment = &Environment { cores, ..environment.clone() };
    let mut process = ready(environment, folder, epoch).await?;
    let mut said = String::new();
    for _ in 0..3 {
        let mut wakeups_us = Vec::new();
        for _ in 0..WAKEUP_TURNS {
            let sent_ns = epoch.now_ns();
            let turn = AdapterRequest::Turn { until_ns: sent_ns + WAKEUP_TURN.as_nanos() as u64 };
            let answer = ask(&mut process, &turn, "turn_done", ANSWER_TIMEOUT).await?;
            let AdapterAnswer::TurnDone(done) = answer else {
                unreachable!("`ask` has looked at its name")
            };
            wakeups_us.push(done.began_ns.saturating_sub(sent_ns) as f64 / 1e3);
        }
        let [p50, p90] = [0.5, 0.9].map(|q| quantile(&wakeups_us, q).unwrap_or(f64::INFINITY));
        if p50 < WAKEUP_MAX_US && p90 < WAKEUP_P90_MAX_US {
            return process.close().await.map_err(|error| error.to_string());
        }
        let [p50, p90] = [p50, p90].map(|it| format::fixed(it, 0));
        said = format!("from message to first operation p50 {p50} us, p90 {p90} us");
    }
    Err(said)
}

/// Begins a turn of a minute, and waits until it is under way.
async fn begin(process: &mut AdapterProcess, epoch: &Epoch) {
    process.send(&AdapterRequest::Turn { until_ns: epoch.now_ns() + 60_000_000_000 }).await;
    tokio::time::sleep(Duration::from_millis(150)).await;
}

/// Sends SIGTERM in the middle of a long turn: in-flight work ends, samples are written, exit code
/// 0.
async fn stop(environment: &Environment, folder: &Path, epoch: &Epoch) -> Result<(), String> {
    let mut process = ready(environment, folder, epoch).await?;
    begin(&mut process, epoch).await;
    stopped(&mut process).await?;
    if sampled::read(&folder.join("check.bin"))?.is_empty() {
        return Err("its samples were not written".to_owned());
    }
    Ok(())
}

async fn stop_between_turns(
    environment: &Environment,
    folder: &Path,
    epoch: &Epoch,
) -> Result<(), String> {
    let mut process = ready(environment, folder, epoch).await?;
    stopped(&mut process).await
}

async fn stopped(process: &mut AdapterProcess) -> Result<(), String> {
    process.stop();
    match process.wait(ENDS).await {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("it ended with {status}")),
        None => Err(format!("it runs on {} s after the signal", ENDS.as_secs())),
    }
}

/// Checks that an adapter whose core has ended ends as well, with any code.
async fn end_of_input(
    environment: &Environment,
    folder: &Path,
    epoch: &Epoch,
    in_turn: bool,
) -> Result<(), String> {
    let mut process = ready(environment, folder, epoch).await?;
    if in_turn {
        begin(&mut process, epoch).await;
    }
    process.close_input();
    match process.wait(ENDS).await {
        Some(_) => Ok(()),
        None => Err(format!("it lives on {} s after its input has ended", ENDS.as_secs())),
    }
}
