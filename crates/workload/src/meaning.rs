//! The documents that an operation asks for, as far as the core can know them.

use super::plan::{Collection, KeySource, Operation, Stamp, StampForm, StampSource, Template};

/// The loaded documents that a filter selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The document of the key.
    One,
    /// So many keys from the key on.
    Range(u64),
    /// Something else, or no filter at all.
    Other,
}

/// The meaning of an operation's filter.
pub fn meaning(operation: &Operation, collection: &Collection) -> Meaning {
    let Some(filter) = &operation.filter else { return Meaning::Other };
    let fields = filter.document.as_object().map_or(0, serde_json::Map::len);
    let first = filter.stamps.first().filter(|_| fields == 1);
    let Some(first) = first else { return Meaning::Other };
    let same = |stamp: &&Stamp| {
        stamp.from == StampSource::Key
            && first.from == StampSource::Key
            && stamp.path.join(".") == first.path[0]
            && stamp.form == first.form
            && stamp.add == first.add
    };
    if !collection.stamps.iter().any(|stamp| same(&stamp)) {
        return Meaning::Other;
    }
    match &filter.stamps[..] {
        [one] if one.path.len() == 1 => Meaning::One,
        [low, high]
            if low.path.get(1).is_some_and(|name| name == "$gte")
                && high.path.get(1).is_some_and(|name| name == "$lt")
                && low.path[0] == high.path[0]
                && high.add > low.add =>
        {
            Meaning::Range((high.add - low.add) as u64)
        }
        _ => Meaning::Other,
    }
}

/// Keys that an operation may choose among. A range lies within the loaded keys, so that each
/// answer has the same length.
pub fn key_space(operation: &Operation, collection: Option<&Collection>) -> u64 {
    let Some(collection) = collection else { return 1 };
    match meaning(operation, collection) {
        Meaning::Range(range) => collection.loaded.saturating_sub(range - 1).max(1),
        Meaning::One | Meaning::Other => collection.loaded.max(1),
    }
}

/// Whether some stamp of the operation takes the record's guid.
pub fn takes_guid(operation: &Operation) -> bool {
    let templates = [&operation.filter, &operation.update, &operation.pipeline, &operation.command];
    let in_templates =
        templates.into_iter().flatten().flat_map(|template: &Template| template.stamps.iter());
    let in_documents = operation.documents.iter().flat_map(|documents| documents.stamps.iter());
    in_templates.chain(in_documents).any(|stamp| stamp.form == StampForm::Guid)
}

/// Whether an operation looks for a guid of the schedule. Guids change from lap to lap, so such a
/// slice has one lap only.
pub fn needs_one_lap(operation: &Operation) -> bool {
    operation.key == KeySource::Schedule && takes_guid(operation)
}
