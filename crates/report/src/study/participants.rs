//! Facts of the records: who took part, and on what.

use serde_json::Value;

use super::table::{Column, Table, TableRow};
use crate::view::{machine_text, server_text};
use base::say::clean;
use format::{self, MISSING};
use record::records::{Arm, Ended, Experiment, Limits, Run};
use stats::descriptive::median;

/// Options that have a column.
const SHOWN: [&str; 2] = ["maxPoolSize", "processes"];

/// The table of the arms.
pub fn arms(experiment: &Experiment, runs: &[Run]) -> Table {
    let columns = ["driver", "version", "native extension", "runtime", "options", "a worker is"];
    let mut columns: Vec<Column> = columns.map(Column::words).to_vec();
    columns.push(Column::figures("pool size", ""));
    columns.push(Column::words("write concern"));
    columns.extend(["processes", "runs", "void"].map(|name| Column::figures(name, "")));
    let row = |arm: &Arm| {
        let of_arm = || runs.iter().filter(|run| run.arm == arm.id);
        let void = of_arm().filter(|run| run.failed.is_some()).count();
        let cells = vec![
            clean(&arm.driver),
            clean(&arm.version),
            native(arm.native).to_owned(),
            clean(&arm.runtime),
            options(arm),
            clean(&arm.concurrency),
            resolved(arm, "max_pool_size"),
            resolved(arm, "write_concern"),
            processes(experiment, arm),
            format::count(of_arm().count() as u64),
            format::count(void as u64),
        ];
        TableRow { arm: clean(&arm.id), cells }
    };
    Table {
        caption: "As the running adapters report them. Pool size and write concern are those that \
                  the driver resolved (\"seen\": on the wire), n/a where neither tells. Arms with \
                  a native extension and without are not alike."
            .to_owned(),
        columns,
        rows: experiment.arms.iter().map(row).collect(),
    }
}

fn native(native: Option<bool>) -> &'static str {
    match native {
        Some(true) => "yes",
        Some(false) => "no",
        None => "none exists",
    }
}

fn options(arm: &Arm) -> String {
    let shown = arm.options.iter().filter(|(name, _)| !SHOWN.contains(&name.as_str()));
    let words: Vec<String> = shown.map(|(name, value)| format!("{name}={value}")).collect();
    if words.is_empty() { "none".to_owned() } else { clean(&words.join(" ")) }
}

/// A default that the driver resolved; `w: 1, j: true (seen)` of one in several parts that it does
/// not report.
fn resolved(arm: &Arm, name: &str) -> String {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let is_seen = arm.seen.as_ref().is_some_and(|seen| seen.options.contains_key(name));
    let value = match arm.resolved.get(name) {
        None => MISSING.to_owned(),
        Some(Value::Null) => "unset".to_owned(),
        Some(Value::Object(parts)) if parts.is_empty() => "the server's default".to_owned(),
        Some(Value::Object(parts)) => {
            let set = parts.iter().filter(|(_, value)| !value.is_null());
            let parts: Vec<String> =
                set.map(|(name, value)| format!("{name}: {}", plain(value))).collect();
            clean(&parts.join(", "))
        }
        Some(value) => clean(&plain(value)),
    };
    if is_seen { value + " (seen)" } else { value }
}

fn processes(experiment: &Experiment, arm: &Arm) -> String {
    let of_plan = experiment.plan.phases.iter().map(|phase| phase.processes).max().unwrap_or(1);
    arm.options.get("processes").map_or_else(|| of_plan.to_string(), |text| clean(text))
}

