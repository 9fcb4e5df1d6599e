//! A run in blocks of equal count: their medians shed heavy tails.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::descriptive::median;

/// The number of blocks is the root of the number of messages, within these bounds. Among
/// fewer than 20, a single outlier would be more than a twentieth of the run. More than 40 say no
/// more about the shape.
const BLOCKS: std::ops::RangeInclusive<usize> = 20..=40;

/// Successive messages of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// The middle message's number, counted from 1.
    pub message: f64,
    /// Median latency, us.
    pub latency_us: f64,
}

/// Block medians; counts differ by one at most. Rejected: equal width in ln i, where the first
/// blocks would be the cold start and nothing else.
pub fn medians(mut latencies_us: impl ExactSizeIterator<Item = f64>) -> Vec<Block> {
    let messages = latencies_us.len();
    let count = messages.isqrt().clamp(*BLOCKS.start(), *BLOCKS.end()).min(messages);
    let mut blocks = Vec::with_capacity(count);
    let mut held = Vec::with_capacity(messages / count.max(1) + 1);
    for block in 0..count {
        let (first, after) = (block * messages / count, (block + 1) * messages / count);
        held.clear();
        held.extend(latencies_us.by_ref().take(after - first));
        let message = (first + 1 + after) as f64 / 2.0;
        blocks.extend(median(&held).map(|latency_us| Block { message, latency_us }));
    }
    blocks
}

/// How far an end may lie beyond its neighbour, in differences of that from the next one. Tukey's 2
/// would cut the first block of a logarithm: its difference is ln 3/ln(5/3) = 2.15 times the next.
const END_REACH: f64 = 3.0;

/// The medians without single outlying blocks (a stall and its drain, the cold start):
/// running medians of three. For both ends, Tukey's rule (Exploratory Data Analysis, 1977, ch. 7):
/// the median of the end, its neighbour, and the extrapolation of the next two.
///
/// A series that only rises or only falls passes unchanged, but for an end far from the others.
pub fn without_strays(blocks: &[Block]) -> Vec<f64> {
    let raw: Vec<f64> = blocks.iter().map(|block| block.latency_us).collect();
    let mut clean = raw.clone();
    for (at, near) in raw.windows(3).enumerate() {
        clean[at + 1] = middle(near[0], near[1], near[2]);
    }
    if let [first, second, third, .., before, next, last] = clean.as_mut_slice() {
        *first = middle(*first, *second, *second + END_REACH * (*second - *third));
        *last = middle(*last, *next, *next + END_REACH * (*next - *before));
    }
    clean
}

fn middle(a: f64, b: f64, c: f64) -> f64 {
    a.max(b).min(a.min(b).max(c))
}
