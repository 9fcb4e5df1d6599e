//! The conditions of two arms, and the differences that were asked for (gate G8).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::analysis::types::{ConditionRow, ConditionValue};
use record::records::{Arm, Experiment};
use stats::gates::{self, GateOutcome, GateResult};
use workload::operation_keys::{takes_read_concern, takes_write_concern};
use workload::plan::{Operation, OperationKind, Phase};

/// Shown where neither the driver nor the wire reveals the value.
const UNKNOWN: &str = "not told";

/// May differ between two arms of the same work.
struct Condition {
    name: &'static str,
    /// An arm's own options that set it: then the difference is the question.
    set_by: &'static [&'static str],
    /// In a word.
    value: fn(&Arm, topology: &str) -> String,
    /// Whether an operation depends on it.
    felt: fn(&Operation) -> bool,
    /// Arms between which a difference forbids the comparison.
    gated: Gated,
}

/// Arms between which an unasked difference of known values is wrong; elsewhere it follows from the
/// axis and is listed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gated {
    /// Between arms of one version of one driver.
    Version,
    /// Between arms of one adapter.
    Adapter,
    /// Between any two arms.
    Always,
}

const CONDITIONS: [Condition; 14] = [
    condition("write concern", &["w", "journal"], write_concern, |it| {
        takes_write_concern(it.kind) && it.write_concern.is_none()
    }),
    condition("read concern", &["readConcernLevel"], read_concern, |it| {
        takes_read_concern(it.kind) && it.read_concern.is_none()
    }),
    condition(
        "read preference",
        &["readPreference", "readPreferenceTags", "maxStalenessSeconds"],
        |arm, _| option(arm, "read_preference"),
        |it| takes_read_concern(it.kind) && it.read_preference.is_none(),
    ),
    condition("compressors", &["compressors", "zlibCompressionLevel"], compressors, any),
    condition("TLS", &[], |arm, _| option(arm, "tls"), any),
    condition("pool size", &["maxPoolSize"], |arm, _| option(arm, "max_pool_size"), any),
    condition("smallest pool", &["minPoolSize"], |arm, _| option(arm, "min_pool_size"), any),
    condition(
        "retried writes",
        &["retryWrites"],
        |arm, _| option(arm, "retry_writes"),
        |it| takes_write_concern(it.kind),
    ),
    condition(
        "retried reads",
        &["retryReads"],
        |arm, _| option(arm, "retry_reads"),
        |it| takes_read_concern(it.kind),
    ),
    condition(RUNTIME, &["runtime"], |arm, _| arm.runtime.clone(), any),
    condition(API, &["dialect", "api"], api, any),
    Condition {
        gated: Gated::Adapter,
        // A driver that never had one and one that runs without are alike.
        ..condition(NATIVE, &[], |arm, _| (arm.native == Some(true)).to_string(), any)
    },
    Condition {
        gated: Gated::Always,
        ..condition(
            COUNT,
            &[],
            |arm, _| word(arm.resolved["commands"].get("count").filter(|it| !it.is_null())),
            |it| it.kind == OperationKind::Count,
        )
    },
    Condition {
        gated: Gated::Always,
        ..condition(
            SERVER_VERSION,
            &[],
            |arm, _| arm.server_version.clone().unwrap_or(UNKNOWN.to_owned()),
            any,
        )
    },
];
const RUNTIME: &str = "runtime";
const API: &str = "API";
/// Conditions compared within one language: two languages differ in them anyway.
const OF_LANGUAGE: [&str; 2] = [RUNTIME, API];
const NATIVE: &str = "native extension";
const COUNT: &str = "command of count";
pub const SERVER_VERSION: &str = "server version";
const REPORTS: &str = "version that the driver reports";
const SEEN: &str = "seen on the wire, not told by the driver";

const fn condition(
    name: &'static str,
    set_by: &'static [&'static str],
    value: fn(&Arm, &str) -> String,
    felt: fn(&Operation) -> bool,
) -> Condition {
    Condition { name, set_by, value, felt, gated: Gated::Version }
}

fn any(_: &Operation) -> bool {
    true
}

