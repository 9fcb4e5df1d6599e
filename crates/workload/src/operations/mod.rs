//! The operations, a file each: its keys in YAML, how its template is made, how its right answer is
//! known, how the server counts it. `operation_kind.rs` lists them.

mod about;
mod expecting;
mod find_options;
mod making;

use crate::operation_kind::{OperationKind, OperationWord, for_every_kind};
use crate::plan::{Count, Limit, Operation, Phase};

pub use about::{About, AnswerSource, Concerns, ServerCount};
pub use aggregate::{leading_match, returned};
pub use command::{answers_nothing, inserted as inserted_by_command};
pub(crate) use making::{Making, Site};

macro_rules! declare {
    ({ $($kind:ident: $file:ident,)* } { $($find:ident: $find_file:ident,)* }) => {
        $(mod $file;)*
        $(mod $find_file;)*

        pub fn about(kind: OperationKind) -> &'static About {
            match kind {
                $(OperationKind::$kind => &$file::ABOUT,)*
            }
        }

        pub(crate) fn about_word(word: OperationWord) -> &'static About {
            match word {
                $(OperationWord::$kind => &$file::ABOUT,)*
                $(OperationWord::$find => &$find_file::ABOUT,)*
            }
        }
    };
}
for_every_kind!(declare);

/// Whether it may change which documents there are, or by which keys they are found.
pub fn changes_documents(made: &Operation) -> bool {
    let about = about(made.kind);
    (about.writes)(made) && (!about.updates() || made.upsert == Some(true))
}

/// Whether it deletes the document of its key.
pub fn deletes(operation: &Operation) -> bool {
    about(operation.kind).deletes() && operation.expect.is_none()
}

/// Documents that one operation inserts, a full batch of them.
pub fn inserts(operation: &Operation) -> u64 {
    if !about(operation.kind).inserts() {
        return 0;
    }
    u64::from(operation.count.map_or(1, Count::most))
}

/// Documents that a counted phase inserts by an operation, over all workers; 0 for a timed phase,
/// whose number is not known.
pub fn inserted(phase: &Phase, made: &Operation) -> u64 {
    let stretch = phase.sequence.iter().find(|it| it.name == made.name);
    let phase = stretch.unwrap_or(phase);
    let Limit::Operations { count, .. } = phase.limit else { return 0 };
    if !about(made.kind).inserts() {
        return 0;
    }
    if let Some(Count::Rest { documents, .. }) = made.count {
        return documents;
    }
    let total: u32 = phase.weights.iter().sum();
    let own = phase.operations.iter().position(|it| it.name == made.name);
    let weight = own.map_or(0, |at| phase.weights[at]);
    (count * inserts(made)).saturating_mul(u64::from(weight)) / u64::from(total.max(1))
}

/// Whether its calls insert different numbers of documents: then only their records say how many.
pub fn varies(operation: &Operation) -> bool {
    about(operation.kind).inserts() && matches!(operation.count, Some(Count::Rest { .. }))
}
