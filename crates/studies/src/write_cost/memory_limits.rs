//! The largest insertMany that fits a client's memory, and how compressible documents are.

use std::collections::BTreeMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use crate::frame::{Cells, SERVER};
use crate::outcome::Made;
use record::records::{PhaseRun, Run};
use stats::descriptive::median;
use workload::plan::{Count, Phase};

/// The pages of the server's storage are compressed one by one, and have up to so many bytes.
const PIECE_BYTES: usize = 32 << 10;
/// More of the same says no more.
const READ_BYTES: usize = 1 << 20;
const POOL_BYTES_MAX: u64 = 32 << 20;

/// What fits, by arm; the fate of the first that does not is the note of its cell.
pub fn push_memory(made: &Made<'_>, cells: &mut Cells) {
    let limit_bytes = made.experiment.client_memory.as_ref().map(|it| it.bytes as f64);
    let plan = &made.experiment.plan;
    let mean = plan.collections.first().map_or(0.0, |it| it.document_bytes_mean);
    let steps = plan.phases.iter().filter_map(|phase| Some((phase, documents(phase)?)));
    let steps: Vec<(&Phase, u64)> = steps.collect();
    for arm in &made.experiment.arms {
        let runs: Vec<&Run> = made.runs.iter().filter(|run| run.arm == arm.id).collect();
        let fitted = |phase: &Phase| {
            let each = runs.iter().map(|run| fitted(run, &phase.name));
            each.collect::<Option<Vec<&PhaseRun>>>()
        };
        let first_loss = steps.iter().position(|(phase, _)| fitted(phase).is_none());
        let largest = first_loss.unwrap_or(steps.len()).checked_sub(1).map(|at| steps[at]);
        let peaks = largest.and_then(|(phase, _)| fitted(phase)).unwrap_or_default();
        let peaks: Vec<f64> = peaks.iter().map(|run| run.rss_peak_bytes as f64).collect();
        let most = steps.last().map_or(0, |(_, count)| *count) as f64;
        let fits_percent = 100.0 * largest.map_or(0, |(_, count)| count) as f64 / most;
        let figures = [
            ("fits_percent", "percent", Some(fits_percent)),
            ("limit_bytes", "bytes", limit_bytes),
            ("fits_documents", "count", largest.map(|(_, count)| count as f64)),
            ("fits_bytes", "bytes", largest.map(|(_, count)| count as f64 * mean)),
            ("peak_bytes", "bytes", median(&peaks)),
            ("fails_documents", "count", first_loss.map(|at| steps[at].1 as f64)),
        ];
        let fates = fates(&runs);
        for (metric, unit, value) in figures.into_iter().filter(|_| !runs.is_empty()) {
            let cell = cells.push_plain([made.part, "insert_many", &arm.id, metric], unit, value);
            if metric == "fails_documents" && !fates.is_empty() {
                cell.note = Some(fates.join("; "));
            }
        }
    }
}

/// Documents of one call; None of a phase that inserts one by one.
fn documents(phase: &Phase) -> Option<u64> {
    match phase.operations.first()?.count {
        Some(Count::Rest { documents, .. }) => Some(documents),
        _ => None,
    }
}

fn fitted<'a>(run: &'a Run, phase: &str) -> Option<&'a PhaseRun> {
    let died = run.death.as_ref().is_some_and(|it| it.phase.as_deref() == Some(phase));
    let lost = run.lost.as_ref().is_some_and(|it| it.phase == phase);
    let whole = |it: &&PhaseRun| it.phase == phase && it.errors.is_empty() && it.operations > 0;
    run.phases.iter().find(whole).filter(|_| !died && !lost)
}

/// Deaths, and errors of drivers that give up by themselves; each with the rounds of its kind.
fn fates(runs: &[&Run]) -> Vec<String> {
    let mut fates: BTreeMap<String, (u32, String)> = BTreeMap::new();
    for run in runs {
        if let Some(death) = &run.death {
            let kind = death.phase.clone().unwrap_or_default();
            fates.entry(kind).or_insert_with(|| (0, death.sentence())).0 += 1;
        } else if let Some(failed) = &run.failed {
            fates.entry(failed.clone()).or_insert_with(|| (0, format!("ended: {failed}"))).0 += 1;
        }
        for (phase, error) in
            run.phases.iter().flat_map(|it| it.errors.iter().map(|error| (&it.phase, error)))
        {
            let kind = format!("{phase}: {}", error.name);
            let words = format!("failed in {phase}: {}", error.message);
            fates.entry(kind).or_insert((0, words)).0 += 1;
        }
    }
    let words = |(count, words): (u32, String)| match count {
        1 => words,
        count => format!("{} (so in {count} rounds)", words.trim_end_matches('.')),
    };
    fates.into_values().map(words).collect()
}

/// Data by what DEFLATE makes of it, of each phase that wrote some.
pub fn push_deflate(made: &Made<'_>, cells: &mut Cells) {
    for phase in &made.experiment.plan.phases {
        let at = |metric| [made.part, &phase.name, SERVER, metric];
        if cells.at(at("data_bytes")).is_some() {
            cells.push_plain(at("data_by_deflate"), "times", compressible(made, phase));
        }
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
