//! How keys are chosen.

use std::ops::Range;

use super::numbers::pow;
use super::random::{Random, mix64};
use crate::plan::KeyChoice;

/// From here on zeta is an integral: the error is below 1e-9.
const ZETA_SUMMED: u64 = 10_000;

/// A choice among the documents of a collection, by their numbers below `space`.
#[derive(Debug, Clone)]
pub struct KeyChooser {
    space: u64,
    choice: KeyChoice,
    zipfian: Option<Zipfian>,
}

/// Who asks: one of `of` sequences, and how often it has asked before.
#[derive(Debug, Clone, Copy)]
pub struct KeyRequest {
    pub sequence: u64,
    pub of: u64,
    pub position: u64,
}

impl KeyChooser {
    pub fn new(choice: KeyChoice, space: u64) -> Self {
        let zipfian = match choice {
            KeyChoice::Zipfian { theta } | KeyChoice::Latest { theta } => {
                Some(Zipfian::new(space.max(1), theta))
            }
            _ => None,
        };
        Self { space: space.max(1), choice, zipfian }
    }

    /// The number of a document.
    pub fn number(&self, random: &mut Random, asked: KeyRequest) -> u64 {
        match self.choice {
            KeyChoice::Sequential => (asked.sequence + asked.of * asked.position) % self.space,
            KeyChoice::Uniform => random.below(self.space),
            KeyChoice::Hashed => {
                scattered((asked.sequence + asked.of * asked.position) % self.space, self.space)
            }
            KeyChoice::Zipfian { .. } => mix64(self.offset(random) + 1) % self.space,
            KeyChoice::Latest { .. } => self.back(self.offset(random)),
            KeyChoice::Hotspot { keys, operations } => {
                let hot = ((self.space as f64 * keys).ceil() as u64).clamp(1, self.space);
                if hot == self.space || random.unit() < operations {
                    random.below(hot)
                } else {
                    hot + random.below(self.space - hot)
                }
            }
            KeyChoice::Contiguous { from } => {
                let own = range_of(self.space, asked.sequence, asked.of);
                let size = (own.end - own.start).max(1);
                own.start + (behind(size, from) + asked.position) % size
            }
        }
    }

    /// A rank, 0 the most frequent; for `latest`, the offset back from the newest.
    pub fn offset(&self, random: &mut Random) -> u64 {
        self.zipfian.as_ref().map_or(0, |zipfian| zipfian.rank(random.unit()))
    }

    /// So far back from the newest, or the oldest.
    pub fn back(&self, offset: u64) -> u64 {
        self.space - 1 - offset.min(self.space - 1)
    }
}

/// The share that one of `of` has of the numbers below `space`: the first ones have what is over,
/// as new keys are dealt and operations counted.
pub fn range_of(space: u64, one: u64, of: u64) -> Range<u64> {
    let end = |one: u64| one * (space / of) + one.min(space % of);
    end(one)..end(one + 1)
}

