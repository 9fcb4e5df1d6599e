//! Writes without an answer. The server may still work on them in the next arm's turn. So they take
//! whole runs, and counting waits for them (methodology 2.7 d).

use std::time::{Duration, Instant};

use crate::admin::MongodCounters;
use crate::hosts::Hosts;
use crate::sampler::Sampler;
use crate::world::PhaseContext;
use base::error::Result;
use record::records::{Arm, PhaseInterleave};
use stats::threshold::Interleave;
use workload::operation_keys::takes_write_concern;
use workload::plan::{Operation, Phase};

/// Between two readings.
const SETTLED: Duration = Duration::from_millis(20);
/// Readings that have to agree. Two of 50 ms did on a server that had got no CPU between them: half
/// of its writes were still to come.
const AGREEING: u32 = 10;
/// Readings until it gives up: on a server with other clients the counters never rest.
const READINGS_MAX: u32 = 500;

/// Whether a connection string asks for no answers.
pub fn by_options(uri: &str) -> bool {
    let options = uri.split_once('?').map_or("", |(_, options)| options);
    options.split('&').any(|part| part.eq_ignore_ascii_case("w=0"))
}

/// Whether the running driver of an arm asks for no answers.
pub fn by_driver(arm: &Arm) -> bool {
    arm.acknowledged == Some(false)
}

/// Why a phase cannot take turns when this arm's driver asks for no answers; None: each of its
/// writes has a write concern.
pub fn reason(phase: &Phase, arm: &str) -> Option<String> {
    let inherits = |it: &&Operation| takes_write_concern(it.kind) && it.write_concern.is_none();
    let made = phase.operations.iter().find(inherits)?;
    let why = "the server may still work on its writes in another arm's turn";
    Some(format!("`{}` of {arm} is unacknowledged (w: 0): {why}", made.name))
}

/// Whole runs in the place of turns, where the running driver of an arm asks for no answers in this
/// phase. Answers whether that is so.
pub fn fit(planned: &mut PhaseInterleave, phase: &Phase, arms: &[Arm]) -> bool {
    let reason = arms.iter().find(|arm| by_driver(arm)).and_then(|arm| reason(phase, &arm.id));
    let (Some(reason), Interleave::Turns) = (reason, planned.interleave) else { return false };
    (planned.interleave, planned.reason) = (Interleave::Runs, reason);
    true
}

/// Whether some writes of a phase have no answer, in some arm.
pub fn within(phase: &Phase, arms: &[Arm]) -> bool {
    let own = |it: &Operation| it.write_concern.as_ref().is_some_and(|it| it["w"] == 0);
    phase.operations.iter().any(own)
        || arms.iter().any(|arm| by_driver(arm) && reason(phase, &arm.id).is_some())
}

/// The server's counters after all unanswered writes, and the time until these had arrived; None
/// where nothing was unanswered.
pub async fn counters(
    context: &mut PhaseContext<'_>,
    written: Option<String>,
) -> Result<(MongodCounters, Option<Duration>)> {
    let unanswered = within(context.phase(), &context.experiment.arms);
    let (sampler, admin) = (&mut context.world.sampler, &context.world.server.admin);
    let arrived = match (admin, written) {
        (Some(admin), Some(name)) if unanswered => Some(settled(sampler, admin, &name).await?),
        _ => None,
    };
    Ok((sampler.counters().await?, arrived))
}

/// Waits until readings of the counters and of a collection's documents agree. Answers when the
/// first of them was asked for.
async fn settled(sampler: &mut Sampler, admin: &Hosts, collection: &str) -> Result<Duration> {
    const WRITES: [&str; 3] = ["opcounters.insert", "opcounters.update", "opcounters.delete"];
    let (began, mut arrived) = (Instant::now(), Duration::ZERO);
    let (mut last, mut agree) = (None, 0);
    for _ in 0..READINGS_MAX {
        let asked = began.elapsed();
        let counters = sampler.counters().await?;
        let now = (WRITES.map(|name| counters.get(name).copied()), admin.count(collection).await?);
        (agree, arrived) = if last == Some(now) { (agree + 1, arrived) } else { (1, asked) };
        if agree == AGREEING {
            break;
        }
        last = Some(now);
        tokio::time::sleep(SETTLED).await;
    }
    Ok(arrived)
}

/// Counts the documents once readings agree: unacknowledged writes go on after the last `end`.
pub async fn drain(admin: &Hosts, name: &str) -> Result<i64> {
    let (mut count, mut agree) = (admin.count(name).await?, 1);
    for _ in 0..1_500 {
        tokio::time::sleep(SETTLED).await;
        let again = admin.count(name).await?;
        agree = if again == count { agree + 1 } else { 1 };
        if agree == AGREEING {
            break;
        }
        count = again;
    }
    Ok(count)
}
