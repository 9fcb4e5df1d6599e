//! Files that adapters replay: pools and schedules, written once per experiment.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use bson::RawDocumentBuf;

use crate::arm::noop_prepare;
use adapter::messages::Prepare;
use base::error::{Error, Result};
use record::folder::Folder;
use workload::plan::{Collection, Phase, Plan};
use workload::pool::{Pool, document_for_key};
use workload::schedule::{self, Record, Schedule};

const NOOP_RECORDS: usize = 1024;

/// Most documents made to learn the cost of one.
const MADE_MAX: u64 = 20_000;

pub struct InputFiles {
    /// Holds pools and schedules; samples lie in the experiment folder.
    pub folder: PathBuf,
    pub sample_bytes: u64,
    samples: PathBuf,
    pools: Vec<Pool>,
    /// By phase, processes of the arm, process.
    limits: BTreeMap<(usize, u32, u32), Option<Vec<u64>>>,
}

impl InputFiles {
    /// Writes the files below the experiment folder. The pools stay in memory, for the documents
    /// that are loaded. `processes` are the arms' own numbers of processes.
    pub fn write(
        plan: &Plan,
        processes: &BTreeSet<Option<u32>>,
        pools: Vec<Pool>,
        folder: &Folder,
        measured_s: f64,
    ) -> Result<Self> {
        let path = folder.join("materials");
        fs::create_dir_all(&path).map_err(|error| Error::file("create", &path, &error))?;
        for (number, pool) in pools.iter().enumerate() {
            let path = pool_path(&path, number);
            pool.write(&path).map_err(|error| Error::file("write", &path, &error))?;
        }
        let mut limits = BTreeMap::new();
        for own in processes {
            let plan = plan.with_processes(*own);
            for (number, phase) in plan.phases.iter().enumerate() {
                for process in 0..phase.processes {
                    let request =
                        schedule::Request { phase: number, process, round: 0, seconds: measured_s };
                    let made = schedule::schedule(&plan, &request);
                    let path = schedule_path(&path, number, phase.processes, process);
                    let written = made.schedule.write(&path);
                    written.map_err(|error| Error::file("write", &path, &error))?;
                    limits.insert((number, phase.processes, process), made.limits);
                }
            }
        }
        write_noop_schedule(&path.join("noop.schedule"), 1, NOOP_RECORDS)?;
        for (number, phase) in plan.phases.iter().enumerate() {
            if let Some(documents) = phase.operations.iter().find_map(|it| it.documents.as_ref()) {
                let pool = &pools[phase.pools[documents.pool as usize] as usize];
                let document = |number| (number % pool.documents().len()) as u32;
                let records = (0..NOOP_RECORDS)
                    .map(|number| Record { document: document(number), ..Record::default() });
                let records = records.collect();
                let made = Schedule { slices: 1, lap_ns: 0, guids: true, records };
                let path = documents_path(&path, number);
                made.write(&path).map_err(|error| Error::file("write", &path, &error))?;
            }
        }
        Ok(Self { folder: path, sample_bytes: 0, samples: folder.join("samples"), pools, limits })
    }

    /// Path of one of `processes` schedules, as `prepare` names it.
    pub fn schedule(&self, phase: usize, processes: u32, process: u32) -> String {
        schedule_path(&self.folder, phase, processes, process).to_string_lossy().into_owned()
    }

    /// The `prepare` that makes documents of a phase and does nothing with them; None where the
    /// phase makes none.
    pub fn making(&self, plan: &Plan, number: usize) -> Option<Prepare> {
        let phase = &plan.phases[number];
        let of = phase.operations.iter().find(|it| it.documents.is_some())?;
        let schedule = documents_path(&self.folder, number);
        let mut prepare = noop_prepare(&self.folder.join("making.bin"), &schedule);
        prepare.limits = Some(vec![MADE_MAX]);
        prepare.pools = self.pools(phase);
        prepare.document_form.clone_from(&phase.document_form);
        prepare.operations[0].documents.clone_from(&of.documents);
        prepare.operations[0].key = of.key;
        Some(prepare)
    }

    /// The limits of a schedule's workers.
    pub fn limits(&self, phase: usize, processes: u32, process: u32) -> Option<Vec<u64>> {
        self.limits[&(phase, processes, process)].clone()
    }

    /// Paths of the pools of a phase, in the order its operations count them.
    pub fn pools(&self, phase: &Phase) -> Vec<String> {
        let path = |number: &u32| pool_path(&self.folder, *number as usize);
        phase.pools.iter().map(|number| path(number).to_string_lossy().into_owned()).collect()
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
        let name = format!("r{round:02}-arm{arm}-phase{phase}-process{process}{warmup}.bin");
        self.samples.join(name).to_string_lossy().into_owned()
    }

    /// Path of the consumer's samples.
    pub fn received(&self, round: u32, arm: usize, phase: usize) -> PathBuf {
        self.samples.join(format!("r{round:02}-arm{arm}-phase{phase}-consumer.bin"))
    }

    /// Deletes warm-up samples: their rates stand in the record.
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

/// A schedule of operation 0 over and over, for calibration and vectors.
pub fn write_noop_schedule(path: &Path, slices: u32, records: usize) -> Result<()> {
    let records = vec![Record::default(); records];
    let schedule = Schedule { slices, lap_ns: 0, guids: false, records };
    schedule.write(path).map_err(|error| Error::file("write", path, &error))
}

fn pool_path(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("pool{number}.bson"))
}

fn documents_path(folder: &Path, phase: usize) -> PathBuf {
    folder.join(format!("phase{phase}-documents.schedule"))
}

fn schedule_path(folder: &Path, phase: usize, processes: u32, process: u32) -> PathBuf {
    folder.join(format!("phase{phase}-process{process}of{processes}.schedule"))
}
