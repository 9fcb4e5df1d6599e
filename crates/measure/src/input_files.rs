//! Files that adapters replay: pools, templates and schedules, written once per experiment.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use bson::RawDocumentBuf;

use crate::turn::ERRORS_CONSECUTIVE_MAX;
use adapter::protocol::{AdapterOperation, AdapterPacing, WorkerPrepare, operation};
use base::error::{Error, Result};
use record::folder::Folder;
use workload::plan::{Collection, OperationKind, Phase, Plan, Template};
use workload::pool::{Pool, document_for_key};
use workload::schedule::{self, Record, Schedule, Workers};
use workload::stamp::encode;
use workload::steps::Steps;

const NOOP_RECORDS: usize = 1024;

/// Most documents made to learn the cost of one.
const MADE_MAX: u64 = 20_000;

pub struct InputFiles {
    /// Holds pools and schedules; samples lie in the experiment folder.
    pub folder: PathBuf,
    pub sample_bytes: u64,
    /// Under way: the baseline has a run, and so files, in each block of a round.
    pub block: u32,
    samples: PathBuf,
    pools: Vec<Pool>,
    /// By phase, as adapters get them.
    operations: Vec<Vec<AdapterOperation>>,
    /// By phase, in the order that its operations count them.
    templates: Vec<Vec<Template>>,
    measured_s: f64,
    scheduled: BTreeMap<SchedulePlace, (Option<Vec<u64>>, Steps)>,
}

/// Number of a phase; first worker, workers and all workers of one of its processes.
type SchedulePlace = (usize, u32, u32, u32);

fn place(number: usize, phase: &Phase, process: u32) -> SchedulePlace {
    (number, process * phase.workers, phase.workers, phase.workers * phase.processes)
}

impl InputFiles {
    /// Writes the files below the experiment folder. The pools are kept, for the documents that are
    /// loaded. `processes` are the arms' own numbers of processes.
    pub fn write(
        plan: &Plan,
        processes: &BTreeSet<Option<u32>>,
        pools: Vec<Pool>,
        folder: &Folder,
        measured_s: f64,
    ) -> Result<Self> {
        let path = folder.join("materials");
        fs::create_dir_all(&path).map_err(|error| Error::file("create", &path, &error))?;
        // Adapters read no others, and a workload may have thousands of collections.
        let used: BTreeSet<u32> = plan.phases.iter().flat_map(|it| it.pools.clone()).collect();
        for number in used {
            let path = pool_path(&path, number as usize);
            pools[number as usize]
                .write(&path)
                .map_err(|error| Error::file("write", &path, &error))?;
        }
        let (mut operations, mut templates) = (Vec::new(), Vec::new());
        for phase in &plan.phases {
            let mut of_phase = Vec::new();
            let pool = phase.pools.len() as u32;
            let made = phase.operations.iter().map(|it| operation(it, pool, &mut of_phase));
            operations.push(made.collect());
            templates.push(of_phase.into_iter().cloned().collect());
        }
        write_noop_schedule(&path.join("noop.schedule"), 1, NOOP_RECORDS)?;
        for (number, phase) in plan.phases.iter().enumerate() {
            if let Some(documents) = phase.operations.iter().find_map(|it| it.documents.as_ref()) {
                let pool = &pools[phase.pools[documents.pool as usize] as usize];
                let document = |number| (number % pool.count()) as u32;
                let records = (0..NOOP_RECORDS)
                    .map(|number| Record { document: document(number), ..no_op() });
                let (records, parts) = (records.collect(), Vec::new());
                let made = Schedule { slices: 1, lap_ns: 0, guids: true, records, parts };
                let path = documents_path(&path, number);
                made.write(&path).map_err(|error| Error::file("write", &path, &error))?;
            }
        }
        let mut inputs = Self {
            folder: path,
            sample_bytes: 0,
            samples: folder.join("samples"),
            pools,
            block: 0,
            operations,
            templates,
            measured_s,
            scheduled: BTreeMap::new(),
        };
        for own in processes {
            inputs.fit(&plan.with_processes(*own))?;
        }
        Ok(inputs)
    }

