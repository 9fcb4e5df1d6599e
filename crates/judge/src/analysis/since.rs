//! Versions of one driver as a series: since which one is a figure another (section 3.6)?

use std::collections::BTreeMap;
use std::ops::Range;

use record::records::{Arm, Experiment};
use stats::changes::{ChangePoint, slope, splits, steps, undone};
use stats::descriptive::median;
use stats::judge::Measure;
use stats::multiple::{FALSE_DISCOVERY_RATE, benjamini_hochberg};
use stats::ratio::percent;

use crate::analysis::types::{ChangeRow, Metric, SinceRow};

/// Fewer are no series: the comparisons with the baseline say it all.
const VERSIONS_MIN: usize = 4;
/// Within one round a version that was disturbed is a step.
const ROUNDS_MIN: u32 = 2;

/// A figure of a phase over the versions of one driver.
pub struct VersionSeries {
    pub row: SinceRow,
    root_p: f64,
}

/// The name of an arm without its version. Arms of one label differ in nothing else.
pub fn label(id: &str) -> String {
    let id = id.split('#').next().unwrap_or_default();
    let (driver, rest) = id.split_once('@').unwrap_or((id, ""));
    format!("{driver}{}", rest.find('/').map_or("", |at| &rest[at..]))
}

/// By label the places of its arms, in the order asked for.
fn labelled(arms: &[Arm]) -> BTreeMap<String, Vec<usize>> {
    let mut found: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, arm) in arms.iter().enumerate().filter(|(_, arm)| !arm.is_aa && !arm.is_direct) {
        let places = found.entry(label(&arm.id)).or_default();
        // A version that is named twice is measured twice.
        if places.iter().all(|it| arms[*it].version != arm.version) {
            places.push(place);
        }
    }
    found
}

/// One figure of a phase, over each series of versions. `threshold_percent` is that of the figure's
/// comparisons.
pub fn scan(
    experiment: &Experiment,
    (phase, operation): (&str, &str),
    (metric, measure): (Metric, &Measure),
    threshold_percent: f64,
) -> Vec<VersionSeries> {
    let arms = &experiment.arms;
    let costs = measure.costs();
    let blocks = experiment.settings.blocks.as_ref();
    let through = blocks.map_or("", |_| "through the baseline of each block, ");
    let cost = |place: &usize, round: usize| costs[*place].get(round).copied().flatten();
    let of_label = |(label, mut places): (String, Vec<usize>)| {
        // A version that has no round would leave no round for the others.
        places.retain(|place| costs[*place].iter().flatten().next().is_some());
        if places.len() < VERSIONS_MIN {
            return None;
        }
        let count = costs.iter().map(Vec::len).max().unwrap_or(0);
        let round = |round| places.iter().map(|place| cost(place, round)).collect::<Option<_>>();
        let rounds: Vec<Vec<f64>> = (0..count).filter_map(round).collect();
        let threshold = (threshold_percent / 100.0).ln_1p();
        let found = splits(&rounds, threshold, experiment.settings.seed);
        let versions: Vec<&Arm> = places.iter().map(|place| &arms[*place]).collect();
        let root_p = found.iter().find(|split| split.segment.len() == places.len())?.p_value;
        let found = steps(&rounds, &found, threshold);
        let mut row = SinceRow {
            adapter: label,
            phase: phase.to_owned(),
            operation: operation.to_owned(),
            metric,
            versions: versions.iter().map(|arm| arm.version.clone()).collect(),
            rounds: rounds.len() as u32,
            threshold_percent,
            changes: found
                .iter()
                .map(|split| {
                    let undone = undone(&rounds, &found, split.at, threshold);
                    change(split, &versions, undone, (metric, through))
                })
                .collect(),
            sentence: String::new(),
        };
        let said: Vec<&str> = row.changes.iter().map(|it| it.sentence.as_str()).collect();
        let steps = (!said.is_empty()).then(|| said.join(" "));
        row.sentence = row.gradual(&found, &rounds).or(steps).unwrap_or_else(|| row.none());
        Some(VersionSeries { row, root_p })
    };
    labelled(arms).into_iter().filter_map(of_label).collect()
}

