//! Seeded random numbers; every draw is written out here, so that no crate's new version changes
//! a plan.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

use super::numbers::ln;

/// One stream of random numbers.
#[derive(Debug, Clone)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// The stream of a purpose: other labels give independent numbers.
    pub fn new(seed: u64, label: &str, numbers: &[u64]) -> Self {
        let mut hash = Sha256::new();
        hash.update(seed.to_le_bytes());
        hash.update((label.len() as u64).to_le_bytes());
        hash.update(label.as_bytes());
        for number in numbers {
            hash.update(number.to_le_bytes());
        }
        Self(ChaCha8Rng::from_seed(hash.finalize().into()))
    }

    /// One of many streams with a common seed, which is hashed only once.
    pub fn stream(&self, number: u64) -> Self {
        let mut stream = ChaCha8Rng::from_seed(self.0.get_seed());
        stream.set_stream(number);
        Self(stream)
    }

    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound` (0 for a bound of 0).
    pub fn below(&mut self, bound: u64) -> u64 {
        // The bias of multiply-and-shift is below 2^-24 for any bound below 2^40: no one sees it.
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A standard normal number (Marsaglia's polar method: no sine, no cosine).
    pub fn normal(&mut self) -> f64 {
        loop {
            let x = 2.0 * self.unit() - 1.0;
            let y = 2.0 * self.unit() - 1.0;
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * ln(square) / square).sqrt();
            }
        }
    }

    /// An exponential number of mean 1.
    pub fn exponential(&mut self) -> f64 {
        -ln(1.0 - self.unit())
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }

    /// An index by weights whose sum is not 0.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let total = weights.iter().map(|weight| u64::from(*weight)).sum();
        let mut rest = self.below(total);
        for (index, weight) in weights.iter().enumerate() {
            if rest < u64::from(*weight) {
                return index;
            }
            rest -= u64::from(*weight);
        }
        weights.len() - 1
    }
}

/// A fixed bijection of 64-bit numbers (splitmix64's finaliser): scatters hot keys.
pub fn mix64(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The guid of a key: a function of seed and key alone, with the marks of a version 4 UUID.
pub fn guid_of(seed: u64, key: u64) -> [u8; 16] {
    let high = mix64(seed ^ mix64(key.wrapping_add(0x9e37_79b9_7f4a_7c15)));
    let low = mix64(high ^ mix64(key));
    let mut guid = [0; 16];
    guid[..8].copy_from_slice(&high.to_be_bytes());
    guid[8..].copy_from_slice(&low.to_be_bytes());
    guid[6] = (guid[6] & 0x0f) | 0x40;
    guid[8] = (guid[8] & 0x3f) | 0x80;
    guid
}
