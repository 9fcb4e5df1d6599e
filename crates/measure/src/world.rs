//! What the rounds of an experiment work with, and what a phase borrows of it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rand_chacha::ChaCha8Rng;

use crate::arm::LiveArm;
use crate::awake::Awake;
use crate::hosts::Hosts;
use crate::input_files::InputFiles;
use crate::path::TapPath;
use crate::progress::LiveProgress;
use crate::sampler::Sampler;
use crate::stop::Stop;
use base::clock::Epoch;
use record::folder::Folder;
use record::machine::Reading;
use record::records::{Experiment, Settings};
use server::ListenAddress;
use workload::plan::{Phase, Plan};

/// Everything but the request, its plan and its arms. It lives from the opened server to the end of
/// the last round.
pub struct World {
    /// Zero of all times.
    pub epoch: Epoch,
    pub folder: Folder,
    pub inputs: InputFiles,
    pub server: MeasuredServer,
    pub machine: MachineState,
    pub sampler: Sampler,
    /// By arm, which of the collections of the present story is its own.
    pub slots: BTreeMap<usize, usize>,
    pub progress: LiveProgress,
    pub stop: Stop,
}

/// The server as the rounds see it. With `--server none` it has nothing but a name for a database.
#[derive(Default)]
pub struct MeasuredServer {
    pub database: String,
    pub admin: Option<Hosts>,
    /// Whether we started it: then its counters are exact.
    pub is_own: bool,
    /// Local sockets of somebody else's server: its CPU is the experiment's.
    pub listening: Vec<ListenAddress>,
    /// The tap on the way to it, if asked for.
    pub tap: Option<TapPath>,
}

pub struct MachineState {
    /// The first reading, with its time.
    pub first_reading: Option<(Instant, Reading)>,
    /// Whether a busy machine gets time to become quiet.
    pub waits: bool,
    /// None where cores need not be kept awake.
    pub awake: Option<Awake>,
}

/// One phase of one round.
pub struct PhaseContext<'a> {
    pub experiment: &'a Experiment,
    pub world: &'a mut World,
    /// For orders and names.
    pub rng: &'a mut ChaCha8Rng,
    /// Reads the messages of phases with a consumer.
    pub consumer: Option<&'a mut LiveArm>,
    /// From 1.
    pub round: u32,
    /// Index of the phase.
    pub number: usize,
}

impl<'a> PhaseContext<'a> {
    pub fn plan(&self) -> &'a Plan {
        &self.experiment.plan
    }

    pub fn phase(&self) -> &'a Phase {
        &self.experiment.plan.phases[self.number]
    }

    pub fn settings(&self) -> &'a Settings {
        &self.experiment.settings
    }

    /// What `--max-time` allows: an operation may take as long.
    pub fn longest(&self) -> Duration {
        self.settings().conduct.max_time_s.map(Duration::from_secs_f64).unwrap_or_default()
    }
}
