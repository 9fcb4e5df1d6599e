use std::collections::BTreeMap;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;

use crate::arm::LiveArm;
use crate::awake::Awake;
use crate::hosts::Hosts;
use crate::input_files::InputFiles;
use crate::progress::LiveProgress;
use crate::sampler::Sampler;
use crate::stop::Stop;
use base::clock::Epoch;
use stats::order::Order;
use workload::plan::Plan;

/// Shared by all phases of a round.
pub struct PhaseContext<'a> {
    pub plan: &'a Plan,
    pub inputs: &'a InputFiles,
    pub epoch: &'a Epoch,
    /// None with `--server none`.
    pub admin: Option<&'a Hosts>,
    pub sampler: &'a mut Sampler,
    /// For orders and names.
    pub rng: &'a mut ChaCha8Rng,
    pub progress: &'a mut LiveProgress,
    pub stop: &'a Stop,
    /// By arm, which of the collections of the present story is its own.
    pub slots: &'a mut BTreeMap<usize, usize>,
    /// Of the arms' turns.
    pub order: Order,
    /// From 1.
    pub round: u32,
    pub quick: bool,
    /// Whether some writes of the phase have no answer: counting waits for them.
    pub unacknowledged: bool,
    /// Measured seconds where the phase does not say.
    pub measured_s: f64,
    /// What `--max-time` allows: an operation may take as long.
    pub longest: Duration,
    /// Length of a turn, once the first round has decided it.
    pub turn: Option<Duration>,
    /// Time that the plan gives the phase, over all arms.
    pub planned: Duration,
    pub awake: Option<&'a Awake>,
    /// Reads the messages of phases with a consumer.
    pub consumer: Option<&'a mut LiveArm>,
}
