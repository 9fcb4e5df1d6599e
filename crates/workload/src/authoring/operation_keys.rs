//! Which keys belong to which operation.

use serde_json::json;

use super::bounds::MEMBERS_MAX;
use super::checking::Check;
use super::located::At;
use super::problem::did_you_mean;
use super::tree::YamlTree;
use super::yaml::{OperationKeys, WriteConcern};
use crate::operation_kind::{OperationKind, OperationWord};
use crate::operations::{About, Concerns, about, about_word};

/// Whether a kind takes a write concern.
pub fn takes_write_concern(kind: OperationKind) -> bool {
    about(kind).takes_write_concern()
}

/// Whether a kind takes a read concern.
pub fn takes_read_concern(kind: OperationKind) -> bool {
    about(kind).takes_read_concern()
}

/// Complains of keys that this operation does not have.
pub fn check_keys(check: &mut Check<'_>, keys: &OperationKeys, word: OperationWord) {
    let about = about_word(word);
    let About { keys: known, concerns, .. } = about;
    let operation = word.name();
    for (name, place) in keys.given() {
        let fits = match name {
            "operation" => true,
            "write_concern" => about.takes_write_concern(),
            "read_concern" => about.takes_read_concern(),
            "read_preference" => matches!(concerns, Concerns::Read | Concerns::Preference),
            name => known.contains(&name),
        };
        if !fits {
            let hint = match known {
                [] => "remove it".to_owned(),
                known => format!("use one of its keys: {}", known.join(", ")),
            };
            check.wrong(place, format!("`{name}` does not belong to {operation}"), hint);
        }
    }
}

/// The write concern as adapters get it.
pub fn write_concern(check: &mut Check<'_>, concern: &At<WriteConcern>) -> serde_json::Value {
    let mut made = serde_json::Map::new();
    if let Some(w) = &concern.value.w {
        match &w.value {
            YamlTree::Int(members @ 0..=MEMBERS_MAX) => {
                drop(made.insert("w".to_owned(), json!(members)));
            }
            YamlTree::String(word) if word.parse::<f64>().is_err() => {
                drop(made.insert("w".to_owned(), json!(word)));
            }
            _ => {
                let hint =
                    format!("write a number of members from 0 to {MEMBERS_MAX}, or majority");
                check.wrong(w.place, "this cannot be the `w` of a write concern", hint);
            }
        }
    }
    if let Some(j) = &concern.value.j {
        made.insert("j".to_owned(), json!(j.value));
        if j.value && made.get("w") == Some(&json!(0)) {
            check.wrong(
                j.place,
                "`w: 0` and `j: true` contradict each other",
                "remove one of them",
            );
        }
    }
    if made.is_empty() {
        check.wrong(concern.place, "the write concern is empty", "write `{w: 1}`, or leave it out");
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
