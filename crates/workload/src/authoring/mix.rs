//! The operations of a phase: one, or several in a `mix`, each with its weight.

use super::bounds::MIX_MAX;
use super::checking::Check;
use super::located::At;
use super::operation::operation;
use super::yaml::{self, OperationKeys};
use crate::operation_kind::OperationWord;
use crate::operations::{Concerns, Site, about_word};
use crate::plan::{BulkWritePart, Operation, OperationKind};

/// Operations that a bulk_write may be made of.
const PARTS: [OperationWord; 4] = [
    OperationWord::InsertOne,
    OperationWord::UpdateOne,
    OperationWord::ReplaceOne,
    OperationWord::DeleteOne,
];

/// Checks the operation of a phase, or those of its `mix`, and returns them with their weights.
pub fn operations_of(
    check: &mut Check<'_>,
    given: &At<yaml::PhaseYaml>,
    site: &mut Site<'_>,
) -> Option<(Vec<Operation>, Vec<u32>)> {
    let keys = &given.value;
    match (&keys.operation, &keys.mix) {
        (Some(word), None) => {
            let (shared, name) = (keys.operation_keys(), word.value.name());
            let made = operation(check, site, &shared, name, word.place)?;
            let (mut operations, mut weights) = (vec![made], vec![1]);
            add_parts(check, site, &shared, &mut operations, &mut weights);
            Some((operations, weights))
        }
        (None, Some(mix)) => mixed(check, keys, mix, site),
        (Some(kind), Some(_)) => {
            let hint = "move the operation into the mix";
            check.wrong(kind.place, "`operation` and `mix` exclude each other", hint);
            None
        }
        (None, None) => {
            let hint = "add `operation: find_one`, or `mix:` or `sequence:` with several";
            check.wrong(given.place, "this phase has no operation", hint);
            None
        }
    }
}

fn mixed(
    check: &mut Check<'_>,
    phase: &yaml::PhaseYaml,
    mix: &At<Vec<At<yaml::Mixed>>>,
    site: &mut Site<'_>,
) -> Option<(Vec<Operation>, Vec<u32>)> {
    let shared = phase.operation_keys();
    let mut operations: Vec<Operation> = Vec::new();
    let mut weights = Vec::new();
    for item in &mix.value {
        let Some(word) = &item.value.operation else {
            check.wrong(item.place, "`operation` is missing", "`operation: find_one`");
            continue;
        };
        let keys = inherit(item.value.operation_keys(), &shared, word.value);
        let name = item.value.name.as_ref();
        let name = name.map_or(word.value.name(), |name| name.value.as_str());
        if operations.iter().any(|made| made.name == name) {
            let message = format!("two operations of this mix are called `{name}`");
            check.wrong(item.place, message, "give one of them another `name:`");
        }
        let made = operation(check, site, &keys, name, word.place);
        weights.push(item.value.weight.as_ref().map_or(1, |weight| weight.value));
        if let Some(made) = made {
            operations.push(made);
            add_parts(check, site, &keys, &mut operations, &mut weights);
        }
    }
    if mix.value.is_empty() || weights.iter().all(|weight| *weight == 0) && !weights.is_empty() {
        check.wrong(
            mix.place,
            "all weights of the mix are 0",
            "give at least one of them a `weight:`",
        );
        return None;
    }
    if operations.len() > MIX_MAX {
        check.wrong(
            mix.place,
            format!("a mix can have {MIX_MAX} operations at most"),
            "make several phases",
        );
        return None;
    }
    (operations.len() == weights.len()).then_some((operations, weights))
}

/// The parts of the last operation, where that is a bulk_write: operations that are never drawn by
/// themselves.
fn add_parts(
    check: &mut Check<'_>,
    site: &mut Site<'_>,
    keys: &OperationKeys,
    operations: &mut Vec<Operation>,
    weights: &mut Vec<u32>,
) {
    let bulk = operations.len() - 1;
    let Some(parts) =
        keys.parts.as_ref().filter(|_| operations[bulk].kind == OperationKind::BulkWrite)
    else {
        return;
    };
    for part in &parts.value {
        let Some(word) = &part.value.operation else {
            check.wrong(part.place, "`operation` is missing", "`operation: insert_one`");
            continue;
        };
        if !PARTS.contains(&word.value) {
            let message = format!("a bulk_write has no {}", word.value.name());
            let known = PARTS.map(OperationWord::name).join(", ");
            check.wrong(word.place, message, format!("one of: {known}"));
            continue;
        }
        let own = part.value.operation_keys();
        let collection = own.collection.or(keys.collection.clone());
        let own = OperationKeys { collection, ..part.value.operation_keys() };
        if let Some(concern) = &own.write_concern {
            let message = "an operation within a bulk_write has no separate write concern";
            check.wrong(concern.place, message, "give the write concern to the bulk_write");
        }
        let name = part.value.name.as_ref().map_or(word.value.name(), |name| name.value.as_str());
        let name = format!("{}/{name}", operations[bulk].name);
        let Some(made) = operation(check, site, &own, &name, word.place) else { continue };
        if made.collection != operations[bulk].collection {
            let message = "a bulk_write works on one collection";
            check.wrong(word.place, message, "leave out the part's `collection`");
        }
        let weight = part.value.weight.as_ref().map_or(1, |weight| weight.value);
        let operation = operations.len() as u8;
        operations[bulk].parts.push(BulkWritePart { operation, weight });
        operations.push(made);
        weights.push(0);
    }
    if operations[bulk].parts.iter().all(|part| part.weight == 0) {
        check.wrong(
            parts.place,
            "all parts have the weight 0",
            "give at least one of them a `weight:`",
        );
    }
    if operations.len() > MIX_MAX {
        check.wrong(parts.place, format!("more than {MIX_MAX} operations"), "make several phases");
    }
}

/// Adds the collection and concerns of the phase that the operation lacks.
pub fn inherit(own: OperationKeys, shared: &OperationKeys, word: OperationWord) -> OperationKeys {
    let about = about_word(word);
    let writes = about.concerns == Concerns::Write;
    let reads = about.concerns == Concerns::Read;
    let somewhere = about.has_collection();
    OperationKeys {
        collection: own.collection.or(shared.collection.clone().filter(|_| somewhere)),
        write_concern: own.write_concern.or(shared.write_concern.clone().filter(|_| writes)),
        read_concern: own.read_concern.or(shared.read_concern.clone().filter(|_| reads)),
        read_preference: own.read_preference.or(shared.read_preference.clone().filter(|_| reads)),
        ..own
    }
}
