//! The Universal Scalability Law: how throughput bends as workers are added (section 8.5, 8.6).
//!
//! `X(N) = gamma N / (1 + alpha (N - 1) + beta N (N - 1))` (Gunther 1993). Symbols are those of the
//! R package `usl`. Gamma is the throughput of one worker. Alpha is contention: the share that is
//! done one at a time. Beta is coherency: the cost of agreeing with every other worker.
//!
//! The fit is Levenberg and Marquardt's, written out here. Crates for it bring a matrix library for
//! three equations, and none knows the bounds alpha, beta, gamma >= 0.

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng as _;

use super::descriptive::{median, quantile};
use super::noise::below;

/// Different numbers of workers that a fit needs (section 8.5).
pub const LEVELS_MIN: usize = 6;
/// For an interval, as everywhere.
pub const ROUNDS_MIN: usize = 6;
/// The knee: so much of the highest throughput.
const KNEE_SHARE: f64 = 0.9;
/// A peak is printed only where the largest N measured is at least 0.8 N*.
const PEAK_REACHED: f64 = 0.8;
const RESAMPLES: usize = 1_000;
const STEPS_MAX: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usl {
    /// Contention, 0 to some 1.
    pub alpha: f64,
    /// Coherency.
    pub beta: f64,
    /// Throughput of one worker, in the unit of the throughputs.
    pub gamma: f64,
}

impl Usl {
    pub fn throughput(&self, workers: f64) -> f64 {
        let others = workers - 1.0;
        self.gamma * workers / (1.0 + self.alpha * others + self.beta * workers * others)
    }

    /// N*: the number of workers beyond which throughput falls; None where it never does.
    pub fn peak(&self) -> Option<f64> {
        (self.beta > 0.0).then(|| ((1.0 - self.alpha).max(0.0) / self.beta).sqrt())
    }

    /// No number of workers exceeds this throughput: gamma / alpha.
    pub fn roof(&self) -> Option<f64> {
        (self.alpha > 0.0).then(|| self.gamma / self.alpha)
    }

    /// More workers than this bring little: 1 / alpha.
    pub fn optimum(&self) -> Option<f64> {
        (self.alpha > 0.0).then(|| 1.0 / self.alpha)
    }

    /// Sum of the squared distances from points (workers, throughput).
    pub fn squares(&self, points: &[(f64, f64)]) -> f64 {
        points.iter().map(|(n, x)| (x - self.throughput(*n)).powi(2)).sum()
    }
}

/// Fits points (workers, throughput) by least squares with alpha, beta, gamma >= 0. None with fewer
/// than three different numbers of workers, or without throughput.
pub fn fit(points: &[(f64, f64)]) -> Option<Usl> {
    let scale = points.iter().map(|(_, x)| *x).fold(0.0, f64::max);
    if distinct(points) < 3 || scale <= 0.0 || !scale.is_finite() {
        return None;
    }
    let scaled: Vec<(f64, f64)> = points.iter().map(|(n, x)| (*n, x / scale)).collect();
    // Each of the two bounds is active or not. All four cases are tried: the best feasible one is
    // the constrained minimum.
    let cases = [[true, true], [true, false], [false, true], [false, false]];
    let mut best: Option<(f64, Usl)> = None;
    for free in cases {
        let law = descend(&scaled, start(&scaled, free)?, free);
        let feasible = law.alpha >= 0.0 && law.beta >= 0.0 && law.gamma > 0.0;
        let squares = law.squares(&scaled);
        if feasible && squares.is_finite() && best.is_none_or(|(least, _)| squares < least) {
            best = Some((squares, law));
            if free == [true, true] {
                break;
            }
        }
    }
    best.map(|(_, law)| Usl { gamma: law.gamma * scale, ..law })
}

fn distinct(points: &[(f64, f64)]) -> usize {
    let mut workers: Vec<f64> = points.iter().map(|(n, _)| *n).collect();
    workers.sort_unstable_by(f64::total_cmp);
    workers.dedup();
    workers.len()
}

/// Where the descent begins: `N/X = (1 + alpha (N-1) + beta N (N-1)) / gamma` is linear.
fn start(points: &[(f64, f64)], free: [bool; 2]) -> Option<Usl> {
    let mut normal = Normal::default();
    for (n, x) in points.iter().filter(|(_, x)| *x > 0.0) {
        // Weighted by X²/N², so that a small throughput does not rule: the error of N/X grows so.
        let weight = (x / n).powi(2);
        let row = [1.0, flag(free[0]) * (n - 1.0), flag(free[1]) * n * (n - 1.0)];
        normal.add(row, n / x, weight);
    }
    let [inverse, a, b] = normal.solve(0.0, [true, free[0], free[1]])?;
    let inverse = if inverse > 0.0 { inverse } else { 1.0 };
    Some(Usl {
        alpha: (a / inverse).max(0.0) * flag(free[0]),
        beta: (b / inverse).max(0.0) * flag(free[1]),
        gamma: 1.0 / inverse,
    })
}

fn flag(set: bool) -> f64 {
    f64::from(u8::from(set))
}