impl Condition {
    /// Whether the two arms were given different values. Of two adapters, one may have an option
    /// that the other does not know.
    fn asked(&self, a: &Arm, b: &Arm) -> bool {
        let shared = !OF_LANGUAGE.contains(&self.name) || a.adapter == b.adapter;
        shared && self.set_by.iter().any(|option| a.options.get(*option) != b.options.get(*option))
    }

    fn forbids(&self, a: &Arm, b: &Arm, values: [&str; 2]) -> bool {
        match self.gated {
            _ if self.asked(a, b) || values.contains(&UNKNOWN) => false,
            Gated::Always => true,
            Gated::Adapter => a.adapter == b.adapter,
            Gated::Version => {
                (&a.adapter, &a.driver, &a.version) == (&b.adapter, &b.driver, &b.version)
            }
        }
    }
}

/// Conditions of two arms in one phase.
#[derive(Default)]
pub struct Conditions {
    of: [BTreeMap<String, String>; 2],
    /// Differences that do not forbid the comparison.
    allowed: BTreeSet<String>,
    /// Differences that are the question.
    axis: Vec<String>,
    /// Conditions that differ along with the driver: no one of them is the cause alone.
    at_once: Vec<&'static str>,
}

impl Conditions {
    /// Compares an arm with the baseline; `topology` gives an unset write concern its meaning.
    pub fn new(baseline: &Arm, arm: &Arm, phase: &Phase, topology: &str) -> Self {
        let mut found = Self::default();
        let same_driver = (&baseline.driver, &baseline.version) == (&arm.driver, &arm.version);
        for it in CONDITIONS.iter().filter(|it| phase.operations.iter().any(it.felt)) {
            let values = [baseline, arm].map(|arm| (it.value)(arm, topology));
            let [a, b] = &values;
            if !it.forbids(baseline, arm, [a, b]) {
                found.allowed.insert(it.name.to_owned());
                let unanswered = |value: &str| value.starts_with(UNACKNOWLEDGED);
                if a != b && (it.asked(baseline, arm) || unanswered(a) != unanswered(b)) {
                    found.axis.push(format!("{} {b} against {a}", it.name));
                    if !same_driver && OF_LANGUAGE.contains(&it.name) {
                        found.at_once.push(it.name);
                    }
                }
            }
            for (of, value) in found.of.iter_mut().zip(values) {
                of.insert(it.name.to_owned(), value);
            }
        }
        found
    }

    /// G8.
    pub fn gate(&self) -> GateResult {
        let checked = gates::conditions(&self.of[0], &self.of[1], &self.allowed);
        match checked.outcome {
            // Listed once for the whole report, not beside each verdict.
            GateOutcome::Warn(_) => GateResult { gate: checked.gate, outcome: GateOutcome::Pass },
            _ => checked,
        }
    }

    /// The differences that a verdict has to name: `write concern w:0 against w:1`.
    pub fn axis(&self) -> Option<String> {
        let named = self.axis.join(", ");
        match self.at_once[..] {
            [] => (!named.is_empty()).then_some(named),
            [one] => Some(format!("{named}; driver and {one} differ at once")),
            _ => Some(format!("{named}; driver, {} differ at once", self.at_once.join(" and "))),
        }
    }
}

/// By name, the values of two versions of a driver, each with the topology that it met, that are
/// known and differ, with those of their options that the table of conditions does not have.
pub fn differences(arms: [(&Arm, &str); 2], phase: &Phase) -> Vec<(String, [String; 2])> {
    let felt = CONDITIONS.iter().filter(|it| phase.operations.iter().any(it.felt));
    let conditions =
        felt.map(|it| (it.name, arms.map(|(arm, topology)| (it.value)(arm, topology))));
    let [a, b] = arms.map(|(arm, _)| arm);
    let set = |name: &str| CONDITIONS.iter().any(|it| it.set_by.contains(&name));
    let options = a.options.iter().filter(|(name, _)| !set(name));
    let options = options.filter_map(|(name, value)| {
        Some((name.as_str(), [value.clone(), b.options.get(name)?.clone()]))
    });
    let workers = ("workers", [a, b].map(|arm| arm.concurrency.clone()));
    let all = conditions.chain(options).chain([workers]);
    let differ = all.filter(|(_, [a, b])| a != b && a != UNKNOWN && b != UNKNOWN);
    differ.map(|(name, values)| (name.to_owned(), values)).collect()
}

