//! The rounds of an experiment: start, calibrate, phases, records, looks.

use std::path::{Path as FilePath, PathBuf};
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng as _;

use crate::arm::LiveArm;
use crate::blocks::{ArmGroup, groups};
use crate::machine_check::busy;
use crate::measured::MeasuredPhase;
use crate::messages::Tapped;
use crate::phase::{self, load};
use crate::runner::{LOST_ROUNDS_MAX, Runner};
use crate::settings;
use crate::summary::{PhaseSource, summarise};
use crate::token::HeldToken;
use crate::unacknowledged;
use crate::world::PhaseContext;
use base::error::{Error, Result};
use record::machine::Reading;
use record::records::{Experiment, LostPhase, PhaseRun, Run};
use record::samples::SAMPLE_BUDGET_BYTES;
use server::listeners;
use stats::descriptive::median;
use stats::disturbed::RoundStep;
use stats::looks::{Look, NextStep, RoundsProgress};
use stats::threshold::Interleave;
use tap::recording;

impl Runner {
    /// Makes rounds until a look decides or the last one is made. The analysis judges the folder by
    /// the same functions. Experiments side by side alternate by their token, and each looks when
    /// the others have come as far: rounds have to count on all servers.
    ///
    /// # Errors
    /// Interrupted, the server lost, the disk full. Finished rounds are in the folder.
    pub async fn rounds(&mut self, token: &mut HeldToken) -> Result<()> {
        self.load_shared().await?;
        self.look_at_machine().await?;
        loop {
            let RoundsProgress { round, look, step, disturbed, disturbance } =
                (self.judge.standing)(&self.world.folder, &self.experiment)?;
            if round > self.finished && disturbed.last() == Some(&round) {
                let what = disturbance.unwrap_or_default();
                self.world.progress.note(&format!("round {round} was disturbed ({what})"));
                if step == RoundStep::Make {
                    let more = (disturbed.len() as u32).min(look.rounds);
                    self.world.progress.replace(round.max(look.rounds + more), &disturbed);
                }
            }
            if round > self.finished {
                self.world.progress.finish();
                token.pass().await;
            }
            if step == RoundStep::Look && self.look(round, look)? == NextStep::Stop {
                return Ok(());
            }
            self.world.stop.check()?;
            base::live::rounds_ended(round);
            let round = round + 1;
            self.world.progress.round(round);
            // Each round has its own randomness, so that a round made again is the same.
            let mut rng = ChaCha8Rng::seed_from_u64(self.experiment.settings.seed);
            rng.set_stream(u64::from(round));
            self.round(round, &mut rng).await?;
            self.world.progress.round_ended();
            if round == self.finished + 1 {
                self.world.folder.write_experiment(&self.experiment)?;
            }
            let baseline_lost = self.configurations[0].losses.len() >= LOST_ROUNDS_MAX;
            if baseline_lost && !self.experiment.settings.conduct.figures_only {
                let base = &self.experiment.arms[0].id;
                self.world.progress.note(&format!(
                    "no further rounds: the baseline {base} is lost, and without it nothing can be \
                     compared; {round} rounds of the others are kept"
                ));
                return Ok(());
            }
        }
    }

    /// The standing after a round, and whether it is enough. Without verdicts all rounds are made
    /// that were asked for.
    fn look(&mut self, round: u32, look: Look) -> Result<NextStep> {
        if self.experiment.settings.conduct.figures_only {
            return Ok(NextStep::Stop);
        }
        let deciding = (self.judge.deciding)(&self.world.folder, &self.experiment)?;
        let next = self.experiment.settings.looks.after(look, round, &deciding);
        if let NextStep::ContinueTo(rounds) = next {
            let words = deciding.words();
            self.world
                .progress
                .tell(&format!("look after {round} rounds: {words}; on to {rounds}"));
            self.world.progress.extend(rounds);
        }
        Ok(next)
    }

