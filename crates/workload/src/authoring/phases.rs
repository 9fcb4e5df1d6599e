//! Checks a phase and puts it together.

use super::bounds::WORKERS_MAX;
use super::checking::Check;
use crate::kind::Word;
use super::located::{At, Location};
use super::operation::operation;
use crate::operations::{Concerns, Site, about, about_word, inserts};
use super::pacing::{limit_of, pacing_of, warmup_of};
use crate::plan::{
    Collection, Count, KeyChoice, Kind, Operation, Pacing, Part, Phase, Stamp, StampForm,
    StampSource,
};
use super::yaml::{self, KeysName, OperationKeys};
use serde_json::json;

/// The stamps that make a document a message (SPEC section 9).
const MESSAGE_FIELDS: [(&str, StampSource, StampForm); 3] = [
    ("producer", StampSource::Producer, StampForm::Int32),
    ("sequence", StampSource::Sequence, StampForm::Int64),
    ("made_ns", StampSource::MadeNs, StampForm::Int64),
];
/// YCSB's exponent.
const THETA: f64 = 0.99;
/// YCSB's hot share of the keys, and share of the operations that go to them.
const HOTSPOT: [f64; 2] = [0.2, 0.8];
/// Operations that a bulk_write may be made of.
const PARTS: [Word; 4] = [Word::InsertOne, Word::UpdateOne, Word::ReplaceOne, Word::DeleteOne];
/// A turn has time for 40 operations of each worker and lasts a second at most.
const THINK_NS_TURNS: u64 = 20_000_000;

pub fn phase(
    check: &mut Check<'_>,
    given: &At<yaml::Phase>,
    collections: &[Collection],
    names: &[&str],
    seed: u64,
    pools: Vec<u32>,
) -> Option<Phase> {
    let keys = &given.value;
    let name = match (&keys.name, &keys.operation) {
        (Some(name), _) => name.value.clone(),
        (None, Some(operation)) => operation.value.name().to_owned(),
        (None, None) => "mix".to_owned(),
    };
    let choice = key_choice(check, keys);
    let (workers, processes) = concurrency(check, keys);
    let pacing = pacing_of(check, keys);
    let continues = keys.continues.as_ref().is_some_and(|it| it.value);
    let mut site = Site {
        collections,
        names: names.to_vec(),
        seed,
        phase: &name,
        continues,
        documents: keys.documents.as_ref().map(|documents| documents.value),
        all_workers: u64::from(workers) * u64::from(processes),
        shapes: check.loaded.file.shapes.names().collect(),
        pools,
    };
    let (operations, weights) = operations_of(check, given, &mut site)?;
    check_deletes(check, given, &operations);
    let batches = batches_of(check, keys, &operations, pacing, site.all_workers);
    let limit = limit_of(check, keys, pacing, batches, given.place);
    let consumer = consumer_of(check, keys, &operations, collections);
    let whole_run_reason = match whole_run_reason(&operations, pacing) {
        None if consumer => Some("its consumer reads one arm's messages at a time".to_owned()),
        reason => reason,
    };
    let pools = site.pools;
    Some(Phase {
        writes: operations.iter().any(|made| (about(made.kind).writes)(made)),
        operations,
        sequence: Vec::new(),
        weights,
        keys: choice,
        workers,
        processes,
        pacing,
        limit,
        consumer,
        change_stream: keys.change_stream.as_ref().is_some_and(|it| it.value),
        continues,
        checkpoint: keys.checkpoint.as_ref().is_some_and(|it| it.value),
        warmup_s: warmup_of(check, keys),
        whole_run_reason,
        pools,
        name,
    })
}

