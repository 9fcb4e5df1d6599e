//! Whether arms sent the same work over the wire. Pure.

use std::collections::BTreeSet;

use format::{count, figure};
use record::records::{Tap, TapCommand};

/// Amounts within this fraction of the baseline are the same.
const TOLERANCE: f64 = 0.10;

/// Fields that a driver adds by itself, and their meanings.
const MEANINGS: [(&str, &str); 5] = [
    ("lsid", "implicit sessions"),
    ("txnNumber", "retryable writes"),
    ("$clusterTime", "gossiped cluster time"),
    ("apiVersion", "Stable API"),
    ("$readPreference", "read preference"),
];

/// One arm in one phase.
#[derive(Debug, Clone, Copy)]
pub struct ArmTraffic<'a> {
    pub name: &'a str,
    pub tap: &'a Tap,
    /// Operations in the same turns.
    pub operations: u64,
}

/// A sentence for each difference from the first arm; empty where all are alike.
pub fn fairness(arms: &[ArmTraffic<'_>]) -> Vec<String> {
    let Some((baseline, others)) = arms.split_first() else { return Vec::new() };
    let mut sentences = Vec::new();
    for arm in others.iter().filter(|arm| arm.operations > 0 && baseline.operations > 0) {
        amounts(baseline, arm, &mut sentences);
        commands(baseline, arm, &mut sentences);
        for (name, command) in &arm.tap.commands {
            if let Some(other) = baseline.tap.commands.get(name) {
                batches(name, (baseline.name, other), (arm.name, command), &mut sentences);
                fields(name, (baseline.name, other), (arm.name, command), &mut sentences);
            }
        }
    }
    sentences
}

fn differ(a: f64, b: f64) -> bool {
    (a - b).abs() > TOLERANCE * a.abs().max(f64::MIN_POSITIVE)
}

/// Commands, documents and bytes an operation.
fn amounts(a: &ArmTraffic<'_>, b: &ArmTraffic<'_>, sentences: &mut Vec<String>) {
    let documents = |side: &ArmTraffic<'_>| {
        let all: u64 = side.tap.commands.values().map(|it| it.documents).sum();
        all as f64 / side.operations as f64
    };
    let rows = [
        ("commands", a.tap.round_trips_per_op, b.tap.round_trips_per_op),
        ("documents", documents(a), documents(b)),
        ("bytes to the server", a.tap.bytes_out_per_op, b.tap.bytes_out_per_op),
        ("bytes from the server", a.tap.bytes_in_per_op, b.tap.bytes_in_per_op),
    ];
    for (what, of_a, of_b) in rows {
        if differ(of_a, of_b) {
            sentences.push(format!(
                "{} moved {} {what} an operation, {} {}.",
                b.name,
                figure(of_b),
                a.name,
                figure(of_a)
            ));
        }
    }
}

/// Commands that only one side sends.
fn commands(a: &ArmTraffic<'_>, b: &ArmTraffic<'_>, sentences: &mut Vec<String>) {
    let only = |one: &ArmTraffic<'_>, other: &ArmTraffic<'_>| {
        let is_own = |it: Option<&TapCommand>| it.is_some_and(|it| it.count > it.background);
        let names = one
            .tap
            .commands
            .iter()
            .filter(|(name, it)| is_own(Some(it)) && !is_own(other.tap.commands.get(*name)));
        let names = names.map(|(name, it)| {
            let each = (it.count - it.background) as f64 / one.operations as f64;
            format!("{name} ({} an operation)", figure(each))
        });
        names.collect::<Vec<_>>()
    };
    for (one, other) in [(b, a), (a, b)] {
        let names = only(one, other);
        if !names.is_empty() {
            let names = names.join(", ");
            sentences.push(format!("{} sent {names}, {} did not.", one.name, other.name));
        }
    }
    for (one, other) in [(b, a), (a, b)] {
        let of = |side: &ArmTraffic<'_>, name: &str| side.tap.commands.contains_key(name);
        if of(one, "OP_COMPRESSED") && !of(other, "OP_COMPRESSED") {
            sentences
                .push(format!("{} compresses its messages, {} does not.", one.name, other.name));
        }
        if !legacy(one).is_empty() && legacy(other).is_empty() {
            let names = legacy(one).join(", ");
            let text = format!("{} uses legacy opcodes ({names}), {} none.", one.name, other.name);
            sentences.push(text);
        }
    }
}

fn legacy<'a>(side: &ArmTraffic<'a>) -> Vec<&'a str> {
    let names = side.tap.commands.keys().map(String::as_str);
    names.filter(|it| LEGACY.contains(it)).collect()
}

const LEGACY: [&str; 6] =
    ["OP_QUERY", "OP_INSERT", "OP_UPDATE", "OP_DELETE", "OP_GET_MORE", "OP_KILL_CURSORS"];

type NamedCommand<'a> = (&'a str, &'a TapCommand);

/// Batches as they were split on the wire.
fn batches(command: &str, a: NamedCommand<'_>, b: NamedCommand<'_>, sentences: &mut Vec<String>) {
    let mean = |it: &TapCommand| {
        let commands: u64 = it.batches.values().sum();
        (commands > 0).then(|| it.documents as f64 / commands as f64)
    };
    let largest = |it: &TapCommand| it.batches.keys().next_back().copied().unwrap_or_default();
    let (Some(mean_a), Some(mean_b)) = (mean(a.1), mean(b.1)) else { return };
    let (largest_a, largest_b) = (largest(a.1), largest(b.1));
    if differ(mean_a, mean_b) || differ(f64::from(largest_a), f64::from(largest_b)) {
        sentences.push(format!(
            "{}'s {command} carried {} documents on average and at most {}, {}'s {} and {}.",
            b.0,
            figure(mean_b),
            count(u64::from(largest_b)),
            a.0,
            figure(mean_a),
            count(u64::from(largest_a))
        ));
    }
}

/// Fields that only one side's command carries.
fn fields(command: &str, a: NamedCommand<'_>, b: NamedCommand<'_>, sentences: &mut Vec<String>) {
    if a.1.count == a.1.background && b.1.count == b.1.background {
        return; // handshakes name their drivers, and compare nothing
    }
    for (one, other) in [(b, a), (a, b)] {
        let known: BTreeSet<&String> = other.1.fields.iter().collect();
        let extra = one.1.fields.iter().filter(|it| !known.contains(it));
        let extra: Vec<String> = extra.map(|it| with_meaning(it)).collect();
        if !extra.is_empty() {
            let extra = extra.join(", ");
            let text = format!("{}'s {command} carries {extra}; {}'s does not.", one.0, other.0);
            sentences.push(text);
        }
    }
}

fn with_meaning(field: &str) -> String {
    let meaning = MEANINGS.iter().find(|(name, _)| *name == field);
    meaning.map_or_else(|| field.to_owned(), |(_, meaning)| format!("{field} ({meaning})"))
}
