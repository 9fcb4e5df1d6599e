//! Intended times of an open loop.

use super::random::Random;
use crate::plan::{Pacing, Phase};

pub struct Arrivals {
    random: Random,
    number: u64,
    per_second: f64,
    poisson: bool,
    elapsed_s: f64,
}

impl Arrivals {
    pub fn new(seed: u64, phase: &Phase, round: u64) -> Self {
        let random = Random::new(seed, &format!("arrivals/{}", phase.name), &[round]);
        let (per_second, poisson) = match phase.pacing {
            Pacing::Rate { per_second, poisson } => (per_second, poisson),
            _ => (f64::INFINITY, false),
        };
        Self { random, number: 0, per_second, poisson, elapsed_s: 0.0 }
    }

    pub fn next(&mut self) -> u64 {
        let intended_s =
            if self.poisson { self.elapsed_s } else { self.number as f64 / self.per_second };
        self.number += 1;
        if self.poisson {
            self.elapsed_s += self.random.exponential() / self.per_second;
        }
        (intended_s * 1e9).round() as u64
    }
}
