//! Whether a workload fits: the disk of a server that we start, that of the results, and the memory
//! of its clients.

use std::path::PathBuf;

use crate::blocks;
use crate::phase::has_own;
use base::error::{Error, Result};
use base::paths::free_bytes;
use record::folder::Folder;
use record::records::{ClientMemory, PhaseInterleave};
use record::samples::SAMPLE_BUDGET_BYTES;
use stats::threshold::Interleave;
use workload::operations::{inserted, inserts};
use workload::places::PlanPart;
use workload::plan::{Collection, Count, Operation, Phase, Plan};
use workload::{Workload, WorkloadError};

/// # Errors
/// The documents of one insert_many take more than the client's memory, for every worker of an arm
/// makes one at a time. Without a limit, that is what this machine has free.
pub fn check_client(
    workload: &Workload,
    memory: Option<&ClientMemory>,
) -> Result<(), WorkloadError> {
    let memory_bytes = memory.map_or_else(blocks::free_bytes, |it| it.bytes);
    for phase in &workload.plan.phases {
        for made in phase.operations.iter().filter(|it| it.lazy != Some(true)) {
            let Some(collection) = workload.plan.collection(made) else { continue };
            let at_once = (inserts(made) * phase.all_workers()).min(match made.count {
                Some(Count::Rest { documents, .. }) => documents,
                _ => u64::MAX,
            });
            let bytes = at_once as f64 * collection.document_bytes_mean;
            if bytes > memory_bytes as f64 {
                let limit =
                    if memory.is_some() { "--client-memory is" } else { "the free memory is" };
                let message = format!(
                    "{} documents at once are {} of BSON, and {limit} {}",
                    format::count(at_once),
                    format::bytes(bytes as u64),
                    format::bytes(memory_bytes)
                );
                let hint = "a smaller `batch:`, fewer workers, `lazy: true`, or more memory";
                return Err(workload.places.error(PlanPart::Phase(&phase.name), message, hint));
            }
        }
    }
    Ok(())
}

/// # Errors
/// The documents that are in the collections at one time take more than what is free on the disk of
/// `data`; None: the disk is not ours. Indexes come on top, and compression may take some off.
pub fn check_disk(
    workload: &Workload,
    interleave: &[PhaseInterleave],
    arms: usize,
    data: Option<PathBuf>,
) -> Result<(), WorkloadError> {
    let Some(data) = data else { return Ok(()) };
    let Some(free_bytes) = free_bytes(&data) else { return Ok(()) };
    let plan = &workload.plan;
    // Arms that take whole runs have their collections one after the other.
    let alone = interleave.iter().all(|it| it.interleave == Interleave::Runs);
    let together = if alone { 1 } else { arms as u64 };
    let all = plan.collections.iter();
    let most = all.map(|it| (it, Most::of(plan, it, together))).max_by(|a, b| {
        let bytes = |most: &Most| most.documents as f64;
        (bytes(&a.1) * a.0.document_bytes_mean).total_cmp(&(bytes(&b.1) * b.0.document_bytes_mean))
    });
    let Some((collection, most)) = most else { return Ok(()) };
    let bytes = most.documents as f64 * collection.document_bytes_mean;
    if bytes <= free_bytes as f64 {
        return Ok(());
    }
    let each =
        if most.times > 1 { format!(" for {} arms at a time", most.times) } else { String::new() };
    let message = format!(
        "{} documents of {} bytes{each} are {}, and {} has {} free",
        format::count(most.documents),
        format::count(collection.document_bytes_mean as u64),
        format::bytes(bytes as u64),
        data.display(),
        format::bytes(free_bytes)
    );
    let part = match most.phase {
        Some(phase) => PlanPart::Phase(phase),
        None => PlanPart::Collection(&collection.name),
    };
    let hint = "fewer or smaller documents, fewer arms, or --uri of a server that has the room";
    Err(workload.places.error(part, message, hint))
}

/// # Errors
/// The disk of the results fills up in the middle, which would cost the round.
pub fn check_results(folder: &Folder, rounds: u32) -> Result<()> {
    let Some(free) = free_bytes(folder.path()) else { return Ok(()) };
    // Samples up to the budget, and some for logs, histograms and the server's data.
    let wanted = SAMPLE_BUDGET_BYTES / 40 * u64::from(rounds.min(40)) + (256 << 20);
    if free >= wanted {
        return Ok(());
    }
    Err(Error::environment(
        format!(
            "{} has {} MB free; this experiment wants {} MB for samples, logs and data",
            folder.path().display(),
            free >> 20,
            wanted >> 20
        ),
        "free some disk space, or choose another --out",
    ))
}

/// Most documents of a collection at one time, over all arms that have one.
struct Most<'a> {
    documents: u64,
    times: u64,
    /// The phase that inserts most of them; None: they are loaded.
    phase: Option<&'a str>,
}

impl<'a> Most<'a> {
    fn of(plan: &'a Plan, collection: &Collection, arms: u64) -> Self {
        let documents = if collection.view.is_some() { 0 } else { collection.loaded };
        let mut most = Self { documents, times: 1, phase: None };
        for first in (0..plan.phases.len()).filter(|it| plan.story(*it).start == *it) {
            let story = &plan.phases[plan.story(first)];
            let of_phase = |phase: &'a Phase| {
                let its = |made: &&Operation| made.collection == collection.name;
                let made = phase.operations.iter().filter(its);
                (made.map(|made| inserted(phase, made)).sum::<u64>(), phase)
            };
            let touches = |phase: &Phase| {
                phase
                    .operations
                    .iter()
                    .flat_map(Operation::collections)
                    .any(|it| it == collection.name)
            };
            if collection.view.is_some() || !has_own(plan, first) || !story.iter().any(touches) {
                continue;
            }
            let each: Vec<(u64, &Phase)> = story.iter().map(of_phase).collect();
            let inserted: u64 = each.iter().map(|(count, _)| count).sum();
            let times = if collection.kept { 1 } else { arms };
            let documents = (collection.loaded + inserted) * times;
            if documents > most.documents {
                let (count, phase) =
                    each.into_iter().max_by_key(|(count, _)| *count).expect("a story has phases");
                let phase = (count > collection.loaded).then_some(phase.name.as_str());
                most = Self { documents, times, phase };
            }
        }
        // A capped collection stays within its size.
        let capped = collection.capped.as_ref().map(|it| it.size_bytes as f64);
        let mean = collection.document_bytes_mean.max(1.0);
        let limit = capped.map_or(u64::MAX, |bytes| (bytes / mean) as u64 * most.times);
        Self { documents: most.documents.min(limit), ..most }
    }
}