/// A fixed permutation of the numbers below `space`: a Feistel network of four rounds, gone through
/// until it is back in the space. Multiplying by a constant would be shorter, and as even as no
/// hash is.
pub fn scattered(number: u64, space: u64) -> u64 {
    let bits = u64::BITS - space.saturating_sub(1).leading_zeros();
    let half = bits.div_ceil(2).max(1);
    let mask = (1 << half) - 1;
    let mut value = number;
    loop {
        let (mut left, mut right) = (value >> half, value & mask);
        for round in 1..=4_u64 {
            let mixed = mix64(right.wrapping_add(round.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            (left, right) = (right, left ^ (mixed & mask));
        }
        value = (left << half) | right;
        if value < space.max(1) {
            return value;
        }
    }
}

/// Numbers of a range that it is begun behind.
pub fn behind(size: u64, from: f64) -> u64 {
    ((size as f64 * from) as u64).min(size.saturating_sub(1))
}

/// Gray et al., "Quickly generating billion-record synthetic databases", as YCSB has it.
#[derive(Debug, Clone)]
struct Zipfian {
    items: f64,
    theta: f64,
    zeta: f64,
    alpha: f64,
    eta: f64,
}

impl Zipfian {
    fn new(items: u64, theta: f64) -> Self {
        let zeta = zeta(items, theta);
        let two = zeta_of_two(theta);
        let eta = (1.0 - pow(2.0 / items as f64, 1.0 - theta)) / (1.0 - two / zeta);
        // One or two items need only the first two branches of `rank`.
        let eta = if items > 2 { eta } else { 0.0 };
        Self { items: items as f64, theta, zeta, alpha: 1.0 / (1.0 - theta), eta }
    }

    fn rank(&self, unit: f64) -> u64 {
        let scaled = unit * self.zeta;
        let rank = if scaled < 1.0 {
            0.0
        } else if scaled < 1.0 + pow(0.5, self.theta) {
            1.0
        } else {
            (self.items * pow(self.eta * unit - self.eta + 1.0, self.alpha)).floor()
        };
        rank.clamp(0.0, self.items - 1.0) as u64
    }
}

fn zeta_of_two(theta: f64) -> f64 {
    1.0 + pow(0.5, theta)
}

/// The sum of i^-theta for i from 1 to `items`.
fn zeta(items: u64, theta: f64) -> f64 {
    let summed = items.min(ZETA_SUMMED);
    let sum: f64 = (1..=summed).map(|i| pow(i as f64, -theta)).sum();
    if items == summed {
        return sum;
    }
    // Euler and Maclaurin's first two terms for the rest.
    let (low, high) = (summed as f64, items as f64);
    let integral = (pow(high, 1.0 - theta) - pow(low, 1.0 - theta)) / (1.0 - theta);
    sum + integral + (pow(high, -theta) - pow(low, -theta)) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn asked(position: u64) -> KeyRequest {
        KeyRequest { sequence: 0, of: 1, position }
    }

    #[test]
    fn zipfian_has_the_frequencies_of_the_law() {
        let keys = KeyChooser::new(KeyChoice::Zipfian { theta: 0.99 }, 1000);
        let mut random = Random::new(1, "test", &[]);
        let mut counts = vec![0_u32; 1000];
        for _ in 0..200_000 {
            counts[keys.offset(&mut random) as usize] += 1;
        }
        let zeta = zeta(1000, 0.99);
        for rank in [0, 1] {
            let expected = 200_000.0 * pow(rank as f64 + 1.0, -0.99) / zeta;
            let seen = f64::from(counts[rank]);
            assert!((seen / expected - 1.0).abs() < 0.03, "rank {rank}: {seen} of {expected}");
        }
        // The method is exact for the first two ranks and an approximation beyond them.
        let hottest: u32 = counts[..100].iter().sum();
        let law: f64 = (1..=100).map(|i| pow(f64::from(i), -0.99) / zeta).sum();
        assert!((f64::from(hottest) / 200_000.0 - law).abs() < 0.03);
    }

    #[test]
    fn zipfian_scatters_its_hot_keys_and_latest_does_not() {
        let mut random = Random::new(1, "test", &[]);
        let zipfian = KeyChooser::new(KeyChoice::Zipfian { theta: 0.99 }, 10_000);
        let low = (0..10_000).filter(|_| zipfian.number(&mut random, asked(0)) < 1000).count();
        assert!((400..2500).contains(&low), "{low} of 10000 in the first tenth");
        let latest = KeyChooser::new(KeyChoice::Latest { theta: 0.99 }, 10_000);
        let newest = (0..10_000).filter(|_| latest.number(&mut random, asked(0)) >= 9000).count();
        assert!(newest > 7000, "{newest} of 10000 in the newest tenth");
    }

    #[test]
    fn small_spaces_stay_in_bounds() {
        let mut random = Random::new(1, "test", &[]);
        for space in 1..=5 {
            for choice in [
                KeyChoice::Sequential,
                KeyChoice::Uniform,
                KeyChoice::Zipfian { theta: 0.5 },
                KeyChoice::Latest { theta: 0.99 },
                KeyChoice::Hotspot { keys: 0.2, operations: 0.8 },
                KeyChoice::Contiguous { from: 0.5 },
                KeyChoice::Hashed,
            ] {
                let keys = KeyChooser::new(choice, space);
                let mut number = |i| keys.number(&mut random, asked(i));
                assert!((0..1000).all(|i| number(i) < space), "{choice:?} {space}");
            }
        }
    }

    #[test]
    fn scattered_numbers_are_all_there_and_far_from_their_neighbours() {
        for space in [1, 2, 3, 1000, 4096, 4097] {
            let mut numbers: Vec<u64> = (0..space).map(|it| scattered(it, space)).collect();
            let near = numbers.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < space / 10);
            let near = near.count() as u64;
            assert!(space < 1000 || near < space / 3, "{near} of {space} are near the one before");
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..space));
        }
    }

    #[test]
    fn a_hotspot_gets_its_share() {
        let mut random = Random::new(1, "test", &[]);
        let keys = KeyChooser::new(KeyChoice::Hotspot { keys: 0.2, operations: 0.8 }, 1000);
        let hot = (0..10_000).filter(|_| keys.number(&mut random, asked(0)) < 200).count();
        assert!((7800..8200).contains(&hot), "{hot} of 10000 in the first fifth");
    }

    #[test]
    fn ranges_cover_all_numbers_once_each() {
        let mut random = Random::new(1, "test", &[]);
        let keys = KeyChooser::new(KeyChoice::Contiguous { from: 0.5 }, 10);
        let mut range = |sequence, size: u64| -> Vec<u64> {
            let asked = |position| KeyRequest { sequence, of: 3, position };
            (0..size).map(|position| keys.number(&mut random, asked(position))).collect()
        };
        let ranges = [range(0, 4), range(1, 3), range(2, 3)].concat();
        assert_eq!(ranges, [2, 3, 0, 1, 5, 6, 4, 8, 9, 7]);
    }

    #[test]
    fn the_integral_continues_the_sum() {
        let exact: f64 = (1..=100_000).map(|i| pow(f64::from(i), -0.99)).sum();
        assert!((zeta(100_000, 0.99) / exact - 1.0).abs() < 1e-9);
    }
}
