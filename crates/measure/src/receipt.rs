//! Receipts: the samples' claim against the server's counts.

use std::collections::BTreeMap;

use crate::collect::GivenAnswers;
use crate::measured::MeasuredPhase;
use crate::phase::first_collection;
use record::records::Receipt;
use workload::operations::{ServerCount, about, deletes, inserted_by_command, inserts};
use workload::plan::{Expectable, Operation, OperationKind, Phase, Plan};

/// The receipt of one phase of one run; `done` counts the successful operations, by operation, and
/// `given` what their records did.
/// Opcounters are used where the server is ours and they distinguish the phase's operations. Else
/// the documents count in a collection that the arm alone has written. Else there is no receipt
/// (capped, overwritten, shared).
pub fn receipt(
    (plan, phase): (&Plan, &Phase),
    measured: &MeasuredPhase,
    done: &[u64],
    given: &[Option<GivenAnswers>],
    exclusive: bool,
) -> Receipt {
    // Failed operations may or may not have reached the server: then counts prove nothing. Only
    // a transaction that failed was aborted, and must have left nothing.
    let failed = measured.turns.iter().any(|turn| turn.turned.errors > 0) && !commits(phase);
    let failed = failed || writes_time_series(plan, phase);
    if exclusive
        && !failed
        && let Some(claimed) = claimed_opcounters(phase, done, given)
    {
        let counted: BTreeMap<_, _> = claimed
            .keys()
            .map(|name| (name.clone(), measured.counters.get(name).copied().unwrap_or(0)))
            .collect();
        return compare("opcounters", claimed, counted);
    }
    if let (Some(change), Some(after), false) =
        (document_change(phase, done, given), measured.documents_after, failed)
    {
        let before = measured.sizes.get("before.collStats.count").copied().unwrap_or(0);
        let claimed = BTreeMap::from([("documents".to_owned(), change)]);
        let counted = BTreeMap::from([("documents".to_owned(), after - before)]);
        return compare("collection", claimed, counted);
    }
    Receipt {
        level: "none".to_owned(),
        claimed: BTreeMap::new(),
        counted: BTreeMap::new(),
        agrees: true,
    }
}

fn compare(level: &str, claimed: BTreeMap<String, i64>, counted: BTreeMap<String, i64>) -> Receipt {
    let agrees = claimed == counted;
    Receipt { level: level.to_owned(), claimed, counted, agrees }
}

/// Whether a phase writes a time series, of which the server counts documents and their buckets.
fn writes_time_series(plan: &Plan, phase: &Phase) -> bool {
    let mut worked_on = phase.operations.iter().filter_map(|made| plan.collection(made));
    phase.writes && worked_on.any(|it| it.options.contains_key("timeseries"))
}

/// Whether all that a phase does is committed or leaves nothing.
fn commits(phase: &Phase) -> bool {
    let mut drawn = phase.operations.iter().zip(&phase.weights).filter(|(_, weight)| **weight > 0);
    drawn.all(|(made, _)| made.kind == OperationKind::Transaction)
}

/// Changes of the server's counters by the successful operations of one template.
fn opcounters(
    operation: &Operation,
    done: u64,
    given: Option<GivenAnswers>,
) -> Option<Vec<(&'static str, u64)>> {
    let inserted = given.map_or(done * inserts(operation), |it| it.inserted);
    let GivenAnswers { updated, deleted, .. } = given.unwrap_or_default();
    Some(match about(operation.kind).counted {
        ServerCount::Not => vec![("opcounters.insert", 0)],
        ServerCount::By(counter) if about(operation.kind).inserts() => vec![(counter, inserted)],
        ServerCount::By(counter) => vec![(counter, done)],
        ServerCount::ByParts => vec![
            ("opcounters.insert", inserted),
            ("opcounters.update", updated),
            ("opcounters.delete", deleted),
        ],
        ServerCount::AsCommand => return None,
    })
}

fn claimed_opcounters(
    phase: &Phase,
    done: &[u64],
    given: &[Option<GivenAnswers>],
) -> Option<BTreeMap<String, i64>> {
    let mut claimed = BTreeMap::new();
    for ((operation, done), given) in phase.operations.iter().zip(done).zip(given) {
        for (name, count) in opcounters(operation, *done, *given)? {
            *claimed.entry(name.to_owned()).or_default() += i64::try_from(count).ok()?;
        }
    }
    Some(claimed)
}

fn document_change(phase: &Phase, done: &[u64], given: &[Option<GivenAnswers>]) -> Option<i64> {
    let mut change = 0;
    for ((operation, done), given) in phase.operations.iter().zip(done).zip(given) {
        // One collection is counted.
        let elsewhere = operation.collections().next() != first_collection(phase);
        let writes = (about(operation.kind).writes)(operation);
        if elsewhere && commits(phase) {
            continue;
        }
        if operation.upsert == Some(true)
            || operation.expect == Some(Expectable::Duplicate)
            || matches!(operation.kind, OperationKind::Drop | OperationKind::DeleteMany)
            || (writes && elsewhere)
        {
            return None;
        }
        if operation.mentions_to_write() {
            change += i64::try_from(done * inserted_by_command(operation)?).ok()?;
            continue;
        }
        let deleted = if deletes(operation) { *done } else { 0 };
        let counted = GivenAnswers { inserted: done * inserts(operation), updated: 0, deleted };
        let given = given.unwrap_or(counted);
        change += i64::try_from(given.inserted).ok()? - i64::try_from(given.deleted).ok()?;
    }
    (change != 0 || commits(phase)).then_some(change)
}
