//! Sizes on the server beside how compressible the documents are.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::types::Stored;
use crate::study::Made;
use record::records::PhaseRun;
use workload::plan::Phase;

/// The pages of the server's storage are compressed one by one, and have up to so many bytes.
const PIECE_BYTES: usize = 32 << 10;
/// More of the same says no more.
const READ_BYTES: usize = 1 << 20;
const POOL_BYTES_MAX: u64 = 32 << 20;

/// By the first run of each phase.
pub fn stored(made: &Made<'_>) -> Vec<Stored> {
    let of = |phase: &Phase| {
        let runs = made.runs.iter().flat_map(|run| &run.phases);
        let mut runs = runs.filter(|run| run.phase == phase.name && run.errors.is_empty());
        let run = runs.next()?;
        Some(Stored { compressible: compressible(made, phase), ..sizes(run) })
    };
    made.experiment.plan.phases.iter().filter_map(of).collect()
}

fn sizes(run: &PhaseRun) -> Stored {
    let size = |name: &str| {
        let value = run.sizes.get(&format!("after.collStats.{name}")).copied();
        value.unwrap_or(0).max(0).cast_unsigned()
    };
    let (data_bytes, storage_bytes) = (size("size"), size("storageSize"));
    Stored {
        name: run.phase.clone(),
        documents: size("count"),
        data_bytes,
        average_bytes: size("avgObjSize"),
        storage_bytes,
        index_bytes: size("totalIndexSize"),
        ratio: (storage_bytes > 0).then(|| data_bytes as f64 / storage_bytes as f64),
        compressible: None,
    }
}

fn compressible(made: &Made<'_>, phase: &Phase) -> Option<f64> {
    let documents = phase.operations.first()?.documents.as_ref()?;
    let number = phase.pools.get(documents.pool as usize)?;
    let name = format!("materials/pool{number}.bson");
    let bytes = made.folder.read(&name, POOL_BYTES_MAX).ok()?;
    Some(deflated(&bytes[..bytes.len().min(READ_BYTES)]))
}

/// Bytes by what is left of them.
fn deflated(bytes: &[u8]) -> f64 {
    let left = bytes.chunks(PIECE_BYTES).map(|piece| {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(piece).expect("writing to memory");
        encoder.finish().expect("writing to memory").len()
    });
    bytes.len() as f64 / left.sum::<usize>().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_vanish_and_noise_stays() {
        let mut state = 1_u64;
        let noise: Vec<u8> = (0..100_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        assert!(deflated(&[0; 10_000]) > 100.0);
        assert!((0.98..1.01).contains(&deflated(&noise)), "{}", deflated(&noise));
    }
}
