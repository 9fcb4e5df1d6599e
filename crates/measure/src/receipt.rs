//! Receipts: the adapter's claim against the server's counts.

use std::collections::BTreeMap;

use crate::measured::Measured;
use record::records::Receipt;
use workload::operations::{Counted, about, inserts};
use workload::plan::{Operation, Phase};

/// The receipt of one phase of one run; `done` counts the successful operations, by operation.
/// Opcounters are used where the server is ours and they tell the phase's operations apart. Else
/// the documents count in a collection that the arm alone has written. Else there is no receipt
/// (capped, overwritten, shared).
pub fn receipt(phase: &Phase, measured: &Measured, done: &[u64], exclusive: bool) -> Receipt {
    // Failed operations may or may not have reached the server: then counts prove nothing.
    let failed = measured.turns.iter().any(|turn| turn.turned.errors > 0);
    if exclusive
        && !failed
        && let Some(claimed) = claimed_opcounters(phase, done)
    {
        let counted: BTreeMap<_, _> = claimed
            .keys()
            .map(|name| (name.clone(), measured.counters.get(name).copied().unwrap_or(0)))
            .collect();
        return compare("opcounters", claimed, counted);
    }
    if let (Some(change), Some(after), false) =
        (document_change(phase, done), measured.documents_after, failed)
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

/// The opcounter of an operation, and its increment.
fn opcounter(operation: &Operation) -> Option<(&'static str, i64)> {
    match about(operation.kind).counted {
        Counted::Not => Some(("opcounters.insert", 0)),
        Counted::By(counter) => Some((counter, inserts(operation).max(1).cast_signed())),
        Counted::AsCommand => None,
    }
}

fn claimed_opcounters(phase: &Phase, done: &[u64]) -> Option<BTreeMap<String, i64>> {
    let mut claimed = BTreeMap::new();
    for (operation, done) in phase.operations.iter().zip(done) {
        let (name, each) = opcounter(operation)?;
        *claimed.entry(name.to_owned()).or_default() += each * i64::try_from(*done).ok()?;
    }
    Some(claimed)
}

fn document_change(phase: &Phase, done: &[u64]) -> Option<i64> {
    let mut change = 0;
    for (operation, done) in phase.operations.iter().zip(done) {
        if operation.upsert == Some(true) {
            return None;
        }
        let deleted = i64::from(about(operation.kind).deletes);
        let each = inserts(operation).cast_signed() - deleted;
        change += each * i64::try_from(*done).ok()?;
    }
    (change != 0).then_some(change)
}
