//! Changes in a series of versions: the reference's answers (`tests/data/grouped-cases.json`), and
//! how often the search finds a simulated step, and none where there is none.
#![allow(clippy::unreadable_literal, clippy::print_stdout)]

use crate::world;
use std::collections::BTreeMap;

use serde_json::Value;
use stats::bisection::{Bisect, Next};
use stats::changes::{ChangeKind, ChangePoint, slope, splits, steps, undone};
use stats::comparison::{Arms, Comparison, Rules, compare};
use stats::threshold::{Direction, Interleave, Quantity, ThresholdParts};
use stats::verdict::Verdict;

const THRESHOLD_PERCENT: f64 = 3.0;

fn threshold() -> f64 {
    (THRESHOLD_PERCENT / 100.0).ln_1p()
}

/// The versions of the steps of a series.
fn found_in(rounds: &[Vec<f64>], seed: u64) -> Vec<usize> {
    let found = steps(rounds, &splits(rounds, threshold(), seed), threshold());
    found.iter().map(|it| it.at).collect()
}

#[test]
fn splits_are_those_of_the_reference() {
    let data: Value = serde_json::from_str(include_str!("../data/grouped-cases.json")).unwrap();
    let cases = data["cases"].as_array().unwrap();
    assert!(cases.len() > 5);
    for case in cases {
        let (name, rows) = (&case["id"], case["values_round_by_version"].as_array().unwrap());
        let logs = |row: &Value| {
            row.as_array().unwrap().iter().map(|value| value.as_f64().unwrap().ln()).collect()
        };
        let rounds: Vec<Vec<f64>> = rows.iter().map(logs).collect();
        let found = splits(&rounds, threshold(), 7);
        let expected: Vec<usize> = serde_json::from_value(case["expected"].clone()).unwrap();
        let kept =
            found.iter().filter(|split| split.kind == ChangeKind::Change).map(|split| split.at);
        assert_eq!(kept.collect::<Vec<_>>(), expected, "{name}");
        assert_eq!(found_in(&rounds, 7), expected, "{name}");
        let log = case["reference_log"].as_array().unwrap();
        let by_segment: BTreeMap<(usize, usize), &ChangePoint> =
            found.iter().map(|it| ((it.segment.start, it.segment.end), it)).collect();
        assert_eq!(by_segment.len(), log.len(), "{name}");
        for row in log {
            let segment: (usize, usize) = serde_json::from_value(row["segment"].clone()).unwrap();
            let split = by_segment[&segment];
            assert_eq!(split.at as u64, row["split"].as_u64().unwrap(), "{name} {segment:?}");
            let change_percent = 100.0 * split.change.estimate.exp_m1();
            let wanted = row["change_pct"].as_f64().unwrap();
            assert!((change_percent - wanted).abs() < 0.006, "{name} {segment:?}");
            // Both draw shuffles, the reference 1,999 of them.
            let p_value = row["p"].as_f64().unwrap();
            let spread = 4.0 * (p_value * (1.0 - p_value) / 1_999.0).sqrt() + 1e-3;
            assert!((split.p_value - p_value).abs() < spread, "{name} {segment:?}");
        }
    }
}

/// Whole runs of versions in rounds, each with its step, as section 4.2 simulates them: a round of
/// 3 %, runs of 2 %, and one run in twenty hit by Exp(10 %).
struct History {
    noise: world::Noise,
    steps: Vec<f64>,
}

impl History {
    fn new(seed: u64, steps: Vec<f64>) -> Self {
        Self { noise: world::Noise::new(seed), steps }
    }

    fn rounds(&mut self, versions: &[usize], count: u32) -> Vec<Vec<f64>> {
        let mut round = || {
            let round = 0.03 * self.noise.normal();
            let mut run = |version: &usize| {
                let hit = self.noise.uniform() <= 0.05;
                let hit = if hit { -0.10 * self.noise.uniform().ln() } else { 0.0 };
                5.0 + round + self.steps[*version] + 0.02 * self.noise.normal() + hit
            };
            versions.iter().map(&mut run).collect()
        };
        (0..count).map(|_| round()).collect()
    }

