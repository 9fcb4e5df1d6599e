//! What became of the messages, by the records.

use super::rows::in_phase;
use base::say::clean;
use record::records::{Broker, Experiment, Run};

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
