//! Cursors: what a find has not shown yet, between two messages.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::collection::{Collection, Stored};
use super::error::{CURSOR_IN_USE, CURSOR_NOT_FOUND, Fault, Outcome, QUERY_PLAN_KILLED};
use super::memory::{Memory, Share};
use super::plan::{Step, Walk};
use super::projection::Projection;
use super::raw::DOCUMENT_BYTES_MAX;
use super::text::uuid_text;

/// How long mongod keeps a cursor that nobody asks.
const IDLE: Duration = Duration::from_secs(600);
/// What an open cursor takes beside its documents, an upper bound.
const CURSOR_BYTES: u64 = 1024;
/// A filter as it is kept, against the request it stood in: values become keys of their own.
const FILTER_FACTOR: u64 = 4;
/// What a document takes in a list beside its bytes, an upper bound.
pub const SLOT_BYTES: u64 = 64;

/// What is left of an answer.
#[derive(Debug)]
pub struct Cursor {
    /// `database.collection`
    pub namespace: String,
    /// Where its documents come from.
    pub source: Source,
    /// What is shown of them.
    pub projection: Option<Projection>,
    /// Documents to leave out before the first.
    pub skip: u64,
    /// Documents to show, at most.
    pub limit: Option<u64>,
    /// It lives on at its end.
    pub tailable: bool,
    /// A getMore at its end waits.
    pub await_data: bool,
    /// It is never too old.
    pub no_timeout: bool,
    /// Documents it has shown.
    pub shown: u64,
    /// Of the request for it, which held the filter.
    pub request_bytes: u64,
}

/// Where documents come from.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Source {
    Walk(Arc<Collection>, Box<Walk>),
    /// Sorted or computed ones.
    Documents(VecDeque<Stored>),
}

/// A document to be shown: as it is stored, or as a projection made it.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Shown<'a> {
    Stored(&'a Stored),
    Made(Vec<u8>),
}

impl Shown<'_> {
    /// As it stands.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Stored(document) => document.bytes(),
            Self::Made(bytes) => bytes,
        }
    }
}

/// The documents of one answer, while they are collected.
struct Batch<'a> {
    projection: Option<&'a Projection>,
    skip: &'a mut u64,
    left: Option<u64>,
    max: u64,
    count: u64,
    bytes: usize,
    take: &'a mut dyn FnMut(Shown<'_>),
}

impl Batch<'_> {
    fn offer(&mut self, document: &Stored) -> Step {
        if self.count >= self.max || self.left == Some(0) {
            return Step::Leave;
        }
        if *self.skip > 0 {
            *self.skip -= 1;
            return Step::Go;
        }
        let shown = match self.projection {
            Some(projection) => Shown::Made(projection.apply(document.bytes())),
            None => Shown::Stored(document),
        };
        if self.count > 0 && self.bytes + shown.bytes().len() > DOCUMENT_BYTES_MAX {
            return Step::Leave;
        }
        self.bytes += shown.bytes().len();
        (self.take)(shown);
        self.count += 1;
        self.left = self.left.map(|left| left - 1);
        if self.count == self.max || self.left == Some(0) { Step::Pause } else { Step::Go }
    }
}

impl Cursor {
    /// A cursor over documents that are there already.
    pub fn over(namespace: String, documents: impl IntoIterator<Item = Stored>) -> Self {
        Self {
            namespace,
            source: Source::Documents(documents.into_iter().collect()),
            projection: None,
            skip: 0,
            limit: None,
            tailable: false,
            await_data: false,
            no_timeout: false,
            shown: 0,
            request_bytes: 0,
        }
    }