    /// The comparison of two versions on fresh rounds.
    fn compare(&mut self, before: usize, after: usize) -> Comparison {
        let rounds = self.rounds(&[before, after], 20);
        let of = |place: usize| rounds.iter().map(|it| Some(it[place].exp())).collect::<Vec<_>>();
        let direction = Direction::LowerIsBetter;
        let quantity = Quantity::Other { direction, floor_percent: THRESHOLD_PERCENT };
        let threshold = ThresholdParts {
            interleave: Interleave::Runs,
            quick: false,
            noise_floor_percent: None,
            timer_cost_ns: 0.0,
        };
        let arms = Arms { name_a: "before", name_b: "after", a: &of(0), b: &of(1) };
        compare("cost", quantity, &arms, &Rules::new(0.05, threshold), &[])
    }

    /// The search from end to end: the ends, the halves, the pair.
    fn search(&mut self) -> Option<usize> {
        let last = self.steps.len() - 1;
        let ends = self.compare(0, last).verdict;
        if !matches!(ends, Verdict::Slower | Verdict::Faster) {
            return None;
        }
        match self.halve(last, ends == Verdict::Slower) {
            Next::Pair { before, after } if self.compare(before, after).verdict == ends => {
                Some(after)
            }
            _ => None,
        }
    }

    fn halve(&mut self, last: usize, slower: bool) -> Next {
        let mut search = Bisect::new((0, last), slower, threshold());
        loop {
            let Next::Measure { versions, rounds } = search.next() else { return search.next() };
            let rounds = self.rounds(&versions, rounds);
            search.add(rounds.iter().map(|it| [it[0], it[1], it[2]]));
        }
    }
}

const VERSIONS: usize = 32;
const SIMULATIONS: u64 = 200;

/// One step of +5 %, at another version in each simulation; none where `height` is 0.
fn history(seed: u64, height: f64) -> (History, usize) {
    let at = 1 + (seed as usize * 7) % (VERSIONS - 1);
    let steps = (0..VERSIONS).map(|version| if version < at { 0.0 } else { height }).collect();
    (History::new(seed, steps), at)
}

#[test]
fn a_search_among_32_versions_finds_a_step_of_5_percent_and_none_in_a_flat_history() {
    let step = 0.05_f64.ln_1p();
    let found = (0..SIMULATIONS)
        .filter(|seed| {
            let (mut history, at) = history(*seed, step);
            history.search() == Some(at)
        })
        .count();
    let flat = (0..SIMULATIONS).filter(|seed| history(*seed, 0.0).0.search().is_none()).count();
    println!("of {SIMULATIONS}: {found} steps found at their version, {flat} flat ones clean");
    assert!(found >= 190 && flat >= 190, "found {found}, clean {flat} of {SIMULATIONS}");
}

#[test]
fn a_scan_of_20_versions_finds_a_step_and_none_in_a_flat_history() {
    let (mut found, mut flat) = (0, 0);
    for seed in 0..40 {
        let all: Vec<usize> = (0..20).collect();
        let at = 1 + seed as usize % 19;
        let step = 0.05_f64.ln_1p();
        let steps = all.iter().map(|version| if *version < at { 0.0 } else { step }).collect();
        let rounds = History::new(seed, steps).rounds(&all, 10);
        found += usize::from(found_in(&rounds, seed) == [at]);
        let rounds = History::new(seed, vec![0.0; 20]).rounds(&all, 10);
        flat += usize::from(found_in(&rounds, seed).is_empty());
    }
    assert!(found >= 36 && flat >= 38, "found {found}, clean {flat} of 40");
}

