//! One phase of one round: set up, warm up in turns, measure in turns, clear away.
//!
//! A phase that takes no turns is one turn as long as the phase: there is one mechanism.

use std::time::{Duration, Instant};

use bson::RawDocumentBuf;

use crate::admin::MongodCounters;
use crate::arm::LiveArm;
use crate::broker;
use crate::death;
use crate::hosts::Hosts;
use crate::input_files::InputFiles;
use crate::laps::{self, take_turns, warm_up};
use crate::measured::MeasuredPhase;
use crate::progress::LiveProgress;
use crate::settings;
use crate::shuffle;
use crate::stop::Stop;
use crate::turn::ERRORS_CONSECUTIVE_MAX;
use crate::unacknowledged::{counters, drain};
use crate::world::PhaseContext;
use adapter::protocol::{Prepare, WorkerPrepare};
use base::error::Result;
use workload::plan::{Collection, Limit, Operation, Phase, Plan};

/// Documents between two words about how far a collection is loaded.
const LOADED_EVERY: u64 = 1_000;

/// Runs one phase for the arms that share it; the answer is in the order of `arms`, as `warmups`.
pub async fn run(
    context: &mut PhaseContext<'_>,
    arms: &mut [LiveArm],
    warmups: &[Duration],
) -> Result<Vec<MeasuredPhase>> {
    let (plan, phase, number) = (context.plan(), context.phase(), context.number);
    let (began, planned) = (Instant::now(), planned(context, warmups));
    let mut measured: Vec<_> = arms.iter().map(|arm| MeasuredPhase::new(arm.index)).collect();
    let story = plan.story(number);
    let begins = number == story.start;
    if begins {
        // Which arm gets which collection is shuffled: the trees on the server differ.
        let mut drawn: Vec<usize> = (0..arms.len()).collect();
        shuffle(&mut drawn, context.rng);
        context.world.slots = arms.iter().map(|arm| arm.index).zip(drawn).collect();
    }
    let slots: Vec<usize> = arms.iter().map(|arm| context.world.slots[&arm.index]).collect();
    let own = own_collections(plan, number, &slots, false);
    let mut rates = vec![0.0; arms.len()];
    // Documents that a phase goes on with cannot be made twice: such a phase has no warm-up.
    if begins {
        rates = warm_up_anew(context, arms, (&slots, warmups), &mut measured).await?;
        set_up(context, &own, false).await?;
    }
    prepare(context, arms, &slots, false).await?;
    for ((arm, entry), slot) in arms.iter_mut().zip(&mut measured).zip(&slots) {
        entry.written = written_collection(plan, phase, *slot, false);
        entry.sizes = sizes(context, *slot, "before").await;
        arm.reset_rss_peak();
        entry.rss_armed_bytes = arm.rss_bytes().0;
    }
    let turns = laps::plan(context, &rates);
    for entry in &mut measured {
        entry.turn_length = turns.length;
    }
    take_turns(context, arms, &turns, (began, planned), &mut measured).await?;
    context.world.sampler.sample_clients()?;
    if matches!(phase.limit, Limit::Operations { .. }) && number + 1 < story.end {
        let done = |entry: &MeasuredPhase| entry.turns.last().is_some_and(|it| it.turned.exhausted);
        for (arm, _) in arms.iter().zip(&measured).filter(|(arm, it)| arm.alive() && !done(it)) {
            context.world.slots.remove(&arm.index);
            let what = format!("{} did not come to its end for one arm", phase.name);
            context.world.progress.note(&format!("{what}: its story ends there in this round"));
        }
    }
    for ((arm, entry), slot) in arms.iter_mut().zip(&mut measured).zip(&slots) {
        end(context, arm, entry, *slot).await?;
    }
    if number + 1 == story.end {
        clear(context, own).await?;
    }
    Ok(measured)
}

/// The time that the plan gives the phase, over all arms.
fn planned(context: &PhaseContext<'_>, warmups: &[Duration]) -> Duration {
    let (phase, settings) = (context.phase(), context.settings());
    let interleave = settings.interleave[context.number].interleave;
    let quick = settings.looks.quick;
    let measured_s = settings::planned(phase, settings.measured_s, quick, interleave);
    warmups.iter().map(|warmup| settings::phase_time(phase, *warmup, measured_s)).sum()
}

