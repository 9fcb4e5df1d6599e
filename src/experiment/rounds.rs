//! The rounds of an experiment: start, calibrate, phases, records, looks.

use std::path::PathBuf;
use std::time::Duration;

use nix::unistd::Pid;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng as _;

use crate::adapter::environment::Environment;
use crate::analysis;
use crate::child;
use crate::clock::{Epoch, wall};
use crate::error::{Error, Result};
use crate::experiment::admin::Admin;
use crate::experiment::arm::{LiveArm, Target};
use crate::experiment::materials::Materials;
use crate::experiment::path::Path;
use crate::experiment::phase::{self, Stage};
use crate::experiment::progress::Progress;
use crate::experiment::sampler::Sampler;
use crate::experiment::stop::Stop;
use crate::experiment::summary::{Source, summarise};
use crate::experiment::{settings, shuffle};
use crate::result::folder::Folder;
use crate::result::machine::CpuReading;
use crate::result::records::{Experiment, MachineNoise, PhaseRun, Run, Tap};
use crate::result::samples::Samples;
use crate::stats::descriptive::median;
use crate::stats::looks::NextStep;
use crate::stats::threshold::Interleave;
use crate::tap::{self, recording};

/// Raw samples of one experiment, bytes; beyond it histograms are kept and samples are not.
pub const SAMPLE_BUDGET_BYTES: u64 = 2 << 30;

/// An arm lost in so many rounds in a row is started no more: what is broken stays broken, and
/// each loss may cost a minute of waiting.
const LOST_ROUNDS_MAX: usize = 3;
/// Less free space than the smallest of the adapters' files may take.
const DISK_FULL_BYTES: u64 = 4 << 20;
const GIVEN_UP: &str = "given up: ";

/// Everything the rounds need.
pub struct Laboratory {
    /// What is known beforehand; arms learn their versions from the running adapters.
    pub experiment: Experiment,
    /// One per arm.
    pub environments: Vec<Environment>,
    /// The experiment's folder.
    pub folder: Folder,
    /// Zero of all times.
    pub epoch: Epoch,
    /// URI of each arm, with its options and credentials; empty with `--server none`.
    pub uris: Vec<String>,
    /// The tap on the way to the server, if one was asked for.
    pub path: Option<Path>,
    /// This experiment's database.
    pub database: String,
    /// Administration; None with `--server none`.
    pub admin: Option<Admin>,
    /// The mongod we started: its CPU is ours, its counters are exact.
    pub server_pid: Option<i32>,
    /// Readings of the server.
    pub sampler: Sampler,
    /// Pools and schedules.
    pub materials: Materials,
    /// Live line.
    pub progress: Progress,
    /// Ctrl-C.
    pub stop: Stop,
    /// Why each arm was lost, once for each of the last rounds in a row.
    pub losses: Vec<Vec<String>>,
}