/// Histories of 12 versions in two blocks, read through the baseline (the first version) of each
/// block: of 20 how many are answered as they are, with a step of that height or with none.
fn through_blocks(height: f64, block: impl Fn(&mut History) -> Vec<usize>) -> usize {
    let is_right = |seed: &u64| {
        let at = 1 + *seed as usize % 11;
        let steps = (0..12).map(|version| if version < at { 0.0 } else { height }).collect();
        let mut history = History::new(*seed, steps);
        let round = |_| {
            let blocks = block(&mut history);
            let mut ratios = vec![0.0; 12];
            for number in 0..2 {
                let own: Vec<usize> = (1..12).filter(|it| blocks[it - 1] == number).collect();
                let arms: Vec<usize> = [0].into_iter().chain(own.iter().copied()).collect();
                let costs = history.rounds(&arms, 1).remove(0);
                own.iter().zip(&costs[1..]).for_each(|(it, cost)| ratios[*it] = cost - costs[0]);
            }
            ratios
        };
        let rounds: Vec<Vec<f64>> = (0..8).map(round).collect();
        let found = splits(&rounds, threshold(), *seed);
        if height > 0.0 {
            found_in(&rounds, *seed) == [at]
        } else {
            found.iter().all(|split| split.kind == ChangeKind::Chance)
        }
    };
    (0..20).filter(is_right).count()
}

#[test]
fn blocks_dealt_anew_in_each_round_add_no_step_and_blocks_of_neighbours_do() {
    let dealt = |history: &mut History| {
        let mut left = [6, 5];
        let mut deal = || {
            let share = f64::from(left[0]) / f64::from(left[0] + left[1]);
            let block = usize::from(history.noise.uniform() >= share);
            left[block] -= 1;
            block
        };
        (1..12).map(|_| deal()).collect()
    };
    let found = through_blocks(0.08_f64.ln_1p(), dealt);
    let flat = through_blocks(0.0, dealt);
    let neighbours = through_blocks(0.0, |_| (1..12).map(|version| version / 7).collect());
    println!("of 20: {found} steps found, {flat} flat ones clean, {neighbours} of neighbours");
    assert!(found >= 16 && flat >= 18 && neighbours <= 16);
}

/// The course of PyMongo's find_one from 3.6 to 4.5: the first split of a part has steps to both
/// sides on its right, whose median is that of its left.
#[test]
fn a_step_is_measured_between_its_neighbours() {
    let levels = [0.0, 0.04, 0.05, 0.11, -0.06, -0.02, 0.06, 0.05, 0.01, -0.03, 0.02, 0.01, -0.01];
    let all: Vec<usize> = (0..levels.len()).collect();
    let rounds = History::new(4, levels.to_vec()).rounds(&all, 16);
    let threshold = 0.05_f64.ln_1p();
    let first = splits(&rounds, threshold, 1);
    let hidden = first.iter().filter(|it| it.kind == ChangeKind::BelowThreshold).map(|it| it.at);
    assert!(hidden.collect::<Vec<_>>().contains(&4), "{first:?}");
    let found = steps(&rounds, &first, threshold);
    let found: Vec<usize> = found.iter().map(|it| it.at).collect();
    assert!(found.contains(&4) && found.contains(&6), "{found:?}");
}

#[test]
fn a_step_is_mended_where_a_later_one_brings_it_back() {
    let mended = |levels: &[f64], at: usize| {
        let all: Vec<usize> = (0..levels.len()).collect();
        let rounds = History::new(5, levels.to_vec()).rounds(&all, 16);
        let found = steps(&rounds, &splits(&rounds, threshold(), 1), threshold());
        assert!(found.iter().any(|it| it.at == at), "{found:?}");
        undone(&rounds, &found, at, threshold())
    };
    assert_eq!(mended(&[0.0, 0.0, 0.2, 0.2, 0.2, 0.0, 0.0, 0.0], 2), Some(5));
    assert_eq!(mended(&[0.0, 0.0, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2], 2), None, "it stays");
    assert_eq!(mended(&[0.0, 0.0, 0.3, 0.3, 0.3, 0.1, 0.1, 0.1], 2), None, "a third is left");
    assert_eq!(mended(&[0.0, 0.0, 0.3, 0.3, 0.1, 0.1, 0.0, 0.0], 2), Some(6), "in two steps");
    assert_eq!(mended(&[0.1, 0.1, 0.2, 0.2, 0.0, 0.0, 0.0, 0.0], 2), Some(4), "and more");
    assert_eq!(mended(&[0.3, 0.3, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0], 2), None, "one way");
}