/// Warms the arms up on collections that are dropped after it. Returns their rates.
async fn warm_up_anew(
    context: &mut PhaseContext<'_>,
    arms: &mut [LiveArm],
    (slots, warmups): (&[usize], &[Duration]),
    measured: &mut [MeasuredPhase],
) -> Result<Vec<f64>> {
    let (plan, phase) = (context.plan(), context.phase());
    let own = own_collections(plan, context.number, slots, true);
    set_up(context, &own, true).await?;
    prepare(context, arms, slots, true).await?;
    let rates = warm_up(context, arms, warmups, measured).await?;
    for (arm, slot) in arms.iter_mut().zip(slots) {
        arm.end().await;
        let written = written_collection(plan, phase, *slot, true);
        death::note(context, arm, true, written).await?;
    }
    // Writes under way would make the dropped collections anew.
    counters(context, written_collection(plan, phase, slots[0], true)).await?;
    clear(context, own).await?;
    Ok(rates)
}

/// Ends the phase of one arm, and reads what it used and left behind.
async fn end(
    context: &PhaseContext<'_>,
    arm: &mut LiveArm,
    entry: &mut MeasuredPhase,
    slot: usize,
) -> Result<()> {
    entry.ended = arm.end().await;
    entry.claimed.clone_from(arm.claimed());
    (entry.rss_held_bytes, entry.rss_peak_bytes) = arm.rss_bytes();
    entry.peak = context.world.sampler.peak(arm.index);
    if let Some(admin) = &context.world.server.admin {
        if let Some(name) = &entry.written {
            entry.documents_after = Some(drain(admin, name).await?);
        }
        // The file of a collection holds nothing yet that was never in a checkpoint.
        if context.phase().checkpoint {
            admin.settle().await;
        }
    }
    // A lost arm is sized as well: what it left behind is a result.
    entry.sizes.extend(sizes(context, slot, "after").await);
    death::note(context, arm, false, entry.written.clone()).await
}

/// Sizes of the collection that an arm works on, with `prefix` before their names.
async fn sizes(context: &PhaseContext<'_>, slot: usize, prefix: &str) -> MongodCounters {
    let sized = measured_collection(context.plan(), context.number, slot);
    let (Some(admin), Some(name)) = (&context.world.server.admin, sized) else {
        return MongodCounters::default();
    };
    let sizes = admin.sizes(&name).await.into_iter();
    sizes.map(|(name, value)| (format!("{prefix}.{name}"), value)).collect()
}

/// Name on the server of a collection that an arm writes.
fn own_name(plan: &Plan, collection: &str, slot: usize, warmup: bool) -> String {
    if !warmup && is_kept(plan, collection) {
        return collection.to_owned();
    }
    workload::own_name(collection, slot, warmup)
}

/// Whether arms hand a collection on.
fn is_kept(plan: &Plan, collection: &str) -> bool {
    plan.collections.iter().any(|it| it.kept && it.name == collection)
}

fn written_collection(plan: &Plan, phase: &Phase, slot: usize, warmup: bool) -> Option<String> {
    Some(own_name(plan, first_collection(phase).filter(|_| phase.writes)?, slot, warmup))
}

/// The collection that a phase works on, an arm's own or shared.
fn measured_collection(plan: &Plan, number: usize, slot: usize) -> Option<String> {
    let name = first_collection(&plan.phases[number])?;
    Some(if has_own(plan, number) { own_name(plan, name, slot, false) } else { name.to_owned() })
}

/// The collection that is sized and counted.
pub fn first_collection(phase: &Phase) -> Option<&str> {
    phase.operations.iter().flat_map(Operation::collections).next()
}

/// Whether each arm has the collections of a phase for itself, for some phase of its story writes.
pub fn has_own(plan: &Plan, number: usize) -> bool {
    plan.phases[plan.story(number)].iter().any(|phase| phase.writes)
}

/// Numbers of the collections that are loaded once: those that are only read, or that arms hand on.
pub fn shared(plan: &Plan) -> impl Iterator<Item = usize> {
    let reads = |name: &str| {
        let mut phases = plan.phases.iter().enumerate();
        phases.any(|(number, phase)| {
            let mut names = phase.operations.iter().flat_map(|made| plan.collections_of(made));
            !has_own(plan, number) && names.any(|it| it == name)
        })
    };
    let all = plan.collections.iter().enumerate();
    all.filter(move |(_, it)| it.kept || reads(&it.name)).map(|(number, _)| number)
}

