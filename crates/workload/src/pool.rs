//! A collection's pool: documents that are inserted over and over, at most 16 MiB of them.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use bson::Document;

use super::document::{Layout, SizeError, size};
use super::plan::{Collection, Plan};
use super::population::Population;
use super::random::{Random, guid_of};
use super::stamp::{self, Input, StampError};

/// Bytes of a pool, at most (SPEC section 4).
pub const POOL_BYTES_MAX: u64 = 16 << 20;
/// Bytes of a pool in all processes of an arm, at most.
const PROCESSES_BYTES_MAX: u64 = 256 << 20;
/// Documents of a pool, at most: enough that neither server nor compression see a pattern.
pub const POOL_DOCUMENTS_MAX: usize = 10_000;

/// The wall clock in loaded documents, 2026-01-01: data sets are equal.
const LOADED_TIME_MS: u64 = 1_767_225_600_000;

/// Documents of one collection before stamping.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pool {
    documents: Vec<Document>,
    /// BSON size of each.
    sizes: Vec<u64>,
}

impl Pool {
    /// Takes documents until the pool is full; empty where the first one does not fit.
    pub fn of(documents: impl IntoIterator<Item = Document>) -> Self {
        let mut pool = Self::default();
        let mut bytes = 0;
        for document in documents.into_iter().take(POOL_DOCUMENTS_MAX) {
            let size = size(&document);
            bytes += size;
            if bytes > POOL_BYTES_MAX {
                break;
            }
            pool.documents.push(document);
            pool.sizes.push(size);
        }
        pool
    }

    pub fn generate(layout: &Layout, seed: u64, collection: &str) -> Result<Self, SizeError> {
        let mut error = None;
        let random = Random::new(seed, collection, &[]);
        let documents = (0..).map_while(|number| match layout.make(&random, number) {
            Ok(document) => Some(document),
            Err(wrong) => {
                error = Some(wrong);
                None
            }
        });
        let pool = Self::of(documents);
        error.map_or(Ok(pool), Err)
    }

    /// Gives up what would be too much where so many processes have a pool each.
    pub fn fit(&mut self, processes: u32) {
        let most = PROCESSES_BYTES_MAX / u64::from(processes.max(1));
        let mut bytes = 0;
        let fits = |size: &&u64| {
            bytes += **size;
            bytes <= most
        };
        let count = self.sizes.iter().take_while(fits).count().max(1);
        self.documents.truncate(count);
        self.sizes.truncate(count);
    }

    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// Mean and largest BSON size.
    pub fn sizes(&self) -> (f64, u64) {
        let total: u64 = self.sizes.iter().sum();
        let mean = total as f64 / self.sizes.len().max(1) as f64;
        (mean, self.sizes.iter().max().copied().unwrap_or(0))
    }

    /// Writes the pool as mongodump does: one document after another. The documents may be the
    /// user's own, whose file others may not read: neither may they read this one.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = File::options();
        let file = file.write(true).create(true).truncate(true).mode(0o600);
        let mut file = BufWriter::new(file.open(path)?);
        for document in &self.documents {
            file.write_all(&stamp::encode(document))?;
        }
        file.flush()
    }

    pub fn read(path: &Path) -> io::Result<Self> {
        let mut file = BufReader::new(File::open(path)?);
        let documents = read_documents(&mut file, u64::MAX)?;
        let sizes = documents.iter().map(size).collect();
        Ok(Self { documents, sizes })
    }
}

/// Reads BSON documents until the end or until so many bytes are taken.
pub fn read_documents(file: &mut impl Read, bytes_max: u64) -> io::Result<Vec<Document>> {
    let mut documents = Vec::new();
    let mut taken = 0;
    loop {
        let mut header = [0; 4];
        let mut got = 0;
        while got < 4 {
            match file.read(&mut header[got..])? {
                0 if got == 0 => return Ok(documents),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => got += count,
            }
        }
        let length = u64::from(u32::from_le_bytes(header));
        if !(5..=POOL_BYTES_MAX + 16_384).contains(&length) {
            let message = format!("document {} says it has {length} bytes", documents.len());
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        taken += length;
        if taken > bytes_max && !documents.is_empty() {
            return Ok(documents);
        }
        let mut bytes = header.to_vec();
        bytes.resize(length as usize, 0);
        file.read_exact(&mut bytes[4..])?;
        let document = Document::from_reader(&bytes[..]).map_err(|error| {
            let message = format!("document {}: {error}", documents.len());
            io::Error::new(io::ErrorKind::InvalidData, message)
        })?;
        documents.push(document);
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
    let missing = || StampError::NoSuchPath("an empty pool".to_owned());
    let index = number % pool.documents.len().max(1) as u64;
    let mut document = pool.documents.get(index as usize).cloned().ok_or_else(missing)?;
    stamp::apply(&mut document, &collection.stamps, input)?;
    Ok(document)
}
