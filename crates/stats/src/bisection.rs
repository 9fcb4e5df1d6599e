//! The first slow version among many, by halves (section 4.3, step 4).
//!
//! It supposes one change between two ends that differ. Each step measures three versions in the
//! same rounds: both ends of what is left, and the one in the middle.

use std::collections::BTreeSet;

use super::rank::hodges_lehmann;

/// Rounds of a step at which it may be decided. The last decides by the sign alone.
const LOOKS: [u32; 4] = [8, 12, 18, 30];
/// Error spent at each look of a step.
const ALPHA: f64 = 0.01;

/// A search on its way. Versions are numbers, in the order of their releases.
#[derive(Debug, Clone)]
pub struct Bisect {
    good: usize,
    bad: usize,
    /// To which side the bad end differs from the good one.
    slower: bool,
    threshold: f64,
    /// Values of the present step: ln(cost per operation) of good, middle and bad, by round.
    rounds: Vec<[f64; 3]>,
    outside: Option<usize>,
    /// Versions that cannot be measured.
    skipped: BTreeSet<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// So many rounds of these three, in the order good, middle, bad.
    Measure { versions: [usize; 3], rounds: u32 },
    /// The last version before the change, and the first one after it: to be confirmed on fresh
    /// rounds. Versions between them were skipped.
    Pair { before: usize, after: usize },
    /// This version is outside of both ends: there is more than one change, and a scan finds them.
    Outside { middle: usize },
}

impl Bisect {
    /// Between two ends that were shown to differ. `threshold` is ln(1 + delta).
    pub fn new((good, bad): (usize, usize), slower: bool, threshold: f64) -> Self {
        let (rounds, skipped) = (Vec::new(), BTreeSet::new());
        Self { good, bad, slower, threshold, rounds, outside: None, skipped }
    }

    pub fn next(&self) -> Next {
        if let Some(middle) = self.outside {
            return Next::Outside { middle };
        }
        let Some(middle) = self.middle() else {
            return Next::Pair { before: self.good, after: self.bad };
        };
        let look = LOOKS.into_iter().find(|look| *look as usize > self.rounds.len());
        let rounds = look.map_or(1, |look| look - self.rounds.len() as u32);
        Next::Measure { versions: [self.good, middle, self.bad], rounds }
    }

    /// Rounds that were asked for; fewer where some were lost.
    pub fn add(&mut self, rounds: impl IntoIterator<Item = [f64; 3]>) {
        let Some(middle) = self.middle() else { return };
        self.rounds.extend(rounds);
        let last = self.rounds.len() as u32 >= LOOKS[LOOKS.len() - 1];
        match side(&self.rounds, self.slower, self.threshold, last) {
            VersionSide::Good => self.good = middle,
            VersionSide::Bad => self.bad = middle,
            VersionSide::Outside => self.outside = Some(middle),
            VersionSide::Open => return,
        }
        self.rounds.clear();
    }

    /// The version in the middle cannot be measured: another one takes its place.
    pub fn skip(&mut self, version: usize) {
        self.skipped.insert(version);
        self.rounds.clear();
    }

    /// The nearest to the middle that can be measured.
    fn middle(&self) -> Option<usize> {
        let middle = usize::midpoint(self.good, self.bad);
        let between = (self.good + 1..self.bad).filter(|it| !self.skipped.contains(it));
        between.min_by_key(|it| it.abs_diff(middle))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VersionSide {
    Good,
    Bad,
    /// Beyond an end by more than the threshold.
    Outside,
    /// More rounds may decide.
    Open,
}

fn side(rounds: &[[f64; 3]], slower: bool, threshold: f64, last: bool) -> VersionSide {
    let sign = if slower { 1.0 } else { -1.0 };
    let of = |difference: fn(&[f64; 3]) -> f64| {
        let values: Vec<f64> = rounds.iter().map(|round| sign * difference(round)).collect();
        hodges_lehmann(&values, ALPHA)
    };
    let centre = of(|[good, middle, bad]| middle - f64::midpoint(*good, *bad));
    let (Some(centre), Some(above), Some(below)) =
        (centre, of(|[_, middle, bad]| middle - bad), of(|[good, middle, _]| good - middle))
    else {
        return VersionSide::Open;
    };
    match () {
        () if above.low > threshold || below.low > threshold => VersionSide::Outside,
        () if centre.low > 0.0 => VersionSide::Bad,
        () if centre.high < 0.0 => VersionSide::Good,
        () if !last => VersionSide::Open,
        () if centre.estimate > 0.0 => VersionSide::Bad,
        () => VersionSide::Good,
    }
}