/// The collections in a phase's story that each arm gets anew: by their names in the workload, and
/// on the server.
fn own_collections(
    plan: &Plan,
    number: usize,
    slots: &[usize],
    warmup: bool,
) -> Vec<(String, String)> {
    let mut names: Vec<&str> = Vec::new();
    let story = plan.phases[plan.story(number)].iter().filter(|_| has_own(plan, number));
    let operations = story.flat_map(|phase| &phase.operations);
    for name in operations.flat_map(|made| plan.collections_of(made)) {
        let made_anew = warmup || !is_kept(plan, name);
        if made_anew && !names.contains(&name) {
            names.push(name);
        }
    }
    let each = names.into_iter().flat_map(|name| slots.iter().map(move |slot| (name, slot)));
    each.map(|(name, slot)| (name.to_owned(), own_name(plan, name, *slot, warmup))).collect()
}

async fn set_up(
    context: &PhaseContext<'_>,
    collections: &[(String, String)],
    warmup: bool,
) -> Result<()> {
    let (world, plan) = (&context.world, context.plan());
    let admin = world.server.admin.as_ref().filter(|_| !collections.is_empty());
    let Some(admin) = admin else { return Ok(()) };
    for (name, own) in collections {
        let (number, collection) = world.inputs.collection(plan, name);
        let documents = world.inputs.documents(plan, number);
        load(admin, own, collection, documents, &world.progress, &world.stop).await?;
        if context.phase().consumer && !warmup {
            broker::sentinel(admin, own).await?;
        }
    }
    admin.settle().await;
    Ok(())
}

/// Makes a collection anew and loads its documents, until somebody asks to stop.
pub async fn load(
    admin: &Hosts,
    name: &str,
    collection: &Collection,
    documents: impl Iterator<Item = RawDocumentBuf>,
    progress: &LiveProgress,
    stop: &Stop,
) -> Result<()> {
    let total = collection.loaded;
    stop.check()?;
    admin.create(name, collection).await?;
    if collection.view.is_some() {
        return Ok(());
    }
    let counted = (0_u64..).zip(documents).take_while(|(loaded, _)| {
        if loaded.is_multiple_of(LOADED_EVERY) {
            progress.counting(|| format!("loading {name}: {loaded} of {total} documents"));
        }
        stop.check().is_ok()
    });
    admin.load(name, counted.map(|(_, document)| document)).await?;
    stop.check()
}

async fn clear(context: &PhaseContext<'_>, own: Vec<(String, String)>) -> Result<()> {
    let Some(admin) = &context.world.server.admin else { return Ok(()) };
    for (_, own) in own {
        admin.drop_collection(&own).await?;
    }
    Ok(())
}

async fn prepare(
    context: &PhaseContext<'_>,
    arms: &mut [LiveArm],
    slots: &[usize],
    warmup: bool,
) -> Result<()> {
    let (number, inputs) = (context.number, &context.world.inputs);
    if let Some(admin) = &context.world.server.admin {
        // What was loaded, or written by the phase before, may be read from a secondary.
        admin.replicate().await;
    }
    let has_own = has_own(context.plan(), number);
    for (place, arm) in arms.iter_mut().enumerate() {
        let own = |name: &str| {
            if has_own {
                own_name(context.plan(), name, slots[place], warmup)
            } else {
                name.to_owned()
            }
        };
        let which = Which { round: context.round, arm: arm.index, phase: number, warmup };
        let plan = arm.part.as_ref().map_or(context.plan(), |part| &part.plan);
        let prepares = prepares(inputs, plan, which, own)?;
        arm.stage = Some((plan.phases[number].name.clone(), warmup));
        arm.prepare(prepares).await;
    }
    Ok(())
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
    /// Whether the phase's warm-up runs instead.
    pub warmup: bool,
}

