//! Adapters driven by the contract, turn by turn, as `mongodyno run` drives them. For figures that
//! `run` cannot make: against canned answers, a tap or a hand-written loop.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use adapter::environment::Environment;
use adapter::installation::Installation;
use adapter::manifest::discover;
use adapter::patience::Patience;
use base::clock::Epoch;
use measure::admin::Admin;
use measure::arm::{LiveArm, Target};
use measure::input_files::InputFiles;
use measure::phase::{Which, prepares};
use measure::selection::one;
use record::folder::Folder;
use record::samples::{Sample, Samples};
use stats::descriptive::median;
use tokio::runtime::Runtime;
use workload::plan::Plan;
use workload::{Pool, Workload, builtin};

use crate::support::Bench;

/// Database of the figures that need only one.
pub const DATABASE: &str = "figures";

/// The files of one workload, and the runtime that drives adapters on it.
pub struct Stand {
    runtime: Runtime,
    epoch: Epoch,
    folder: Folder,
    plan: Plan,
    pools: Vec<Pool>,
    inputs: InputFiles,
}

/// An adapter at a server, armed for one phase.
pub struct Driven {
    arm: LiveArm,
    samples: PathBuf,
    turns: Vec<(u64, u64)>,
}

/// Warms two sides up, then lets them go in turn, each first every second time. Answers the results
/// of each turn of either, pair by pair.
pub fn pairs(
    pairs: u32,
    warmup_turns: u32,
    mut turn: impl FnMut(usize) -> Result<f64, String>,
) -> Result<[Vec<f64>; 2], String> {
    let mut given = [Vec::new(), Vec::new()];
    for pair in 0..warmup_turns + pairs {
        for side in if pair % 2 == 0 { [0, 1] } else { [1, 0] } {
            let value = turn(side)?;
            if pair >= warmup_turns {
                given[side].push(value);
            }
        }
    }
    Ok(given)
}

/// The environment of a driver as `-d` takes it, installed if need be.
pub fn environment(driver: &str) -> Result<Environment, String> {
    let manifests = discover(None).map_err(|error| error.to_string())?;
    let arm = one(&manifests, driver, false).map_err(|error| error.to_string())?;
    let installation = Installation::of(arm.manifest, &arm.asked);
    let installation = installation.map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let made = async {
        installation.run(|_| ()).await?;
        installation.environment().await
    };
    runtime.block_on(made).map_err(|error| error.to_string())
}

