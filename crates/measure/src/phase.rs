//! One phase of one round: set up, warm up in turns, measure in turns, clear away.
//!
//! A phase that takes no turns is one turn as long as the phase: there is one mechanism.

use std::time::{Duration, Instant};

use bson::RawDocumentBuf;

use crate::admin::{Admin, Counters};
use crate::arm::{ERRORS_CONSECUTIVE_MAX, LiveArm};
use crate::broker;
use crate::context::PhaseContext;
use crate::input_files::InputFiles;
use crate::laps::{self, take_turns, warm_up};
use crate::measured::Measured;
use crate::progress::Progress;
use crate::shuffle;
use crate::stop::Stop;
use crate::unacknowledged::{counters, drain};
use adapter::messages::{Prepare, Role};
use base::error::Result;
use stats::threshold::Interleave;
use workload::plan::{Collection, Phase, Plan};
use workload::schedule;

/// Documents between two words about how far a collection is loaded.
const LOADED_EVERY: u64 = 1_000;

/// Runs one phase for the arms that share it; the answer is in the order of `arms`.
pub async fn run(
    context: &mut PhaseContext<'_>,
    arms: &mut [LiveArm],
    number: usize,
    warmups: &[Duration],
    interleave: Interleave,
) -> Result<Vec<Measured>> {
    let phase = &context.plan.phases[number];
    let began = Instant::now();
    let mut measured: Vec<_> = arms.iter().map(|arm| Measured::new(arm.index)).collect();
    // Which arm gets which collection is shuffled: the trees on the server differ.
    let mut slots: Vec<usize> = (0..arms.len()).collect();
    shuffle(&mut slots, context.rng);

    set_up(context, phase, &slots, true).await?;
    prepare(context, arms, number, &slots, true).await;
    let rates = warm_up(context, arms, warmups, &mut measured).await?;
    for arm in arms.iter_mut() {
        arm.end().await;
    }
    // Writes under way would make the dropped collections anew.
    counters(context, written_collection(phase, slots[0], true)).await?;
    clear(context.admin, written_collections(phase, &slots, true)).await?;

    set_up(context, phase, &slots, false).await?;
    prepare(context, arms, number, &slots, false).await;
    for (place, arm) in arms.iter_mut().enumerate() {
        let written = written_collection(phase, slots[place], false);
        if let (Some(admin), Some(name)) = (context.admin, &written) {
            measured[place].sizes = prefixed("before", admin.sizes(name).await);
        }
        measured[place].written = written;
        arm.reset_rss_peak();
        measured[place].rss_armed_bytes = arm.rss_bytes().0;
    }
    let turns = laps::plan(context, phase, &rates, interleave);
    for entry in &mut measured {
        entry.turn_length = turns.length;
    }
    take_turns(context, arms, number, &turns, began, &mut measured).await?;
    for (place, arm) in arms.iter_mut().enumerate() {
        measured[place].ended = arm.end().await;
        measured[place].rss_peak_bytes = arm.rss_bytes().1;
        if let (Some(admin), Some(name)) = (context.admin, measured[place].written.clone()) {
            measured[place].documents_after = Some(drain(admin, &name).await?);
            measured[place].sizes.extend(prefixed("after", admin.sizes(&name).await));
        }
    }
    clear(context.admin, written_collections(phase, &slots, false)).await?;
    Ok(measured)
}

fn prefixed(prefix: &str, counters: Counters) -> Counters {
    counters.into_iter().map(|(name, value)| (format!("{prefix}.{name}"), value)).collect()
}

/// Name on the server of a collection that an arm writes.
fn own_name(collection: &str, slot: usize, warmup: bool) -> String {
    format!("{collection}_{slot}{}", if warmup { "_warmup" } else { "" })
}

fn written_collection(phase: &Phase, slot: usize, warmup: bool) -> Option<String> {
    let operation = phase.operations.iter().find(|operation| !operation.collection.is_empty())?;
    phase.writes.then(|| own_name(&operation.collection, slot, warmup))
}

