//! The documents that an operation asks for, as far as the core can know them.

use std::borrow::Cow;

use crate::operations::leading_match;
use crate::plan::{Collection, Operation, Stamp, StampForm, StampSource};

/// The documents that a filter selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The document of the key.
    One,
    /// So many keys from the key on.
    Range(u64),
    /// All from the key on.
    From,
    All,
    /// Something else, or no filter at all.
    Other,
}

/// The meaning of an operation's filter, or of the first stage of its pipeline.
pub fn meaning(operation: &Operation, collection: &Collection) -> Meaning {
    let filter = match (&operation.filter, &operation.pipeline) {
        (Some(filter), _) => Cow::Borrowed(filter),
        (None, Some(pipeline)) => Cow::Owned(leading_match(pipeline)),
        (None, None) => return Meaning::Other,
    };
    if filter.document.is_empty() {
        return Meaning::All;
    }
    let first = filter.stamps.first().filter(|_| filter.document.len() == 1);
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
    let is = |stamp: &Stamp, name: &str| stamp.path.get(1).is_some_and(|it| it == name);
    let by_number = !matches!(first.form, StampForm::Guid | StampForm::GuidString);
    match &filter.stamps[..] {
        [one] if one.path.len() == 1 => Meaning::One,
        [low] if is(low, "$gte") && by_number => Meaning::From,
        [low, high]
            if is(low, "$gte")
                && is(high, "$lt")
                && by_number
                && low.path[0] == high.path[0]
                && high.add > low.add =>
        {
            Meaning::Range((high.add - low.add) as u64)
        }
        _ => Meaning::Other,
    }
}

/// The part of so many documents that an operation may choose among. A range lies within them, so
/// that each answer has the same length.
pub fn key_space(operation: &Operation, collection: Option<&Collection>, documents: u64) -> u64 {
    match collection.map(|collection| meaning(operation, collection)) {
        None => 1,
        Some(Meaning::Range(range)) => documents.saturating_sub(range - 1).max(1),
        Some(_) => documents.max(1),
    }
}

/// Whether some stamp of the operation takes the record's guid.
pub fn takes_guid(operation: &Operation) -> bool {
    let guid = |stamp: &Stamp| matches!(stamp.form, StampForm::Guid | StampForm::GuidString);
    operation.stamps().any(guid)
}
