//! From the folder to the rows of the scatter: messages are read run by run, and reduced at once.

use super::cloud::{Axes, Cloud};
use super::picture::{Content, Measured, Panel, Row, Since, top};
use base::error::Result;
use base::say::clean;
use record::folder::Folder;
use record::messages::{Message, Messages};
use record::records::{Arm, Broker, Experiment, PhaseRun, Quantiles, Run};
use record::samples::SAMPLE_BUDGET_BYTES;
use record::samples::{SAMPLE_BYTES, Samples};
use stats::curve::Curve;

/// The axis holds the highest block median so many times. A growing curve is seen whole, and a flat
/// one does not lie at the top.
const ABOVE_MEDIANS: f64 = 1.25;
/// The axis also holds the slowest message, if that makes it at most so many times as long.
const STRETCH: f64 = 2.0;

/// The arms that took part in a phase, in the order of the experiment. An arm whose runs all failed
/// counts too: its phases are not known.
pub fn taking_part<'a>(experiment: &'a Experiment, runs: &[Run], phase: &str) -> Vec<&'a Arm> {
    let takes_part = |arm: &&Arm| {
        let mut of_arm = runs.iter().filter(|run| run.arm == arm.id).peekable();
        of_arm.peek().is_some()
            && (of_arm.clone().any(|run| in_phase(run, phase).is_some())
                || of_arm.all(|run| run.failed.is_some()))
    };
    experiment.arms.iter().filter(takes_part).collect()
}

/// The rows of one phase's picture, of the rounds that did not go through the tap.
///
/// Takes 48 bytes for each message of the largest run while it reads, and some 20 KB a panel.
pub fn rows(
    folder: &Folder,
    arms: &[&Arm],
    runs: &[Run],
    phase: &str,
    since: Since,
) -> Result<Vec<Row>> {
    let direct: Vec<&Run> = runs.iter().filter(|run| !run.tapped).collect();
    let mut rounds: Vec<u32> = direct.iter().map(|run| run.round).collect();
    rounds.sort_unstable();
    rounds.dedup();
    let of_all = direct.iter().filter_map(|run| course_of(run, phase, since));
    let messages = of_all.map(|(curve, _)| curve.messages).max().unwrap_or(0);
    let mut rows = Vec::with_capacity(arms.len());
    for arm in arms {
        let of_arm: Vec<&Run> = direct.iter().copied().filter(|run| run.arm == arm.id).collect();
        let courses = of_arm.iter().filter_map(|run| course_of(run, phase, since));
        let axes = Axes { messages, top_ms: top_ms(courses) };
        let mut panels = Vec::with_capacity(rounds.len());
        for round in &rounds {
            let run = of_arm.iter().find(|run| run.round == *round);
            let content = content(folder, run.copied(), phase, since, axes)?;
            panels.push(Panel { round: *round, content });
        }
        rows.push(Row { arm: clean(&arm.id), axes, panels });
    }
    Ok(rows)
}

pub(super) fn in_phase<'a>(run: &'a Run, phase: &str) -> Option<&'a PhaseRun> {
    run.phases.iter().find(|it| it.phase == phase)
}

/// None of a void run.
fn course_of<'a>(run: &'a Run, phase: &str, since: Since) -> Option<(&'a Curve, &'a Quantiles)> {
    if run.failed.is_some() {
        return None;
    }
    course(in_phase(run, phase)?.broker.as_ref()?, since)
}

fn course(broker: &Broker, since: Since) -> Option<(&Curve, &Quantiles)> {
    match since {
        Since::Made => Some((&broker.curve, &broker.latency)),
        Since::Intended => {
            Some((broker.curve_since_intended.as_ref()?, broker.since_intended.as_ref()?))
        }
    }
}

