//! The absorber's documents: in memory, bounded, and the commands on them.
//!
//! A request goes from [`Engine::command`] to one function of `commands`. Bytes are checked once,
//! on arrival (`wire::raw`); filters (`filter`) and updates then read and write them in place. Keys
//! are byte strings that compare like values (`key_encoding`), so that an index is an ordered map;
//! `query_plan` chooses among them. Each collection has one lock, which is taken only while a batch
//! is collected or a document is written.

mod args;
mod change;
mod commands;
mod cursor;
mod fault;
mod field_path;
mod filter;
mod index;
mod key_encoding;
mod legacy;
mod memory_budget;
mod projection;
mod query_plan;
mod sort_order;
mod store;
mod stored_collection;
#[cfg(test)]
mod tests;
mod update;
mod writer;

use std::sync::Arc;

use bson::{RawDocument, RawDocumentBuf};
use wire::raw;

use self::args::CommandArgs;
use self::cursor::Cursors;
use self::fault::{Fault, INVALID_BSON};
use self::store::Store;

pub use self::fault::code_name;
pub use self::legacy::{LegacyBatch, WriteOutcome};
pub use self::memory_budget::{MemoryBudget, Share};
pub use self::stored_collection::StoredDocument;

/// Databases, collections and cursors; shared by all connections.
#[derive(Debug)]
pub struct Engine {
    store: Store,
    cursors: Cursors,
    /// Whether commands may belong to transactions.
    is_replicated: bool,
}

impl Engine {
    /// `memory_bytes` bounds documents, index entries, cursors and messages of all connections
    /// together.
    pub fn new(memory_bytes: u64) -> Self {
        let store = Store::new(memory_bytes);
        let cursors = Cursors::new(Arc::clone(&store.memory));
        Self { store, cursors, is_replicated: false }
    }

    /// The same as a member of a replica set.
    pub fn replicated(self, is_replicated: bool) -> Self {
        Self { is_replicated, ..self }
    }

    /// Runs one command. `sequences` are the document sequences of OP_MSG. Returns None if the
    /// command is unknown (error 59). The reply has `ok: 1.0`, or `ok: 0.0` with `errmsg`, `code`
    /// and `codeName`.
    ///
    /// A getMore on an empty cursor that awaits data blocks, for `maxTimeMS` and while the client
    /// is there at most.
    pub fn command(
        &self,
        database: &str,
        body: &RawDocument,
        sequences: &[(&str, Vec<&RawDocument>)],
        client_is_there: &dyn Fn() -> bool,
    ) -> Option<RawDocumentBuf> {
        let first = raw::fields(body.as_bytes()).next()?;
        let command = commands::named(first.name)?;
        let documents = sequences.iter().flat_map(|(_, documents)| documents.iter().copied());
        let malformed = [body]
            .into_iter()
            .chain(documents)
            .find_map(|document| raw::check(document.as_bytes()).err());
        let request = CommandArgs {
            database,
            body: body.as_bytes(),
            sequences,
            is_replicated: self.is_replicated,
            client_is_there,
        };
        let reply = match malformed {
            Some(error) => Err(Fault::new(INVALID_BSON, error)),
            None => command(self, &request),
        };
        Some(reply.unwrap_or_else(|fault| fault.reply()).into_document())
    }

    /// Bounds documents and messages.
    pub fn memory(&self) -> &Arc<MemoryBudget> {
        &self.store.memory
    }
}
