//! The largest insertMany that fits a client's memory, and the fate of those that did not.

use std::collections::BTreeMap;

use super::types::Memory;
use crate::study::Made;
use record::records::{PhaseRun, Run};
use stats::descriptive::median;
use workload::plan::{Count, Phase};

pub fn memory(made: &Made<'_>) -> Vec<Memory> {
    let limit_bytes = made.experiment.client_memory.as_ref().map_or(0, |it| it.bytes);
    let plan = &made.experiment.plan;
    let mean = plan.collections.first().map_or(0.0, |it| it.document_bytes_mean);
    let steps = plan.phases.iter().filter_map(|phase| Some((phase, documents(phase)?)));
    let steps: Vec<(&Phase, u64)> = steps.collect();
    let arms = made.experiment.arms.iter().filter_map(|arm| {
        let runs: Vec<&Run> = made.runs.iter().filter(|run| run.arm == arm.id).collect();
        let fitted = |phase: &Phase| {
            let each: Vec<Option<&PhaseRun>> =
                runs.iter().map(|run| fitted(run, &phase.name)).collect();
            each.into_iter().collect::<Option<Vec<&PhaseRun>>>()
        };
        let first_loss = steps.iter().position(|(phase, _)| fitted(phase).is_none());
        let largest = first_loss.unwrap_or(steps.len()).checked_sub(1).map(|at| steps[at]);
        let peaks = largest.and_then(|(phase, _)| fitted(phase)).unwrap_or_default();
        let peaks: Vec<f64> = peaks.iter().map(|run| run.rss_peak_bytes as f64).collect();
        (!runs.is_empty()).then(|| Memory {
            arm: arm.id.clone(),
            limit_bytes,
            rounds: runs.len() as u32,
            fits_documents: largest.map(|(_, count)| count),
            fits_bytes: largest.map(|(_, count)| (count as f64 * mean) as u64),
            peak_bytes: median(&peaks).map(|it| it as u64),
            fails_documents: first_loss.map(|at| steps[at].1),
            fates: fates(&runs),
        })
    });
    arms.collect()
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