/// Linear from 0 to the end of the runs' visible course. Single stalls beyond are left to the strip
/// above: an axis that held them would flatten everything else.
fn top_ms<'a>(courses: impl Iterator<Item = (&'a Curve, &'a Quantiles)>) -> f64 {
    let (mut needed_us, mut slowest_us) = (0.0, 0.0);
    for (curve, quantiles) in courses {
        let medians = curve.blocks.iter().map(|block| block.latency_us).fold(0.0, f64::max);
        // The histogram's largest value is that of a bucket, and may be a little less than the
        // message.
        let largest = quantiles.max_us * 1.001;
        needed_us = f64::max(needed_us, ABOVE_MEDIANS * medians);
        needed_us = f64::max(needed_us, quantiles.p99_us.unwrap_or(0.0));
        slowest_us = f64::max(slowest_us, largest);
    }
    let us = if slowest_us <= STRETCH * needed_us { slowest_us } else { needed_us };
    top(us.max(1.0) / 1e3)
}

fn content(
    folder: &Folder,
    run: Option<&Run>,
    phase: &str,
    since: Since,
    axes: Axes,
) -> Result<Content> {
    let empty = |reason: &str| Ok(Content::Empty(clean(reason)));
    let Some(run) = run else {
        return empty("not measured: the experiment ended before");
    };
    if let Some(reason) = &run.failed {
        return empty(&format!("failed: {reason}"));
    }
    let Some(of_phase) = in_phase(run, phase) else {
        return empty("not measured");
    };
    let Some((broker, (curve, _))) =
        of_phase.broker.as_ref().and_then(|broker| Some((broker, course(broker, since)?)))
    else {
        return empty("no messages in this phase");
    };
    if curve.messages == 0 {
        return empty("no message arrived");
    }
    let cloud = match files(folder, of_phase, broker) {
        Some((producers, consumer)) => {
            let messages = Messages::read(producers.into_iter().flatten(), consumer)?;
            Some(cloud(messages, since, axes))
        }
        None => None,
    };
    Ok(Content::Measured(Box::new(Measured {
        cloud,
        class: curve.class,
        reason: clean(&curve.reason),
        growth_us: curve.growth_us,
        blocks: curve.blocks.clone(),
    })))
}

/// The samples of both ends; None where they were not kept, or are no longer there.
pub(super) fn files(
    folder: &Folder,
    phase: &PhaseRun,
    broker: &Broker,
) -> Option<(Vec<Samples>, Samples)> {
    // No experiment keeps more: a larger file would only fill the memory.
    let kept = |it: &Samples| it.size_hint().0 as u64 <= SAMPLE_BUDGET_BYTES / SAMPLE_BYTES as u64;
    let open = |name: &String| Samples::below(folder.path(), name).ok().filter(kept);
    let producers: Option<Vec<Samples>> = phase.samples.iter().map(open).collect();
    let producers = producers.filter(|producers| !producers.is_empty())?;
    Some((producers, open(broker.consumer.samples.as_ref()?)?))
}

fn cloud(mut messages: Messages, since: Since, axes: Axes) -> Cloud {
    sort(&mut messages, since);
    let ms = |message: &Message| {
        let from_ns = match since {
            Since::Made => message.made_ns,
            Since::Intended => message.intended_ns,
        };
        message.received_ns.saturating_sub(from_ns) as f64 / 1e6
    };
    messages.sent.retain(Message::received);
    Cloud::of(messages.sent.iter().map(ms), axes)
}

/// Sorts into the order of the record's curve. A lost message does not say when it was made. The
/// call of the driver, which follows at once or waits its turn, stands for it.
pub(super) fn sort(messages: &mut Messages, since: Since) {
    match since {
        Since::Made => messages.sent.sort_unstable_by_key(|it| {
            let made_ns = if it.received() { it.made_ns } else { it.start_ns };
            (made_ns, it.producer, it.sequence)
        }),
        // All messages of a burst are intended at once: only their arrival gives an order.
        Since::Intended => {
            messages.sent.sort_unstable_by_key(|it| (it.intended_ns, it.received_ns));
        }
    }
}