/// Levenberg-Marquardt with Marquardt's scaling; parameters that are not free stay where they are.
fn descend(points: &[(f64, f64)], from: Usl, free: [bool; 2]) -> Usl {
    let mut law = from;
    let mut squares = law.squares(points);
    let mut damping = 1e-3;
    for _ in 0..STEPS_MAX {
        let mut normal = Normal::default();
        for (n, x) in points {
            let value = law.throughput(*n);
            let below = law.gamma * n / value;
            let slope = -value / below;
            normal.add(
                [value / law.gamma, slope * (n - 1.0), slope * n * (n - 1.0)],
                x - value,
                1.0,
            );
        }
        let Some(step) = normal.solve(damping, [true, free[0], free[1]]) else { break };
        let next = Usl {
            gamma: law.gamma + step[0],
            alpha: law.alpha + step[1],
            beta: law.beta + step[2],
        };
        let reached = next.squares(points);
        if reached.is_finite() && reached <= squares {
            let still = step[0].abs() <= 1e-13 * law.gamma.abs()
                && step[1].abs() <= 1e-13 * law.alpha.abs().max(1e-9)
                && step[2].abs() <= 1e-13 * law.beta.abs().max(1e-12);
            (law, squares) = (next, reached);
            damping = (damping / 10.0).max(1e-15);
            if still {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    law
}

/// The normal equations of three parameters.
#[derive(Default)]
struct Normal {
    matrix: [[f64; 3]; 3],
    right: [f64; 3],
}

impl Normal {
    fn add(&mut self, row: [f64; 3], target: f64, weight: f64) {
        for i in 0..3 {
            for j in 0..3 {
                self.matrix[i][j] += weight * row[i] * row[j];
            }
            self.right[i] += weight * row[i] * target;
        }
    }

    /// Gauss's elimination with pivots; a parameter that is not free answers 0. None where it is
    /// singular.
    fn solve(&self, damping: f64, free: [bool; 3]) -> Option<[f64; 3]> {
        let (mut matrix, mut right) = (self.matrix, self.right);
        for i in 0..3 {
            if free[i] {
                matrix[i][i] *= 1.0 + damping;
                continue;
            }
            matrix[i] = [0.0; 3];
            for row in &mut matrix {
                row[i] = 0.0;
            }
            (matrix[i][i], right[i]) = (1.0, 0.0);
        }
        for column in 0..3 {
            let pivot = (column..3)
                .max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()))?;
            matrix.swap(column, pivot);
            right.swap(column, pivot);
            if matrix[column][column] == 0.0 || !matrix[column][column].is_finite() {
                return None;
            }
            for row in column + 1..3 {
                let factor = matrix[row][column] / matrix[column][column];
                let above = matrix[column];
                let below = matrix[row].iter_mut().zip(above).skip(column);
                below.for_each(|(value, above)| *value -= factor * above);
                right[row] -= factor * right[column];
            }
        }
        let mut solution = [0.0; 3];
        for row in (0..3).rev() {
            let known: f64 = (row + 1..3).map(|at| matrix[row][at] * solution[at]).sum();
            solution[row] = (right[row] - known) / matrix[row][row];
        }
        Some(solution)
    }
}

/// The smallest number of workers with 90 % of the highest throughput; None without points.
pub fn knee(points: &[(f64, f64)]) -> Option<f64> {
    let highest = points.iter().map(|(_, x)| *x).reduce(f64::max)?;
    let enough = points.iter().filter(|(_, x)| *x >= KNEE_SHARE * highest);
    enough.map(|(n, _)| *n).min_by(f64::total_cmp)
}

/// A fit over rounds, with 95 % intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalingFit {
    /// Law of the medians over rounds.
    pub law: Usl,
    pub alpha: (f64, f64),
    pub beta: (f64, f64),
    pub gamma: (f64, f64),
    /// Knee of the medians.
    pub knee: f64,
    pub knee_interval: (f64, f64),
    /// Largest number of workers measured.
    pub most: f64,
}

impl ScalingFit {
    /// Beta and N* may be printed: beta's interval excludes 0, and N* was all but reached.
    pub fn shows_peak(&self) -> bool {
        let reached = |peak| self.most >= PEAK_REACHED * peak;
        self.beta.0 > 0.0 && self.law.peak().is_some_and(reached)
    }

    /// Throughput of `most` workers, as a share of that without contention and coherency.
    pub fn efficiency(&self) -> f64 {
        self.law.throughput(self.most) / (self.law.gamma * self.most)
    }
}

/// Fits levels (workers, throughput of each round). Intervals come from resampling the rounds of
/// each level, drawn from the seed.
///
/// None with fewer than [`LEVELS_MIN`] different levels or [`ROUNDS_MIN`] rounds in one of them.
pub fn scaling(levels: &[(f64, Vec<f64>)], seed: u64) -> Option<ScalingFit> {
    let medians = |pick: &mut dyn FnMut(&[f64]) -> Option<f64>| -> Option<Vec<(f64, f64)>> {
        levels.iter().map(|(workers, rounds)| Some((*workers, pick(rounds)?))).collect()
    };
    let points = medians(&mut |rounds| median(rounds))?;
    if distinct(&points) < LEVELS_MIN || levels.iter().any(|level| level.1.len() < ROUNDS_MIN) {
        return None;
    }
    let law = fit(&points)?;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut draws: [Vec<f64>; 4] = Default::default();
    for _ in 0..RESAMPLES {
        let resampled = medians(&mut |rounds| {
            let draw = |_| rounds[below(&mut random, rounds.len())];
            median(&(0..rounds.len()).map(draw).collect::<Vec<_>>())
        })?;
        let Some(law) = fit(&resampled) else { continue };
        let values = [law.alpha, law.beta, law.gamma, knee(&resampled)?];
        for (draws, value) in draws.iter_mut().zip(values) {
            draws.push(value);
        }
    }
    let interval = |draws: &[f64]| Some((quantile(draws, 0.025)?, quantile(draws, 0.975)?));
    Some(ScalingFit {
        law,
        alpha: interval(&draws[0])?,
        beta: interval(&draws[1])?,
        gamma: interval(&draws[2])?,
        knee: knee(&points)?,
        knee_interval: interval(&draws[3])?,
        most: points.iter().map(|(n, _)| *n).fold(0.0, f64::max),
    })
}
