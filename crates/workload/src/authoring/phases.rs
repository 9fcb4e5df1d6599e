//! Checks a phase and puts it together.

use super::bounds::WORKERS_MAX;
use super::checking::Check;
use super::located::{At, Location};
use super::mix::operations_of;
use super::pacing::{limit_of, pacing_of, warmup_of};
use super::yaml;
use super::yaml_values::KeysName;
use crate::operations::{Site, about, deletes, inserts};
use crate::plan::{
    Collection, Count, Expectable, KeyChoice, Operation, OperationKind, Pacing, Phase, Stamp,
    StampForm, StampSource,
};
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
/// A turn has time for 40 operations of each worker and lasts a second at most.
const THINK_NS_TURNS: u64 = 20_000_000;

pub fn phase(
    check: &mut Check<'_>,
    given: &At<yaml::PhaseYaml>,
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
    check_expectations(check, given, &operations);
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
    keys: &yaml::PhaseYaml,
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
    keys: &yaml::PhaseYaml,
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
    if made.kind != OperationKind::InsertOne {
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

fn key_choice(check: &mut Check<'_>, keys: &yaml::PhaseYaml) -> KeyChoice {
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

fn check_deletes(check: &mut Check<'_>, given: &At<yaml::PhaseYaml>, operations: &[Operation]) {
    let Some(delete) = operations.iter().find(|made| deletes(made)) else { return };
    if delete.kind == OperationKind::DeleteMany && operations.len() > 1 {
        let message = "delete_many in a mix leaves documents that are not known";
        check.wrong(given.place, message, "move it to a separate phase");
    }
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

/// Keys that are missing must remain so, and duplicates are counted where nothing else inserts.
fn check_expectations(
    check: &mut Check<'_>,
    given: &At<yaml::PhaseYaml>,
    operations: &[Operation],
) {
    for made in operations {
        let others = || operations.iter().filter(|other| other.name != made.name);
        let grows = |other: &Operation| inserts(other) > 0 || other.upsert == Some(true);
        match made.expect {
            Some(Expectable::Missing)
                if others().any(|it| it.collection == made.collection && grows(it)) =>
            {
                let message = format!("what `{}` misses is inserted meanwhile", made.name);
                check.wrong(given.place, message, "insert in another collection or phase");
            }
            Some(Expectable::Duplicate) if others().next().is_some() => {
                let message = format!("`{}` expects duplicates beside other operations", made.name);
                check.wrong(given.place, message, "move it to a separate phase");
            }
            _ => {}
        }
    }
    let hashed =
        matches!(given.value.keys.as_ref().map(|it| it.value.name), Some(KeysName::Hashed));
    if hashed && operations.iter().any(|made| made.expect == Some(Expectable::Duplicate)) {
        check.wrong(given.place, "`keys: hashed` makes no duplicates", "leave out `keys`");
    }
}

fn concurrency(check: &mut Check<'_>, keys: &yaml::PhaseYaml) -> (u32, u32) {
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
