//! The facts about a kind of operation.

use super::making::Making;
use crate::plan::Operation;

/// One kind of operation.
pub struct About {
    /// Keys in YAML, without the concerns.
    pub keys: &'static [&'static str],
    /// Concerns and preferences that the driver takes with it.
    pub concerns: Concerns,
    /// How it changes the documents of its collection.
    pub effect: Effect,
    /// Whether its answer holds documents.
    pub reads_documents: bool,
    /// How its right answer is known.
    pub answers: AnswerSource,
    /// How the server counts it.
    pub counted: ServerCount,
    /// Whether it changes its collection, as far as one can see from outside.
    pub writes: fn(&Operation) -> bool,
    /// Makes the template that adapters get; None where a mistake leaves nothing to make.
    pub(crate) make: fn(&mut Making<'_, '_, '_>) -> Option<()>,
}

/// Concerns and preferences of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concerns {
    None,
    Write,
    Read,
    /// A write concern and a read concern.
    Both,
    Preference,
}

/// How an operation changes the documents of its collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It inserts new documents: one, or a batch.
    Inserts,
    /// It deletes the document of its key.
    Deletes,
    /// It only changes fields of documents that are there, and none made of the key.
    Updates,
    /// It changes nothing, or in another way.
    Other,
}

/// How the right answer of an operation is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerSource {
    /// It adds nothing to the totals: the adapter checks that it was done.
    Nothing,
    /// The same, and the server says `ok` to it whatever it did.
    Unread,
    /// By its filter, where that is made of the key.
    ByFilter,
    /// By its filter, each of whose documents is deleted once.
    Deleted,
    /// All documents of its collection.
    All,
    /// Answers of its parts, added up.
    ByParts,
    /// By its stages, as far as they keep or count documents.
    ByStages,
    Unknown,
}

/// How the server counts an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerCount {
    /// It sees nothing of it.
    Not,
    /// By this counter: once, or for each inserted document.
    By(&'static str),
    /// By what its parts are.
    ByParts,
    /// In the counter `command`, together with commands of the core and the drivers' monitoring.
    AsCommand,
}

impl About {
    /// An operation that writes nothing, is answered nothing and has no keys.
    pub(super) const fn new(make: fn(&mut Making<'_, '_, '_>) -> Option<()>) -> Self {
        Self {
            keys: &[],
            concerns: Concerns::None,
            effect: Effect::Other,
            reads_documents: false,
            answers: AnswerSource::Nothing,
            counted: ServerCount::AsCommand,
            writes: |_| false,
            make,
        }
    }

    /// An operation with a write concern, which changes its collection.
    pub(super) const fn write(
        counter: &'static str,
        make: fn(&mut Making<'_, '_, '_>) -> Option<()>,
    ) -> Self {
        Self {
            concerns: Concerns::Write,
            counted: ServerCount::By(counter),
            writes: |_| true,
            ..Self::new(make)
        }
    }

    pub fn inserts(&self) -> bool {
        self.effect == Effect::Inserts
    }

    pub fn deletes(&self) -> bool {
        self.effect == Effect::Deletes
    }

    pub fn updates(&self) -> bool {
        self.effect == Effect::Updates
    }

    /// Whether the driver takes a write concern with it.
    pub fn takes_write_concern(&self) -> bool {
        matches!(self.concerns, Concerns::Write | Concerns::Both)
    }

    /// Whether the driver takes a read concern with it.
    pub fn takes_read_concern(&self) -> bool {
        matches!(self.concerns, Concerns::Read | Concerns::Both)
    }

    /// Whether it works on a collection.
    pub fn has_collection(&self) -> bool {
        self.keys.contains(&"collection")
    }
}