    /// Writes the schedules of an arm's own plan that are not there yet. Where arms hand a
    /// collection on, each goes on with the keys behind those of the one before it.
    pub fn fit(&mut self, plan: &Plan) -> Result<()> {
        if plan.kept().is_some() {
            self.scheduled.clear();
        }
        for (number, phase) in plan.phases.iter().enumerate() {
            for process in 0..phase.processes {
                let place = place(number, phase, process);
                if self.scheduled.contains_key(&place) {
                    continue;
                }
                let (_, first, count, of) = place;
                let workers = Workers { first, count, of };
                let seconds = self.measured_s;
                let request =
                    schedule::ScheduleRequest { phase: number, workers, round: 0, seconds };
                let made = schedule::schedule(plan, &request);
                let path = schedule_path(&self.folder, place);
                let written = made.schedule.write(&path);
                written.map_err(|error| Error::file("write", &path, &error))?;
                self.scheduled.insert(place, (made.limits, made.steps));
            }
        }
        Ok(())
    }

    /// The operations of a phase, with the collections' names in the workload.
    pub fn operations(&self, phase: usize) -> &[AdapterOperation] {
        &self.operations[phase]
    }

    /// Path of the schedule of one process, as `prepare` names it.
    pub fn schedule(&self, number: usize, phase: &Phase, process: u32) -> String {
        schedule_path(&self.folder, place(number, phase, process)).to_string_lossy().into_owned()
    }

    /// The `prepare` that makes documents of a phase and does nothing with them; None where the
    /// phase makes none.
    pub fn making(&self, plan: &Plan, number: usize) -> Option<WorkerPrepare> {
        let of = self.operations[number].iter().find(|it| it.documents.is_some())?;
        let schedule = documents_path(&self.folder, number);
        let mut prepare = noop_prepare(&self.folder.join("making.bin"), &schedule);
        prepare.limits = Some(vec![MADE_MAX]);
        prepare.pools = self.pools(&plan.phases[number]);
        prepare.operations[0].documents.clone_from(&of.documents);
        prepare.operations[0].shape.clone_from(&of.shape);
        Some(prepare)
    }

    /// The limits of a schedule's workers, and how its keys move on.
    ///
    /// # Panics
    /// On a process of a plan that the files were not fit to.
    pub fn scheduled(
        &self,
        number: usize,
        phase: &Phase,
        process: u32,
    ) -> &(Option<Vec<u64>>, Steps) {
        &self.scheduled[&place(number, phase, process)]
    }

    /// Paths of the pools of a phase, in the order its operations count them.
    fn pools(&self, phase: &Phase) -> Vec<String> {
        let pools = phase.pools.iter().map(|pool| pool_path(&self.folder, *pool as usize));
        pools.map(|path| path.to_string_lossy().into_owned()).collect()
    }

    /// The same, followed by the arm's templates, which are written here. `own` names a collection
    /// as it is called on the server: arms have collections of other names, from round to round.
    ///
    /// # Errors
    /// The disk is full.
    pub fn pools_and_templates(
        &self,
        phase: &Phase,
        number: usize,
        arm: usize,
        own: impl Fn(&str) -> String,
    ) -> Result<Vec<String>> {
        let mut pools = self.pools(phase);
        let templates = &self.templates[number];
        if !templates.is_empty() {
            let bytes: Vec<u8> = templates.iter().flat_map(|it| encode(&it.named(&own))).collect();
            let name = format!("phase{number}-templates-arm{arm}.bson");
            let path = self.folder.join(name);
            fs::write(&path, bytes).map_err(|error| Error::file("write", &path, &error))?;
            pools.push(path.to_string_lossy().into_owned());
        }
        Ok(pools)
    }

