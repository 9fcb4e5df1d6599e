//! One phase of one round: set up, warm up in turns, measure in turns, clear away.
//!
//! A phase that takes no turns is one turn as long as the phase: there is one mechanism.

use std::time::{Duration, Instant};

use bson::RawDocumentBuf;
use rand_chacha::ChaCha8Rng;

use crate::admin::{Admin, Counters};
use crate::arm::{ERRORS_CONSECUTIVE_MAX, LiveArm, Turn};
use crate::awake::Awake;
use crate::broker::{self, Read};
use crate::laps::{self, take_turns, warm_up};
use crate::materials::Materials;
use crate::progress::Progress;
use crate::sampler::Sampler;
use crate::shuffle;
use crate::stop::Stop;
use crate::unacknowledged::counters;
use adapter::messages::{Ended, Prepare, Role};
use base::clock::Epoch;
use base::error::Result;
use stats::threshold::Interleave;
use workload::plan::{Collection, Phase, Plan};
use workload::schedule;

/// Documents between two words about how far a collection is loaded.
const LOADED_EVERY: u64 = 1_000;

/// What all phases of a round share.
pub struct Stage<'a> {
    /// What is done.
    pub plan: &'a Plan,
    /// Files of pools and schedules.
    pub materials: &'a Materials,
    /// The experiment's clock.
    pub epoch: &'a Epoch,
    /// Administration; None with `--server none`.
    pub admin: Option<&'a Admin>,
    /// Readings of the server once a second.
    pub sampler: &'a mut Sampler,
    /// Randomness of orders and names.
    pub rng: &'a mut ChaCha8Rng,
    /// The live line.
    pub progress: &'a mut Progress,
    /// Ctrl-C.
    pub stop: &'a Stop,
    /// Round, from 1.
    pub round: u32,
    /// Quick form.
    pub quick: bool,
    /// Some writes of the phase have no answer: they are waited for before anything is counted.
    pub unacknowledged: bool,
    /// Measured seconds where the phase does not say.
    pub measured_s: f64,
    /// Length of a turn, once the first round has decided it.
    pub turn: Option<Duration>,
    /// Time that the plan gives the phase, over all arms.
    pub planned: Duration,
    /// Keeps cores awake during turns.
    pub awake: Option<&'a Awake>,
    /// Reads the messages of phases that have a consumer.
    pub consumer: Option<&'a mut LiveArm>,
}

/// What one arm did in one phase, before its samples are read.
pub struct Measured {
    /// Index of the arm in the experiment.
    pub arm: usize,
    /// Turns in order.
    pub turns: Vec<Turn>,
    /// Operations a second in each of them.
    pub rates: Vec<f64>,
    /// Place of each of them within its lap, from 0.
    pub positions: Vec<u32>,
    /// Length asked of each turn.
    pub turn_length: Duration,
    /// CPU of the other arms during its turns, ns.
    pub idle_cpu_ns: u64,
    /// Server counters over its turns.
    pub counters: Counters,
    /// Making one document, ns.
    pub document_ns: Option<f64>,
    /// Operations a second in each second of the warm-up.
    pub warmup_throughput: Vec<f64>,
    /// Totals, once the phase has ended.
    pub ended: Option<Ended>,
    /// Resident set when armed, bytes.
    pub rss_armed_bytes: u64,
    /// Peak resident set, bytes.
    pub rss_peak_bytes: u64,
    /// Collection sizes before and after.
    pub sizes: Counters,
    /// Collection that this arm wrote.
    pub written: Option<String>,
    /// Documents in it after the phase and its drain.
    pub documents_after: Option<i64>,
    /// What the consumer did, in a phase that has one.
    pub read: Option<Read>,
}

impl Measured {
    /// Nothing measured yet.
    #[must_use]
    pub fn new(arm: usize) -> Self {
        Self {
            arm,
            turns: Vec::new(),
            rates: Vec::new(),
            positions: Vec::new(),
            turn_length: Duration::ZERO,
            idle_cpu_ns: 0,
            counters: Counters::new(),
            document_ns: None,
            warmup_throughput: Vec::new(),
            ended: None,
            rss_armed_bytes: 0,
            rss_peak_bytes: 0,
            sizes: Counters::new(),
            written: None,
            documents_after: None,
            read: None,
        }
    }
}

