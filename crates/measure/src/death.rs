//! How far an arm came that died of memory, and what the server holds then: a result.

use std::path::Path;

use crate::arm::LiveArm;
use crate::unacknowledged::drain;
use crate::world::PhaseContext;
use base::error::Result;
use record::records::Death;
use record::samples::{Sample, Samples};
use workload::operations::{about, inserts};
use workload::plan::{Count, Phase};

/// Completes the death of an arm in this part of a phase; `collection` is its own on the server.
pub async fn note(
    context: &PhaseContext<'_>,
    arm: &mut LiveArm,
    warmup: bool,
    collection: Option<String>,
) -> Result<()> {
    let (phase, world) = (context.phase(), &context.world);
    let samples = arm.samples().to_vec();
    let Some(death) = &mut arm.death else { return Ok(()) };
    if death.phase.as_ref() != Some(&phase.name) || death.warmup != warmup {
        return Ok(()); // it died before
    }
    reached(death, phase, &samples, world.epoch.now_ns());
    if let (Some(admin), Some(name)) = (&world.server.admin, collection) {
        drain(admin, &name).await?;
        death.server = admin.sizes(&name).await;
    }
    arm.failed = Some(death.sentence());
    Ok(())
}

/// Counts by its samples. Files that cannot be read count nothing: all of it is a lower bound. A
/// file ends at the first sample that cannot be, for example where a hole of terabytes begins: the
/// bytes of a hole claim a start at the epoch, when no adapter was there.
fn reached(death: &mut Death, phase: &Phase, samples: &[String], now_ns: u64) {
    let can_be = |it: &Sample| it.start_ns > 0 && it.end_ns() <= now_ns;
    let mut right = vec![0_u64; phase.operations.len()];
    let files = samples.iter().filter_map(|path| Samples::open(Path::new(path)).ok());
    let samples = files.flat_map(|file| file.map_while(Result::ok).take_while(&can_be));
    for sample in samples {
        death.operations += 1;
        if let Some(count) = right.get_mut(usize::from(sample.operation)) {
            *count += u64::from(sample.outcome == 0);
        }
    }
    let inserting = phase.operations.iter().zip(right).filter(|(it, _)| about(it.kind).inserts());
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs::{self, File};

    use super::*;
    use crate::collect::test_support::{phase, sample};

    #[test]
    fn a_hole_is_not_read_to_its_end() {
        let folder = tempfile::tempdir().expect("room");
        let path = folder.path().join("samples.bin");
        let bytes = [sample(0, 5, 5, 10), sample(0, 20, 20, 10)].map(|it| it.to_bytes());
        fs::write(&path, bytes.concat()).expect("room");
        let file = File::options().write(true).open(&path).expect("it is there");
        file.set_len(4 << 40).expect("holes take no room");
        let mut death = Death {
            limit_bytes: 0,
            used_bytes: 0,
            said: None,
            phase: None,
            warmup: false,
            operations: 0,
            documents: None,
            server: BTreeMap::new(),
        };
        reached(&mut death, &phase("", 1), &[path.display().to_string()], 100);
        assert_eq!(death.operations, 2);
    }
}
