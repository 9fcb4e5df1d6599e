//! Checks a phase and puts it together.

use serde_json::json;
use serde_saphyr::Location;

use super::at::At;
use super::check::Check;
use super::operation::operation;
use super::operations::{Concerns, Site, about, inserts};
use super::pacing::{limit_of, pacing_of, warmup_of};
use super::plan::{
    Collection, KeyChoice, KeySource, Kind, Operation, Pacing, Phase, Stamp, StampForm,
    StampSource, Template,
};
use super::schema::{self, DocumentForm, KeysName, OperationKeys};

/// The stamps that make a document a message (SPEC section 8).
const MESSAGE_FIELDS: [(&str, StampSource, StampForm); 3] = [
    ("producer", StampSource::Producer, StampForm::Int32),
    ("sequence", StampSource::Sequence, StampForm::Int64),
    ("made_ns", StampSource::MadeNs, StampForm::Int64),
];
/// YCSB's exponent.
const THETA: f64 = 0.99;
/// The sample's worker number is a u16.
const WORKERS_MAX: u32 = 65_536;
/// A turn has time for 40 operations of each worker and lasts a second at most.
const THINK_NS_TURNS: u64 = 20_000_000;

pub fn phase(
    check: &mut Check<'_>,
    given: &At<schema::Phase>,
    collections: &[Collection],
    names: &[&str],
    seed: u64,
) -> Option<Phase> {
    let keys = &given.value;
    let name = match (&keys.name, &keys.operation) {
        (Some(name), _) => name.value.clone(),
        (None, Some(operation)) => operation.value.name().to_owned(),
        (None, None) => "mix".to_owned(),
    };
    let choice = key_choice(check, keys);
    let mut site =
        Site { collections, names: names.to_vec(), seed, phase: &name, pools: Vec::new() };
    let (mut operations, weights) = operations_of(check, given, &mut site)?;
    choose_sources(check, given.place, &mut operations, choice);
    check_deletes(check, given, &operations);
    let (workers, processes) = concurrency(check, keys);
    let pacing = pacing_of(check, keys);
    let limit = limit_of(check, keys, pacing, given.place);
    let consumer = consumer_of(check, keys, &operations, collections);
    let whole_run_reason = match whole_run_reason(&operations, pacing) {
        None if consumer => Some("its consumer reads one arm's messages at a time".to_owned()),
        reason => reason,
    };
    let pools = site.pools;
    let document_form = keys.document_form.as_ref().map_or(DocumentForm::Native, |it| it.value);
    Some(Phase {
        writes: operations.iter().any(|made| (about(made.kind).writes)(made)),
        operations,
        weights,
        keys: choice,
        workers,
        processes,
        pacing,
        limit,
        consumer,
        warmup_s: warmup_of(check, keys),
        document_form: format!("{document_form:?}").to_lowercase(),
        whole_run_reason,
        pools,
        name,
    })
}

