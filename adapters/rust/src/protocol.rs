//! The contract's formats: messages, schedule, samples.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::documents::{Input, Stamp};
use crate::errors::Failure;

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message {
    Hello {
        protocol: u32,
        epoch_ns: String,
    },
    Clock,
    Open {
        clients: Vec<Target>,
        deal: Deal,
        database: String,
    },
    /// A worker's or a consumer's.
    Prepare(Value),
    Turn {
        until_ns: u64,
    },
    End,
    Close,
    Render {
        #[serde(deserialize_with = "hex::deserialize")]
        template: Vec<u8>,
        stamps: Vec<Stamp>,
        input: Input,
    },
}

/// The driver parses the URI: its parts are for others.
#[derive(Deserialize)]
pub struct Target {
    pub uri: String,
}

/// How operations are dealt to clients.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deal {
    #[default]
    Worker,
    Operation,
}

/// Parses one line, into a map first: serde alone would accept `[1]` as the second message.
pub fn parse(line: &[u8]) -> Result<Message, Failure> {
    let fields: Map<String, Value> = serde_json::from_slice(line).map_err(Failure::protocol)?;
    Message::deserialize(Value::Object(fields)).map_err(Failure::protocol)
}

/// The schedule file, kept as bytes. A record is decoded when it is taken: decoded ones would need
/// twice the memory.
pub struct Schedule {
    bytes: Vec<u8>,
    record_bytes: usize,
    slice_records: u64,
    pub slices: usize,
    lap_ns: u64,
    lap_step: u64,
}

pub struct Record {
    pub intended_ns: u64,
    pub key: i64,
    /// What its lap adds to key and guid.
    pub shift: u64,
    pub document: usize,
    pub count: u32,
    pub operation: usize,
    pub guid: [u8; 16],
}

const HEADER_BYTES: usize = 32;

impl Schedule {
    pub fn read(path: &Path, lap_step: u64) -> Result<Schedule, Failure> {
        let wrong = |what: &str| Failure::internal(format!("{}: {what}", path.display()));
        let bytes = fs::read(path).map_err(|error| wrong(&error.to_string()))?;
        if bytes.len() < HEADER_BYTES || !bytes.starts_with(b"MDYNSCH2") {
            return Err(wrong("no schedule"));
        }
        let [record_bytes, records, slices, parts] =
            [8, 12, 16, 20].map(|offset| u32_at(&bytes, offset) as usize);
        if bytes.len() != HEADER_BYTES + (records + parts) * record_bytes {
            return Err(wrong("header and length do not agree"));
        }
        let (slice_records, lap_ns) = ((records / slices) as u64, u64_at(&bytes, 24));
        Ok(Schedule { bytes, record_bytes, slice_records, slices, lap_ns, lap_step })
    }

    pub fn is_empty(&self) -> bool {
        self.slice_records == 0
    }

    /// The `number`th operation of a slice, counted across laps.
    pub fn record(&self, slice: usize, number: u64) -> Record {
        let lap = number / self.slice_records;
        let position = slice as u64 * self.slice_records + number % self.slice_records;
        let offset = HEADER_BYTES + position as usize * self.record_bytes;
        let bytes = &self.bytes[offset..offset + self.record_bytes];
        let mut guid = [0; 16];
        if let Some(found) = bytes.get(32..48) {
            guid.copy_from_slice(found);
        }
        Record {
            intended_ns: u64_at(bytes, 0) + lap * self.lap_ns,
            key: u64_at(bytes, 8) as i64,
            shift: if bytes[25] & 1 == 1 { lap * self.lap_step } else { 0 },
            document: u32_at(bytes, 16) as usize,
            count: u32_at(bytes, 20),
            operation: usize::from(bytes[24]),
            guid,
        }
    }
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("4 bytes"))
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("8 bytes"))
}

pub struct Sample {
    pub intended_ns: u64,
    pub start_ns: u64,
    pub service_ns: u64,
    pub index: u32,
    pub operation: u8,
    pub outcome: u8,
    pub worker: u16,
}

const SAMPLE_BYTES: usize = 32;
const BUFFER_BYTES: usize = 32_768 * SAMPLE_BYTES;
/// A buffer that has waited so long is written, so that the core sees what goes on.
const WAIT_NS: u64 = 1_000_000_000;

impl Sample {
    fn bytes(&self) -> [u8; SAMPLE_BYTES] {
        let mut bytes = [0; SAMPLE_BYTES];
        bytes[0..8].copy_from_slice(&self.intended_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.start_ns.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.service_ns.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.index.to_le_bytes());
        bytes[28] = self.operation;
        bytes[29] = self.outcome;
        bytes[30..32].copy_from_slice(&self.worker.to_le_bytes());
        bytes
    }
}

/// One worker's buffer in front of the file that all workers of the process share.
pub struct Samples {
    buffer: Vec<u8>,
    written_ns: u64,
    file: Arc<Mutex<File>>,
}

impl Samples {
    /// The file that several buffers share.
    pub fn create(path: &Path) -> Result<Arc<Mutex<File>>, Failure> {
        let file = File::create(path);
        let file =
            file.map_err(|error| Failure::internal(format!("{}: {error}", path.display())))?;
        Ok(Arc::new(Mutex::new(file)))
    }

    pub fn new(file: &Arc<Mutex<File>>) -> Samples {
        let buffer = Vec::with_capacity(BUFFER_BYTES);
        Samples { buffer, written_ns: 0, file: Arc::clone(file) }
    }

    /// A turn begins: nothing has waited yet.
    pub fn begin(&mut self, now_ns: u64) {
        self.written_ns = now_ns;
    }

    pub fn push(&mut self, sample: &Sample) -> io::Result<()> {
        self.buffer.extend_from_slice(&sample.bytes());
        let end_ns = sample.start_ns + sample.service_ns;
        // A burst's samples do not come in the order of time.
        if self.buffer.len() < BUFFER_BYTES && end_ns.saturating_sub(self.written_ns) < WAIT_NS {
            return Ok(());
        }
        self.written_ns = end_ns;
        // While this thread writes, its other tasks move to another thread.
        tokio::task::block_in_place(|| self.flush())
    }

    pub fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut file = self.file.lock().map_err(|_| io::Error::other("a writer panicked"))?;
        file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}
