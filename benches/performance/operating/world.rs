//! Simulated experiments: rounds drawn from a known truth. The functions that judge real
//! experiments judge these, from the looks and the replaced rounds to the verdict.

use std::f64::consts::TAU;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng as _, SeedableRng as _};
use stats::comparison::Comparison;
use stats::disturbed::{RoundStep, only_quiet};
use stats::judge::{Entrant, Measure, Terms, judge};
use stats::looks::{Deciding, LookPlan, NextStep};
use stats::threshold::{Interleave, Quantity};
use stats::verdict::Verdict;

/// The truth about the arms, and the machine's effect on them. Log units: 0.05 is some 5 %.
#[derive(Debug, Clone, Copy, Default)]
pub struct World {
    /// Standard deviation of a round's log ratio of two arms.
    pub scatter: f64,
    /// How much slower B is.
    pub effect: f64,
    /// B's second half against its first, less that of A; the comparison is off by minus half.
    pub drift: f64,
    /// The baseline is faster than its copy, and so than B, for no reason of its version.
    pub bias: f64,
    /// Each place later within a round costs so much.
    pub order: f64,
    /// In one round of six B is slower by this.
    pub odd: f64,
    /// Share of rounds that are disturbed: there B is slower by [`World::hurt`].
    pub disturbed: f64,
    /// Slows B in a disturbed round.
    pub hurt: f64,
    /// Adds to the scatter in a disturbed round, as a factor less 1.
    pub unrest: f64,
}

pub struct Noise(ChaCha8Rng);

impl Noise {
    /// The same seed draws the same.
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Uniform in (0, 1].
    pub fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos()
    }

    /// Student's t with 4 degrees of freedom, scaled to standard deviation 1.
    pub fn t4(&mut self) -> f64 {
        let chi_squared: f64 = (0..4).map(|_| self.normal().powi(2)).sum();
        self.normal() / (chi_squared / 4.0).sqrt() / 2.0_f64.sqrt()
    }
}

const NAMES: [&str; 3] = ["A", "A (A/A)", "B"];

/// Makes rounds until a look settles B; answers its comparison and the rounds made.
pub fn experiment(world: &World, looks: &LookPlan, noise: &mut Noise) -> (Comparison, usize) {
    let mut rounds = Rounds::default();
    loop {
        let (look, step) = looks.standing(&rounds.disturbed);
        if step == RoundStep::Look {
            let quiet = only_quiet(&rounds.disturbed, look.rounds, look.alpha);
            let found = rounds.judged(quiet, look.alpha, looks.quick);
            let made = rounds.disturbed.len();
            let deciding = Deciding { comparisons: vec![found.clone()], ..Deciding::default() };
            if looks.after(look, made as u32, &deciding) == NextStep::Stop {
                return (found, made);
            }
        }
        rounds.make(world, noise);
    }
}

#[derive(Default)]
struct Rounds {
    disturbed: Vec<bool>,
    /// By round, the arms' values.
    times: Vec<[f64; 3]>,
    halves: Vec<[f64; 3]>,
    positions: Vec<[u32; 3]>,
    odd_at: usize,
}

impl Rounds {
    fn make(&mut self, world: &World, noise: &mut Noise) {
        let made = self.disturbed.len();
        if made.is_multiple_of(6) {
            self.odd_at = made + (6.0 * noise.uniform()).ceil() as usize - 1;
        }
        let disturbed = noise.uniform() <= world.disturbed;
        let hurt = if disturbed { world.hurt } else { 0.0 };
        let odd = if made == self.odd_at { world.odd } else { 0.0 };
        let unrest = if disturbed { world.unrest } else { 0.0 };
        let scatter = world.scatter * (1.0 + unrest);
        let mut positions = [0, 1, 2];
        for last in [2, 1] {
            positions.swap(last, (noise.uniform() * (last + 1) as f64).ceil() as usize - 1);
        }
        // Noise that all arms of a round share: of its level, and of its course.
        let (round, course) = (0.03 * noise.normal(), 0.05 * noise.normal());
        let shift = [0.0, world.bias, world.bias + world.effect - world.drift / 2.0 + hurt + odd];
        let at = [0, 1, 2];
        self.times.push(at.map(|arm| {
            let place = world.order * f64::from(positions[arm]);
            round + shift[arm] + place + scatter / 2.0_f64.sqrt() * noise.t4()
        }));
        // Each half scatters by root 2 more than the whole, so that their mean scatters as above.
        self.halves.push(at.map(|arm| {
            let own = if arm == 2 { world.drift } else { 0.0 };
            course + own + scatter * 2.0_f64.sqrt() * noise.t4()
        }));
        self.positions.push(positions);
        self.disturbed.push(disturbed);
    }

    fn judged(&self, quiet: bool, alpha: f64, quick: bool) -> Comparison {
        let kept: Vec<usize> =
            (0..self.disturbed.len()).filter(|round| !(quiet && self.disturbed[*round])).collect();
        let arms = [0, 1, 2].map(|arm| Entrant {
            name: NAMES[arm],
            is_aa: arm == 1,
            halves: kept.iter().map(|round| Some(self.halves[*round][arm])).collect(),
            positions: kept.iter().map(|round| Some(self.positions[*round][arm])).collect(),
            ..Entrant::default()
        });
        let rate = |arm: usize| kept.iter().map(|it| Some((-self.times[*it][arm]).exp())).collect();
        let throughput = Measure {
            name: "throughput".to_owned(),
            quantity: Quantity::Throughput,
            values: vec![rate(0), rate(1), rate(2)],
        };
        let busy = kept.len() == self.disturbed.len() && self.disturbed.contains(&true);
        let terms = Terms {
            interleave: Interleave::Turns,
            whole_job: false,
            quick,
            alpha,
            seed: 1,
            busy: busy.then_some("others"),
        };
        let mut judgement = judge(&arms, &[throughput], &terms);
        judgement.judged.pop().expect("B is the last arm").comparison
    }
}

/// Verdicts, in percent of the draws; mean rounds made.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rates {
    pub slower: f64,
    pub faster: f64,
    pub same: f64,
    pub uncertain: f64,
    pub inconclusive: f64,
    pub void: f64,
    pub rounds: f64,
}

pub fn rates(world: &World, looks: &LookPlan, draws: u32, seed: u64) -> Rates {
    let mut noise = Noise::new(seed);
    let mut rates = Rates::default();
    let one = 100.0 / f64::from(draws);
    for _ in 0..draws {
        let (found, rounds) = experiment(world, looks, &mut noise);
        let count = match found.verdict {
            Verdict::Slower | Verdict::Faster if found.direction_only => &mut rates.uncertain,
            Verdict::Slower => &mut rates.slower,
            Verdict::Faster => &mut rates.faster,
            Verdict::Same => &mut rates.same,
            Verdict::Inconclusive => &mut rates.inconclusive,
            Verdict::Differs | Verdict::NotComparable => &mut rates.void,
        };
        *count += one;
        rates.rounds += rounds as f64 / f64::from(draws);
    }
    rates
}
