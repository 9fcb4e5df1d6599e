//! A collection: records in the order of their insertion, its indexes, its bounds.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use bson::RawDocument;

use super::fault::{Fallible, Fault};
use super::index::OrderedIndex;
use super::key_encoding::Key;
use super::memory_budget::MemoryBudget;

/// Upper bound of a record's bytes beside its content: its place in the tree and its counters.
const RECORD_BYTES: u64 = 64;
/// How often a waiting cursor checks that its client is still there.
const CLIENT_LOOK: Duration = Duration::from_millis(200);

/// A stored document, shared with its readers.
#[derive(Debug, Clone)]
pub struct StoredDocument(Arc<[u8]>);

impl StoredDocument {
    /// The bytes of a checked document.
    pub(super) fn new(document: &[u8]) -> Self {
        Self(document.into())
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Deref for StoredDocument {
    type Target = RawDocument;

    fn deref(&self) -> &RawDocument {
        RawDocument::from_bytes(&self.0).expect("checked when it was stored")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CappedLimits {
    pub size: u64,
    /// Maximum number of documents.
    pub max: Option<u64>,
}

#[derive(Debug)]
pub struct StoredCollection {
    /// `database.collection`
    pub namespace: String,
    /// Limits of a capped collection; None if it grows.
    pub capped: Option<CappedLimits>,
    /// Value in BSON, chosen when the collection is created.
    pub uuid: Vec<u8>,
    memory: Arc<MemoryBudget>,
    data: RwLock<Data>,
    tail: TailWaiters,
}

/// Cursors that wait for the next document.
#[derive(Debug, Default)]
struct TailWaiters {
    waiting: AtomicU32,
    lock: Mutex<()>,
    inserted: Condvar,
}

#[derive(Debug)]
pub struct Data {
    /// Documents by number, which is the order of insertion.
    pub records: BTreeMap<u64, StoredDocument>,
    pub bytes: u64,
    /// Indexes; the first one is that of `_id`.
    pub indexes: Vec<OrderedIndex>,
    /// Whether it was dropped: only operations that found it before still see it.
    pub dropped: bool,
    next: u64,
}

impl StoredCollection {
    pub fn new(namespace: String, capped: Option<CappedLimits>, memory: Arc<MemoryBudget>) -> Self {
        let data = Data {
            records: BTreeMap::new(),
            bytes: 0,
            indexes: vec![OrderedIndex::of_id()],
            dropped: false,
            next: 1,
        };
        let uuid = [&[16, 0, 0, 0, 4][..], &bson::Uuid::new().bytes()].concat();
        let (data, tail) = (RwLock::new(data), TailWaiters::default());
        Self { namespace, capped, uuid, memory, data, tail }
    }

    /// Locks the data for reading. A panic elsewhere left nothing half done that would disturb a
    /// reader.
    pub fn read(&self) -> RwLockReadGuard<'_, Data> {
        self.data.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn write(&self) -> RwLockWriteGuard<'_, Data> {
        self.data.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn insert(&self, data: &mut Data, document: StoredDocument) -> Fallible<()> {
        let mut keys = Vec::with_capacity(data.indexes.len());
        let mut bytes = document.bytes().len() as u64 + RECORD_BYTES;
        for index in &data.indexes {
            let key = index.key(document.bytes())?;
            if index.is_taken(&key, None) {
                return Err(index.duplicate(&self.namespace, document.bytes()));
            }
            bytes += index.bytes_of(&key);
            keys.push(key);
        }
        if let Some(capped) = self.capped {
            self.make_room(data, capped, document.bytes().len() as u64)?;
        }
        self.memory.take(bytes)?;
        let record = data.next;
        data.next += 1;
        for (index, key) in data.indexes.iter_mut().zip(keys) {
            index.insert(key, record);
        }
        data.bytes += document.bytes().len() as u64;
        data.records.insert(record, document);
        Ok(())
    }

    /// Removes the oldest documents of a capped collection until one more fits.
    fn make_room(&self, data: &mut Data, capped: CappedLimits, bytes: u64) -> Fallible<()> {
        if bytes > capped.size {
            return Err(Fault::bad_value("object to insert exceeds cappedMaxSize"));
        }
        let full = |data: &Data| {
            data.bytes + bytes > capped.size
                || capped.max.is_some_and(|max| data.records.len() as u64 >= max)
        };
        while full(data) {
            let Some((&oldest, _)) = data.records.first_key_value() else { break };
            self.remove(data, oldest);
        }
        Ok(())
    }

    /// Replaces a document by another with the same `_id`.
    pub fn replace(&self, data: &mut Data, record: u64, document: StoredDocument) -> Fallible<()> {
        let Some(old) = data.records.get(&record).cloned() else { return Ok(()) };
        let mut changed: Vec<(usize, Key, Key)> = Vec::new();
        let mut grown = document.bytes().len() as u64;
        let mut shrunk = old.bytes().len() as u64;
        // The first index is that of `_id`, which stays.
        for (place, index) in data.indexes.iter().enumerate().skip(1) {
            let (before, after) = (index.key(old.bytes())?, index.key(document.bytes())?);
            if before == after {
                continue;
            }
            if index.is_taken(&after, Some(record)) {
                return Err(index.duplicate(&self.namespace, document.bytes()));
            }
            grown += index.bytes_of(&after);
            shrunk += index.bytes_of(&before);
            changed.push((place, before, after));
        }
        if grown > shrunk {
            self.memory.take(grown - shrunk)?;
        } else {
            self.memory.give_back(shrunk - grown);
        }
        for (place, before, after) in changed {
            data.indexes[place].remove(before, record);
            data.indexes[place].insert(after, record);
        }
        data.bytes = data.bytes + document.bytes().len() as u64 - old.bytes().len() as u64;
        data.records.insert(record, document);
        Ok(())
    }

    pub fn remove(&self, data: &mut Data, record: u64) -> Option<StoredDocument> {
        let document = data.records.remove(&record)?;
        let mut bytes = document.bytes().len() as u64 + RECORD_BYTES;
        for index in &mut data.indexes {
            // It had a key when it was inserted.
            let key = index.key(document.bytes()).unwrap_or_default();
            bytes += index.bytes_of(&key);
            index.remove(key, record);
        }
        data.bytes -= document.bytes().len() as u64;
        self.memory.give_back(bytes);
        Some(document)
    }

    pub fn add_index(&self, data: &mut Data, mut index: OrderedIndex) -> Fallible<()> {
        for (record, document) in &data.records {
            let key = index.key(document.bytes())?;
            if index.is_taken(&key, None) {
                return Err(index.duplicate(&self.namespace, document.bytes()));
            }
            index.insert(key, *record);
        }
        self.memory.take(index.bytes)?;
        data.indexes.push(index);
        Ok(())
    }

    /// Gives its memory back; cursors on it find it dead.
    pub fn drop_all(&self) {
        let mut data = self.write();
        let indexes: u64 = data.indexes.iter().map(|index| index.bytes).sum();
        self.memory.give_back(indexes + data.bytes + RECORD_BYTES * data.records.len() as u64);
        data.dropped = true;
        data.records.clear();
        data.bytes = 0;
        data.indexes = vec![OrderedIndex::of_id()];
        drop(data);
        self.wake();
    }

    /// Wakes the cursors that wait for a document.
    pub fn wake(&self) {
        if self.tail.waiting.load(Ordering::SeqCst) > 0 {
            // A cursor that looked before the insert and does not wait yet holds the lock.
            drop(self.tail.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.tail.inserted.notify_all();
        }
    }

    /// Looks again after every insert, until `look` returns true, the time is up or the client has
    /// gone.
    pub fn wait_until(
        &self,
        deadline: Instant,
        client_is_there: &dyn Fn() -> bool,
        mut look: impl FnMut() -> bool,
    ) {
        self.tail.waiting.fetch_add(1, Ordering::SeqCst);
        let mut guard = self.tail.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while !look() && client_is_there() {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else { break };
            let woken = self.tail.inserted.wait_timeout(guard, left.min(CLIENT_LOOK));
            guard = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(guard);
        self.tail.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
