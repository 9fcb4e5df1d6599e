//! Documents that operations return, and queries that find nothing.

use std::collections::BTreeSet;

use crate::analysis::rounds::Rounds;
use format::{count, figure};
use record::records::{Experiment, PhaseRun};
use stats::descriptive::median;
use workload::operations::about;
use workload::plan::{Operation, OperationKind, Phase};

/// A smaller difference between two arms may be the keys that each came to, as a fraction.
const DIFFERENCE_MIN: f64 = 0.01;

/// What a right answer adds to the totals of its phase (SPEC section 4).
#[derive(Clone, Copy, PartialEq)]
enum Adds {
    Nothing,
    One,
    /// Number of documents.
    Documents,
    /// The number that it is.
    Number,
}

fn adds(made: &Operation) -> Adds {
    match made.kind {
        OperationKind::Find | OperationKind::Aggregate => Adds::Documents,
        OperationKind::Count
        | OperationKind::EstimatedCount
        | OperationKind::Distinct
        | OperationKind::UpdateMany
        | OperationKind::DeleteMany => Adds::Number,
        OperationKind::Noop if made.documents.is_some() => Adds::Number,
        kind if about(kind).reads_documents => Adds::One,
        _ => Adds::Nothing,
    }
}

/// Right operations of all templates that add the same.
fn right(phase: &Phase, run: &PhaseRun, what: Adds) -> u64 {
    let named: BTreeSet<&str> = phase
        .operations
        .iter()
        .filter(|made| adds(made) == what)
        .map(|made| made.name.as_str())
        .collect();
    let of = run.by_operation.iter().filter(|it| named.contains(it.operation.as_str()));
    of.map(|it| it.count - it.wrong - it.failed).sum()
}

/// Mean that a right answer of an operation adds. Totals are a phase's: several finds of a mix have
/// their mean together, and beside a count none.
fn per_answer(phase: &Phase, made: &Operation, run: &PhaseRun) -> Option<f64> {
    let [ones, documents, numbers] =
        [Adds::One, Adds::Documents, Adds::Number].map(|what| right(phase, run, what));
    let total = run.answers.documents;
    let (sum, among) = match adds(made) {
        Adds::One if documents + numbers > 0 => (ones, ones),
        Adds::One => (total, ones),
        Adds::Documents if numbers == 0 => (total.checked_sub(ones)?, documents),
        Adds::Number if documents == 0 => (total.checked_sub(ones)?, numbers),
        Adds::Nothing | Adds::Documents | Adds::Number => return None,
    };
    (among > 0).then(|| sum as f64 / among as f64)
}

/// Documents that an operation returns, the median of the rounds; None where it returns none, or
/// where the totals do not show it.
pub fn per_op(phase: &Phase, made: &Operation, runs: &[&PhaseRun]) -> Option<f64> {
    let each = runs.iter().filter(|_| about(made.kind).reads_documents);
    median(&each.filter_map(|run| per_answer(phase, made, run)).collect::<Vec<_>>())
}

/// Operations of a phase whose answers the core does not check, as its records say.
pub fn unchecked(experiment: &Experiment, rounds: &Rounds, phase: &Phase) -> Vec<String> {
    let arms = experiment.arms.iter();
    let runs: Vec<&PhaseRun> = arms.flat_map(|arm| rounds.every(&arm.id, &phase.name)).collect();
    let unchecked = |name: &&String| {
        let operations = runs.iter().flat_map(|run| &run.by_operation);
        operations.filter(|it| it.operation == **name).any(|it| it.answer_checked == Some(false))
    };
    phase.operations.iter().map(|made| &made.name).filter(unchecked).cloned().collect()
}

/// Reasons not to trust a verdict on what was read: a sentence for each operation.
pub fn doubts(experiment: &Experiment, rounds: &Rounds) -> Vec<String> {
    let mut doubts = Vec::new();
    for phase in &experiment.plan.phases {
        let own = experiment.arms.iter().filter(|arm| !arm.is_aa && !arm.is_direct);
        let arms: Vec<(&str, Vec<&PhaseRun>)> =
            own.map(|arm| (arm.id.as_str(), rounds.every(&arm.id, &phase.name))).collect();
        for made in phase.operations.iter().filter(|it| it.kind != OperationKind::Noop) {
            let loaded = experiment.plan.collection(made).map_or(0, |it| it.loaded);
            let nothing = finds_nothing(loaded, phase, made, &arms);
            doubts.extend(nothing.or_else(|| differs(phase, made, &arms)));
        }
    }
    doubts
}

