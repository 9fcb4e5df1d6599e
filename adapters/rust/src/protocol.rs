//! The contract's formats: messages, keys, schedule, samples.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::documents::{Input, Template};
use crate::errors::Failure;

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message {
    Hello {
        protocol: Versions,
        epoch_ns: String,
    },
    Clock,
    Open {
        uri: String,
        database: String,
        role: String,
    },
    Prepare(Box<Prepare>),
    Turn {
        start_ns: u64,
        until_ns: u64,
    },
    End,
    Close,
    Render {
        #[serde(flatten)]
        template: Template,
        input: Input,
    },
}

#[derive(Deserialize)]
pub struct Versions {
    pub min: u32,
    pub max: u32,
}

#[derive(Deserialize)]
pub struct Prepare {
    pub role: String,
    pub warmup: bool,
    pub samples: PathBuf,
    pub schedule: PathBuf,
    pub pools: Vec<PathBuf>,
    pub document_form: String,
    pub workers: usize,
    pub first_worker: u16,
    pub limits: Option<Vec<u64>>,
    pub pacing: Value,
    pub counter: Counter,
    pub errors_consecutive_max: u32,
    #[serde(default)]
    pub operations: Vec<Value>,
    pub consumer: Option<Value>,
}

/// Parses one line, into a map first: serde alone would accept `[1]` as the second message.
pub fn parse(line: &[u8]) -> Result<Message, Failure> {
    let fields: Map<String, Value> = serde_json::from_slice(line).map_err(Failure::protocol)?;
    if !fields.get("type").is_some_and(Value::is_string) {
        return Err(Failure::protocol("a message has a type"));
    }
    Message::deserialize(Value::Object(fields)).map_err(Failure::protocol)
}

/// The keys that this process makes itself.
#[derive(Clone, Copy, Deserialize)]
pub struct Counter {
    pub first: i64,
    pub stride: i64,
    pub loaded: i64,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyRule {
    #[default]
    Schedule,
    Counter,
    Latest,
}

impl KeyRule {
    /// `made` counts the documents that this worker has made for insertion.
    pub fn key(self, counter: Counter, worker: u16, made: i64, recorded: i64) -> i64 {
        let nth = |n: i64| counter.first + i64::from(worker) + counter.stride * n;
        match self {
            KeyRule::Schedule => recorded,
            KeyRule::Counter => nth(made),
            KeyRule::Latest => match made - 1 - recorded {
                back if back < 0 => (counter.loaded + back).max(0),
                back => nth(back),
            },
        }
    }
}

/// The schedule file, kept as bytes. A record is decoded when it is taken: decoded ones would need
/// twice the memory.
pub struct Schedule {
    bytes: Vec<u8>,
    record_bytes: usize,
    slice_records: u64,
    pub slices: usize,
    lap_ns: u64,
}

pub struct Record {
    pub intended_ns: u64,
    pub key: i64,
    pub document: usize,
    pub operation: usize,
    pub guid: [u8; 16],
    pub lap: u32,
}

const HEADER_BYTES: usize = 32;

impl Schedule {
    pub fn read(path: &Path, operations: usize) -> Result<Schedule, Failure> {
        let wrong = |what: &str| Failure::internal(format!("{}: {what}", path.display()));
        let bytes = fs::read(path).map_err(|error| wrong(&error.to_string()))?;
        if bytes.len() < HEADER_BYTES || !bytes.starts_with(b"MDYNSCH1") {
            return Err(wrong("no schedule"));
        }
        let record_bytes = u32_at(&bytes, 8) as usize;
        let records = u32_at(&bytes, 12) as usize;
        let slices = u32_at(&bytes, 16) as usize;
        if !matches!(record_bytes, 24 | 40) || bytes.len() != HEADER_BYTES + records * record_bytes
        {
            return Err(wrong("header and length do not agree"));
        }
        if slices == 0 || !records.is_multiple_of(slices) {
            return Err(wrong("slices are not of equal length"));
        }
        let mut all = bytes[HEADER_BYTES..].chunks_exact(record_bytes);
        if all.any(|record| usize::from(record[20]) >= operations) {
            return Err(wrong("a record of no operation"));
        }
        let lap_ns = u64_at(&bytes, 24);
        Ok(Schedule {
            bytes,
            record_bytes,
            slice_records: (records / slices) as u64,
            slices,
            lap_ns,
        })
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
        if let Some(found) = bytes.get(24..40) {
            guid.copy_from_slice(found);
        }
        Record {
            intended_ns: u64_at(bytes, 0) + lap * self.lap_ns,
            key: u64_at(bytes, 8) as i64,
            document: u32_at(bytes, 16) as usize,
            operation: usize::from(bytes[20]),
            guid,
            lap: lap as u32,
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
    file: Arc<Mutex<File>>,
}

impl Samples {
    pub fn new(file: Arc<Mutex<File>>) -> Samples {
        Samples { buffer: Vec::with_capacity(BUFFER_BYTES), file }
    }

    pub fn push(&mut self, sample: &Sample) -> io::Result<()> {
        self.buffer.extend_from_slice(&sample.bytes());
        if self.buffer.len() < BUFFER_BYTES {
            return Ok(());
        }
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

#[cfg(test)]
mod tests;
