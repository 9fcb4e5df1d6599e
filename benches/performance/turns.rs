//! Scatter of the rounds' A/A log ratios, on a quiet and on a disturbed machine. Before and after:
//! cores kept awake, laps added.
//!
//! Experiments with and without awake cores alternate, so that disturbances fall on both alike. The
//! effect of fewer laps is computed from the first turns of each round.

use record::records::PhaseRun;

use crate::support::{Bench, Condition, Outcome, benches, deviation, percent, table};
use crate::turns_and_runs;

const PHASE: &str = "find_one";
/// Measured seconds of the workload.
const MEASURED_S: f64 = 1.0;
/// Experiments of each kind, and rounds of each.
const BLOCKS: usize = 2;
const LONG_BLOCKS: usize = 5;
const ROUNDS: &str = "4";
/// The scatter was largest there.
const SHORT_ADAPTER: &str = "rust";
const LAPS_MIN: usize = 40;

/// Log ratios of the A/A arm to the baseline, one a round.
#[derive(Default)]
struct Kind {
    /// From as many laps as were planned.
    planned: Vec<f64>,
    /// From all.
    all: Vec<f64>,
    laps: Vec<f64>,
    /// Whether threads of idle priority were at work.
    awake: bool,
}

/// Prints a row for each adapter and condition of the machine; the long form holds turns against
/// whole runs besides.
pub fn run(bench: &Bench) -> Outcome {
    let mut rows = Vec::new();
    let mut reached = true;
    let short = bench.adapters.iter().find(|it| *it == SHORT_ADAPTER);
    let short = short.or(bench.adapters.first());
    for adapter in bench.adapters.iter().filter(|it| bench.long || Some(*it) == short) {
        for (condition, goal) in [(Condition::Quiet, 0.015), (Condition::Disturbed, 0.03)] {
            let kinds = measure(bench, adapter, condition)?;
            reached &= deviation(&kinds[1].all) <= goal;
            rows.push(row(adapter, condition, &kinds, goal));
        }
    }
    let head = [
        "adapter",
        "machine",
        "halting, laps as planned",
        "halting, laps added",
        "awake, laps as planned",
        "awake, laps added",
        "goal",
        "laps a round",
        "rounds",
        "awake",
    ];
    table(&head, &rows);
    println!(
        "\nmongodyno run benches/workloads/turns.yaml --phase {PHASE} --set seconds={MEASURED_S}, \
         with and without --no-keep-awake; standard deviation of ln(throughput of the A/A arm / \
         throughput of the baseline)\ngoal: at most 1.5 % on a quiet machine, 3 % beside a process \
         that works half of the time\n"
    );
    if bench.long {
        reached &= turns_and_runs::run(bench)?;
    }
    Ok(reached && !rows.is_empty())
}

/// Without awake cores, and with them.
fn measure(bench: &Bench, adapter: &str, condition: Condition) -> Result<[Kind; 2], String> {
    let workload = benches("workloads/turns.yaml");
    let seconds = format!("seconds={MEASURED_S}");
    let words = [&workload[..], "-d", adapter, "--phase", PHASE, "--set", &seconds];
    let words = [&words[..], &["--rounds", ROUNDS, "--interleave", "turns"]].concat();
    let mut kinds = [Kind::default(), Kind::default()];
    for block in 0..if bench.long { LONG_BLOCKS } else { BLOCKS } {
        for kind in if block % 2 == 0 { [0, 1] } else { [1, 0] } {
            let more: &[&str] = if kind == 0 { &["--no-keep-awake"] } else { &[] };
            let measured = bench.experiment_on(condition, &[], &[&words[..], more].concat())?;
            let into = &mut kinds[kind];
            let ratios = |value: fn(&PhaseRun) -> f64| -> Vec<f64> {
                let [base, twin] = [0, 1].map(|arm| measured.by_round(arm, PHASE, value));
                base.iter().zip(&twin).map(|(base, twin)| (twin / base).ln()).collect()
            };
            into.planned.extend(ratios(planned_throughput));
            into.all.extend(ratios(|run| run.throughput));
            into.laps.extend(measured.by_round(0, PHASE, |run| f64::from(run.turns)));
            let awake = measured.experiment.machine.keep_awake.as_ref();
            into.awake |= awake.is_some_and(|it| it.used);
        }
    }
    Ok(kinds)
}

/// Operations a second in the laps that the plan asks for.
fn planned_throughput(run: &PhaseRun) -> f64 {
    let planned = (MEASURED_S * 1e3 / run.turn_ms).ceil() as usize;
    let planned = planned.max(LAPS_MIN).min(run.turn_throughputs.len());
    run.turn_throughputs[..planned].iter().sum::<f64>() / planned.max(1) as f64
}

fn row(adapter: &str, condition: Condition, kinds: &[Kind; 2], goal: f64) -> Vec<String> {
    let [halting, awake] = kinds;
    let laps = |kind: &Kind| kind.laps.iter().sum::<f64>() / kind.laps.len().max(1) as f64;
    vec![
        adapter.to_owned(),
        condition.name().to_owned(),
        percent(deviation(&halting.planned)),
        percent(deviation(&halting.all)),
        percent(deviation(&awake.planned)),
        percent(deviation(&awake.all)),
        percent(goal),
        format!("{:.0} / {:.0}", laps(halting), laps(awake)),
        format!("{} / {}", halting.all.len(), awake.all.len()),
        if awake.awake { "yes" } else { "not needed" }.to_owned(),
    ]
}