fn title(phase: &Phase, made: &Operation) -> String {
    if phase.name == made.name {
        phase.name.clone()
    } else {
        format!("{}, {}", phase.name, made.name)
    }
}

fn finds_nothing(
    loaded: u64,
    phase: &Phase,
    made: &Operation,
    arms: &[(&str, Vec<&PhaseRun>)],
) -> Option<String> {
    let empty = |run: &PhaseRun| {
        per_answer(phase, made, run) == Some(0.0) && run.answers.documents_expected != Some(0)
    };
    let empty = arms.iter().filter(|(_, runs)| {
        let held = runs.iter().map(|run| held(loaded, phase, made, run)).max();
        held > Some(0) && runs.iter().all(|run| empty(run))
    });
    let empty: Vec<_> = empty.collect();
    let runs = || empty.iter().flat_map(|(_, runs)| runs);
    let held = runs().map(|run| held(loaded, phase, made, run)).max()?;
    let operations = runs().flat_map(|run| &run.by_operation);
    let operations: u64 =
        operations.filter(|it| it.operation == made.name).map(|it| it.count).sum();
    let names: Vec<&str> = empty.iter().map(|(id, _)| *id).collect();
    Some(format!(
        "{}: {} operations of {} returned nothing, though {} holds {} documents: what is measured \
         is a query that finds nothing; look at its filter",
        title(phase, made),
        count(operations),
        names.join(", "),
        made.collection,
        count(held)
    ))
}

/// Documents of an operation's collection after the phase, or as many as were loaded.
fn held(loaded: u64, phase: &Phase, made: &Operation, run: &PhaseRun) -> u64 {
    let sized = phase.operations.iter().map(|it| &it.collection).find(|it| !it.is_empty());
    let after = run.sizes.get("after.collStats.count");
    match after.filter(|_| sized == Some(&made.collection)) {
        Some(documents) => u64::try_from(*documents).unwrap_or_default(),
        None => loaded,
    }
}

/// Two arms were given different numbers of documents in every round, and nothing else holds their
/// answers against each other.
fn differs(phase: &Phase, made: &Operation, arms: &[(&str, Vec<&PhaseRun>)]) -> Option<String> {
    let checked = |run: &&PhaseRun| run.answers.documents_expected.is_some();
    let ranges = arms.iter().filter_map(|(id, runs)| {
        let each = runs.iter().filter(|run| !checked(run));
        let each: Vec<f64> = each.filter_map(|run| per_answer(phase, made, run)).collect();
        let least = each.iter().copied().reduce(f64::min)?;
        Some((*id, least, each.iter().copied().fold(least, f64::max)))
    });
    let ranges: Vec<(&str, f64, f64)> = ranges.collect();
    let few = ranges.iter().min_by(|a, b| a.2.total_cmp(&b.2))?;
    let many = ranges.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (many.1 > few.2 * (1.0 + DIFFERENCE_MIN)).then(|| {
        format!(
            "{}: {} returned at most {} documents per operation in a round, {} at least {}, and \
             nothing checks the answers: the arms may not do the same work",
            title(phase, made),
            few.0,
            figure(few.2),
            many.0,
            figure(many.1)
        )
    })
}

#[cfg(test)]
mod tests {
    use record::records::Quantiles;
    use serde_json::json;

    use super::*;

    fn phase(kinds: &[&str]) -> Phase {
        let made = |name: &&str| {
            json!({ "name": name, "kind": name, "key": "schedule",
                    "collection": "items" })
        };
        let operations: Vec<_> = kinds.iter().map(made).collect();
        let value = json!({
            "name": "work", "operations": operations, "weights": vec![1; kinds.len()],
            "keys": "uniform", "workers": 1, "processes": 1,
            "pacing": { "mode": "awaited", "think_ns": 0 },
            "limit": { "duration": { "seconds": null } }, "warmup_s": null,
            "document_form": "native", "writes": false, "whole_run_reason": null, "pools": [],
        });
        serde_json::from_value(value).expect("a phase")
    }

