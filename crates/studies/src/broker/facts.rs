//! How messages are issued, and what became of them, by the records.

use super::rows::in_phase;
use base::say::clean;
use record::records::{Broker, Experiment, Run};
use workload::plan::{Limit, Pacing, Phase};

pub fn pacing(phase: &Phase) -> String {
    let how = match phase.pacing {
        Pacing::Awaited { think_ns: 0 } => {
            "Each worker waits for an insert before it makes the next message".to_owned()
        }
        Pacing::Awaited { think_ns } => format!(
            "Each worker waits for an insert, then sleeps {} before it makes the next message",
            format::time(think_ns as f64 / 1e3)
        ),
        Pacing::Window { size } => format!("Each worker keeps {size} inserts in flight"),
        Pacing::Rate { per_second, poisson } => {
            let poisson = if poisson { ", at random times" } else { "" };
            format!("{} messages a second{poisson}", format::figure(per_second))
        }
        Pacing::Burst {} => {
            "All messages are intended at the start; each driver issues them with the concurrency \
             it has"
                .to_owned()
        }
    };
    let workers = if phase.workers == 1 { "worker" } else { "workers" };
    let limit = match phase.limit {
        Limit::Operations { count, seconds_max } => {
            let seconds = seconds_max.map_or(String::new(), |s| format!(", at most {s} s"));
            format!("; {} messages an arm and round{seconds}", format::count(count))
        }
        Limit::Duration { seconds } => {
            seconds.map_or(String::new(), |seconds| format!("; {seconds} s an arm and round"))
        }
    };
    format!("{how}; {} {workers} a process{limit}.", phase.workers)
}

/// Messages that did not arrive once and only once, and troubles of the consumer. A sentence an arm
/// and phase, with the rounds through the tap.
pub fn lost(experiment: &Experiment, runs: &[Run]) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut sent, mut received) = (0, 0);
    for phase in &experiment.plan.phases {
        for arm in &experiment.arms {
            let good = runs.iter().filter(|run| run.arm == arm.id && run.failed.is_none());
            let brokers: Vec<&Broker> =
                good.filter_map(|run| in_phase(run, &phase.name)?.broker.as_ref()).collect();
            sent += brokers.iter().map(|broker| broker.sent).sum::<u64>();
            received += brokers.iter().map(|broker| broker.received).sum::<u64>();
            let troubles = troubles(&brokers);
            if !troubles.is_empty() {
                let text = format!("{}, {}: {}.", arm.id, phase.name, troubles.join("; "));
                lines.push(clean(&text));
            }
        }
    }
    let of = format!("{} of {} messages arrived", format::count(received), format::count(sent));
    let rest = if lines.is_empty() { ", each once; the consumer kept up" } else { "" };
    lines.insert(0, format!("In all {of}{rest}."));
    lines
}

fn troubles(brokers: &[&Broker]) -> Vec<String> {
    let sum = |of: fn(&Broker) -> u64| brokers.iter().map(|broker| of(broker)).sum::<u64>();
    let runs = |of: fn(&Broker) -> bool| brokers.iter().filter(|broker| of(broker)).count();
    let counts = [
        (sum(|it| it.lost), "lost"),
        (sum(|it| it.duplicates), "received twice"),
        (sum(|it| it.unclaimed), "received though their insert was not reported as done"),
    ];
    let mut troubles: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", format::count(count)))
        .collect();
    let reopened = sum(|it| it.consumer.cursors.saturating_sub(1));
    if reopened > 0 {
        let overwritten = format::count(sum(|it| it.consumer.positions_lost));
        let reopened = format::count(reopened);
        troubles.push(format!(
            "the consumer's cursor died {reopened} times, its position was overwritten in \
             {overwritten} of them"
        ));
    }
    let states = [
        (runs(|it| it.consumer.saturated), "the consumer was saturated"),
        (runs(|it| it.consumer.cut_short), "the consumer ended before the last message"),
    ];
    for (count, what) in states.into_iter().filter(|(count, _)| *count > 0) {
        troubles.push(format!("{what} in {count} of {} runs", brokers.len()));
    }
    troubles
}
