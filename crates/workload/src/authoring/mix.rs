//! The operations of a phase: one, or several in a `mix`, each with its weight.

use super::bounds::MIX_MAX;
use super::checking::Check;
use super::located::At;
use super::operation::operation;
use super::operation_parts::add_parts;
use super::yaml::{self, OperationKeys};
use crate::operation_kind::OperationWord;
use crate::operations::{Concerns, Site, about_word};
use crate::plan::Operation;

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

/// Adds the collection and concerns of the phase that the operation lacks.
pub fn inherit(own: OperationKeys, shared: &OperationKeys, word: OperationWord) -> OperationKeys {
    let about = about_word(word);
    let writes = about.takes_write_concern();
    let reads = about.takes_read_concern();
    let prefers = about.concerns == Concerns::Read;
    let somewhere = about.has_collection();
    OperationKeys {
        collection: own.collection.or(shared.collection.clone().filter(|_| somewhere)),
        write_concern: own.write_concern.or(shared.write_concern.clone().filter(|_| writes)),
        read_concern: own.read_concern.or(shared.read_concern.clone().filter(|_| reads)),
        read_preference: own.read_preference.or(shared.read_preference.clone().filter(|_| prefers)),
        ..own
    }
}
