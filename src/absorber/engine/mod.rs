//! Documents in memory, bounded, and the commands on them.

use std::ops::Deref;
use std::sync::Arc;

use bson::{RawBson, RawDocument, RawDocumentBuf};

use crate::wire;

/// What the engine may use.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Bytes of documents and of index entries, all collections together.
    pub memory_bytes: u64,
}

/// Databases, collections and cursors; shared by all connections.
#[derive(Debug)]
pub struct Engine {
    options: Options,
}

/// A stored document, shared with whoever reads it.
#[derive(Debug, Clone)]
pub struct Stored(Arc<[u8]>);

impl Deref for Stored {
    type Target = RawDocument;

    fn deref(&self) -> &RawDocument {
        RawDocument::from_bytes(&self.0).expect("checked when it was stored")
    }
}

/// What OP_REPLY carries.
#[derive(Debug)]
pub struct LegacyBatch {
    /// See [`wire::reply`].
    pub flags: u32,
    /// 0: nothing more to get.
    pub cursor: i64,
    /// Documents that this cursor gave before.
    pub starting_from: i32,
    /// The batch.
    pub documents: Vec<Stored>,
}

/// What a legacy write did, for getLastError.
#[derive(Debug, Default)]
pub struct WriteOutcome {
    /// Documents matched or deleted; 0 for inserts, as mongod says it.
    pub n: i64,
    /// An update found a document.
    pub updated_existing: bool,
    /// `_id` of the document that an upsert made.
    pub upserted: Option<RawBson>,
    /// Code and message.
    pub error: Option<(i32, String)>,
}

impl Engine {
    /// An empty engine.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options }
    }

    /// Answers one command. None: there is no such command (error 59).
    #[must_use]
    pub fn command(
        &self,
        database: &str,
        body: &RawDocument,
        sequences: &[(&str, Vec<&RawDocument>)],
    ) -> Option<RawDocumentBuf> {
        let _ = (self.options, database, body, sequences);
        None
    }

    /// OP_QUERY on a collection.
    #[must_use]
    pub fn legacy_find(&self, query: &wire::request::Query<'_>) -> LegacyBatch {
        let _ = query;
        LegacyBatch { flags: 0, cursor: 0, starting_from: 0, documents: Vec::new() }
    }

    /// OP_GET_MORE.
    #[must_use]
    pub fn legacy_get_more(
        &self,
        namespace: &str,
        number_to_return: i32,
        cursor: i64,
    ) -> LegacyBatch {
        let _ = (namespace, number_to_return, cursor);
        LegacyBatch { flags: 0, cursor: 0, starting_from: 0, documents: Vec::new() }
    }

    /// OP_INSERT.
    #[must_use]
    pub fn legacy_insert(
        &self,
        flags: u32,
        namespace: &str,
        documents: &[&RawDocument],
    ) -> WriteOutcome {
        let _ = (flags, namespace, documents);
        WriteOutcome::default()
    }

    /// OP_UPDATE.
    #[must_use]
    pub fn legacy_update(
        &self,
        flags: u32,
        namespace: &str,
        filter: &RawDocument,
        update: &RawDocument,
    ) -> WriteOutcome {
        let _ = (flags, namespace, filter, update);
        WriteOutcome::default()
    }

    /// OP_DELETE.
    #[must_use]
    pub fn legacy_delete(&self, flags: u32, namespace: &str, filter: &RawDocument) -> WriteOutcome {
        let _ = (flags, namespace, filter);
        WriteOutcome::default()
    }

    /// OP_KILL_CURSORS.
    pub fn kill_cursors(&self, cursors: &[i64]) {
        let _ = cursors;
    }
}