    /// Begins the names of files of one round, in the block under way.
    pub fn round_name(&self, round: u32) -> String {
        let block = if self.block > 0 { format!("b{}", self.block) } else { String::new() };
        format!("r{round:02}{block}")
    }

    /// Begins the names of files of one arm in one round.
    pub fn run_name(&self, round: u32, arm: usize) -> String {
        format!("{}-arm{arm}", self.round_name(round))
    }

    /// Path of the samples of one process in one phase of one round.
    pub fn samples(
        &self,
        round: u32,
        arm: usize,
        phase: usize,
        process: u32,
        warmup: bool,
    ) -> String {
        let warmup = if warmup { "-warmup" } else { "" };
        let run = self.run_name(round, arm);
        let name = format!("{run}-phase{phase}-process{process}{warmup}.bin");
        self.samples.join(name).to_string_lossy().into_owned()
    }

    /// Path of the consumer's samples.
    pub fn received(&self, round: u32, arm: usize, phase: usize) -> PathBuf {
        self.samples.join(format!("{}-phase{phase}-consumer.bin", self.run_name(round, arm)))
    }

    /// Deletes warm-up samples: their rates are in the record.
    pub fn forget_warmup(&self, round: u32, arm: usize, phase: usize, processes: u32) {
        for process in 0..processes {
            let _ = fs::remove_file(self.samples(round, arm, phase, process, true));
        }
    }

    /// A collection of the plan, with its number.
    ///
    /// # Panics
    /// On a name the plan does not have: plans are checked when they are made.
    pub fn collection<'a>(&self, plan: &'a Plan, name: &str) -> (usize, &'a Collection) {
        let found = plan.collections.iter().enumerate().find(|(_, it)| it.name == name);
        found.expect("operations name collections of their plan")
    }

    /// The documents that are loaded into a collection.
    pub fn documents<'a>(
        &'a self,
        plan: &'a Plan,
        number: usize,
    ) -> impl Iterator<Item = RawDocumentBuf> + 'a {
        let (collection, pool) = (&plan.collections[number], &self.pools[number]);
        (0..collection.loaded).map(move |key| {
            let document = document_for_key(collection, pool, plan.seed, key)
                .expect("stamps fit the documents their plan was made with");
            RawDocumentBuf::try_from(&document).expect("documents encode")
        })
    }
}

/// A schedule of operation 0 over and over.
pub fn write_noop_schedule(path: &Path, slices: u32, records: usize) -> Result<()> {
    let (records, parts) = (vec![no_op(); records], Vec::new());
    let schedule = Schedule { slices, lap_ns: 0, guids: false, records, parts };
    schedule.write(path).map_err(|error| Error::file("write", path, &error))
}

/// One document is made for it, where there are any.
fn no_op() -> Record {
    Record { count: 1, ..Record::default() }
}

fn pool_path(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("pool{number}.bson"))
}

fn documents_path(folder: &Path, phase: usize) -> PathBuf {
    folder.join(format!("phase{phase}-documents.schedule"))
}

fn schedule_path(folder: &Path, (phase, first, count, of): SchedulePlace) -> PathBuf {
    folder.join(format!("phase{phase}-worker{first}+{count}of{of}.schedule"))
}

const NOOP_OPERATIONS: u64 = 50_000;

/// The `prepare` of the calibration: one worker, [`NOOP_OPERATIONS`] no-ops.
pub fn noop_prepare(samples: &Path, schedule: &Path) -> WorkerPrepare {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    WorkerPrepare {
        samples: path(samples),
        schedule: path(schedule),
        pools: vec![],
        workers: 1,
        first_worker: 0,
        limits: Some(vec![NOOP_OPERATIONS]),
        pacing: AdapterPacing::Awaited { think_ns: 0 },
        lap_step: 0,
        item_step: 0,
        errors_consecutive_max: ERRORS_CONSECUTIVE_MAX,
        operations: vec![AdapterOperation::new("noop", OperationKind::Noop)],
    }
}