/// Whether somebody reads along: then every operation makes one message.
fn consumer_of(
    check: &mut Check<'_>,
    keys: &schema::Phase,
    operations: &[Operation],
    collections: &[Collection],
) -> bool {
    let Some(consumer) = keys.consumer.as_ref().filter(|consumer| consumer.value) else {
        return false;
    };
    let place = consumer.place;
    let [made] = operations else {
        let hint = "one `operation: insert_one` in place of the mix";
        check.wrong(place, "a consumer reads what one operation writes", hint);
        return true;
    };
    if made.kind != Kind::InsertOne {
        let message = format!("a consumer has nothing to read where `{}` goes on", made.name);
        check.wrong(place, message, "`operation: insert_one`: each document is a message");
        return true;
    }
    let collection = collections.iter().find(|it| it.name == made.collection);
    if collection.is_none_or(|it| it.capped.is_none()) {
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

fn key_choice(check: &mut Check<'_>, keys: &schema::Phase) -> KeyChoice {
    let Some(keys) = &keys.keys else { return KeyChoice::Uniform };
    let theta = keys.value.theta.unwrap_or(THETA);
    if !(theta > 0.0 && theta < 1.0) {
        let message = format!("an exponent of {theta}");
        check.wrong(keys.place, message, "between 0 and 1, both excluded; 0.99 in YCSB");
    }
    match keys.value.name {
        KeysName::Sequential => KeyChoice::Sequential,
        KeysName::Uniform => KeyChoice::Uniform,
        KeysName::Zipfian => KeyChoice::Zipfian { theta },
        KeysName::Latest => KeyChoice::Latest { theta },
    }
}

fn operations_of(
    check: &mut Check<'_>,
    given: &At<schema::Phase>,
    site: &mut Site<'_>,
) -> Option<(Vec<Operation>, Vec<u32>)> {
    let keys = &given.value;
    match (&keys.operation, &keys.mix) {
        (Some(kind), None) => {
            let name = kind.value.name();
            let made = operation(check, site, &keys.operation_keys(), name, kind.place)?;
            Some((vec![made], vec![1]))
        }
        (None, Some(mix)) => mixed(check, keys, mix, site),
        (Some(kind), Some(_)) => {
            let hint = "move the operation into the mix";
            check.wrong(kind.place, "`operation` and `mix` exclude each other", hint);
            None
        }
        (None, None) => {
            let hint = "`operation: find_one`, or `mix:` with several";
            check.wrong(given.place, "this phase does nothing", hint);
            None
        }
    }
}

fn mixed(
    check: &mut Check<'_>,
    phase: &schema::Phase,
    mix: &At<Vec<At<schema::Mixed>>>,
    site: &mut Site<'_>,
) -> Option<(Vec<Operation>, Vec<u32>)> {
    let shared = phase.operation_keys();
    let mut operations: Vec<Operation> = Vec::new();
    let mut weights = Vec::new();
    for item in &mix.value {
        let Some(kind) = &item.value.operation else {
            check.wrong(item.place, "`operation` is missing", "`operation: find_one`");
            continue;
        };
        let keys = inherit(item.value.operation_keys(), &shared, kind.value);
        let name = item.value.name.as_ref();
        let name = name.map_or(kind.value.name(), |name| name.value.as_str());
        if operations.iter().any(|made| made.name == name) {
            let message = format!("two operations of this mix are called `{name}`");
            check.wrong(item.place, message, "give one of them another `name:`");
        }
        operations.extend(operation(check, site, &keys, name, kind.place));
        weights.push(item.value.weight.as_ref().map_or(1, |weight| weight.value));
    }
    if mix.value.is_empty() || weights.iter().all(|weight| *weight == 0) && !weights.is_empty() {
        check.wrong(mix.place, "all weights of the mix are 0", "give one at least a `weight:`");
        return None;
    }
    if operations.len() > 256 {
        check.wrong(mix.place, "a mix of more than 256 operations", "make several phases");
        return None;
    }
    (operations.len() == weights.len()).then_some((operations, weights))
}

/// Collection and concerns of the phase, where the operation has none of its own.
fn inherit(own: OperationKeys, shared: &OperationKeys, kind: Kind) -> OperationKeys {
    let about = about(kind);
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

/// `latest` looks back from what the phase inserts; where it inserts nothing, the schedule
/// itself holds the newest keys.
fn choose_sources(
    check: &mut Check<'_>,
    place: Location,
    operations: &mut [Operation],
    choice: KeyChoice,
) {
    let inserts = |made: &&Operation| made.key == KeySource::Counter;
    let inserted = operations.iter().find(inserts).map(|made| made.collection.clone());
    let (Some(inserted), KeyChoice::Latest { .. }) = (inserted, choice) else { return };
    let elsewhere = |made: &&Operation| !made.collection.is_empty() && made.collection != inserted;
    if let Some(other) = operations.iter().find(elsewhere) {
        let message = format!("`{}` is not on `{inserted}`, where this phase inserts", other.name);
        check.wrong(place, message, "`keys: latest` needs one collection, or choose other keys");
    }
    for made in operations {
        if made.key == KeySource::Counter || about(made.kind).deletes {
            continue;
        }
        if made.collection.is_empty() {
            continue;
        }
        made.key = KeySource::Latest;
        let templates = [&made.filter, &made.update, &made.pipeline, &made.command];
        let guid =
            |template: &Template| template.stamps.iter().any(|stamp| stamp.form == StampForm::Guid);
        if templates.into_iter().flatten().any(guid) {
            let hint = "`keys: zipfian`, or a key that is no guid";
            check.wrong(place, "the guid of a document just inserted is not known", hint);
        }
    }
}

fn check_deletes(check: &mut Check<'_>, given: &At<schema::Phase>, operations: &[Operation]) {
    let deletes = |made: &&Operation| about(made.kind).deletes;
    let Some(delete) = operations.iter().find(deletes) else { return };
    if let Some(other) = operations.iter().find(|made| {
        made.collection == delete.collection && inserts(made) == 0 && made.name != delete.name
    }) {
        let message = format!("`{}` would look for documents already deleted", other.name);
        check.wrong(given.place, message, "delete in another collection or another phase");
    }
    if let Some(keys) = &given.value.keys
        && !matches!(keys.value.name, KeysName::Sequential | KeysName::Uniform)
    {
        let message = "each document can be deleted only once";
        check.wrong(keys.place, message, "`keys: sequential` or `uniform` (shuffled)");
    }
}

fn concurrency(check: &mut Check<'_>, keys: &schema::Phase) -> (u32, u32) {
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