/// Runs one phase for the arms that share it; the answer is in the order of `arms`.
///
/// # Errors
/// The server lost, or Ctrl-C.
pub async fn run(
    stage: &mut Stage<'_>,
    arms: &mut [LiveArm],
    number: usize,
    warmups: &[Duration],
    interleave: Interleave,
) -> Result<Vec<Measured>> {
    let phase = &stage.plan.phases[number];
    let began = Instant::now();
    let mut measured: Vec<_> = arms.iter().map(|arm| Measured::new(arm.index)).collect();
    // Which arm gets which collection is shuffled: the trees on the server differ.
    let mut slots: Vec<usize> = (0..arms.len()).collect();
    shuffle(&mut slots, stage.rng);

    set_up(stage, phase, &slots, true).await?;
    prepare(stage, arms, number, &slots, true).await;
    let rates = warm_up(stage, arms, warmups, &mut measured).await?;
    for arm in arms.iter_mut() {
        arm.end().await;
    }
    // What still comes would make the dropped collections anew.
    counters(stage, written_collection(phase, slots[0], true)).await?;
    clear(stage, phase, &slots, true).await?;

    set_up(stage, phase, &slots, false).await?;
    prepare(stage, arms, number, &slots, false).await;
    for (place, arm) in arms.iter_mut().enumerate() {
        let written = written_collection(phase, slots[place], false);
        if let (Some(admin), Some(name)) = (stage.admin, &written) {
            measured[place].sizes = prefixed("before", admin.sizes(name).await);
        }
        measured[place].written = written;
        arm.reset_rss_peak();
        measured[place].rss_armed_bytes = arm.rss_bytes().0;
    }
    let turns = laps::plan(stage, phase, &rates, interleave);
    for entry in &mut measured {
        entry.turn_length = turns.length;
    }
    take_turns(stage, arms, number, &turns, began, &mut measured).await?;
    for (place, arm) in arms.iter_mut().enumerate() {
        measured[place].ended = arm.end().await;
        measured[place].rss_peak_bytes = arm.rss_bytes().1;
        if let (Some(admin), Some(name)) = (stage.admin, measured[place].written.clone()) {
            measured[place].documents_after = Some(drain(admin, &name).await?);
            measured[place].sizes.extend(prefixed("after", admin.sizes(&name).await));
        }
    }
    clear(stage, phase, &slots, false).await?;
    Ok(measured)
}

fn prefixed(prefix: &str, counters: Counters) -> Counters {
    counters.into_iter().map(|(name, value)| (format!("{prefix}.{name}"), value)).collect()
}

/// Unacknowledged writes go on after the last `end`: the count has settled when two readings
/// 50 ms apart agree. Answers it.
///
/// # Errors
/// The server lost.
pub async fn drain(admin: &Admin, name: &str) -> Result<i64> {
    let mut count = admin.count(name).await?;
    for _ in 0..600 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let again = admin.count(name).await?;
        if again == count {
            break;
        }
        count = again;
    }
    Ok(count)
}

/// Name on the server of a collection that an arm writes.
fn own_name(collection: &str, slot: usize, warmup: bool) -> String {
    format!("{collection}_{slot}{}", if warmup { "_warmup" } else { "" })
}

fn written_collection(phase: &Phase, slot: usize, warmup: bool) -> Option<String> {
    let operation = phase.operations.iter().find(|operation| !operation.collection.is_empty())?;
    phase.writes.then(|| own_name(&operation.collection, slot, warmup))
}

fn collections(phase: &Phase) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for operation in &phase.operations {
        if !operation.collection.is_empty() && !names.contains(&operation.collection.as_str()) {
            names.push(&operation.collection);
        }
    }
    names
}

async fn set_up(stage: &Stage<'_>, phase: &Phase, slots: &[usize], warmup: bool) -> Result<()> {
    let Some(admin) = stage.admin else { return Ok(()) };
    if !phase.writes {
        return Ok(());
    }
    for name in collections(phase) {
        let (number, collection) = stage.materials.collection(stage.plan, name);
        for slot in slots {
            let own = own_name(name, *slot, warmup);
            let documents = stage.materials.documents(stage.plan, number);
            load(admin, &own, collection, documents, stage.progress, stage.stop).await?;
            if phase.consumer && !warmup {
                broker::sentinel(admin, &own).await?;
            }
        }
    }
    admin.settle().await;
    Ok(())
}

/// Makes a collection anew and loads its documents, until somebody asks to stop.
///
/// # Errors
/// The server's refusal; interrupted.
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

async fn clear(stage: &Stage<'_>, phase: &Phase, slots: &[usize], warmup: bool) -> Result<()> {
    let Some(admin) = stage.admin else { return Ok(()) };
    if phase.writes {
        for name in collections(phase) {
            for slot in slots {
                admin.drop_collection(&own_name(name, *slot, warmup)).await?;
            }
        }
    }
    Ok(())
}

async fn prepare(
    stage: &Stage<'_>,
    arms: &mut [LiveArm],
    number: usize,
    slots: &[usize],
    warmup: bool,
) {
    let phase = &stage.plan.phases[number];
    for (place, arm) in arms.iter_mut().enumerate() {
        let own = |name: &str| {
            if phase.writes { own_name(name, slots[place], warmup) } else { name.to_owned() }
        };
        let which = Which { round: stage.round, arm: arm.index, phase: number, warmup };
        let plan = stage.plan.with_processes(arm.own_processes);
        arm.prepare(prepares(stage.materials, &plan, which, own)).await;
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
    materials: &Materials,
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
        samples: materials.samples(which.round, which.arm, which.phase, process, which.warmup),
        schedule: materials.schedule(which.phase, phase.processes, process),
        pools: materials.pools(phase),
        document_form: phase.document_form.clone(),
        workers: phase.workers,
        first_worker: process * phase.workers,
        limits: materials.limits(which.phase, phase.processes, process),
        pacing: phase.pacing,
        counter: schedule::counter(plan, phase),
        errors_consecutive_max: ERRORS_CONSECUTIVE_MAX,
        operations: operations.clone(),
        consumer: None,
    };
    (0..phase.processes).map(prepare).collect()
}
