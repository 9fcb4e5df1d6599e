//! Phases whose workers do one stretch after the other, without a barrier between them.

use std::ops::Range;

use super::checking::Check;
use super::located::At;
use super::mix::inherit;
use super::phases::phase;
use super::yaml;
use crate::operation_kind::OperationKind;
use crate::operations::{about, deletes, inserts};
use crate::plan::{Collection, Count, KeyChoice, Limit, Operation, Phase, Plan};
use crate::replay::population::Population;
use crate::replay::schedule_length::slice_records_max;
use crate::replay::selected_documents::{Meaning, meaning};

/// Keys of a phase that its stretches inherit.
const SHARED: [&str; 4] = ["collection", "write_concern", "read_concern", "read_preference"];

/// The stretches of a phase as phases that go on with one another; itself, where it is none.
pub fn stretches(given: &At<yaml::PhaseYaml>) -> Vec<At<yaml::PhaseYaml>> {
    let outer = &given.value;
    let Some(sequence) = &outer.sequence else { return vec![given.clone()] };
    let each = sequence.value.iter().enumerate().map(|(number, stretch)| {
        let own = &stretch.value;
        let mut value = yaml::PhaseYaml {
            name: own.name.clone(),
            keys: own.keys.clone(),
            operations: own.operations.clone(),
            documents: own.documents.clone(),
            continues: match number {
                0 => outer.continues.clone(),
                _ => Some(At { value: true, place: stretch.place }),
            },
            workers: outer.workers.clone(),
            processes: outer.processes.clone(),
            checkpoint: outer.checkpoint.clone(),
            think: outer.think.clone(),
            warmup: outer.warmup.clone(),
            ..yaml::PhaseYaml::default()
        };
        let keys = own.operation_keys();
        value.set(match &own.operation {
            Some(word) => inherit(keys, &outer.operation_keys(), word.value),
            None => keys,
        });
        At { value, place: stretch.place }
    });
    each.collect()
}

pub fn sequence(
    check: &mut Check<'_>,
    given: &At<yaml::PhaseYaml>,
    collections: &[Collection],
    names: &[&str],
    seed: u64,
) -> Option<Phase> {
    let outer = &given.value;
    let place = outer.sequence.as_ref()?.place;
    refuse_others(check, outer);
    let mut made: Vec<Phase> = Vec::new();
    let all = stretches(given);
    for stretch in &all {
        if stretch.value.operations.is_none() && stretch.value.documents.is_none() {
            let hint = "add `operations:` or `documents:`";
            check.wrong(stretch.place, "this stretch has no end", hint);
        }
        let pools = made.last().map_or(Vec::new(), |before| before.pools.clone());
        let Some(phase) = phase(check, stretch, collections, names, seed, pools) else { continue };
        let first = &phase.operations[0];
        let is_single = first.parts.is_empty() && first.expect.is_none();
        if first.kind == OperationKind::Drop || !is_single {
            let message = format!("a sequence has no {}", phase.name);
            check.wrong(stretch.place, message, "move it to a separate phase");
            continue;
        }
        if made.iter().any(|before| before.name == phase.name) {
            let message = format!("two stretches are called `{}`", phase.name);
            check.wrong(stretch.place, message, "give one of them another `name:`");
        }
        made.push(phase);
    }
    if all.is_empty() {
        check.wrong(
            place,
            "the sequence has no stretches",
            "add stretches: `sequence: [{operation: …}]`",
        );
    }
    if made.is_empty() || made.len() < all.len() {
        return None;
    }
    let count = |stretch: &Phase| stretch.limit.operations();
    let whole = Phase {
        name: outer.name.as_ref().map_or("sequence".to_owned(), |name| name.value.clone()),
        operations: made.iter().map(named).collect(),
        weights: vec![1; made.len()],
        limit: Limit::Operations { count: made.iter().map(count).sum(), seconds_max: None },
        writes: made.iter().any(|stretch| stretch.writes),
        whole_run_reason: made.iter().find_map(|stretch| stretch.whole_run_reason.clone()),
        pools: made[made.len() - 1].pools.clone(),
        ..made[0].clone()
    };
    let whole = Phase { sequence: made, ..whole };
    let records: u64 =
        whole.sequence.iter().map(|it| count(it).div_ceil(whole.all_workers())).sum();
    let most = slice_records_max(&whole);
    if records > most {
        let message =
            format!("each worker has {records} operations, and a schedule has at most {most}");
        check.wrong(place, message, "give fewer operations, or more workers");
    }
    let mut dealt = whole.sequence.iter().filter(|it| inserts(&it.operations[0]) > 1);
    let first = dealt.next().map(is_contiguous);
    if whole.all_workers() > 1 && dealt.any(|other| first != Some(is_contiguous(other))) {
        let message = "one insert_many has contiguous keys and another has not";
        check.wrong(place, message, "`keys: contiguous` for both or none");
    }
    Some(whole)
}

