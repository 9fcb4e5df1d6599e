//! The operations. A file each says which keys it has in YAML, how its template is made, how its
//! right answer is known and what the server counts; a line of [`about`] names the file.

mod about;
mod aggregate;
mod command;
mod count;
mod delete_one;
mod find;
mod find_one;
mod insert_many;
mod insert_one;
mod making;
mod noop;
mod replace_one;
mod update_one;

use crate::plan::{Kind, Operation};

pub use about::{About, Answers, Concerns, Counted};
pub(crate) use making::{Making, Site};

/// What is known of a kind.
#[must_use]
pub fn about(kind: Kind) -> &'static About {
    match kind {
        Kind::Noop => &noop::ABOUT,
        Kind::InsertOne => &insert_one::ABOUT,
        Kind::InsertMany => &insert_many::ABOUT,
        Kind::FindOne => &find_one::ABOUT,
        Kind::Find => &find::ABOUT,
        Kind::UpdateOne => &update_one::ABOUT,
        Kind::ReplaceOne => &replace_one::ABOUT,
        Kind::DeleteOne => &delete_one::ABOUT,
        Kind::Count => &count::ABOUT,
        Kind::Aggregate => &aggregate::ABOUT,
        Kind::Command => &command::ABOUT,
    }
}

/// Documents that one operation inserts.
#[must_use]
pub fn inserts(operation: &Operation) -> u64 {
    if about(operation.kind).inserts { u64::from(operation.batch.unwrap_or(1)) } else { 0 }
}
