//! A collection's pool: documents that are inserted over and over, at most 16 MiB of them.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use bson::{Document, RawDocumentBuf};

use super::document::{Layout, SizeError, size};
use crate::plan::{Collection, Plan};
use crate::replay::population::Population;
use crate::replay::random::{Random, guid_of};
use crate::replay::stamp::{self, Input, StampError};

/// Bytes of a pool, at most (SPEC section 4).
pub const POOL_BYTES_MAX: u64 = 16 << 20;
/// Bytes of a pool in all processes of an arm, at most.
const PROCESSES_BYTES_MAX: u64 = 256 << 20;
/// Documents of a pool, at most: enough that neither server nor compression see a pattern.
pub const POOL_DOCUMENTS_MAX: usize = 10_000;
/// Documents of all pools of a workload, which are all made once to know their sizes.
const POOLS_DOCUMENTS_MAX: usize = 1_000_000;

/// The wall clock in loaded documents, 2026-01-01: data sets are equal.
pub const LOADED_TIME_MS: u64 = 1_767_225_600_000;

/// Documents of a pool, at most, in a workload of so many collections.
pub fn documents_max(collections: usize) -> usize {
    (POOLS_DOCUMENTS_MAX / collections.max(1)).clamp(1, POOL_DOCUMENTS_MAX)
}

/// Documents of one collection before stamping, each made when it is asked for: a workload may have
/// thousands of collections, and their documents would not fit memory together.
#[derive(Debug, Clone)]
pub struct Pool {
    source: PoolSource,
    count: usize,
    /// BSON size of all.
    bytes: u64,
    /// BSON size of the largest.
    bytes_max: u64,
}

#[derive(Debug, Clone)]
enum PoolSource {
    Made(Arc<(Layout, Random)>),
    /// The user's own.
    Given(Arc<[RawDocumentBuf]>),
}

impl Pool {
    /// Takes documents until the pool is full; empty where the first one does not fit.
    pub fn of(documents: impl IntoIterator<Item = RawDocumentBuf>) -> Self {
        let mut pool = Self::new(PoolSource::Given([].into()));
        let taken = documents.into_iter().take_while(|it| pool.takes(it.as_bytes().len() as u64));
        let taken: Vec<_> = taken.collect();
        pool.source = PoolSource::Given(taken.into());
        pool
    }

    /// Makes as many documents as fit the pool, at most `documents_max`.
    pub fn generate(
        layout: Layout,
        seed: u64,
        collection: &str,
        documents_max: usize,
    ) -> Result<Self, SizeError> {
        let made = Arc::new((layout, Random::new(seed, collection, &[])));
        let mut pool = Self::new(PoolSource::Made(Arc::clone(&made)));
        let (layout, random) = &*made;
        let first = size(&layout.make(random, 0)?);
        let has_one_size = layout.has_one_size();
        for number in 0..documents_max as u64 {
            let bytes = if has_one_size { first } else { size(&layout.make(random, number)?) };
            if !pool.takes(bytes) {
                break;
            }
        }
        Ok(pool)
    }

    fn new(source: PoolSource) -> Self {
        Self { source, count: 0, bytes: 0, bytes_max: 0 }
    }

    /// Counts a document of so many bytes; false where the pool has no room for it.
    fn takes(&mut self, bytes: u64) -> bool {
        let has_room = self.count < POOL_DOCUMENTS_MAX && self.bytes + bytes <= POOL_BYTES_MAX;
        if has_room {
            self.count += 1;
            self.bytes += bytes;
            self.bytes_max = self.bytes_max.max(bytes);
        }
        has_room
    }

    /// Gives up what would be too much where so many processes have a pool each.
    pub fn fit(&mut self, processes: u32) {
        let most = PROCESSES_BYTES_MAX / u64::from(processes.max(1));
        if self.bytes <= most {
            return;
        }
        let whole = self.clone();
        (self.count, self.bytes, self.bytes_max) = (0, 0, 0);
        for bytes in whole.documents().map(|it| size(&it)) {
            if self.count > 0 && self.bytes + bytes > most || !self.takes(bytes) {
                break;
            }
        }
    }

    /// BSON size of all documents.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many documents it has.
    pub fn count(&self) -> usize {
        self.count
    }

    /// # Panics
    /// On a number that the pool does not have.
    pub fn document(&self, number: usize) -> Document {
        assert!(number < self.count, "document {number} of a pool of {}", self.count);
        match &self.source {
            PoolSource::Made(made) => {
                let (layout, random) = &**made;
                layout.make(random, number as u64).expect("it was made before, to count its bytes")
            }
            PoolSource::Given(documents) => {
                Document::try_from(&*documents[number]).expect("it was encoded here")
            }
        }
    }

    pub fn documents(&self) -> impl Iterator<Item = Document> {
        (0..self.count).map(|number| self.document(number))
    }

    /// Mean and largest BSON size.
    pub fn sizes(&self) -> (f64, u64) {
        (self.bytes as f64 / self.count.max(1) as f64, self.bytes_max)
    }

    /// Writes the pool as mongodump does: one document after another. The documents may be the
    /// user's own, whose file others may not read: neither may they read this one.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = File::options();
        let file = file.write(true).create(true).truncate(true).mode(0o600);
        let mut file = BufWriter::new(file.open(path)?);
        for document in self.documents() {
            file.write_all(&stamp::encode(&document))?;
        }
        file.flush()
    }
}

/// The loaded document of a key: what the core loads, and what must be found.
pub fn document_for_key(
    collection: &Collection,
    pool: &Pool,
    seed: u64,
    key: u64,
) -> Result<Document, StampError> {
    let input = Input {
        key,
        guid: guid_of(seed, key),
        sequence: key,
        time_ms: LOADED_TIME_MS,
        ..Input::default()
    };
    stamped(collection, pool, key, &input)
}

/// The document that a counted phase has inserted with a key. Sequence, producer and clocks are 0
/// in it, for the core does not know them.
pub fn inserted_document(
    plan: &Plan,
    phase: usize,
    collection: &Collection,
    pool: &Pool,
    key: u64,
) -> Result<Document, StampError> {
    let found = Population::after(plan, phase, collection).inserted(key);
    let (guid, number) = found.ok_or(StampError::NotInserted(key))?;
    // The guid is final: nothing moves it on.
    stamped(collection, pool, number, &Input { key, guid, ..Input::default() })
}

fn stamped(
    collection: &Collection,
    pool: &Pool,
    number: u64,
    input: &Input,
) -> Result<Document, StampError> {
    let mut document = pool.document((number % pool.count() as u64) as usize);
    stamp::apply(&mut document, &collection.stamps, input)?;
    Ok(document)
}
