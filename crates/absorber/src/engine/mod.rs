//! The absorber's documents: in memory, bounded, and the commands on them.
//!
//! A request goes from [`Engine::command`] to one function of `commands`. Bytes are checked once at
//! the door (`wire::raw`). Behind it filters (`matching`) and updates read and write them in place.
//! Keys are byte strings that compare like values (`keys`), so that an index is an ordered map;
//! `plan` chooses among them. One lock a collection is held while a batch is collected or a
//! document is written, and no longer.

mod args;
mod change;
mod collection;
mod commands;
mod cursor;
mod error;
mod index;
mod keys;
mod legacy;
mod matching;
mod memory;
mod order;
mod path;
mod plan;
mod projection;
mod store;
#[cfg(test)]
mod tests;
mod update;
mod writer;

use std::sync::Arc;

use bson::{RawDocument, RawDocumentBuf};
use wire::raw;

use self::args::Request;
use self::cursor::Cursors;
use self::error::{Fault, INVALID_BSON};
use self::store::Store;

pub use self::collection::Stored;
pub use self::error::code_name;
pub use self::legacy::{LegacyBatch, WriteOutcome};
pub use self::memory::{Memory, Share};

/// Databases, collections and cursors; shared by all connections.
#[derive(Debug)]
pub struct Engine {
    store: Store,
    cursors: Cursors,
}

impl Engine {
    /// `memory_bytes` bounds documents, index entries, cursors and messages of all connections
    /// together.
    pub fn new(memory_bytes: u64) -> Self {
        let store = Store::new(memory_bytes);
        let cursors = Cursors::new(Arc::clone(&store.memory));
        Self { store, cursors }
    }

    /// Answers one command. `sequences` are the document sequences of OP_MSG. None: the command is
    /// unknown (error 59). The reply holds `ok: 1.0`, or `ok: 0.0` with `errmsg`, `code` and
    /// `codeName`.
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
        let request = Request { database, body: body.as_bytes(), sequences, client_is_there };
        let reply = match malformed {
            Some(error) => Err(Fault::new(INVALID_BSON, error)),
            None => command(self, &request),
        };
        Some(reply.unwrap_or_else(|fault| fault.reply()).into_document())
    }

    /// Bounds documents and messages.
    pub fn memory(&self) -> &Arc<Memory> {
        &self.store.memory
    }
}