impl Laboratory {
    /// Makes rounds until a look decides or the last one is made.
    ///
    /// # Errors
    /// Interrupted, the server lost, the disk full. Finished rounds are in the folder.
    pub async fn rounds(&mut self) -> Result<()> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.experiment.settings.seed);
        self.load_shared().await?;
        let mut until = self.experiment.settings.looks.first_rounds();
        let mut round = 0;
        loop {
            round += 1;
            self.progress.round(round);
            self.round(round, &mut rng).await?;
            if round == 1 {
                self.folder.write_experiment(&self.experiment)?;
            }
            if self.losses[0].len() >= LOST_ROUNDS_MAX {
                // Without its baseline nothing can be compared.
                return Ok(());
            }
            if round < until {
                continue;
            }
            let outcome = analysis::analyse(&self.folder, &self.experiment)?;
            match self.experiment.settings.looks.next(round, &outcome.deciding) {
                NextStep::Stop => return Ok(()),
                NextStep::ContinueTo(rounds) => {
                    let open = outcome.deciding.iter().filter(|it| !it.settled()).count();
                    self.progress.note(&format!(
                        "look after {round} rounds: {open} of {} comparisons open; on to {rounds}",
                        outcome.deciding.len()
                    ));
                    until = rounds;
                    self.progress.extend(rounds);
                }
            }
        }
    }

    /// Collections that are only read are loaded once and shared: with one for each arm the
    /// scatter doubled, because the trees on the server differ.
    async fn load_shared(&mut self) -> Result<()> {
        let Some(admin) = &self.admin else { return Ok(()) };
        let plan = &self.experiment.plan;
        for (number, collection) in plan.collections.iter().enumerate() {
            let read = plan.phases.iter().any(|phase| {
                !phase.writes && phase.operations.iter().any(|it| it.collection == collection.name)
            });
            if read {
                self.stop.check()?;
                admin.create(&collection.name, collection).await?;
                admin.load(&collection.name, self.materials.documents(plan, number)).await?;
            }
        }
        admin.settle().await;
        Ok(())
    }

    async fn round(&mut self, round: u32, rng: &mut ChaCha8Rng) -> Result<()> {
        let cpu_before = CpuReading::take();
        let own_before = self.own_cpu_ns();
        let mut order: Vec<usize> = (0..self.experiment.arms.len()).collect();
        shuffle(&mut order, rng);
        // Where no phase takes turns every arm runs whole, alone; else all of them live together.
        let alone =
            self.experiment.settings.interleave.iter().all(|it| it.interleave == Interleave::Runs);
        let groups: Vec<Vec<usize>> =
            if alone { order.iter().map(|arm| vec![*arm]).collect() } else { vec![order.clone()] };
        let mut runs = Vec::new();
        let mut adapters_ns = 0;
        for group in groups {
            let (mut done, cpu_ns) = self.group(round, &order, &group, rng).await?;
            runs.append(&mut done);
            adapters_ns += cpu_ns;
        }
        if runs.iter().any(|run| run.failed.is_some())
            && self.folder.free_bytes().is_some_and(|free| free < DISK_FULL_BYTES)
        {
            // What an adapter cannot write looks like a fault of its own.
            let full = nix::errno::Errno::ENOSPC.into();
            return Err(Error::file("write", self.folder.path(), &full));
        }
        let ours = self.own_cpu_ns().saturating_sub(own_before) + adapters_ns;
        let noise = CpuReading::take().noise_since(&cpu_before, ours);
        let simulated = self.environments.iter().all(|it| it.simulated);
        for run in &mut runs {
            let arm = self.experiment.arms.iter().position(|arm| arm.id == run.arm);
            let losses = &mut self.losses[arm.expect("runs are of arms")];
            match &run.failed {
                Some(reason) => {
                    losses.push(reason.clone());
                    self.progress.note(&format!("{} is lost in this round: {reason}", run.arm));
                }
                None => losses.clear(),
            }
            if simulated {
                run.phases.iter_mut().for_each(pretend_cpu);
            } else {
                run.machine_noise = noise;
            }
            self.folder.append_run(run)?;
        }
        Ok(())
    }

    fn own_cpu_ns(&self) -> u64 {
        let own = child::cpu_ns(nix::unistd::getpid()).unwrap_or(0);
        let server = self.server_pid.and_then(|pid| child::cpu_ns(Pid::from_raw(pid)));
        own + server.unwrap_or(0)
    }

    /// Arms whose processes live side by side; answers their runs and the CPU they used.
    async fn group(
        &mut self,
        round: u32,
        order: &[usize],
        group: &[usize],
        rng: &mut ChaCha8Rng,
    ) -> Result<(Vec<Run>, u64)> {
        let (mut arms, mut runs) = self.start(round, order, group).await?;
        let phases = self.experiment.plan.phases.len();
        for number in 0..phases {
            self.stop.check()?;
            let name = self.experiment.plan.phases[number].name.clone();
            self.sampler.label(round, &name);
            self.progress.phase(&name, number, phases);
            self.phase(round, number, &mut arms, &mut runs, rng).await?;
        }
        self.sampler.label(round, "");
        let mut cpu_ns = 0;
        for (arm, run) in arms.iter_mut().zip(&mut runs) {
            run.failed.clone_from(&arm.failed);
            run.wakeup_us = median(&arm.wakeups_us);
            cpu_ns += arm.cpu_ns();
            arm.close().await;
        }
        Ok((runs, cpu_ns))
    }

    async fn start(
        &mut self,
        round: u32,
        order: &[usize],
        group: &[usize],
    ) -> Result<(Vec<LiveArm>, Vec<Run>)> {
        let processes =
            self.experiment.plan.phases.iter().map(|phase| phase.processes).max().unwrap_or(1);
        let mut arms = Vec::new();
        let mut runs = Vec::new();
        for &index in group {
            self.stop.check()?;
            let position = order.iter().position(|it| *it == index).unwrap_or(0) as u32;
            let log = self.folder.join(&format!("logs/r{round:02}-arm{index}.log"));
            let environment = &self.environments[index];
            let target = Target { uri: &self.uris[index], database: &self.database };
            let started_at = wall();
            let losses = &self.losses[index];
            arms.push(match losses.last() {
                Some(last) if losses.len() >= LOST_ROUNDS_MAX => {
                    let reason = last.trim_start_matches(GIVEN_UP);
                    LiveArm::absent(index, position, format!("{GIVEN_UP}{reason}"))
                }
                _ => {
                    let epoch = &self.epoch;
                    LiveArm::start(index, position, environment, processes, &log, epoch, &target)
                        .await
                }
            });
            runs.push(empty_run(round, position, started_at));
        }
        for (arm, run) in arms.iter_mut().zip(&mut runs) {
            self.identify(arm);
            run.arm.clone_from(&self.experiment.arms[arm.index].id);
            run.noop_ns = arm.calibrate(&self.epoch, &self.materials.folder).await;
        }
        Ok((arms, runs))
    }

    /// No version, no measurement: what stands in the result comes from the running adapter.
    fn identify(&mut self, live: &mut LiveArm) {
        let Some(hello) = live.hello() else { return };
        let arm = &mut self.experiment.arms[live.index];
        arm.driver.clone_from(&hello.driver.name);
        arm.version.clone_from(&hello.driver.version);
        arm.native = hello.driver.native;
        arm.runtime = format!("{} {}", hello.runtime.name, hello.runtime.version);
        arm.concurrency.clone_from(&hello.capabilities.concurrency.kind);
        if let Some(opened) = &live.opened {
            arm.resolved = opened.resolved.clone();
        }
    }

    async fn phase(
        &mut self,
        round: u32,
        number: usize,
        arms: &mut [LiveArm],
        runs: &mut [Run],
        rng: &mut ChaCha8Rng,
    ) -> Result<()> {
        let settings = &self.experiment.settings;
        let quick = settings.looks.quick;
        let interleave = settings.interleave[number].interleave;
        let plan = &self.experiment.plan;
        let warmups: Vec<Duration> = arms
            .iter()
            .map(|arm| {
                let profile_s = self.environments[arm.index].warmup_s;
                settings::warmup(profile_s, &plan.phases[number], number == 0, quick)
            })
            .collect();
        let mut stage = Stage {
            plan,
            materials: &self.materials,
            epoch: &self.epoch,
            admin: self.admin.as_ref(),
            sampler: &mut self.sampler,
            rng,
            progress: &mut self.progress,
            stop: &self.stop,
            round,
            quick,
            measured_s: settings.measured_s,
        };
        if let Some(path) = &mut self.path {
            let prefix = path.prefix(round, &plan.phases[number].name);
            path.rotate(Some(prefix)).await?;
        }
        let measured = phase::run(&mut stage, arms, number, &warmups, interleave).await?;
        if let Some(path) = &mut self.path {
            path.rotate(None).await?;
        }
        for (place, measured) in measured.iter().enumerate() {
            if !arms[place].alive() || measured.ended.is_none() {
                continue;
            }
            let run = self.summary(round, number, &runs[place].arm, measured)?;
            runs[place].phases.push(run);
        }
        Ok(())
    }

    fn summary(
        &mut self,
        round: u32,
        number: usize,
        arm: &str,
        measured: &phase::Measured,
    ) -> Result<PhaseRun> {
        let plan = &self.experiment.plan;
        let phase = &plan.phases[number];
        let files: Vec<PathBuf> = (0..phase.processes)
            .map(|process| {
                self.materials.samples(round, measured.arm, number, process, false).into()
            })
            .collect();
        let source = Source {
            plan,
            phase,
            files: files.clone(),
            expected: self.materials.expected(plan, number, &files)?,
            exclusive: self.server_pid.is_some(),
            hlog: format!("hlog/r{round:02}-arm{}-{}.hlog", measured.arm, phase.name),
            arm,
        };
        let mut run = summarise(&source, measured, &self.folder)?;
        let tapped = self.tapped(round, &source, measured, &run)?;
        self.materials.forget_warmup(round, measured.arm, number, phase.processes);
        run.samples = self.keep_samples(&files)?;
        if let Some((tap, exchanges)) = tapped {
            run.tap = Some(tap);
            self.keep_samples(&[exchanges])?;
        }
        Ok(run)
    }

    /// What the tap saw of the arm's turns, and its file of exchanges.
    fn tapped(
        &self,
        round: u32,
        source: &Source<'_>,
        measured: &phase::Measured,
        run: &PhaseRun,
    ) -> Result<Option<(Tap, PathBuf)>> {
        let Some(path) = self.path.as_ref().filter(|it| measured.arm < it.uris.len()) else {
            return Ok(None);
        };
        let prefix = path.prefix(round, &source.phase.name);
        let (exchanges, recording) = recording::read(&prefix, measured.arm)?;
        let turns: Vec<_> =
            measured.turns.iter().map(|it| (it.turned.began_ns, it.turned.ended_ns)).collect();
        let samples = source.files.iter().filter_map(|file| Samples::open(file).ok());
        let samples = samples.flatten().filter_map(std::result::Result::ok);
        let operations = run.by_operation.iter().map(|it| it.count).sum();
        let tap = tap::summary::summarise(&exchanges, &recording, &turns, samples, operations);
        Ok(Some((tap, recording::paths(&prefix, measured.arm).0)))
    }

    /// Raw samples stay while the budget lasts.
    fn keep_samples(&mut self, files: &[PathBuf]) -> Result<Vec<String>> {
        let mut kept = Vec::new();
        for file in files {
            let bytes = file.metadata().map_or(0, |it| it.len());
            if self.materials.sample_bytes + bytes > SAMPLE_BUDGET_BYTES {
                std::fs::remove_file(file).map_err(|error| Error::file("remove", file, &error))?;
                continue;
            }
            self.materials.sample_bytes += bytes;
            let name = file.strip_prefix(self.folder.path()).unwrap_or(file);
            kept.push(name.to_string_lossy().into_owned());
        }
        Ok(kept)
    }
}

/// Pretended work is busy for as long as it lasts. The CPU that a fake really takes is chance, and
/// would now and then part the A/A arm from its baseline.
fn pretend_cpu(phase: &mut PhaseRun) {
    phase.cpu_ns = (phase.measured_s * 1e9) as u64;
    phase.cpu_us_per_op = phase.measured_s * 1e6 / phase.operations.max(1) as f64;
}

fn empty_run(round: u32, position: u32, started_at: String) -> Run {
    Run {
        round,
        arm: String::new(),
        position,
        started_at,
        failed: None,
        noop_ns: None,
        wakeup_us: None,
        machine_noise: MachineNoise::default(),
        phases: Vec::new(),
    }
}
