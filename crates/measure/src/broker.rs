//! A turn whose documents are messages. The consumer is in position before the producers start. It
//! ends at the marker that the core sends after them.

use std::time::Duration;

use crate::admin::MongodCounters;
use crate::arm::LiveArm;
use crate::hosts::Hosts;
use crate::measured::Read;
use crate::turn::{ArmTurn, ERRORS_CONSECUTIVE_MAX};
use crate::unacknowledged::{drain, within};
use crate::world::PhaseContext;
use adapter::patience::Patience;
use adapter::protocol::{Consumer, ConsumerPrepare, Prepare};
use base::error::{Error, Result};
use workload::plan::{Limit, Phase};

/// Field of the document after the last message.
const MARKER_FIELD: &str = "marker";
/// Field of the document before the first one.
const SENTINEL_FIELD: &str = "sentinel";
/// A consumer gives up after so long without a message. A program may issue a million inserts
/// before the first one leaves it: that is half a minute of silence.
const IDLE: Duration = Duration::from_secs(60);
/// Time for the consumer to read on after the producers have ended.
const READ_ON: Duration = Duration::from_secs(120);

/// Inserts the sentinel into a collection made anew.
pub async fn sentinel(admin: &Hosts, collection: &str) -> Result<()> {
    admin.flag(collection, SENTINEL_FIELD).await
}

/// Runs one turn of the producers while the consumer reads along. Returns their turn, the server's
/// counters at its end, and the consumer's part. The turn is None where a producer or the consumer
/// was lost.
pub async fn turn(
    context: &mut PhaseContext<'_>,
    collection: &str,
    arm: &mut LiveArm,
    patience: Patience,
) -> Result<(Option<ArmTurn>, MongodCounters, Option<Read>)> {
    let phase = context.phase();
    let unacknowledged = within(phase, &context.experiment.arms);
    let PhaseContext { consumer, world, round, number, .. } = context;
    let samples = world.inputs.received(*round, arm.index, *number);
    let (sampler, epoch, progress) = (&mut world.sampler, &world.epoch, &world.progress);
    let (Some(consumer), Some(admin)) = (consumer, &world.server.admin) else {
        unreachable!("a phase with a consumer has one, and a server")
    };
    consumer.prepare(vec![prepare(phase, collection, &samples)]).await;
    consumer.reset_rss_peak();
    let rss_armed_bytes = consumer.rss_bytes().0;
    if !consumer.alive() {
        lose(arm, consumer).await;
        return Ok((None, sampler.counters().await?, None));
    }
    let produce = async {
        let turn = sampler.during(arm.turn(epoch, patience, Some(admin)));
        let turn = progress.during(turn).await?;
        let after = sampler.counters().await?;
        if unacknowledged {
            drain(admin, collection).await?;
        }
        admin.flag(collection, MARKER_FIELD).await?;
        Ok::<_, Error>((turn, after))
    };
    // The consumer is polled first, so that its turn starts before that of the producers. A
    // consumer that lost its server would try for a minute, which is too long to wait.
    let reading = patience.and(READ_ON);
    let read = async { Ok(consumer.turn(epoch, reading, Some(admin)).await) };
    let (read, (turn, after)) = tokio::try_join!(read, produce)?;
    let rss_peak_bytes = consumer.rss_bytes().1;
    let ended = consumer.end().await;
    let rss_held_bytes = consumer.rss_bytes().0;
    let read = read.zip(ended).map(|(turn, ended)| Read {
        turn,
        ended,
        samples,
        claimed: consumer.claimed().clone(),
        rss_armed_bytes,
        rss_peak_bytes,
        rss_held_bytes,
        clock_within_us: consumer.clock_within_us(),
    });
    if read.is_none() {
        lose(arm, consumer).await;
        return Ok((None, after, None));
    }
    Ok((turn, after, read))
}

async fn lose(arm: &mut LiveArm, consumer: &LiveArm) {
    let reason = consumer.failed.as_ref().or(consumer.refused.as_ref());
    let reason = reason.map_or("", String::as_str);
    arm.fail(&format!("its consumer is lost: {reason}")).await;
}

fn prepare(phase: &Phase, collection: &str, samples: &std::path::Path) -> Prepare {
    let expected = match phase.limit {
        Limit::Operations { count, .. } => count,
        // The marker ends it.
        Limit::Duration { .. } => u64::from(u32::MAX),
    };
    Prepare::Consumer(ConsumerPrepare {
        samples: samples.to_string_lossy().into_owned(),
        errors_consecutive_max: ERRORS_CONSECUTIVE_MAX,
        consumer: Consumer {
            collection: collection.to_owned(),
            expected,
            idle_ms: IDLE.as_millis() as u64,
            marker_field: MARKER_FIELD.to_owned(),
            change_stream: phase.change_stream,
        },
    })
}