/// The differences among the arms of an experiment that follow from their drivers; twins are left
/// out.
pub fn rows(experiment: &Experiment) -> Vec<ConditionRow> {
    let phases = &experiment.plan.phases;
    let felt = |it: &&Condition| phases.iter().flat_map(|it| &it.operations).any(it.felt);
    let listed = |it: &&Condition| ![RUNTIME, API, NATIVE].contains(&it.name);
    let topology = &experiment.server.topology;
    let rows = CONDITIONS.iter().filter(listed).filter(felt);
    let rows = rows.map(|it| row(experiment, it.name, |arm| (it.value)(arm, topology)));
    // The command of a count is listed even where all agree.
    let rows = rows.filter(|row| row.values.len() > 1 || row.condition == COUNT);
    let any_seen = experiment.arms.iter().any(|arm| arm.seen.is_some());
    let seen = any_seen.then(|| row(experiment, SEEN, seen));
    let any_reports = experiment.arms.iter().any(|arm| arm.reports.is_some());
    let told = |arm: &Arm| arm.reports.clone().unwrap_or_else(|| arm.version.clone());
    let reports = any_reports.then(|| row(experiment, REPORTS, told));
    rows.chain(seen).chain(reports).chain(limits(experiment)).collect()
}

fn row(experiment: &Experiment, name: &str, value: impl Fn(&Arm) -> String) -> ConditionRow {
    let mut values: Vec<ConditionValue> = Vec::new();
    for arm in experiment.arms.iter().filter(|arm| !arm.is_aa && !arm.is_direct) {
        let value = value(arm);
        match values.iter_mut().find(|known| known.value == value) {
            Some(known) => known.arms.push(arm.id.clone()),
            None => values.push(ConditionValue { value, arms: vec![arm.id.clone()] }),
        }
    }
    ConditionRow { condition: name.to_owned(), values }
}

/// Options of an arm that its driver does not report.
fn seen(arm: &Arm) -> String {
    let Some(seen) = &arm.seen else { return "none".to_owned() };
    let names: Vec<&str> = seen.options.keys().map(String::as_str).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(" + ") };
    let reason = seen.reason.as_ref().map(|reason| format!(": {reason}"));
    names + &reason.unwrap_or_default()
}

/// Limits of clients and server that were asked for: of all arms alike.
fn limits(experiment: &Experiment) -> impl Iterator<Item = ConditionRow> {
    let memory = experiment.client_memory.as_ref();
    let memory = memory.map(|it| ("memory of each client", it.words()));
    let row = |(name, value): (&str, String)| ConditionRow {
        condition: name.to_owned(),
        values: vec![ConditionValue { value, arms: Vec::new() }],
    };
    memory.into_iter().chain(experiment.server.options.words()).map(row)
}

fn option(arm: &Arm, name: &str) -> String {
    word(arm.resolved.get(name))
}

