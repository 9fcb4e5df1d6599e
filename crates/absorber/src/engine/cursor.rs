//! Cursors: the rest of a find, between two messages.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use wire::raw::DOCUMENT_BYTES_MAX;

use super::fault::{
    CURSOR_IN_USE, CURSOR_KILLED, CURSOR_NOT_FOUND, Fallible, Fault, QUERY_PLAN_KILLED,
};
use super::memory_budget::{MemoryBudget, Share};
use super::projection::Projection;
use super::query_plan::{DocumentWalk, WalkStep};
use super::stored_collection::{StoredCollection, StoredDocument};

/// mongod's limit for a cursor without a getMore.
const IDLE: Duration = Duration::from_secs(600);
/// Upper bound of an open cursor's bytes beside its documents.
const CURSOR_BYTES: u64 = 1024;
/// Size of a kept filter by the size of its request: each value becomes a key.
const FILTER_FACTOR: u64 = 4;
/// Upper bound of a document's bytes in a list beside its content.
pub const SLOT_BYTES: u64 = 64;

/// The rest of an answer.
#[derive(Debug)]
pub struct Cursor {
    /// `database.collection`
    pub namespace: String,
    pub source: CursorSource,
    pub skip: u64,
    pub limit: Option<u64>,
    /// Projection; None if documents are shown as they are stored.
    pub projection: Option<Projection>,
    pub tailable: bool,
    pub await_data: bool,
    pub no_timeout: bool,
    pub shown: u64,
    /// Size of the request, which contained the filter.
    pub request_bytes: u64,
}

#[derive(Debug)]
pub enum CursorSource {
    Walk(Arc<StoredCollection>, Box<DocumentWalk>),
    /// Documents that were sorted or computed.
    Documents(VecDeque<StoredDocument>),
}

/// The documents of one answer, while they are collected.
struct CursorBatch<'a> {
    skip: &'a mut u64,
    left: Option<u64>,
    projection: Option<&'a Projection>,
    max: u64,
    count: u64,
    bytes: usize,
    take: &'a mut dyn FnMut(&StoredDocument),
}

impl CursorBatch<'_> {
    fn offer(&mut self, document: &StoredDocument) -> WalkStep {
        if self.count >= self.max || self.left == Some(0) {
            return WalkStep::Leave;
        }
        if *self.skip > 0 {
            *self.skip -= 1;
            return WalkStep::Go;
        }
        let projected = self.projection.map(|projection| projection.of(document));
        let document = projected.as_ref().unwrap_or(document);
        if self.count > 0 && self.bytes + document.bytes().len() > DOCUMENT_BYTES_MAX {
            return WalkStep::Leave;
        }
        self.bytes += document.bytes().len();
        (self.take)(document);
        self.count += 1;
        self.left = self.left.map(|left| left - 1);
        if self.count == self.max || self.left == Some(0) { WalkStep::Pause } else { WalkStep::Go }
    }
}

impl Cursor {
    /// A cursor over existing documents.
    pub fn over(namespace: String, documents: impl IntoIterator<Item = StoredDocument>) -> Self {
        Self {
            namespace,
            source: CursorSource::Documents(documents.into_iter().collect()),
            skip: 0,
            limit: None,
            projection: None,
            tailable: false,
            await_data: false,
            no_timeout: false,
            shown: 0,
            request_bytes: 0,
        }
    }

    /// Shows at most `max` documents and 16 MB. True: there is nothing more, ever.
    pub fn next_batch(
        &mut self,
        max: u64,
        take: &mut dyn FnMut(&StoredDocument),
    ) -> Fallible<bool> {
        if max == 0 {
            return Ok(false);
        }
        let mut batch = CursorBatch {
            skip: &mut self.skip,
            left: self.limit,
            projection: self.projection.as_ref(),
            max,
            count: 0,
            bytes: 0,
            take,
        };
        let ended = match &mut self.source {
            CursorSource::Walk(collection, walk) => {
                let data = collection.read();
                if data.dropped {
                    let message = format!("collection {} dropped", self.namespace);
                    return Err(Fault::new(QUERY_PLAN_KILLED, message));
                }
                walk.run(&data, &mut |_, document| batch.offer(document))?
            }
            CursorSource::Documents(documents) => {
                while let Some(document) = documents.front() {
                    let step = batch.offer(document);
                    if step == WalkStep::Leave {
                        break;
                    }
                    documents.pop_front();
                    if step == WalkStep::Pause {
                        break;
                    }
                }
                documents.is_empty()
            }
        };
        self.shown += batch.count;
        self.limit = batch.left;
        Ok((ended || self.limit == Some(0)) && !self.tailable)
    }