/// The `prepare` of each process, by the arm's own plan; `own` names a collection as it is called
/// on the server.
///
/// # Errors
/// The disk is full.
pub fn prepares(
    inputs: &InputFiles,
    plan: &Plan,
    which: Which,
    own: impl Fn(&str) -> String,
) -> Result<Vec<Prepare>> {
    let phase = &plan.phases[which.phase];
    let mut operations = inputs.operations(which.phase).to_vec();
    for operation in operations.iter_mut().filter(|it| !it.collection.is_empty()) {
        operation.collection = own(&operation.collection);
    }
    let pools = inputs.pools_and_templates(phase, which.phase, which.arm, own)?;
    let prepare = |process| {
        let (limits, steps) = inputs.scheduled(which.phase, phase, process);
        Prepare::Worker(WorkerPrepare {
            samples: inputs.samples(which.round, which.arm, which.phase, process, which.warmup),
            schedule: inputs.schedule(which.phase, phase, process),
            pools: pools.clone(),
            workers: phase.workers,
            first_worker: process * phase.workers,
            limits: limits.clone(),
            pacing: phase.pacing.into(),
            lap_step: steps.lap,
            item_step: steps.item,
            errors_consecutive_max: ERRORS_CONSECUTIVE_MAX,
            operations: operations.clone(),
        })
    };
    Ok((0..phase.processes).map(prepare).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use bson::{Document, doc};
    use record::folder::Folder;
    use workload::parse;
    use workload::{Workload, build};

    use super::*;

    fn workload(operation: &str) -> Workload {
        let text = format!(
            "why: test
collections:
  orders: {{documents: 9, document: {{number: {{type: long, value: key}}}}}}
  customers: {{documents: 9, document: {{number: {{type: long, value: key}}}}}}
  target: {{document: {{number: {{type: long, value: key}}}}}}
phases: [{{{operation}}}]"
        );
        let loaded = parse(&text, std::path::Path::new("test.yaml"), &BTreeMap::new());
        build(&loaded.expect("YAML"), 1).expect("a workload")
    }

    /// Names of the collections that are loaded once, those that the arm of slot 1 has for itself,
    /// and the template that this arm is given.
    fn named(operation: &str) -> (Vec<String>, Vec<String>, Document) {
        let Workload { plan, pools, .. } = workload(operation);
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = Folder::create(&scratch.path().join("results")).expect("a folder");
        let processes = BTreeSet::from([None]);
        let inputs = InputFiles::write(&plan, &processes, pools, &folder, 0.01).expect("files");
        let own = |name: &str| {
            if has_own(&plan, 0) { own_name(&plan, name, 1, false) } else { name.to_owned() }
        };
        let which = Which { round: 1, arm: 0, phase: 0, warmup: false };
        let prepares = prepares(&inputs, &plan, which, own).expect("files");
        let Prepare::Worker(prepare) = &prepares[0] else { panic!("a worker") };
        let template = std::fs::read(prepare.pools.last().expect("templates")).expect("a file");
        let shared = shared(&plan).map(|it| plan.collections[it].name.clone()).collect();
        let own = own_collections(&plan, 0, &[1], false).into_iter().map(|(_, own)| own).collect();
        (shared, own, Document::from_reader(&template[..]).expect("BSON"))
    }

    #[test]
    fn collections_that_a_pipeline_or_a_command_names_are_there() {
        let lookup = "{$facet: {a: [{$lookup: {from: customers, pipeline: [], as: x}}]}}";
        let aggregate = "operation: aggregate, collection: orders, pipeline";
        let (shared, own, template) = named(&format!("{aggregate}: [{lookup}]"));
        assert_eq!((&shared[..], own.len()), (&["orders", "customers"].map(str::to_owned)[..], 0));
        let joined = |from: &str| {
            doc! {"$facet": {"a": [
                {"$lookup": {"from": from, "pipeline": [], "as": "x"}},
            ]}}
        };
        assert_eq!(template, doc! {"pipeline": [joined("customers")]});

        let (shared, own, template) = named(&format!("{aggregate}: [{lookup}, {{$out: target}}]"));
        assert_eq!(
            (shared.len(), own),
            (
                0,
                vec!["orders_1", "customers_1", "target_1"]
                    .into_iter()
                    .map(str::to_owned)
                    .collect()
            )
        );
        assert_eq!(template, doc! {"pipeline": [joined("customers_1"), {"$out": "target_1"}]});

        let (shared, own, template) = named("operation: command, command: {count: customers}");
        assert_eq!((&shared[..], own.len()), (&["customers".to_owned()][..], 0));
        assert_eq!(template, doc! {"count": "customers"});
        let index = "{createIndexes: orders, indexes: [{key: {number: 1}, name: n}]}";
        let (shared, own, template) = named(&format!("operation: command, command: {index}"));
        assert_eq!((shared.len(), &own[..]), (0, &["orders_1".to_owned()][..]));
        assert_eq!(template.get_str("createIndexes").expect("a name"), "orders_1");
        let delete = "{explain: {delete: orders, deletes: [{q: {number: 3}, limit: 1}]}}";
        let (shared, own, template) = named(&format!("operation: command, command: {delete}"));
        assert_eq!((shared.len(), &own[..]), (0, &["orders_1".to_owned()][..]));
        let explained = template.get_document("explain").expect("a command");
        assert_eq!(explained.get_str("delete").expect("a name"), "orders_1");
    }
}