/// The collections that a phase writes: by their names in the workload, and on the server.
fn written_collections<'a>(
    phase: &'a Phase,
    slots: &[usize],
    warmup: bool,
) -> Vec<(&'a str, String)> {
    let mut names: Vec<&str> = Vec::new();
    for operation in phase.operations.iter().filter(|_| phase.writes) {
        if !operation.collection.is_empty() && !names.contains(&operation.collection.as_str()) {
            names.push(&operation.collection);
        }
    }
    let own = |name| slots.iter().map(move |slot| (name, own_name(name, *slot, warmup)));
    names.into_iter().flat_map(own).collect()
}

async fn set_up(
    context: &PhaseContext<'_>,
    phase: &Phase,
    slots: &[usize],
    warmup: bool,
) -> Result<()> {
    let Some(admin) = context.admin.filter(|_| phase.writes) else { return Ok(()) };
    for (name, own) in written_collections(phase, slots, warmup) {
        let (number, collection) = context.inputs.collection(context.plan, name);
        let documents = context.inputs.documents(context.plan, number);
        load(admin, &own, collection, documents, context.progress, context.stop).await?;
        if phase.consumer && !warmup {
            broker::sentinel(admin, &own).await?;
        }
    }
    admin.settle().await;
    Ok(())
}

/// Makes a collection anew and loads its documents, until somebody asks to stop.
pub async fn load(
    admin: &Admin,
    name: &str,
    collection: &Collection,
    documents: impl Iterator<Item = RawDocumentBuf>,
    progress: &Progress,
    stop: &Stop,
) -> Result<()> {
    let total = collection.loaded;
    stop.check()?;
    admin.create(name, collection).await?;
    let counted = (0_u64..).zip(documents).take_while(|(loaded, _)| {
        if loaded.is_multiple_of(LOADED_EVERY) {
            progress.doing(&format!("loading {name}: {loaded} of {total} documents"));
        }
        stop.check().is_ok()
    });
    admin.load(name, counted.map(|(_, document)| document)).await?;
    stop.check()
}

async fn clear(admin: Option<&Admin>, written: Vec<(&str, String)>) -> Result<()> {
    let Some(admin) = admin else { return Ok(()) };
    for (_, own) in written {
        admin.drop_collection(&own).await?;
    }
    Ok(())
}

async fn prepare(
    context: &PhaseContext<'_>,
    arms: &mut [LiveArm],
    number: usize,
    slots: &[usize],
    warmup: bool,
) {
    let phase = &context.plan.phases[number];
    for (place, arm) in arms.iter_mut().enumerate() {
        let own = |name: &str| {
            if phase.writes { own_name(name, slots[place], warmup) } else { name.to_owned() }
        };
        let which = Which { round: context.round, arm: arm.index, phase: number, warmup };
        let plan = context.plan.with_processes(arm.own_processes);
        arm.prepare(prepares(context.inputs, &plan, which, own)).await;
    }
}

/// Which phase of which run.
#[derive(Debug, Clone, Copy)]
pub struct Which {
    /// Round, from 1.
    pub round: u32,
    /// Index of the arm.
    pub arm: usize,
    /// Index of the phase.
    pub phase: usize,
    /// Its warm-up instead.
    pub warmup: bool,
}

/// The `prepare` of each process; `own` names a collection as it is called on the server.
pub fn prepares(
    inputs: &InputFiles,
    plan: &Plan,
    which: Which,
    own: impl Fn(&str) -> String,
) -> Vec<Prepare> {
    let phase = &plan.phases[which.phase];
    let mut operations = phase.operations.clone();
    for operation in operations.iter_mut().filter(|it| !it.collection.is_empty()) {
        operation.collection = own(&operation.collection);
    }
    let prepare = |process| Prepare {
        phase: phase.name.clone(),
        role: Role::Worker,
        warmup: which.warmup,
        samples: inputs.samples(which.round, which.arm, which.phase, process, which.warmup),
        schedule: inputs.schedule(which.phase, phase.processes, process),
        pools: inputs.pools(phase),
        document_form: phase.document_form.clone(),
        workers: phase.workers,
        first_worker: process * phase.workers,
        limits: inputs.limits(which.phase, phase.processes, process),
        pacing: phase.pacing,
        counter: schedule::counter(plan, phase),
        errors_consecutive_max: ERRORS_CONSECUTIVE_MAX,
        operations: operations.clone(),
        consumer: None,
    };
    (0..phase.processes).map(prepare).collect()
}