    /// Size when the cursor is opened. Documents count although their collection counts them too,
    /// because the collection may be dropped first.
    fn bytes(&self) -> u64 {
        let documents = match &self.source {
            CursorSource::Walk(..) => 0,
            CursorSource::Documents(documents) => {
                documents.iter().map(|it| it.bytes().len() as u64 + SLOT_BYTES).sum()
            }
        };
        CURSOR_BYTES + FILTER_FACTOR * self.request_bytes + documents
    }

    pub fn collection(&self) -> Option<Arc<StoredCollection>> {
        match &self.source {
            CursorSource::Walk(collection, _) => Some(Arc::clone(collection)),
            CursorSource::Documents(_) => None,
        }
    }
}

#[derive(Debug)]
pub struct Cursors {
    open: Mutex<HashMap<i64, Slot>>,
    count: AtomicU64,
    memory: Arc<MemoryBudget>,
}

#[derive(Debug)]
struct Slot {
    namespace: String,
    /// The cursor; None while a getMore has it.
    cursor: Option<Box<Cursor>>,
    used: Instant,
    /// Given back with the slot.
    _share: Share,
}

impl Cursors {
    pub fn new(memory: Arc<MemoryBudget>) -> Self {
        Self { open: Mutex::default(), count: AtomicU64::new(0), memory }
    }

    pub fn share(&self) -> Share {
        Share::of(&self.memory)
    }

    pub fn keep(&self, cursor: Cursor) -> Fallible<i64> {
        // An odd multiplier reaches all numbers before one repeats. Ids look random, as drivers
        // expect, and are never 0.
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let id = (count.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1).max(1).cast_signed();
        let now = Instant::now();
        let mut open = self.lock();
        // A client that leaves its cursors open must not fill the memory.
        if count.is_multiple_of(256) {
            open.retain(|_, slot| {
                let keeps = slot.cursor.as_ref().is_none_or(|cursor| cursor.no_timeout);
                keeps || now.duration_since(slot.used) < IDLE
            });
        }
        let namespace = cursor.namespace.clone();
        let mut share = self.share();
        share.add(cursor.bytes())?;
        let cursor = Some(Box::new(cursor));
        open.insert(id, Slot { namespace, cursor, used: now, _share: share });
        Ok(id)
    }

    /// Takes a cursor out for a getMore, which gives it back.
    pub fn take(&self, id: i64, namespace: &str) -> Fallible<Box<Cursor>> {
        let mut open = self.lock();
        let Some(slot) = open.get_mut(&id) else {
            return Err(Fault::new(CURSOR_NOT_FOUND, format!("cursor id {id} not found")));
        };
        if slot.namespace != namespace {
            let message = format!(
                "Requested getMore on namespace '{namespace}', but cursor belongs to a different \
                 namespace {}",
                slot.namespace
            );
            return Err(Fault::new(super::fault::UNAUTHORIZED, message));
        }
        slot.used = Instant::now();
        slot.cursor
            .take()
            .ok_or_else(|| Fault::new(CURSOR_IN_USE, format!("cursor id {id} is already in use")))
    }

    /// Gives a cursor back. One that was killed meanwhile is gone.
    pub fn give_back(&self, id: i64, cursor: Box<Cursor>) {
        if let Some(slot) = self.lock().get_mut(&id) {
            slot.cursor = Some(cursor);
        }
    }

    /// Returns a batch of an open cursor, made by `fill`, and whether the cursor has ended. An
    /// empty cursor that awaits data waits for it. A cursor that failed cannot go on.
    ///
    /// # Errors
    /// The cursor was killed meanwhile, or `fill` failed.
    pub fn fill<T>(
        &self,
        id: i64,
        cursor: &mut Cursor,
        wait: Duration,
        client_is_there: &dyn Fn() -> bool,
        mut fill: impl FnMut(&mut Cursor) -> Fallible<(T, bool)>,
    ) -> Fallible<(T, bool)> {
        let shown = cursor.shown;
        let mut batch = fill(cursor);
        if let Some(collection) = cursor.collection().filter(|_| cursor.await_data)
            && cursor.shown == shown
            && matches!(batch, Ok((_, false)))
        {
            collection.wait_until(Instant::now() + wait, client_is_there, || {
                batch = fill(cursor);
                cursor.shown > shown || batch.is_err() || !self.is_open(id)
            });
        }
        if !matches!(batch, Ok((_, false))) {
            self.end(id);
        } else if !self.is_open(id) {
            // New documents are not returned: the client would never learn that its cursor was
            // killed.
            return Err(Fault::new(CURSOR_KILLED, format!("cursor id {id} was killed")));
        }
        batch
    }

    /// Ends a cursor. False: it does not exist.
    pub fn end(&self, id: i64) -> bool {
        self.lock().remove(&id).is_some()
    }

    fn is_open(&self, id: i64) -> bool {
        self.lock().contains_key(&id)
    }

    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<i64, Slot>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