/// Null is known to be unset.
fn word(value: Option<&Value>) -> String {
    match value {
        None => UNKNOWN.to_owned(),
        Some(Value::Null) => "unset".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// The generation of the driver, where its manifest distinguishes them, and its name for it.
fn api(arm: &Arm, _: &str) -> String {
    let told = ["dialect", "api"].map(|name| arm.options.get(name).map(String::as_str));
    let told: Vec<&str> = told.into_iter().flatten().collect();
    if told.is_empty() { UNKNOWN.to_owned() } else { told.join(" ") }
}

const UNACKNOWLEDGED: &str = "w:0";

/// An unsent concern is the server's default: of a standalone server `w:1`.
fn write_concern(arm: &Arm, topology: &str) -> String {
    let Some(concern) = arm.resolved.get("write_concern") else { return UNKNOWN.to_owned() };
    let w = match &concern["w"] {
        Value::Null if topology == "standalone" => "w:1".to_owned(),
        Value::Null => SERVERS_DEFAULT.to_owned(),
        w => format!("w:{}", word(Some(w))),
    };
    match concern["j"].as_bool().or(concern["journal"].as_bool()) {
        Some(journal) => format!("{w} j:{journal}"),
        None => w,
    }
}

const SERVERS_DEFAULT: &str = "the server's default";

fn read_concern(arm: &Arm, _: &str) -> String {
    match arm.resolved.get("read_concern") {
        Some(Value::Null) => SERVERS_DEFAULT.to_owned(),
        level => word(level),
    }
}

fn compressors(arm: &Arm, _: &str) -> String {
    match arm.resolved.get("compressors") {
        Some(Value::Array(names)) if names.iter().all(|name| name == "none") => "none".to_owned(),
        Some(Value::Array(names)) => {
            names.iter().map(|name| word(Some(name))).collect::<Vec<_>>().join("+")
        }
        other => word(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arm(id: &str, options: &[(&str, &str)], resolved: &Value) -> Arm {
        let (adapter, version) = id.split_once('@').expect("adapter@version");
        let options: BTreeMap<_, _> = options.iter().copied().collect();
        let value = json!({
            "id": id, "adapter": adapter, "is_aa": false, "driver": adapter, "version": version,
            "options": options, "native": null, "runtime": "r", "concurrency": "threads",
            "resolved": resolved, "lock_sha256": null,
        });
        serde_json::from_value(value).expect("an arm")
    }

    fn phase(kind: &str, write_concern: &Value) -> Phase {
        let mut operation = json!({ "name": "work", "kind": kind, "key": "schedule" });
        if !write_concern.is_null() {
            operation["write_concern"] = write_concern.clone();
        }
        let value = json!({
            "name": "work", "operations": [operation], "weights": [1], "keys": "uniform",
            "workers": 1, "processes": 1, "pacing": { "mode": "awaited", "think_ns": 0 },
            "limit": { "duration": { "seconds": null } }, "warmup_s": null,
            "document_form": "native", "writes": true, "whole_run_reason": null, "pools": [],
        });
        serde_json::from_value(value).expect("a phase")
    }

    fn found(a: &Arm, b: &Arm, kind: &str) -> (GateOutcome, Option<String>) {
        let found = Conditions::new(a, b, &phase(kind, &Value::Null), "standalone");
        (found.gate().outcome, found.axis())
    }

    #[test]
    fn what_an_arms_own_option_sets_is_named_and_not_gated() {
        let a = arm("go@2", &[], &json!({ "write_concern": {}, "max_pool_size": 100 }));
        let b = arm(
            "go@2",
            &[("w", "0")],
            &json!({ "write_concern": { "w": 0 }, "max_pool_size": 100 }),
        );
        let asked = Some("write concern w:0 against w:1".to_owned());
        assert_eq!(found(&a, &b, "insert_one"), (GateOutcome::Pass, asked));
        assert_eq!(found(&a, &b, "find_one"), (GateOutcome::Pass, None), "reads do not feel it");
        let own = phase("insert_one", &json!({ "w": 1 }));
        let own = Conditions::new(&a, &b, &own, "standalone");
        assert_eq!((own.gate().outcome, own.axis()), (GateOutcome::Pass, None), "it has its own");
        let none = "the server's default";
        assert_eq!(write_concern(&a, "replica set r"), none);
    }

    #[test]
    fn what_differs_within_one_version_unasked_is_not_comparable() {
        let a = arm("go@2", &[], &json!({ "write_concern": { "w": 1 }, "max_pool_size": 100 }));
        let b = arm("go@2", &[], &json!({ "write_concern": { "w": 0 }, "max_pool_size": 5 }));
        let reason = "the arms differ in pool size 100 against 5, write concern w:1 against w:0";
        assert_eq!(found(&a, &b, "insert_one").0, GateOutcome::Fail(reason.to_owned()));
    }

    #[test]
    fn between_versions_and_drivers_defaults_are_listed_but_lost_answers_are_named() {
        let a = arm("node@7", &[], &json!({ "write_concern": { "w": 1 }, "max_pool_size": 100 }));
        let b = arm("node@1", &[], &json!({ "write_concern": { "w": 0 }, "max_pool_size": 5 }));
        let named = Some("write concern w:0 against w:1".to_owned());
        assert_eq!(found(&a, &b, "insert_one"), (GateOutcome::Pass, named));
    }

    #[test]
    fn runtime_and_api_that_differ_along_with_the_driver_are_said() {
        let of = |id: &str, runtime: &str, api: &str| Arm {
            runtime: format!("R {runtime}"),
            ..arm(id, &[("runtime", runtime), ("api", api)], &json!({}))
        };
        let said = |a: &Arm, b: &Arm| found(a, b, "find_one");
        let new = of("node@7", "20", "promise");
        for (other, expected) in [
            (of("node@7", "22", "promise"), "runtime R 22 against R 20"),
            (of("node@7", "20", "callback"), "API callback against promise"),
            (
                of("node@2", "8", "promise"),
                "runtime R 8 against R 20; driver and runtime differ at once",
            ),
            (
                of("node@2", "20", "callback"),
                "API callback against promise; driver and API differ at once",
            ),
            (
                of("node@2", "8", "callback"),
                "runtime R 8 against R 20, API callback against promise; driver, runtime and API \
                 differ at once",
            ),
        ] {
            assert_eq!(said(&new, &other), (GateOutcome::Pass, Some(expected.to_owned())));
        }
        assert_eq!(said(&new, &of("node@2", "20", "promise")), (GateOutcome::Pass, None));
        let rust = |id: &str, dialect: &str| {
            arm(id, &[("api", "async"), ("dialect", dialect)], &json!({}))
        };
        let expected = "API v3 async against v2 async; driver and API differ at once";
        let (_, axis) = said(&rust("rust@2", "v2"), &rust("rust@3", "v3"));
        assert_eq!(axis.as_deref(), Some(expected));
        assert_eq!(
            said(&new, &of("go@2", "1.25", "v2")),
            (GateOutcome::Pass, None),
            "two languages"
        );
    }

    #[test]
    fn a_count_by_another_command_is_other_work_in_any_driver() {
        let by = |id, command: Value| arm(id, &[], &json!({ "commands": { "count": command } }));
        let (a, b) = (by("node@7", json!("aggregate")), by("node@1", json!("count")));
        let reason = "the arms differ in command of count aggregate against count";
        assert_eq!(found(&a, &b, "count").0, GateOutcome::Fail(reason.to_owned()));
        assert_eq!(found(&a, &b, "find_one").0, GateOutcome::Pass);
        assert_eq!(found(&a, &by("x@1", Value::Null), "count").0, GateOutcome::Pass, "not told");
    }

    #[test]
    fn unset_is_a_value_and_what_is_not_told_is_none() {
        let of = |resolved: Value| arm("go@2", &[], &resolved);
        let [unset, set] = [Value::Null, json!(5)].map(|size| of(json!({ "min_pool_size": size })));
        let reason = "the arms differ in smallest pool unset against 5";
        assert_eq!(found(&unset, &set, "find_one").0, GateOutcome::Fail(reason.to_owned()));
        let untold = of(json!({}));
        assert_eq!(found(&untold, &set, "find_one").0, GateOutcome::Pass);
        assert_eq!(found(&untold, &untold, "count").0, GateOutcome::Pass);
        let words =
            |arm: &Arm| [write_concern(arm, ""), read_concern(arm, ""), compressors(arm, "")];
        assert_eq!(words(&untold), [UNKNOWN; 3]);
        let told = of(json!({ "write_concern": {}, "read_concern": null, "compressors": [] }));
        assert_eq!(words(&told), [SERVERS_DEFAULT, SERVERS_DEFAULT, "none"]);
    }

    #[test]
    fn an_arm_without_its_compiled_extension_is_another_thing() {
        let a = arm("python@4", &[], &json!({}));
        let mut b = a.clone();
        b.native = Some(true);
        let reason = "the arms differ in native extension false against true";
        assert_eq!(found(&a, &b, "find_one").0, GateOutcome::Fail(reason.to_owned()));
    }
}
