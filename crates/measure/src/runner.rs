//! The state of the rounds, and the start of an arm's processes.

use crate::arm::{LiveArm, Target};
use crate::blocks::ArmGroup;
use crate::capabilities::ArmPlan;
use crate::clients::Client;
use crate::observed_options::fill;
use crate::system::{self, no_version, other_version};
use crate::world::World;
use adapter::environment::Environment;
use adapter::protocol::Opened;
use base::clock::wall;
use base::error::Result;
use record::folder::Folder;
use record::records::{Arm, Experiment, Limits, MachineNoise, Run};
use server::connection_string::with_arm_options;
use stats::looks::{Deciding, RoundsProgress};
use workload::plan::Plan;

/// An arm lost in so many rounds in a row is started no more: each loss may cost a minute of
/// waiting.
pub const LOST_ROUNDS_MAX: usize = 3;
const GIVEN_UP: &str = "given up: ";

/// An experiment from its opened server to the end of its last round.
pub struct Runner {
    /// The record so far, with the request and its plan; the running adapters fill in their
    /// versions.
    pub experiment: Experiment,
    pub configurations: Vec<ArmConfiguration>,
    /// Reads the messages of phases that have a consumer; its own phases are not used.
    pub consumer: Option<ArmConfiguration>,
    /// Number of rounds in the folder.
    pub finished: u32,
    /// Runs of arms that have begun.
    pub runs: u32,
    pub judge: Judge,
    pub world: World,
}

/// Functions of the judging side, which the measuring side does not know: both are given the folder
/// alone.
#[derive(Clone, Copy)]
pub struct Judge {
    pub standing: fn(&Folder, &Experiment) -> Result<RoundsProgress>,
    /// What decides whether more rounds are needed.
    pub deciding: fn(&Folder, &Experiment) -> Result<Deciding>,
}

pub struct ArmConfiguration {
    pub environment: Environment,
    /// URI past the tap, with the arm's options and credentials; empty with `--server none`.
    pub uri: String,
    /// The connection strings of further hosts, to which operations are dealt in turn.
    pub others: Vec<String>,
    /// URI through the tap; None: the arm goes past it.
    pub tapped_uri: Option<String>,
    /// The arm's part in the plan; None until its adapter has said what it can do.
    pub part: Option<ArmPlan>,
    /// The reasons of its losses in the last rounds in a row.
    pub losses: Vec<String>,
}

impl ArmConfiguration {
    pub fn new(
        environment: Environment,
        (uri, others): (&str, &[String]),
        tapped_uri: Option<&str>,
    ) -> Self {
        let own = |uri: &str| with_arm_options(uri, &environment.uri_options);
        let (uri, tapped_uri) = (own(uri), tapped_uri.map(own));
        let others = others.iter().map(|uri| own(uri)).collect();
        Self { uri, others, tapped_uri, part: None, losses: Vec::new(), environment }
    }
}

impl Runner {
    /// Whether all times are simulated.
    pub fn is_simulated(&self) -> bool {
        self.configurations.iter().all(|it| it.environment.simulated)
    }

    /// Starts the processes of a group of arms, and identifies each.
    pub async fn start(
        &mut self,
        round: u32,
        group: &ArmGroup,
    ) -> Result<(Vec<LiveArm>, Vec<Run>)> {
        let mut arms = Vec::new();
        let mut runs = Vec::new();
        for (place, &index) in group.arms.iter().enumerate() {
            self.world.stop.check()?;
            self.world.progress.arm(index, "starting");
            let position = group.first + place as u32;
            let log = format!("logs/{}.log", self.world.inputs.run_name(round, index));
            let log = self.world.folder.join(&log);
            let configuration = &self.configurations[index];
            let (environment, tapped) = (&configuration.environment, self.taps(round, index));
            let plan = Plan { runs_before: self.runs, ..self.experiment.plan.clone() };
            self.runs += 1;
            let target = Target { plan: Some(&plan), ..self.target(configuration, tapped) };
            let started_at = wall();
            arms.push(match configuration.losses.last() {
                Some(last) if configuration.losses.len() >= LOST_ROUNDS_MAX => {
                    let reason = last.trim_start_matches(GIVEN_UP);
                    LiveArm::absent(index, position, format!("{GIVEN_UP}{reason}"))
                }
                _ => {
                    let epoch = &self.world.epoch;
                    LiveArm::start(index, position, environment, &log, epoch, &target).await
                }
            });
            let block = self.world.inputs.block;
            runs.push(Run { block, ..empty_run(round, position, tapped, started_at) });
        }
        for (arm, run) in arms.iter_mut().zip(&mut runs) {
            self.identify(arm).await?;
            self.fill_in(arm).await;
            run.arm.clone_from(&self.experiment.arms[arm.index].id);
            run.clock_within_us = arm.clock_within_us();
            self.world.progress.arm(arm.index, "calibrating");
            run.noop_ns = arm.calibrate(&self.world.epoch, &self.world.inputs.folder).await;
        }
        Ok((arms, runs))
    }

