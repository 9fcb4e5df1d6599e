//! Files: the schedule that the core writes, the samples that it reads.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::documents::Input;
use crate::call::Failure;

const HEADER_BYTES: usize = 32;

/// Kept as bytes. A record is decoded when it is taken: decoded ones would need twice the memory.
pub struct Schedule {
    bytes: Vec<u8>,
    record_bytes: usize,
    pub slices: usize,
    pub slice_records: u64,
    lap_ns: u64,
    lap_step: u64,
    item_step: u64,
}

/// An operation of the schedule.
#[derive(Clone, Copy)]
pub struct Job {
    pub index: u64,
    pub operation: usize,
    pub document: usize,
    pub count: u32,
    pub input: Input,
    /// The worker that takes it knows when it is due (None in a closed loop: when it starts), and
    /// its client.
    pub intended_ns: Option<u64>,
    pub client: usize,
}

impl Schedule {
    pub fn read(path: &Path, lap_step: u64, item_step: u64) -> Result<Schedule, Failure> {
        let bytes = fs::read(path).map_err(Failure::of_file(path))?;
        let [record_bytes, records, slices] = [8, 12, 16].map(|at| u32_at(&bytes, at) as usize);
        let (slice_records, lap_ns) = ((records / slices) as u64, u64_at(&bytes, 24));
        Ok(Schedule { bytes, record_bytes, slices, slice_records, lap_ns, lap_step, item_step })
    }

    /// The record of a slice's operation, and its lap.
    fn record(&self, slice: usize, index: u64) -> (&[u8], u64) {
        let position = slice as u64 * self.slice_records + index % self.slice_records;
        let offset = HEADER_BYTES + position as usize * self.record_bytes;
        (&self.bytes[offset..offset + self.record_bytes], index / self.slice_records)
    }

    /// Time after T0.
    pub fn intended_ns(&self, slice: usize, index: u64) -> u64 {
        let (record, lap) = self.record(slice, index);
        u64_at(record, 0) + lap * self.lap_ns
    }

    pub fn job(&self, slice: usize, index: u64) -> Job {
        let (record, lap) = self.record(slice, index);
        self.decoded(record, lap, index)
    }

    /// A part of a transaction, in the same lap. The parts follow the records.
    pub fn part(&self, of: &Job, number: u32) -> Job {
        let records = self.slice_records * self.slices as u64;
        let place = records as usize + of.document + number as usize;
        let offset = HEADER_BYTES + place * self.record_bytes;
        let record = &self.bytes[offset..offset + self.record_bytes];
        let mut part =
            self.decoded(record, of.index / self.slice_records, of.index + u64::from(number));
        part.input.producer = of.input.producer;
        part
    }

    fn decoded(&self, record: &[u8], lap: u64, index: u64) -> Job {
        let mut input = Input {
            key: u64_at(record, 8) as i64,
            shift: if record[25] & 1 == 1 { lap * self.lap_step } else { 0 },
            item_step: self.item_step,
            sequence: index as i64,
            live: true,
            ..Input::default()
        };
        if let Some(guid) = record.get(32..48) {
            input.guid.copy_from_slice(guid);
        }
        let (document, count) = (u32_at(record, 16) as usize, u32_at(record, 20));
        let operation = usize::from(record[24]);
        Job { index, operation, document, count, input, intended_ns: None, client: 0 }
    }
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("4 bytes"))
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("8 bytes"))
}

const BUFFER_BYTES: usize = 32_768 * 32;
/// A buffer that has waited this long is written, so that the core sees progress.
const WAIT_NS: u64 = 1_000_000_000;

/// One worker's buffer in front of the file that all workers of the process share.
pub struct Samples {
    buffer: Vec<u8>,
    /// When it was last written, or the turn began.
    pub written_ns: u64,
    file: Arc<Mutex<File>>,
}

impl Samples {
    /// The file that several buffers share.
    pub fn create(path: &Path) -> Result<Arc<Mutex<File>>, Failure> {
        Ok(Arc::new(Mutex::new(File::create(path).map_err(Failure::of_file(path))?)))
    }

    pub fn new(file: &Arc<Mutex<File>>) -> Samples {
        let buffer = Vec::with_capacity(BUFFER_BYTES);
        Samples { buffer, written_ns: 0, file: Arc::clone(file) }
    }

    /// `times` are intended, start and service.
    pub fn push(
        &mut self,
        times: [u64; 3],
        index: u64,
        operation: usize,
        outcome: u8,
        worker: u16,
    ) -> io::Result<()> {
        let (operation, outcome) = ((operation as u64) << 32, u64::from(outcome) << 40);
        let small = u64::from(index as u32) | operation | outcome | u64::from(worker) << 48;
        self.buffer.extend_from_slice(times.map(u64::to_le_bytes).as_flattened());
        self.buffer.extend_from_slice(&small.to_le_bytes());
        let end_ns = times[1] + times[2];
        // Samples of a window do not come in the order of time.
        if self.buffer.len() < BUFFER_BYTES && end_ns.saturating_sub(self.written_ns) < WAIT_NS {
            return Ok(());
        }
        self.written_ns = end_ns;
        // While this thread writes, its other tasks move to another thread.
        tokio::task::block_in_place(|| self.flush())
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.file.lock().expect("no writer panics").write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}
