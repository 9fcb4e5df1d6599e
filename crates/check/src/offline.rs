//! Checks that need no server: vectors, samples, wake-up, the two ways to end.

use std::path::Path;
use std::time::Duration;

use crate::{ANSWER_TIMEOUT, Checked, ask, equal, start, vectors};
use adapter::environment::Environment;
use adapter::messages::{Answer, Prepare, Request, Turned};
use adapter::process::AdapterProcess;
use base::clock::Epoch;
use measure::arm::noop_prepare;
use measure::input_files::write_noop_schedule;
use record::samples::{Samples, WARMUP};
use stats::descriptive::median;

/// Longest median time from message to first operation, us (SPEC section 5).
const WAKEUP_MAX_US: f64 = 1000.0;
const WAKEUP_TURNS: usize = 40;
/// Most turns of the phase whose samples are checked.
const TURNS_MAX: usize = 200;

pub async fn check(environment: &Environment, folder: &Path, epoch: &Epoch) -> Vec<Checked> {
    let mut checked = vectors::replay(environment, folder, epoch).await;
    checked.push(Checked::of("samples of a phase", samples(environment, folder, epoch).await));
    checked.push(Checked::of("wake-up below 1 ms", wakeup(environment, folder, epoch).await));
    checked.push(Checked::of("stop signal in a turn", stop(environment, folder, epoch).await));
    checked.push(Checked::of("end of its input", end_of_input(environment, folder, epoch).await));
    checked
}

async fn armed(
    environment: &Environment,
    folder: &Path,
    epoch: &Epoch,
    change: impl Fn(&mut Prepare),
) -> Result<AdapterProcess, String> {
    let schedule = folder.join("check.schedule");
    write_noop_schedule(&schedule, 2, 64).map_err(|it| it.to_string())?;
    let mut prepare = noop_prepare(&folder.join("check.bin"), &schedule);
    prepare.workers = 2;
    prepare.counter.stride = 2;
    prepare.limits = None;
    change(&mut prepare);
    let mut process = start(environment, folder, epoch).await?;
    ask(&mut process, &Request::Prepare(Box::new(prepare)), "armed", ANSWER_TIMEOUT).await?;
    Ok(process)
}

async fn turn(process: &mut AdapterProcess, until_ns: u64) -> Result<Turned, String> {
    let request = Request::Turn { start_ns: 0, until_ns };
    match ask(process, &request, "turned", ANSWER_TIMEOUT).await? {
        Answer::Turned(turned) => Ok(turned),
        _ => unreachable!("`ask` has looked at its name"),
    }
}

/// Turns of two workers: checks the place and values of each sample.
async fn samples(environment: &Environment, folder: &Path, epoch: &Epoch) -> Result<(), String> {
    let mut process = armed(environment, folder, epoch, |prepare| {
        prepare.limits = Some(vec![100_000, 70]);
        prepare.first_worker = 6;
    })
    .await?;
    let mut turns: Vec<(Turned, u64)> = Vec::new();
    let done = |turns: &[(Turned, u64)]| {
        turns.len() >= 2 && turns.iter().map(|(turned, _)| turned.operations).sum::<u64>() >= 10_000
    };
    // On a busy machine two turns may not reach the limit: a global lock may give a whole turn of 5
    // ms to one worker.
    while !done(&turns) && turns.len() < TURNS_MAX {
        let until_ns = epoch.now_ns() + 5_000_000;
        turns.push((turn(&mut process, until_ns).await?, until_ns));
    }
    let Answer::Ended(ended) = ask(&mut process, &Request::End, "ended", ANSWER_TIMEOUT).await?
    else {
        unreachable!("`ask` has looked at its name")
    };
    let mut next = [0, 0];
    let mut by_deadline = vec![0; turns.len()];
    let file = Samples::open(&folder.join("check.bin")).map_err(|it| it.to_string())?;
    for sample in file {
        let sample = sample.map_err(|it| it.to_string())?;
        let worker =
            usize::from(sample.worker.checked_sub(6).ok_or("a worker below first_worker")?);
        let expected = next.get_mut(worker).ok_or("a worker above the last one")?;
        equal("index of a sample", &sample.index, expected)?;
        *expected += 1;
        equal("outcome (a warm-up is flagged)", &sample.outcome, &WARMUP)?;
        equal("intended start in a closed loop", &sample.intended_ns, &sample.start_ns)?;
        let inside = |turn: &(Turned, u64)| {
            (turn.0.began_ns..=turn.0.ended_ns).contains(&sample.start_ns)
                && sample.end_ns() <= turn.0.ended_ns
        };
        let at = turns.iter().position(inside).ok_or("a sample lies outside of every turn")?;
        by_deadline[at] += u64::from(sample.end_ns() <= turns[at].1);
    }
    let seen = u64::from(next[0] + next[1]);
    equal("samples of the second worker, limited to 70", &next[1], &70)?;
    equal("`ended.samples`", &ended.samples, &seen)?;
    equal("`ended.operations`", &ended.operations, &seen)?;
    let turned: u64 = turns.iter().map(|(turned, _)| turned.operations).sum();
    equal("operations of all turns", &turned, &seen)?;
    for (at, (turned, _)) in turns.iter().enumerate() {
        equal("`completed_by_deadline`", &turned.completed_by_deadline, &by_deadline[at])?;
    }
    process.close().await.map_err(|it| it.to_string())
}