    /// Starts the consumer, if some phase has one. Without it no arm of the group can be measured.
    pub async fn start_consumer(
        &mut self,
        round: u32,
        arm: usize,
        arms: &mut [LiveArm],
    ) -> Option<LiveArm> {
        let configuration = self.consumer.as_ref()?;
        let log = format!("logs/{}-consumer.log", self.world.inputs.run_name(round, arm));
        let log = self.world.folder.join(&log);
        let target = self.target(configuration, self.taps_round(round));
        let (index, environment) = (self.configurations.len(), &configuration.environment);
        let live = LiveArm::start(index, 0, environment, &log, &self.world.epoch, &target).await;
        if let Some(reason) = &live.failed {
            for arm in arms {
                arm.fail(&format!("its consumer is lost: {reason}")).await;
            }
            return None;
        }
        if let Some(consumer) = &mut self.experiment.consumer {
            identify(consumer, &live, environment, &self.experiment.server.version);
        }
        Some(live)
    }

    /// Has the processes of these arms read once a second.
    pub fn watch(&mut self, arms: &[LiveArm], consumer: Option<&LiveArm>) {
        let Experiment { arms: named, consumer: reader, .. } = &self.experiment;
        let own = arms.iter().map(|arm| (arm, &named[arm.index].id, false));
        let reading = consumer.zip(reader.as_ref()).map(|(arm, it)| (arm, &it.id, true));
        let client = |(arm, id, consumer): (&LiveArm, &String, bool)| Client {
            arm: arm.index,
            id: id.clone(),
            consumer,
            processes: arm.processes(),
        };
        self.world.sampler.watch(own.chain(reading).map(client).collect());
    }

    fn target<'a>(&'a self, configuration: &'a ArmConfiguration, tapped: bool) -> Target<'a> {
        let uri =
            configuration.tapped_uri.as_ref().filter(|_| tapped).unwrap_or(&configuration.uri);
        let uri = Some(uri.as_str()).filter(|uri| !uri.is_empty());
        Target {
            uri,
            others: &configuration.others,
            database: &self.world.server.database,
            plan: None,
        }
    }

    /// Whether a round goes through the tap: each one, or the last one alone.
    pub fn taps_round(&self, round: u32) -> bool {
        let settings = &self.experiment.settings;
        let first = if settings.conduct.tap_last_round { settings.looks.first_rounds() } else { 1 };
        self.world.server.tap.is_some() && round >= first
    }

    pub fn taps(&self, round: u32, arm: usize) -> bool {
        self.taps_round(round) && self.configurations[arm].tapped_uri.is_some()
    }

    /// Versions come from the running adapter: no version, no measurement. So does its part in the
    /// plan: schedules that only it needs are written now. Another version than the one asked for
    /// is a loss.
    async fn identify(&mut self, live: &mut LiveArm) -> Result<()> {
        let arm = &mut self.experiment.arms[live.index];
        let environment = &self.configurations[live.index].environment;
        identify(arm, live, environment, &self.experiment.server.version);
        let reports = live.hello().and_then(|hello| no_version(environment, hello));
        if reports.is_some() && arm.reports != reports {
            let (id, told) = (&arm.id, reports.as_deref().unwrap_or_default());
            self.world.progress.note(&format!(
                "{id}: its driver reports version {told:?}; the version is its folder's name"
            ));
        }
        arm.reports = reports;
        let other = live.hello().and_then(|hello| other_version(environment, hello));
        if let Some(reason) = other {
            live.fail(&reason).await;
            return Ok(());
        }
        let Some(part) = &live.part else { return Ok(()) };
        let phases = part.plan.phases.iter().zip(&part.missing);
        let missing = phases.filter_map(|(phase, missing)| Some((phase, missing.as_ref()?)));
        for (phase, missing) in missing {
            if arm.not_measured.insert(phase.name.clone(), missing.clone()).is_none() {
                self.world
                    .progress
                    .note(&format!("{}: {} not measured: {missing}", arm.id, phase.name));
            }
        }
        self.world.inputs.fit(&part.plan)?;
        self.configurations[live.index].part = Some(part.clone());
        Ok(())
    }
}

fn identify(arm: &mut Arm, live: &LiveArm, environment: &Environment, server_version: &str) {
    if arm.limits.is_none() {
        arm.limits = live.processes().first().and_then(|it| Limits::of(it.pid));
    }
    if let Some(hello) = live.hello() {
        arm.driver.clone_from(&hello.driver.name);
        arm.version = system::version(environment, hello);
        arm.native = hello.driver.native;
        arm.runtime = format!("{} {}", hello.runtime.name, hello.runtime.version);
        arm.concurrency.clone_from(&hello.capabilities.concurrency.kind);
        arm.event_loop = hello.capabilities.concurrency.threads == Some(1);
    }
    if let Some(Opened { acknowledged, resolved }) = &live.opened {
        arm.acknowledged = Some(*acknowledged);
        arm.resolved = resolved.clone();
        arm.seen.iter().for_each(|seen| fill(&mut arm.resolved, seen));
        arm.server_version = Some(server_version.to_owned());
    }
}

fn empty_run(round: u32, position: u32, tapped: bool, started_at: String) -> Run {
    Run {
        round,
        tapped,
        arm: String::new(),
        block: 0,
        position,
        started_at,
        failed: None,
        lost: None,
        death: None,
        clock_within_us: None,
        noop_ns: None,
        wakeup_us: None,
        machine_noise: MachineNoise::default(),
        phases: Vec::new(),
    }
}
