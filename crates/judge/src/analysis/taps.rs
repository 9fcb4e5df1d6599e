//! The tap's measurements over all rounds.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::rounds::Rounds;
use crate::analysis::types::TapRow;
use record::records::{Experiment, Tap};
use stats::descriptive::median;

/// One row per arm and phase that the tap saw.
pub fn rows(experiment: &Experiment, rounds: &Rounds<'_>) -> Vec<TapRow> {
    let mut rows = Vec::new();
    for phase in &experiment.plan.phases {
        for arm in &experiment.arms {
            let runs = rounds.measured(&arm.id, &phase.name);
            let seen: Vec<(&Tap, f64)> = runs
                .iter()
                .flatten()
                .filter_map(|run| {
                    let operations: u64 = run.by_operation.iter().map(|it| it.count).sum();
                    Some((run.tap.as_ref()?, operations.max(1) as f64))
                })
                .collect();
            if !seen.is_empty() {
                rows.push(row(&arm.id, &phase.name, &seen));
            }
        }
    }
    rows
}

fn row(arm: &str, phase: &str, seen: &[(&Tap, f64)]) -> TapRow {
    let some = |value: fn(&Tap) -> Option<f64>| {
        median(&seen.iter().filter_map(|(tap, _)| value(tap)).collect::<Vec<_>>())
    };
    let each = |value: fn(&Tap) -> f64| {
        median(&seen.iter().map(|(tap, _)| value(tap)).collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let names: BTreeSet<&String> = seen.iter().flat_map(|(tap, _)| tap.commands.keys()).collect();
    let rate = |name: &String| {
        let of = |(tap, operations): &(&Tap, f64)| {
            tap.commands.get(name).map_or(0.0, |it| it.count as f64 / operations)
        };
        median(&seen.iter().map(of).collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let commands_per_op: BTreeMap<String, f64> =
        names.into_iter().map(|name| (name.clone(), rate(name))).collect();
    TapRow {
        arm: arm.to_owned(),
        phase: phase.to_owned(),
        commands_per_op,
        round_trips_per_op: each(|tap| tap.round_trips_per_op),
        bytes_out_per_op: each(|tap| tap.bytes_out_per_op),
        bytes_in_per_op: each(|tap| tap.bytes_in_per_op),
        server_us_per_op: each(|tap| tap.server_us_per_op),
        link_us_per_op: each(|tap| tap.link_us_per_op),
        driver_us_per_op: some(|tap| tap.driver_us_per_op),
        encode_p50_us: some(|tap| tap.encode_p50_us),
        decode_p50_us: some(|tap| tap.decode_p50_us),
        in_flight_mean: each(|tap| tap.in_flight_mean),
        connections_opened: seen.iter().map(|(tap, _)| tap.connections_opened).sum(),
        connections_peak: seen.iter().map(|(tap, _)| tap.connections_peak).max().unwrap_or(0),
        not_separable: seen.iter().find_map(|(tap, _)| tap.not_separable.clone()),
    }
}