    /// So many right operations of each kind, which added so much in all.
    fn run(kinds: &[&str], count: u64, documents: u64, expected: Option<u64>) -> PhaseRun {
        let quantiles = serde_json::to_value(Quantiles::default()).expect("JSON");
        let one = |kind: &&str| {
            json!({ "operation": kind, "count": count + 1, "wrong": 1, "failed": 0,
                    "service": quantiles, "response": null })
        };
        let by_operation: Vec<_> = kinds.iter().map(one).collect();
        let value = json!({
            "phase": "work", "turns": 1, "turn_ms": 1.0, "measured_s": 1.0, "operations": count,
            "throughput": 1.0, "exhausted": false, "by_operation": by_operation, "errors": [],
            "cpu_ns": 1, "cpu_us_per_op": 1.0, "rss_peak_bytes": 1, "rss_armed_bytes": 1,
            "idle_cpu_fraction": null, "server": {},
            "receipt": { "level": "none", "claimed": {}, "counted": {}, "agrees": true },
            "answers": { "documents": documents, "sum": 0, "documents_expected": expected,
                         "sum_expected": null },
            "little": null, "warmup_throughput": [], "sizes": { "after.collStats.count": 1000 },
            "gates": [], "open_loop": null, "hlog": null, "samples": [],
        });
        serde_json::from_value(value).expect("a phase of a run")
    }

    #[test]
    fn totals_of_a_phase_are_told_apart_where_they_can_be() {
        for (kinds, documents, expected) in [
            (&["find"][..], 30, &[Some(3.0)][..]),
            (&["find_one"], 10, &[Some(1.0)]),
            (&["find_one", "find"], 40, &[Some(1.0), Some(3.0)]),
            (&["find", "aggregate"], 40, &[Some(2.0), Some(2.0)]),
            (&["find", "count"], 40, &[None, None]),
            (&["count", "insert_one"], 40, &[None, None]),
        ] {
            let (phase, run) = (phase(kinds), run(kinds, 10, documents, None));
            let found = phase.operations.iter().map(|made| per_op(&phase, made, &[&run]));
            assert_eq!(found.collect::<Vec<_>>(), expected, "{kinds:?}");
        }
    }

    #[test]
    fn a_query_that_finds_nothing_is_doubted_unless_there_is_nothing() {
        let doubt = |kind: &str, documents, expected| {
            let (phase, run) = (phase(&[kind]), run(&[kind], 10, documents, expected));
            finds_nothing(0, &phase, &phase.operations[0], &[("a@1", vec![&run])])
        };
        let said = "work, find: 11 operations of a@1 returned nothing, though items holds 1,000 \
                    documents: what is measured is a query that finds nothing; look at its filter";
        assert_eq!(doubt("find", 0, None).as_deref(), Some(said));
        assert!(doubt("count", 0, None).is_some() && doubt("aggregate", 0, None).is_some());
        assert_eq!(doubt("find", 1, None), None);
        assert_eq!(doubt("find", 0, Some(0)), None, "as it must be");
        assert_eq!(doubt("insert_one", 0, None), None);
    }

    #[test]
    fn arms_that_are_given_different_documents_are_doubted() {
        let doubt = |others: [u64; 2], expected| {
            let phase = phase(&["aggregate"]);
            let each = |documents| run(&["aggregate"], 10, documents, expected);
            let (a, b) = ([each(30), each(31)], others.map(each));
            let arms = [("a@1", a.iter().collect()), ("b@1", b.iter().collect())];
            differs(&phase, &phase.operations[0], &arms)
        };
        let said = "work, aggregate: a@1 returned at most 3.10 documents per operation in a \
                    round, b@1 at least 3.50, and nothing checks the answers: the arms may not do \
                    the same work";
        assert_eq!(doubt([35, 36], None).as_deref(), Some(said));
        assert_eq!(doubt([35, 31], None), None, "not in every round");
        assert_eq!(doubt([35, 36], Some(30)), None, "the answers are checked");
    }
}