    /// Loads collections that are only read, or that arms hand on: once and shared. With one for
    /// each arm the scatter doubled, because the trees on the server differ.
    async fn load_shared(&self) -> Result<()> {
        let Some(admin) = &self.world.server.admin else { return Ok(()) };
        let plan = &self.experiment.plan;
        for number in phase::shared(plan) {
            let collection = &plan.collections[number];
            let documents = self.world.inputs.documents(plan, number);
            let name = &collection.name;
            load(admin, name, collection, documents, &self.world.progress, &self.world.stop)
                .await?;
        }
        self.world.progress.doing("waiting until the server has written what was loaded");
        admin.settle().await;
        Ok(())
    }

    async fn round(&mut self, round: u32, rng: &mut ChaCha8Rng) -> Result<()> {
        let before = Reading::take();
        let groups = groups(&self.experiment.settings, self.experiment.arms.len(), rng);
        let mut runs = Vec::new();
        for (number, group) in groups.iter().enumerate() {
            self.world.progress.group(number, groups.len());
            self.world.inputs.block = group.block;
            runs.append(&mut self.group(round, group, rng).await?);
        }
        let noise = Reading::take().noise_since(&before, &listeners(&self.world.server.listening));
        let simulated = self.is_simulated();
        let busy = busy(&noise, self.experiment.machine.cores).filter(|_| !simulated);
        self.world.progress.disturbed(busy);
        for run in &mut runs {
            let arm = self.experiment.arms.iter().position(|arm| arm.id == run.arm);
            let losses = &mut self.configurations[arm.expect("runs are of arms")].losses;
            match &run.failed {
                Some(reason) => {
                    losses.push(reason.clone());
                    self.world
                        .progress
                        .note(&format!("{} is lost in this round: {reason}", run.arm));
                }
                None => losses.clear(),
            }
            if simulated {
                run.phases.iter_mut().for_each(pretend_cpu);
            } else {
                run.machine_noise = noise.clone();
            }
            self.world.progress.ran(run);
            self.world.folder.append_run(run)?;
        }
        Ok(())
    }

