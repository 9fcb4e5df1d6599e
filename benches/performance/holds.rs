//! Injected delays come back: holds of the absorber in every adapter's p50, and a stall in response
//! times alone.
//!
//! The absorber logs the arrival of each command and the release of its answer. The median of that
//! is the report of a perfect client. An adapter's p50 holds more: the way between its clock
//! readings and the absorber's, and its own bookkeeping. That is its floor: the no-op cost that
//! every result publishes, and its p50 on the absorber without a hold.

use std::path::Path;

use absorber::holds::{Hold, HoldLog};
use record::records::{PhaseRun, Quantiles};
use stats::descriptive::median;

use crate::servers::Listening;
use crate::support::{Bench, Measured, Outcome, benches, table};

const HOLDS: [&str; 3] = ["200us", "1ms", "10ms"];
const ROUNDS: &str = "2";
const LONG_ROUNDS: &str = "6";
/// An adapter's p50 agrees with the holds within this part of them, or ...
const RELATIVE_MAX: f64 = 0.05;
/// ... within so many us, whichever is more, plus its floor.
const ABSOLUTE_MAX_US: f64 = 30.0;

/// 100 ms in every 5 s: 2 % of an open loop's operations become due during it.
const STALL: &str = "100ms/5s";
/// Seconds at 2,000 operations a second: p99 needs 10,000 of them, p99.9 100,000.
const STALL_SECONDS: &str = "seconds=15";
const LONG_STALL_SECONDS: &str = "seconds=60";
/// Half of those 2 % wait for 50 ms and more, so p99 of response is near 50 ms.
const RESPONSE_P99_MIN_US: f64 = 25_000.0;
/// One operation in 10,000 is being served while the stall begins.
const SERVICE_P99_MAX_US: f64 = 5_000.0;

pub fn run(bench: &Bench) -> Outcome {
    let held = holds(bench)?;
    println!();
    let stalled = stalls(bench)?;
    Ok(held && stalled)
}

fn holds(bench: &Bench) -> Outcome {
    let mut rows = Vec::new();
    let mut reached = true;
    for adapter in &bench.adapters {
        let bare = p50(bench, adapter, &[])?;
        let floor_us = bare.noop_us + bare.p50_us;
        for hold in HOLDS {
            let log = bench.fresh().with_extension("holds");
            let path = log.display().to_string();
            let found = p50(bench, adapter, &["--service-time", hold, "--holds", &path])?;
            let held_us = held_us(&log)?;
            let allowed_us = (RELATIVE_MAX * held_us).max(ABSOLUTE_MAX_US) + floor_us;
            let apart_us = found.p50_us - held_us;
            reached &= apart_us.abs() <= allowed_us;
            rows.push(vec![
                adapter.clone(),
                hold.to_owned(),
                format!("{held_us:.1}"),
                format!("{:.1}", found.p50_us),
                format!("{apart_us:.1}"),
                format!("{floor_us:.1}"),
                format!("{allowed_us:.1}"),
            ]);
        }
    }
    let head = ["adapter", "hold", "held us", "p50 us", "apart us", "floor us", "at most us"];
    table(&head, &rows);
    println!(
        "\nfind_one, one worker; held: median of released - arrival, as the absorber logged it; \
         floor: noop_ns and p50 without a hold\ngoal: apart by at most 5 % of the hold or 30 \
         us, plus the floor"
    );
    Ok(reached)
}

struct Reported {
    p50_us: f64,
    noop_us: f64,
}

fn p50(bench: &Bench, adapter: &str, load: &[&str]) -> Result<Reported, String> {
    let absorber = Listening::absorber(bench, load, &[])?;
    let (workload, uri) = (benches("workloads/turns.yaml"), absorber.uri());
    let rounds = if bench.long { LONG_ROUNDS } else { ROUNDS };
    // Whole runs: in turns, an operation that ends a turn would be one of few at 10 ms.
    let words = [
        workload.as_str(),
        "--phase",
        "find_one",
        "--set",
        "seconds=3",
        "-d",
        adapter,
        "--uri",
        &uri,
        "--rounds",
        rounds,
        "--interleave",
        "runs",
    ];
    let measured = bench.experiment(&words)?;
    absorber.finish()?;
    let p50 = |run: &PhaseRun| run.by_operation[0].service.p50_us.unwrap_or(f64::NAN);
    let noops: Vec<f64> = measured.runs.iter().filter_map(|run| run.noop_ns).collect();
    Ok(Reported {
        p50_us: median(&measured.by_round(0, "find_one", p50)).ok_or("no round")?,
        noop_us: median(&noops).ok_or("no calibration")? / 1e3,
    })
}

/// Median of all holds in a log: nearly all of them are of the measured operations.
fn held_us(log: &Path) -> Result<f64, String> {
    let holds = HoldLog::read(log).map_err(|error| format!("{}: {error}", log.display()))?;
    let us = |it: &Hold| (it.released_ns - it.arrival_ns) as f64 / 1e3;
    median(&holds.iter().map(us).collect::<Vec<_>>()).ok_or_else(|| "no hold was logged".to_owned())
}

fn stalls(bench: &Bench) -> Outcome {
    let mut rows = Vec::new();
    let mut reached = true;
    for adapter in &bench.adapters {
        let absorber = Listening::absorber(bench, &["--stall", STALL], &[])?;
        let (workload, uri) = (benches("workloads/stall.yaml"), absorber.uri());
        let seconds = if bench.long { LONG_STALL_SECONDS } else { STALL_SECONDS };
        let words = [&workload, "--set", seconds, "-d", adapter, "--uri", &uri, "--rounds", "1"];
        let measured: Measured = bench.experiment(&words)?;
        let at = |service: fn(&PhaseRun) -> Option<Quantiles>,
                  of: fn(&Quantiles) -> Option<f64>| {
            let runs = &measured.runs[0].phases;
            runs.first().and_then(service).as_ref().and_then(of)
        };
        let service: fn(&PhaseRun) -> Option<Quantiles> = |run| Some(run.by_operation[0].service);
        let response: fn(&PhaseRun) -> Option<Quantiles> = |run| run.by_operation[0].response;
        let (service_p99, response_p99) =
            (at(service, |it| it.p99_us), at(response, |it| it.p99_us));
        reached &= response_p99.is_some_and(|us| us >= RESPONSE_P99_MIN_US)
            && service_p99.is_some_and(|us| us <= SERVICE_P99_MAX_US);
        let ms = |us: Option<f64>| us.map_or("n/a".to_owned(), |us| format!("{:.2}", us / 1e3));
        rows.push(vec![
            adapter.clone(),
            ms(service_p99),
            ms(at(service, |it| it.p999_us)),
            ms(response_p99),
            ms(at(response, |it| it.p999_us)),
        ]);
    }
    let head =
        ["adapter", "service p99 ms", "service p99.9 ms", "response p99 ms", "response p99.9 ms"];
    table(&head, &rows);
    println!(
        "\nopen loop, 2,000 find_one a second, one worker, the absorber stalls for {STALL}\ngoal: \
         p99 of response at least 25 ms, p99 of service at most 5 ms"
    );
    Ok(reached)
}
