//! How far an arm came that died of memory, and what the server holds then: a result.

use std::path::Path;

use crate::arm::LiveArm;
use crate::context::PhaseContext;
use crate::unacknowledged::drain;
use base::error::Result;
use record::records::Death;
use record::samples::Samples;
use workload::operations::{about, inserts};
use workload::plan::{Count, Phase};

/// Completes the death of an arm in this part of a phase; `collection` is its own on the server.
pub async fn note(
    context: &PhaseContext<'_>,
    arm: &mut LiveArm,
    phase: &Phase,
    warmup: bool,
    collection: Option<String>,
) -> Result<()> {
    let samples = arm.samples().to_vec();
    let Some(death) = &mut arm.death else { return Ok(()) };
    if death.phase.as_ref() != Some(&phase.name) || death.warmup != warmup {
        return Ok(()); // it died before
    }
    reached(death, phase, &samples);
    if let (Some(admin), Some(name)) = (context.admin, collection) {
        drain(admin, &name).await?;
        death.server = admin.sizes(&name).await;
    }
    arm.failed = Some(death.sentence());
    Ok(())
}

/// Counts by its samples. Files that cannot be read count nothing: all of it is a lower bound.
fn reached(death: &mut Death, phase: &Phase, samples: &[String]) {
    let mut right = vec![0_u64; phase.operations.len()];
    let files = samples.iter().filter_map(|path| Samples::open(Path::new(path)).ok());
    for sample in files.flatten().map_while(Result::ok) {
        death.operations += 1;
        if let Some(count) = right.get_mut(usize::from(sample.operation)) {
            *count += u64::from(sample.outcome == 0);
        }
    }
    let inserting = phase.operations.iter().zip(right).filter(|(it, _)| about(it.kind).inserts);
    let documents = inserting.map(|(made, count)| match made.count {
        Some(Count::Drawn { .. }) => None,
        // The last batch of each worker may be short.
        Some(Count::Rest { documents, .. }) => Some((count * inserts(made)).min(documents)),
        _ => Some(count * inserts(made)),
    });
    let documents: Vec<Option<u64>> = documents.collect();
    death.documents =
        if documents.is_empty() { None } else { documents.into_iter().sum::<Option<u64>>() };
}
