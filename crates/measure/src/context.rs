//! What the phases of a round are run with.

use std::time::Duration;

use rand_chacha::ChaCha8Rng;

use crate::admin::Admin;
use crate::arm::LiveArm;
use crate::awake::Awake;
use crate::input_files::InputFiles;
use crate::progress::Progress;
use crate::sampler::Sampler;
use crate::stop::Stop;
use base::clock::Epoch;
use workload::plan::Plan;

/// What all phases of a round share.
pub struct PhaseContext<'a> {
    /// What is done.
    pub plan: &'a Plan,
    /// Files of pools and schedules.
    pub inputs: &'a InputFiles,
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