/// Without a barrier there is one loop, closed, and its stretches are counted.
fn refuse_others(check: &mut Check<'_>, outer: &yaml::PhaseYaml) {
    let place = |name, place: Option<_>| place.map(|place| (name, place));
    let own = [
        place("mix", outer.mix.as_ref().map(|it| it.place)),
        place("keys", outer.keys.as_ref().map(|it| it.place)),
        place("operations", outer.operations.as_ref().map(|it| it.place)),
        place("documents", outer.documents.as_ref().map(|it| it.place)),
        place("duration", outer.duration.as_ref().map(|it| it.place)),
        place("rate", outer.rate.as_ref().map(|it| it.place)),
        place("poisson", outer.poisson.as_ref().map(|it| it.place)),
        place("window", outer.window.as_ref().map(|it| it.place)),
        place("burst", outer.burst.as_ref().map(|it| it.place)),
        place("consumer", outer.consumer.as_ref().map(|it| it.place)),
        place("change_stream", outer.change_stream.as_ref().map(|it| it.place)),
    ];
    let others = outer.given().filter(|(name, _)| !SHARED.contains(name));
    for (name, place) in others.chain(own.into_iter().flatten()) {
        let message = format!("`{name}` does not belong to a phase with a `sequence`");
        let hint =
            "write operations, keys and counts in the items of the sequence; its loop is closed";
        check.wrong(place, message, hint);
    }
}

fn named(stretch: &Phase) -> Operation {
    Operation { name: stretch.name.clone(), ..stretch.operations[0].clone() }
}

fn is_contiguous(stretch: &Phase) -> bool {
    matches!(stretch.keys, KeyChoice::Contiguous { .. })
}

/// Where stretches change which documents there are, each worker must keep to its own: others may
/// be a stretch behind or ahead. `plan` has the stretches as phases.
pub fn check_ranges(
    check: &mut Check<'_>,
    plan: &Plan,
    numbers: Range<usize>,
    given: &[At<yaml::PhaseYaml>],
) {
    let all = plan.phases[numbers.start].all_workers();
    for collection in &plan.collections {
        let on = |number: &usize| plan.phases[*number].operations[0].collection == collection.name;
        let on: Vec<usize> = numbers.clone().filter(on).collect();
        let made = |number: &usize| &plan.phases[*number].operations[0];
        let inserting = |number: &usize| about(made(number).kind).inserts();
        let changing = |number: &usize| {
            let about = about(made(number).kind);
            about.inserts() || deletes(made(number)) || made(number).upsert == Some(true)
        };
        let apart = on.len() < 2 || on.iter().all(inserting) || !on.iter().any(changing);
        if all == 1 || apart {
            continue;
        }
        for number in &on {
            let (phase, made) = (&plan.phases[*number], made(number));
            let place = given[number - numbers.start].place;
            let (name, documents) = (&phase.name, Population::before(plan, *number, collection));
            let amount = match made.count {
                Some(Count::Rest { documents, .. }) => documents,
                _ => phase.limit.operations(),
            };
            if !is_contiguous(phase) {
                let message =
                    format!("`{name}` meets documents that another worker inserts or deletes");
                let hint = format!("`keys: contiguous` in each stretch on `{}`", collection.name);
                check.wrong(place, message, hint);
            } else if !inserting(number) && meaning(made, collection) != Meaning::One {
                let message = format!("`{name}` looks beyond the documents of its worker");
                check.wrong(place, message, "move it to a separate phase with `continues: true`");
            } else if inserting(number) && !documents.is_empty() {
                let message = format!("`{name}` moves the ranges of workers, by inserting");
                let hint = format!(
                    "leave `{}` empty before it, or move it to a separate phase",
                    collection.name
                );
                check.wrong(place, message, hint);
            } else if !documents.len().is_multiple_of(all)
                || changing(number) && !amount.is_multiple_of(all)
            {
                let message = format!("`{name}` has no even ranges for {all} workers");
                check.wrong(place, message, format!("multiples of {all}"));
            }
        }
    }
}