/// The median of 40 turns, the best of three times: a neighbour's burst is not the adapter's.
async fn wakeup(environment: &Environment, folder: &Path, epoch: &Epoch) -> Result<(), String> {
    let mut process = armed(environment, folder, epoch, |_| {}).await?;
    let mut best_us = f64::INFINITY;
    for _ in 0..3 {
        let mut wakeups_us = Vec::new();
        for _ in 0..WAKEUP_TURNS {
            tokio::time::sleep(Duration::from_millis(5)).await;
            let sent_ns = epoch.now_ns();
            let turned = turn(&mut process, sent_ns + 3_000_000).await?;
            wakeups_us.push(turned.began_ns.saturating_sub(sent_ns) as f64 / 1e3);
        }
        best_us = best_us.min(median(&wakeups_us).unwrap_or(f64::INFINITY));
        if best_us < WAKEUP_MAX_US {
            return process.close().await.map_err(|it| it.to_string());
        }
    }
    Err(format!("median {} us from message to first operation", figures::fixed(best_us, 0)))
}

/// SIGTERM in the middle of a long turn: in-flight work ends, samples are written, exit code 0.
async fn stop(environment: &Environment, folder: &Path, epoch: &Epoch) -> Result<(), String> {
    let mut process = armed(environment, folder, epoch, |_| {}).await?;
    let declared = process.hello.as_ref().map(|it| it.capabilities.stop.clone());
    process.send(&Request::Turn { start_ns: 0, until_ns: epoch.now_ns() + 60_000_000_000 }).await;
    tokio::time::sleep(Duration::from_millis(150)).await;
    if declared.as_deref() == Some("stdin") {
        process.send(&Request::Stop).await;
    } else {
        process.stop();
    }
    match process.wait(Duration::from_secs(5)).await {
        Some(status) if status.success() => {}
        Some(status) => return Err(format!("it ended with {status}")),
        None => return Err("it runs on 5 s after the signal".to_owned()),
    }
    let file = Samples::open(&folder.join("check.bin")).map_err(|it| it.to_string())?;
    if file.count() == 0 {
        return Err("its samples were not written".to_owned());
    }
    Ok(())
}

/// An adapter whose core has gone ends as well.
async fn end_of_input(
    environment: &Environment,
    folder: &Path,
    epoch: &Epoch,
) -> Result<(), String> {
    let mut process = start(environment, folder, epoch).await?;
    process.close_input();
    match process.wait(Duration::from_secs(5)).await {
        Some(_) => Ok(()),
        None => Err("it lives on 5 s after its input has ended".to_owned()),
    }
}