impl Stand {
    /// Writes the files of a built-in workload with so many workers.
    pub fn of(bench: &Bench, workload: &str, threads: u32) -> Result<Self, String> {
        let sets = BTreeMap::from([("threads".to_owned(), threads.to_string())]);
        let workload = builtin::open(workload, &sets, 1).map_err(|error| error.to_string())?;
        let Workload { plan, pools, .. } = workload;
        let folder = Folder::create(&bench.fresh()).map_err(|error| error.to_string())?;
        let inputs = InputFiles::write(&plan, &BTreeSet::from([None]), pools.clone(), &folder, 3.0);
        let inputs = inputs.map_err(|error| error.to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        Ok(Self { runtime, epoch: Epoch::start(), folder, plan, pools, inputs })
    }

    /// Makes and loads the collection of a phase on a server; answers its name.
    pub fn load(&self, uri: &str, database: &str, phase: &str) -> Result<String, String> {
        let name = self.plan.phases[self.number(phase)].operations[0].collection.clone();
        let (number, collection) = self.inputs.collection(&self.plan, &name);
        let loading = async {
            let admin = Admin::connect(uri, database).await?;
            admin.create(&name, collection).await?;
            admin.load(&name, self.inputs.documents(&self.plan, number)).await
        };
        self.runtime.block_on(loading).map_err(|error| error.to_string())?;
        Ok(name)
    }

    /// Writes the documents of a collection, and answers the path of the file.
    pub fn pool(&self, collection: &str) -> Result<String, String> {
        let (number, _) = self.inputs.collection(&self.plan, collection);
        let path = self.inputs.folder.join(format!("documents{number}.bson"));
        self.pools[number].write(&path).map_err(|error| error.to_string())?;
        Ok(path.display().to_string())
    }

    /// Starts an adapter at a server and arms it; `number` keeps several of them apart. An adapter
    /// of one worker a process has as many processes as workers.
    pub fn start(
        &mut self,
        environment: &Environment,
        uri: &str,
        database: &str,
        phase: &str,
        number: usize,
    ) -> Result<Driven, String> {
        let target = Target { uri: Some(uri), database, plan: Some(&self.plan), others: &[] };
        let log = self.folder.join(&format!("adapter{number}.log"));
        let epoch = &self.epoch;
        let starts = LiveArm::start(number, 0, environment, &log, epoch, &target);
        let mut arm = self.runtime.block_on(starts);
        let plan = arm.part.as_ref().map_or(&self.plan, |part| &part.plan);
        self.inputs.fit(plan).map_err(|error| error.to_string())?;
        let which = Which { round: 1, arm: number, phase: self.number(phase), warmup: false };
        let prepares = prepares(&self.inputs, plan, which, str::to_owned);
        let prepares = prepares.map_err(|error| error.to_string())?;
        let samples = PathBuf::from(prepares[0].samples());
        fs::create_dir_all(samples.parent().expect("below the folder"))
            .map_err(|error| error.to_string())?;
        self.runtime.block_on(arm.prepare(prepares));
        Driven { arm, samples, turns: Vec::new() }.healthy()
    }

    /// Lets an adapter go for a while; answers operations a second.
    pub fn turn(&self, driven: &mut Driven, length: Duration) -> Result<f64, String> {
        let patience = Patience::timed(length, Duration::ZERO);
        let turn = self.runtime.block_on(driven.arm.turn(&self.epoch, patience, None));
        let Some(turn) = turn.map(|turn| turn.turned) else {
            let why = driven.arm.failed.as_ref().or(driven.arm.refused.as_ref());
            return Err(why.cloned().unwrap_or_default());
        };
        if turn.errors > 0 || turn.gave_up || turn.exhausted {
            return Err(format!("a turn of {} operations, {turn:?}", turn.operations));
        }
        driven.turns.push((turn.began_ns, turn.ended_ns));
        Ok(turn.operations as f64 * 1e9 / (turn.ended_ns - turn.began_ns) as f64)
    }

    /// Ends the phase and the adapter; answers the median service time of each turn, us, those of
    /// the warm-up included.
    pub fn end(&self, mut driven: Driven) -> Result<Vec<f64>, String> {
        self.runtime.block_on(async {
            driven.arm.end().await;
            driven.arm.close().await;
        });
        let driven = driven.healthy()?;
        let samples = Samples::open(&driven.samples).map_err(|error| error.to_string())?;
        let samples: Result<Vec<Sample>, _> = samples.collect();
        let samples = samples.map_err(|error| error.to_string())?;
        let of_turn = |(began_ns, ended_ns): &(u64, u64)| {
            let inside = samples.iter().filter(|it| (*began_ns..*ended_ns).contains(&it.start_ns));
            let times: Vec<f64> = inside.map(|it| it.service_ns as f64 / 1e3).collect();
            median(&times).unwrap_or(f64::NAN)
        };
        Ok(driven.turns.iter().map(of_turn).collect())
    }

    fn number(&self, phase: &str) -> usize {
        let found = self.plan.phases.iter().position(|it| it.name == phase);
        found.expect("a phase of the workload")
    }
}

impl Driven {
    pub fn processes(&self) -> usize {
        self.arm.processes().len()
    }

    fn healthy(self) -> Result<Self, String> {
        match &self.arm.failed {
            None => Ok(self),
            Some(reason) => Err(reason.clone()),
        }
    }
}