/// Batches until all `documents` are inserted.
fn batches_of(
    check: &mut Check<'_>,
    keys: &yaml::Phase,
    operations: &[Operation],
    pacing: Pacing,
    all_workers: u64,
) -> Option<u64> {
    let documents = keys.documents.as_ref()?;
    let [Operation { count: Some(rest @ Count::Rest { documents: all, .. }), .. }] = operations
    else {
        let hint = "`operation: insert_many`; other phases end by `operations:`";
        check.wrong(documents.place, "`documents` belongs to one insert_many", hint);
        return None;
    };
    if let Some(operations) = &keys.operations {
        let message = "`operations` and `documents` exclude each other";
        check.wrong(operations.place, message, "leave one of the two out");
    }
    if pacing.is_open() {
        let hint = "`operations:`, or leave out `rate` and `burst`";
        check.wrong(documents.place, "an open loop has no share of documents", hint);
    }
    if *all == 0 {
        check.wrong(documents.place, "0 documents", "1 or more");
    }
    rest.batches(all_workers)
}

/// Whether somebody reads along: then every operation makes one message.
fn consumer_of(
    check: &mut Check<'_>,
    keys: &yaml::Phase,
    operations: &[Operation],
    collections: &[Collection],
) -> bool {
    let stream = keys.change_stream.as_ref().filter(|it| it.value);
    let Some(consumer) = keys.consumer.as_ref().filter(|consumer| consumer.value) else {
        if let Some(stream) = stream {
            check.wrong(stream.place, "the change stream has no reader", "add `consumer: true`");
        }
        return false;
    };
    let place = consumer.place;
    let [made] = operations else {
        let hint = "one `operation: insert_one` in place of the mix";
        check.wrong(place, "a consumer reads what one operation writes", hint);
        return true;
    };
    if made.kind != Kind::InsertOne {
        let message =
            format!("a consumer has nothing to read: `{}` inserts no single documents", made.name);
        check.wrong(place, message, "`operation: insert_one`: each document is a message");
        return true;
    }
    let collection = collections.iter().find(|it| it.name == made.collection);
    if stream.is_none() && collection.is_none_or(|it| it.capped.is_none()) {
        let message = format!("a consumer cannot tail `{}`: it is not capped", made.collection);
        check.wrong(place, message, "add `capped: {size_bytes: …}` to the collection");
    }
    let stamps = made.documents.as_ref().map_or(&[][..], |documents| &documents.stamps);
    for (field, from, form) in MESSAGE_FIELDS {
        let right =
            |stamp: &Stamp| stamp.path == [field] && (stamp.from, stamp.form) == (from, form);
        if !stamps.iter().any(right) {
            let message = format!("a message of `{}` has no stamp `{field}`", made.collection);
            let kind = if form == StampForm::Int32 { "int" } else { "long" };
            let hint = format!("add `{field}: {{type: {kind}, value: {field}}}` to its document");
            check.wrong(place, message, hint);
        }
    }
    true
}

fn key_choice(check: &mut Check<'_>, keys: &yaml::Phase) -> KeyChoice {
    let Some(keys) = &keys.keys else { return KeyChoice::Uniform };
    let numbers = keys.value.numbers;
    let theta = numbers.map_or(THETA, |[theta, _]| theta);
    let within = |share: f64| share > 0.0 && share < 1.0;
    match keys.value.name {
        KeysName::Sequential => KeyChoice::Sequential,
        KeysName::Uniform => KeyChoice::Uniform,
        KeysName::Hashed => KeyChoice::Hashed,
        KeysName::Zipfian | KeysName::Latest => {
            if !within(theta) {
                let message = format!("the exponent cannot be {theta}");
                check.wrong(
                    keys.place,
                    message,
                    "choose one between 0 and 1, both excluded; YCSB has 0.99",
                );
            }
            match keys.value.name {
                KeysName::Latest => KeyChoice::Latest { theta },
                _ => KeyChoice::Zipfian { theta },
            }
        }
        KeysName::Hotspot => {
            let [hot, operations] = numbers.unwrap_or(HOTSPOT);
            if !(within(hot) && within(operations)) {
                let message = format!("a hotspot of {hot} of the keys for {operations}");
                check.wrong(
                    keys.place,
                    message,
                    "choose shares between 0 and 1: `{hotspot: [0.2, 0.8]}`",
                );
            }
            KeyChoice::Hotspot { keys: hot, operations }
        }
        KeysName::Contiguous => {
            let from = numbers.map_or(0.0, |[from, _]| from);
            if !(0.0..1.0).contains(&from) {
                let message = format!("a range cannot begin at {from} of its length");
                check.wrong(
                    keys.place,
                    message,
                    "write a number from 0 to below 1: `{contiguous: 0.5}`",
                );
            }
            KeyChoice::Contiguous { from }
        }
    }
}