    /// Runs the arms whose processes live side by side.
    async fn group(
        &mut self,
        round: u32,
        group: &ArmGroup,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<Run>> {
        let (mut arms, mut runs) = self.start(round, group).await?;
        let mut consumer = self.start_consumer(round, group.arms[0], &mut arms).await;
        self.watch(&arms, consumer.as_ref());
        let phases = self.experiment.plan.phases.len();
        for number in 0..phases {
            self.world.stop.check()?;
            let name = self.experiment.plan.phases[number].name.clone();
            let begins = self.experiment.plan.story(number).start == number;
            if begins {
                self.world.slots.clear();
            }
            let taking = self.gather(begins, &name, &mut arms, &mut runs);
            if taking == 0 {
                continue;
            }
            let (arms, runs) = (&mut arms[..taking], &mut runs[..taking]);
            self.world.sampler.label(round, &name);
            self.world.progress.phase(&name, (number, phases), taking);
            self.phase(round, number, (arms, consumer.as_mut()), runs, rng).await?;
        }
        self.world.sampler.label(round, "");
        self.world.sampler.watch(Vec::new());
        if let Some(mut consumer) = consumer {
            consumer.close().await;
        }
        for (arm, run) in arms.iter_mut().zip(&mut runs) {
            run.failed.clone_from(&arm.failed);
            run.death.clone_from(&arm.death);
            run.wakeup_us = median(&arm.wakeups_us);
            arm.close().await;
        }
        if arms.iter().any(|arm| arm.disk_full) {
            // It looks like a fault of the adapter.
            let full = nix::errno::Errno::ENOSPC.into();
            return Err(Error::file("write", self.world.folder.path(), &full));
        }
        Ok(runs)
    }

    /// Moves the arms that take part in a phase to the front, with their runs, and counts them.
    /// A story that an arm was not in from its first phase goes on without it.
    fn gather(&self, begins: bool, phase: &str, arms: &mut [LiveArm], runs: &mut [Run]) -> usize {
        let mut taking = 0;
        for place in 0..arms.len() {
            let arm = arms[place].index;
            let record = &self.experiment.arms[arm];
            let able = !record.not_measured.contains_key(phase);
            let is_in = begins || self.world.slots.contains_key(&arm);
            if able && is_in && record.share.takes(phase) {
                arms.swap(taking, place);
                runs.swap(taking, place);
                taking += 1;
            }
        }
        taking
    }

    async fn phase(
        &mut self,
        round: u32,
        number: usize,
        (arms, consumer): (&mut [LiveArm], Option<&mut LiveArm>),
        runs: &mut [Run],
        rng: &mut ChaCha8Rng,
    ) -> Result<()> {
        self.fit_to_drivers(number)?;
        let warmups = self.warmups(number, arms);
        let files = match &arms[..] {
            [arm] => self.world.inputs.run_name(round, arm.index),
            _ => self.world.inputs.round_name(round),
        };
        let taps = self.taps_round(round);
        let name = &self.experiment.plan.phases[number].name;
        let mut prefix = None;
        if let Some(tap) = self.world.server.tap.as_mut().filter(|_| taps) {
            prefix = Some(tap.prefix(&files, name));
            tap.rotate(prefix.clone()).await?;
        }
        let lived: Vec<bool> = arms.iter().map(LiveArm::alive).collect();
        let making = self.calibrate_making(number, arms).await;
        let (experiment, world) = (&self.experiment, &mut self.world);
        let mut context = PhaseContext { experiment, world, rng, consumer, round, number };
        let mut measured = phase::run(&mut context, arms, &warmups).await?;
        for (measured, making) in measured.iter_mut().zip(making) {
            measured.document_ns = making;
        }
        if let Some(tap) = self.world.server.tap.as_mut().filter(|_| taps) {
            tap.rotate(None).await?;
        }
        self.decide_turn_length(number, &measured);
        for (place, measured) in measured.iter().enumerate() {
            if let Some(reason) = &arms[place].refused {
                self.leave_out(arms[place].index, number, reason);
            }
            if !arms[place].alive() || measured.ended.is_none() {
                if lived[place] && !arms[place].alive() {
                    let phase = self.experiment.plan.phases[number].name.clone();
                    runs[place].lost = Some(LostPhase { phase, sizes: measured.sizes.clone() });
                }
                continue;
            }
            let run = &mut runs[place];
            let prefix = prefix.as_deref().filter(|_| run.tapped);
            match self.summary(round, number, &run.arm, measured, prefix).await {
                Ok(phase) => run.phases.push(phase),
                // An arm's unusable files are its own loss. `round` looks for a full disk.
                Err(error) => arms[place].fail(&error.message).await,
            }
        }
        Ok(())
    }

    fn warmups(&self, number: usize, arms: &[LiveArm]) -> Vec<Duration> {
        let Experiment { plan, settings, .. } = &self.experiment;
        let warmup = |arm: &LiveArm| {
            let profile_s = self.configurations[arm.index].environment.warmup_s;
            let quick = settings.looks.quick;
            settings::warmup(profile_s, &plan.phases[number], number == 0, quick)
        };
        arms.iter().map(warmup).collect()
    }

    /// Measures what the making of a document costs each arm; None where the phase makes none.
    async fn calibrate_making(&self, number: usize, arms: &mut [LiveArm]) -> Vec<Option<f64>> {
        let mut making = Vec::new();
        for arm in arms {
            self.world.progress.arm(arm.index, "calibrating");
            making.push(match self.world.inputs.making(&self.experiment.plan, number) {
                Some(prepare) => arm.calibrate_making(&self.world.epoch, &prepare).await,
                None => None,
            });
        }
        making
    }

    /// Keeps the length of turns that the first round decides.
    fn decide_turn_length(&mut self, number: usize, measured: &[MeasuredPhase]) {
        let phase = &mut self.experiment.settings.interleave[number];
        let taken = measured.iter().find(|it| !it.turns.is_empty());
        if let Some(taken) = taken.filter(|_| phase.interleave == Interleave::Turns) {
            phase.turn_ms.get_or_insert(taken.turn_length.as_secs_f64() * 1e3);
        }
    }

    /// An arm whose driver cannot do a phase after all is not asked for it again.
    fn leave_out(&mut self, arm: usize, number: usize, reason: &str) {
        let phase = &self.experiment.plan.phases[number].name;
        let record = &mut self.experiment.arms[arm];
        self.world.progress.note(&format!("{}: {phase} not measured: {reason}", record.id));
        record.not_measured.insert(phase.clone(), reason.to_owned());
    }

    /// Connection strings told which arms wait for no answers; here the drivers themselves say it.
    /// From now on all arms of such a phase take whole runs.
    fn fit_to_drivers(&mut self, number: usize) -> Result<()> {
        let Experiment { plan, arms, settings, .. } = &mut self.experiment;
        let planned = &mut settings.interleave[number];
        if !unacknowledged::fit(planned, &plan.phases[number], arms) {
            return Ok(());
        }
        self.world
            .progress
            .note(&format!("{} takes whole runs: {}", planned.phase, planned.reason));
        self.world.folder.write_experiment(&self.experiment)
    }

    async fn summary(
        &mut self,
        round: u32,
        number: usize,
        arm: &str,
        measured: &MeasuredPhase,
        tap: Option<&FilePath>,
    ) -> Result<PhaseRun> {
        let part = self.configurations[measured.arm].part.as_ref();
        let plan = &part.expect("it was measured").plan.clone();
        let phase = &plan.phases[number];
        let files: Vec<PathBuf> = (0..phase.processes)
            .map(|process| {
                self.world.inputs.samples(round, measured.arm, number, process, false).into()
            })
            .collect();
        let source = PhaseSource {
            plan,
            number,
            files,
            inputs: &self.world.inputs,
            exclusive: self.world.server.is_own,
            hlog: format!(
                "hlog/{}-{}.hlog",
                self.world.inputs.run_name(round, measured.arm),
                phase.name
            ),
            arm,
            tapped: tap.map(|prefix| Tapped {
                prefix,
                arm: measured.arm,
                consumer: self.configurations.len(),
            }),
        };
        let mut run = summarise(&source, measured, &self.world.folder).await?;
        let files = source.files;
        self.world.inputs.forget_warmup(round, measured.arm, number, phase.processes);
        if let (Some(broker), Some(read)) = (&mut run.broker, &measured.read) {
            let kept = self.keep_samples(std::slice::from_ref(&read.samples))?;
            broker.consumer.samples = kept.into_iter().next();
        }
        run.samples = self.keep_samples(&files)?;
        if let Some(prefix) = tap {
            self.keep_samples(&[recording::paths(prefix, measured.arm).0])?;
        }
        Ok(run)
    }

    /// Keeps raw samples while the budget lasts.
    fn keep_samples(&mut self, files: &[PathBuf]) -> Result<Vec<String>> {
        let mut kept = Vec::new();
        for file in files {
            let bytes = file.metadata().map_or(0, |it| it.len());
            if self.world.inputs.sample_bytes + bytes > SAMPLE_BUDGET_BYTES {
                std::fs::remove_file(file).map_err(|error| Error::file("remove", file, &error))?;
                continue;
            }
            self.world.inputs.sample_bytes += bytes;
            let name = file.strip_prefix(self.world.folder.path()).unwrap_or(file);
            kept.push(name.to_string_lossy().into_owned());
        }
        Ok(kept)
    }
}

/// Simulated work is busy all the time. A fake's real CPU time is chance, and would sometimes part
/// the A/A arm from its baseline.
fn pretend_cpu(phase: &mut PhaseRun) {
    phase.idle_cpu_fraction = Some(0.0);
    phase.waiting_cpu_ns = Some(0);
    phase.cpu_ns = (phase.measured_s * 1e9) as u64;
    phase.cpu_us_per_op = phase.measured_s * 1e6 / phase.operations.max(1) as f64;
}