/// The rows of all series of a report: those whose changes may be chance among so many lose them
/// (section 3.6).
pub fn rows(series: Vec<VersionSeries>) -> Vec<SinceRow> {
    let adjusted = benjamini_hochberg(&series.iter().map(|it| it.root_p).collect::<Vec<_>>());
    let row = |(VersionSeries { mut row, .. }, p_value): (VersionSeries, f64)| {
        if p_value > FALSE_DISCOVERY_RATE || row.rounds < ROUNDS_MIN {
            row.changes.clear();
            row.sentence = row.none();
        }
        row
    };
    series.into_iter().zip(adjusted).map(row).collect()
}

impl SinceRow {
    /// `NO STEP of 2 % or more from 4.0.2 to 4.13.0 (12 versions, 8 rounds).`
    fn none(&self) -> String {
        if self.rounds < ROUNDS_MIN {
            return "NO ANSWER: one round shows neither a step nor that there is none.".to_owned();
        }
        format!(
            "NO STEP of {} % or more from {} to {} ({} versions, {} rounds).",
            format::threshold(self.threshold_percent),
            self.versions[0],
            self.versions[self.versions.len() - 1],
            self.versions.len(),
            self.rounds
        )
    }

    /// `GRADUAL: 12 % slower from 4.2 to 4.8; no single version stands out.`
    fn gradual(&self, found: &[ChangePoint], rounds: &[Vec<f64>]) -> Option<String> {
        let Range { start, end } = slope(found)?;
        // Between the two versions that are named: the steps are between medians of several, and
        // their sum is not.
        let each: Vec<f64> = rounds.iter().map(|round| round[end] - round[start]).collect();
        let whole = percent(median(&each)?);
        Some(format!(
            "GRADUAL: {} % {} from {} to {}; no single version stands out.",
            format::fixed(whole.abs(), 0),
            if whole > 0.0 { "slower" } else { "faster" },
            self.versions[start],
            self.versions[end]
        ))
    }
}

/// `POSSIBLE CHANGE at 4.0.2, 5 % faster (4.0.2 to 4.6.1 compared with 3.12.3 to 3.13.0; scan only,
/// p = 0.0001); …`. The size is that between two stretches of versions, not between two versions,
/// so the sentence names them. Only a slower one can be mended.
fn change(
    split: &ChangePoint,
    versions: &[&Arm],
    undone: Option<usize>,
    (metric, through): (Metric, &str),
) -> ChangeRow {
    let [before, after] = [split.at - 1, split.at].map(|at| versions[at].version.clone());
    let mended_at = undone.map(|at| versions[at].version.clone());
    let last = &versions[versions.len() - 1].version;
    let change_percent = percent(split.change.estimate);
    let slower = change_percent > 0.0;
    let until = match (&mended_at, slower) {
        (Some(version), true) => format!(" Mended at {version} (scan only)."),
        (Some(version), false) => format!(" Taken back at {version} (scan only)."),
        (None, true) if *last != after => format!(" Not mended up to {last}."),
        (None, _) => String::new(),
    };
    let stretches = match &split.segment {
        both if both.len() == 2 => String::new(),
        both => {
            let named = |part: Range<usize>| match part.len() {
                1 => versions[part.start].version.clone(),
                _ => format!(
                    "{} to {}",
                    versions[part.start].version,
                    versions[part.end - 1].version
                ),
            };
            let (left, right) = (named(both.start..split.at), named(split.at..both.end));
            format!("{right} compared with {left}; ")
        }
    };
    let side = match (metric, slower) {
        (Metric::Throughput, true) => "slower",
        (Metric::Throughput, false) => "faster",
        (_, true) => "more",
        (_, false) => "less",
    };
    ChangeRow {
        change_percent,
        p_value: split.p_value,
        sentence: format!(
            "POSSIBLE CHANGE at {after}, {} % {side} ({stretches}scan only, {through}p = {}); not \
             confirmed on fresh rounds.{until}",
            format::fixed(change_percent.abs(), 0),
            format::trimmed(split.p_value, 4),
        ),
        before,
        after,
        mended_at,
        also: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_that_differ_in_their_version_alone_have_one_label() {
        for (id, expected) in [
            ("node@7.9.0", "node"),
            ("node:mongolian@0.1.18", "node:mongolian"),
            ("node@4.17.2/api=callback#2", "node/api=callback"),
            ("python@4.0.2/runtime=/opt/py/w=1", "python/runtime=/opt/py/w=1"),
        ] {
            assert_eq!(label(id), expected);
        }
    }
}