#[test]
fn a_version_outside_of_both_ends_ends_the_search() {
    let mut history = History::new(3, vec![0.0, 0.2, 0.2, 0.05, 0.05]);
    assert_eq!(history.halve(4, true), Next::Outside { middle: 2 });
}

#[test]
fn versions_that_cannot_be_measured_leave_a_gap() {
    let levels = (0..9).map(|version| if version < 4 { 0.0 } else { 0.2 }).collect();
    let mut history = History::new(3, levels);
    let mut find = |lost: &[usize]| {
        let mut search = Bisect::new((0, 8), true, threshold());
        loop {
            match search.next() {
                Next::Measure { versions, .. } if lost.contains(&versions[1]) => {
                    search.skip(versions[1]);
                }
                Next::Measure { versions, rounds } => {
                    let rounds = history.rounds(&versions, rounds);
                    search.add(rounds.iter().map(|it| [it[0], it[1], it[2]]));
                }
                found => return found,
            }
        }
    };
    assert_eq!(find(&[4]), Next::Pair { before: 3, after: 5 });
    assert_eq!(find(&[2, 3, 4]), Next::Pair { before: 1, after: 5 });
    assert_eq!(find(&[1, 7]), Next::Pair { before: 3, after: 4 }, "far from the step");
    let all: Vec<usize> = (1..8).collect();
    assert_eq!(find(&all), Next::Pair { before: 0, after: 8 });
    let mut search = Bisect::new((0, 8), true, threshold());
    search.skip(4);
    let Next::Measure { versions, rounds } = search.next() else { panic!("versions are left") };
    assert_eq!((versions, rounds), ([0, 3, 8], 8), "the nearest one");
}

#[test]
fn changes_to_one_side_in_a_row_are_a_slope() {
    let rounds: Vec<Vec<f64>> = History::new(5, vec![0.0, 0.0, 0.06, 0.12, 0.18, 0.18, 0.18])
        .rounds(&[0, 1, 2, 3, 4, 5, 6], 12);
    let found = steps(&rounds, &splits(&rounds, threshold(), 1), threshold());
    assert_eq!(found.iter().map(|it| it.at).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(slope(&found), Some(1..4));
    assert_eq!(slope(&found[..1]), None);
}

#[test]
fn a_step_that_makes_most_of_a_slope_stands_out() {
    let all: Vec<usize> = (0..7).collect();
    let rounds = History::new(5, vec![0.0, 1.0, 1.0, 1.1, 1.2, 1.2, 1.2]).rounds(&all, 12);
    let found = steps(&rounds, &splits(&rounds, threshold(), 1), threshold());
    assert_eq!(found.iter().map(|it| it.at).collect::<Vec<_>>(), [1, 3, 4]);
    assert_eq!(slope(&found), None);
}

/// The course of the C# driver's creations from 1.7.0 on: the second step is 33 %, the third one
/// 4 %, and the scan has only found the middle of the line.
#[test]
fn a_step_is_put_where_its_size_is() {
    let all: Vec<usize> = (0..6).collect();
    let rounds = History::new(6, vec![0.0, 0.02, 0.3, 0.34, 0.36, 0.36]).rounds(&all, 12);
    let told = splits(&rounds, threshold(), 1).into_iter().find(|it| it.segment == (0..6));
    let late = ChangePoint { at: 3, ..told.expect("the whole line is tested") };
    let found = steps(&rounds, &[late], threshold());
    assert_eq!(found.iter().map(|it| it.at).collect::<Vec<_>>(), [2]);
}