/// Name and value for the top of the page: server, consumer, machine, rounds, parameters.
pub fn facts(experiment: &Experiment, runs: &[Run]) -> Vec<(String, String)> {
    let mut facts = vec![("Server", server_text(&experiment.server))];
    if !experiment.server.flags.is_empty() {
        facts.push(("Server flags", experiment.server.flags.join(" ")));
    }
    if let Some(consumer) = &experiment.consumer {
        facts.push(("Consumer", consumer_text(consumer)));
    }
    let machine = &experiment.machine;
    let governor = machine.governor.as_deref().unwrap_or("unknown");
    facts.push(("Machine", machine_text(machine)));
    if let Some(text) = limits(experiment) {
        facts.push(("Limits", text));
    }
    let clocks = clocks(runs);
    facts.push(("Clock", format!("{}; governor {governor}{clocks}", machine.clock_source)));
    facts.push(("Rounds", rounds(experiment, runs)));
    let parameters = experiment.plan.parameters.iter();
    let parameters: Vec<String> =
        parameters.map(|(name, value)| format!("{name} {value}")).collect();
    if !parameters.is_empty() {
        facts.push(("Parameters", parameters.join(", ")));
    }
    facts.push(("Experiment", experiment.id.clone()));
    facts.into_iter().map(|(name, value)| (name.to_owned(), clean(&value))).collect()
}

/// Limits of each process, as `ulimit` shows them; processes with equal limits share an entry.
fn limits(experiment: &Experiment) -> Option<String> {
    let arms = experiment.arms.iter().chain(&experiment.consumer);
    let clients = arms.map(|arm| (arm.id.as_str(), arm.limits.as_ref()));
    let server = ("server", experiment.server.limits.as_ref());
    let mut alike: Vec<(&Limits, Vec<&str>)> = Vec::new();
    for (name, limits) in clients.chain([server]) {
        let Some(limits) = limits else { continue };
        match alike.iter_mut().find(|(known, _)| *known == limits) {
            Some((_, names)) if names.contains(&name) => {} // the consumer may be an arm
            Some((_, names)) => names.push(name),
            None => alike.push((limits, vec![name])),
        }
    }
    let words = |(limits, names): &(&Limits, Vec<&str>)| {
        let names = if alike.len() == 1 { String::new() } else { names.join(", ") + ": " };
        names + &limits_text(limits)
    };
    (!alike.is_empty()).then(|| alike.iter().map(words).collect::<Vec<_>>().join("; "))
}

fn limits_text(limits: &Limits) -> String {
    let count = |limit: Option<u64>| limit.map_or("unlimited".to_owned(), format::count);
    let bytes = |limit: Option<u64>| limit.map_or("unlimited".to_owned(), format::bytes);
    format!(
        "open files {}, processes {}, address space {}, locked memory {}, memory of the cgroup {}",
        count(limits.open_files),
        count(limits.processes),
        bytes(limits.address_space_bytes),
        bytes(limits.locked_memory_bytes),
        bytes(limits.cgroup_memory_bytes)
    )
}

/// How far a producer's clock and the consumer's can be apart: both are held against the core's.
fn clocks(runs: &[Run]) -> String {
    let each = runs.iter().filter_map(|run| {
        let consumer = run.phases.iter().find_map(|phase| phase.broker.as_ref())?.consumer.clone();
        Some(run.clock_within_us? + consumer.clock_within_us?)
    });
    let each: Vec<f64> = each.collect();
    let most = each.iter().copied().fold(0.0, f64::max);
    median(&each).map_or(String::new(), |median| {
        format!(
            "; producer and consumer differ by less than {} (median over the runs, {} at most), by \
             echoes of their clocks",
            format::time(median),
            format::time(most)
        )
    })
}

fn consumer_text(arm: &Arm) -> String {
    let native = match arm.native {
        Some(true) => ", with its native extension",
        Some(false) => ", without its native extension",
        None => "",
    };
    format!("{}: {} {} on {}{native}", arm.id, arm.driver, arm.version, arm.runtime)
}

fn rounds(experiment: &Experiment, runs: &[Run]) -> String {
    let count = |tapped: bool| {
        let mut rounds: Vec<u32> =
            runs.iter().filter(|run| run.tapped == tapped).map(|run| run.round).collect();
        rounds.sort_unstable();
        rounds.dedup();
        rounds.len()
    };
    let tapped = match count(true) {
        0 => String::new(),
        count => format!(" and {count} through the tap"),
    };
    let ended = experiment.ended.unwrap_or(Ended::Unfinished).word();
    let (seed, started) = (experiment.settings.seed, &experiment.started_at);
    format!("{}{tapped}, {ended}; seed {seed}; started {started}", count(false))
}
