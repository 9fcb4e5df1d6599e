//! Which keys belong to which operation.

use serde_json::json;

use super::at::At;
use super::check::Check;
use super::error::did_you_mean;
use super::plan::Kind;
use super::schema::{OperationKeys, WriteConcern};
use super::tree::Tree;

/// The name of a kind in YAML.
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Noop => "noop",
        Kind::InsertOne => "insert_one",
        Kind::InsertMany => "insert_many",
        Kind::FindOne => "find_one",
        Kind::Find => "find",
        Kind::UpdateOne => "update_one",
        Kind::ReplaceOne => "replace_one",
        Kind::DeleteOne => "delete_one",
        Kind::Count => "count",
        Kind::Aggregate => "aggregate",
        Kind::Command => "command",
    }
}

/// Whether a kind takes a write concern.
pub fn takes_write_concern(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::InsertOne | Kind::InsertMany | Kind::UpdateOne | Kind::ReplaceOne | Kind::DeleteOne
    )
}

/// Whether a kind takes a read concern.
pub fn takes_read_concern(kind: Kind) -> bool {
    matches!(kind, Kind::FindOne | Kind::Find | Kind::Count | Kind::Aggregate)
}

fn allowed(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Noop => &[],
        Kind::InsertOne => &["collection"],
        Kind::InsertMany => &["collection", "batch", "ordered"],
        Kind::FindOne => &["collection", "by", "filter"],
        Kind::Find => &["collection", "by", "range", "filter", "limit", "batch_size"],
        Kind::UpdateOne => &["collection", "by", "set", "update", "upsert"],
        Kind::ReplaceOne => &["collection", "by", "upsert"],
        Kind::DeleteOne => &["collection", "by"],
        Kind::Count => &["collection", "by", "range", "filter"],
        Kind::Aggregate => &["collection", "pipeline", "batch_size"],
        Kind::Command => &["command"],
    }
}

/// Complains of keys that this operation does not have.
pub fn check_keys(check: &mut Check<'_>, keys: &OperationKeys, kind: Kind) {
    let reads = takes_read_concern(kind);
    let given = [
        ("collection", keys.collection.as_ref().map(|key| key.place), false),
        ("by", keys.by.as_ref().map(|key| key.place), false),
        ("range", keys.range.as_ref().map(|key| key.place), false),
        ("filter", keys.filter.as_ref().map(|key| key.place), false),
        ("limit", keys.limit.as_ref().map(|key| key.place), false),
        ("batch_size", keys.batch_size.as_ref().map(|key| key.place), false),
        ("batch", keys.batch.as_ref().map(|key| key.place), false),
        ("ordered", keys.ordered.as_ref().map(|key| key.place), false),
        ("set", keys.set.as_ref().map(|key| key.place), false),
        ("update", keys.update.as_ref().map(|key| key.place), false),
        ("upsert", keys.upsert.as_ref().map(|key| key.place), false),
        ("pipeline", keys.pipeline.as_ref().map(|key| key.place), false),
        ("command", keys.command.as_ref().map(|key| key.place), false),
        (
            "write_concern",
            keys.write_concern.as_ref().map(|key| key.place),
            takes_write_concern(kind),
        ),
        ("read_concern", keys.read_concern.as_ref().map(|key| key.place), reads),
        (
            "read_preference",
            keys.read_preference.as_ref().map(|key| key.place),
            reads || kind == Kind::Command,
        ),
    ];
    let known = allowed(kind);
    for (name, place, fits) in given {
        if let Some(place) = place.filter(|_| !fits && !known.contains(&name)) {
            let message = format!("`{name}` does not belong to {}", kind_name(kind));
            let hint = match known {
                [] => "remove it".to_owned(),
                known => format!("{} has: {}", kind_name(kind), known.join(", ")),
            };
            check.wrong(place, message, hint);
        }
    }
}

/// The write concern as adapters get it.
pub fn write_concern(check: &mut Check<'_>, concern: &At<WriteConcern>) -> serde_json::Value {
    let mut made = serde_json::Map::new();
    if let Some(w) = &concern.value.w {
        match &w.value {
            Tree::Int(members @ 0..=50) => drop(made.insert("w".to_owned(), json!(members))),
            Tree::String(word) => drop(made.insert("w".to_owned(), json!(word))),
            _ => check.wrong(w.place, "this is no write concern", "`w:` 0 to 50, or majority"),
        }
    }
    if let Some(j) = &concern.value.j {
        made.insert("j".to_owned(), json!(j.value));
        if j.value && made.get("w") == Some(&json!(0)) {
            check.wrong(j.place, "w: 0 and j: true contradict each other", "remove one of them");
        }
    }
    if made.is_empty() {
        check.wrong(concern.place, "an empty write concern", "`{w: 1}`, or leave it out");
    }
    serde_json::Value::Object(made)
}

/// Complains of read concerns and preferences that do not exist.
pub fn check_words(check: &mut Check<'_>, keys: &OperationKeys) {
    let levels = ["local", "majority", "available", "linearizable", "snapshot"];
    let modes = ["primary", "primaryPreferred", "secondary", "secondaryPreferred", "nearest"];
    for (key, known) in [(&keys.read_concern, &levels), (&keys.read_preference, &modes)] {
        if let Some(key) = key.as_ref().filter(|key| !known.contains(&key.value.as_str())) {
            let hint = did_you_mean(&key.value, known.iter().copied());
            check.wrong_maybe(key.place, format!("`{}` is not known here", key.value), hint);
        }
    }
}