fn operations_of(
    check: &mut Check<'_>,
    given: &At<yaml::Phase>,
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
    phase: &yaml::Phase,
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
    if operations.len() > 256 {
        check.wrong(mix.place, "a mix can have 256 operations at most", "make several phases");
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
    let Some(parts) = keys.parts.as_ref().filter(|_| operations[bulk].kind == Kind::BulkWrite)
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
            let known = PARTS.map(Word::name).join(", ");
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
        operations[bulk].parts.push(Part { operation, weight });
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
    if operations.len() > 256 {
        check.wrong(parts.place, "more than 256 operations", "make several phases");
    }
}

/// Collection and concerns of the phase, where the operation has none of its own.
pub fn inherit(own: OperationKeys, shared: &OperationKeys, word: Word) -> OperationKeys {
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

fn check_deletes(check: &mut Check<'_>, given: &At<yaml::Phase>, operations: &[Operation]) {
    let deletes = |made: &&Operation| about(made.kind).deletes;
    let Some(delete) = operations.iter().find(deletes) else { return };
    if let Some(other) = operations.iter().find(|made| {
        made.collection == delete.collection
            && inserts(made) == 0
            && made.parts.is_empty()
            && made.name != delete.name
    }) {
        let message = format!("`{}` would look for documents already deleted", other.name);
        check.wrong(given.place, message, "delete in another collection or another phase");
    }
    if let Some(keys) = &given.value.keys
        && !matches!(
            keys.value.name,
            KeysName::Sequential | KeysName::Uniform | KeysName::Contiguous
        )
    {
        let message = "each document can be deleted only once";
        let hint = "choose `keys: sequential`, `contiguous` or `uniform` (shuffled)";
        check.wrong(keys.place, message, hint);
    }
}

fn concurrency(check: &mut Check<'_>, keys: &yaml::Phase) -> (u32, u32) {
    let mut counts = [1, 1];
    for (count, (key, name)) in
        counts.iter_mut().zip([(&keys.workers, "workers"), (&keys.processes, "processes")])
    {
        let Some(key) = key else { continue };
        if key.value == 0 || key.value > WORKERS_MAX {
            let message = format!("{} {name}", key.value);
            check.wrong(key.place, message, format!("from 1 to {WORKERS_MAX}"));
        } else {
            *count = key.value;
        }
    }
    let all = u64::from(counts[0]) * u64::from(counts[1]);
    if all > u64::from(WORKERS_MAX) {
        let place = keys.processes.as_ref().map_or(Location::UNKNOWN, |key| key.place);
        let message = format!("{all} workers in all");
        check.wrong(place, message, format!("workers × processes: at most {WORKERS_MAX}"));
        return (1, 1);
    }
    (counts[0], counts[1])
}

/// Methodology 2.7 d: what a neighbour's turn would have to pay for.
fn whole_run_reason(operations: &[Operation], pacing: Pacing) -> Option<String> {
    let unacknowledged =
        |made: &&Operation| made.write_concern.as_ref().is_some_and(|wc| wc["w"] == json!(0));
    if let Some(made) = operations.iter().find(unacknowledged) {
        let why = "the server may still work on its writes in another arm's turn";
        return Some(format!("`{}` is unacknowledged (w: 0): {why}", made.name));
    }
    let reason = match pacing {
        Pacing::Awaited { think_ns } if think_ns > THINK_NS_TURNS => {
            "think time is too long for turns"
        }
        Pacing::Awaited { .. } => return None,
        Pacing::Window { .. } => "a window of operations in flight does not stop at a turn's end",
        Pacing::Rate { .. } => "open loop: time goes on while others have their turn",
        Pacing::Burst {} => "a burst happens once",
    };
    Some(reason.to_owned())
}