    /// Shows at most `max` documents and 16 MB. True: there is nothing more, ever.
    pub fn next_batch(&mut self, max: u64, take: &mut dyn FnMut(Shown<'_>)) -> Outcome<bool> {
        if max == 0 {
            return Ok(false);
        }
        let mut batch = Batch {
            projection: self.projection.as_ref(),
            skip: &mut self.skip,
            left: self.limit,
            max,
            count: 0,
            bytes: 0,
            take,
        };
        let ended = match &mut self.source {
            Source::Walk(collection, walk) => {
                let data = collection.read();
                if data.dropped {
                    let uuid = uuid_text(&collection.uuid);
                    let message = format!("collection dropped. UUID {uuid}");
                    return Err(Fault::new(QUERY_PLAN_KILLED, message));
                }
                walk.run(&data, &mut |_, document| batch.offer(document))?
            }
            Source::Documents(documents) => {
                while let Some(document) = documents.front() {
                    let step = batch.offer(document);
                    if step == Step::Leave {
                        break;
                    }
                    documents.pop_front();
                    if step == Step::Pause {
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

    /// What it takes when it is opened. Documents count although their collection counts them too:
    /// that may be dropped before it.
    fn bytes(&self) -> u64 {
        let documents = match &self.source {
            Source::Walk(..) => 0,
            Source::Documents(documents) => {
                documents.iter().map(|it| it.bytes().len() as u64 + SLOT_BYTES).sum()
            }
        };
        CURSOR_BYTES + FILTER_FACTOR * self.request_bytes + documents
    }

    /// What it takes besides by now.
    fn grown_bytes(&self) -> u64 {
        match &self.source {
            Source::Walk(_, walk) => walk.bytes(),
            Source::Documents(_) => 0,
        }
    }

    /// The collection it walks through.
    pub fn collection(&self) -> Option<Arc<Collection>> {
        match &self.source {
            Source::Walk(collection, _) => Some(Arc::clone(collection)),
            Source::Documents(_) => None,
        }
    }
}

/// The open cursors of all connections.
#[derive(Debug)]
pub struct Cursors {
    open: Mutex<HashMap<i64, Slot>>,
    count: AtomicU64,
    memory: Arc<Memory>,
}

#[derive(Debug)]
struct Slot {
    namespace: String,
    /// None: somebody asks it just now.
    cursor: Option<Box<Cursor>>,
    used: Instant,
    share: Share,
    /// Of the share: what it took when it was opened.
    opened_bytes: u64,
}

impl Cursors {
    /// None are open.
    pub fn new(memory: Arc<Memory>) -> Self {
        Self { open: Mutex::default(), count: AtomicU64::new(0), memory }
    }

    /// Memory for what a cursor is made of.
    pub fn share(&self) -> Share {
        Share::of(&self.memory)
    }

    /// Keeps a cursor and gives its id.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn keep(&self, cursor: Cursor) -> Outcome<i64> {
        // An odd multiplier goes through all numbers before one comes again: ids look random, as
        // drivers expect, and are never 0.
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let id = (count.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1).max(1).cast_signed();
        let now = Instant::now();
        let mut open = self.lock();
        // A client that leaves its cursors open does not fill the memory.
        if count.is_multiple_of(256) {
            open.retain(|_, slot| {
                let keeps = slot.cursor.as_ref().is_none_or(|cursor| cursor.no_timeout);
                keeps || now.duration_since(slot.used) < IDLE
            });
        }
        let (namespace, opened_bytes) = (cursor.namespace.clone(), cursor.bytes());
        let mut share = self.share();
        share.try_set(opened_bytes)?;
        let cursor = Some(Box::new(cursor));
        open.insert(id, Slot { namespace, cursor, used: now, share, opened_bytes });
        Ok(id)
    }

    /// Takes a cursor out for a getMore, which gives it back.
    pub fn take(&self, id: i64, namespace: &str) -> Outcome<Box<Cursor>> {
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
            return Err(Fault::new(super::error::UNAUTHORIZED, message));
        }
        slot.used = Instant::now();
        slot.cursor
            .take()
            .ok_or_else(|| Fault::new(CURSOR_IN_USE, format!("cursor id {id} is already in use")))
    }

    /// Gives a cursor back. One that was killed meanwhile is gone.
    ///
    /// # Errors
    /// There is no memory for what it has become; it is gone.
    pub fn give_back(&self, id: i64, cursor: Box<Cursor>) -> Outcome<()> {
        let mut open = self.lock();
        let Some(slot) = open.get_mut(&id) else { return Ok(()) };
        let kept = slot.share.try_set(slot.opened_bytes + cursor.grown_bytes());
        if kept.is_err() {
            open.remove(&id);
        } else {
            slot.cursor = Some(cursor);
        }
        kept
    }

    /// Ends a cursor. False: there is none.
    pub fn end(&self, id: i64) -> bool {
        self.lock().remove(&id).is_some()
    }

    /// Whether it is still open: a getMore that waits asks.
    pub fn is_open(&self, id: i64) -> bool {
        self.lock().contains_key(&id)
    }

    /// Cursors that are open.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<i64, Slot>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
