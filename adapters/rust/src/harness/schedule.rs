//! The schedule file.

use std::fs;
use std::path::Path;

use super::documents::Input;
use super::protocol::Failure;

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
    pub client: usize,
    /// None in a closed loop, where it is due whenever it starts.
    pub intended_ns: Option<u64>,
    pub operation: usize,
    pub document: usize,
    pub count: u32,
    pub input: Input,
}

impl Schedule {
    pub fn read(path: &Path, lap_step: u64, item_step: u64) -> Result<Schedule, Failure> {
        let bytes = fs::read(path).map_err(Failure::of_file(path))?;
        let [record_bytes, records, slices] = [8, 12, 16].map(|at| u32_at(&bytes, at) as usize);
        let (slice_records, lap_ns) = ((records / slices) as u64, u64_at(&bytes, 24));
        Ok(Schedule { bytes, record_bytes, slices, slice_records, lap_ns, lap_step, item_step })
    }

    /// The record of a slice's operation with that number, and its lap.
    fn record(&self, slice: usize, number: u64) -> (&[u8], u64) {
        let position = slice as u64 * self.slice_records + number % self.slice_records;
        let offset = HEADER_BYTES + position as usize * self.record_bytes;
        (&self.bytes[offset..offset + self.record_bytes], number / self.slice_records)
    }

    /// After T0.
    pub fn intended_ns(&self, slice: usize, number: u64) -> u64 {
        let (record, lap) = self.record(slice, number);
        u64_at(record, 0) + lap * self.lap_ns
    }

    /// Client, time and producer are the worker's to say.
    pub fn job(&self, slice: usize, number: u64) -> Job {
        let (record, lap) = self.record(slice, number);
        let mut input = Input {
            key: u64_at(record, 8) as i64,
            shift: if record[25] & 1 == 1 { lap * self.lap_step } else { 0 },
            item_step: self.item_step,
            sequence: number as i64,
            ..Input::default()
        };
        if let Some(guid) = record.get(32..48) {
            input.guid.copy_from_slice(guid);
        }
        Job {
            index: number,
            client: 0,
            intended_ns: None,
            operation: usize::from(record[24]),
            document: u32_at(record, 16) as usize,
            count: u32_at(record, 20),
            input,
        }
    }
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("4 bytes"))
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("8 bytes"))
}
