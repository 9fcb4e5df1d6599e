//! The schedule file of SPEC section 5.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

const MAGIC: &[u8; 8] = b"MDYNSCH2";
const HEADER_BYTES: usize = 32;
const PLAIN_BYTES: usize = 32;
const GUID_BYTES: usize = 48;
/// Flag: the key moves on with each lap.
const ADVANCES: u8 = 1;

/// One operation to come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Record {
    /// Offset from T0 in an open loop.
    pub intended_ns: u64,
    /// Key in the first lap, of the first document.
    pub key: u64,
    /// Pool document; bulk_write, transaction: its first part.
    pub document: u32,
    /// Documents of an insert_many or noop, limit of a find, parts of a bulk_write
    /// or a transaction.
    pub count: u32,
    /// Index into the phase's operations.
    pub operation: u8,
    /// Whether the key moves on with each lap.
    pub advances: bool,
    /// Documents of an insert that are there already. Adapters do not read it.
    pub duplicates: u32,
    /// Written only where the schedule has guids.
    pub guid: [u8; 16],
}

/// The operations of one process in one phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// Equal contiguous parts, one a worker; 1 for a shared queue.
    pub slices: u32,
    /// Added to intended times for each lap.
    pub lap_ns: u64,
    /// Whether records carry a guid.
    pub guids: bool,
    pub records: Vec<Record>,
    /// Parts of bulk writes and transactions.
    pub parts: Vec<Record>,
}

impl Schedule {
    /// Records of one slice.
    pub fn slice_records(&self) -> usize {
        self.records.len() / (self.slices.max(1) as usize)
    }

    /// The record of a slice's operation of that index, and its lap.
    pub fn record(&self, slice: u32, index: u64) -> Option<(&Record, u64)> {
        let length = self.slice_records() as u64;
        if length == 0 || slice >= self.slices {
            return None;
        }
        let at = u64::from(slice) * length + index % length;
        Some((&self.records[at as usize], index / length))
    }

    /// Operations of a queue that are intended before this time after T0.
    pub fn due(&self, before_ns: u64) -> u64 {
        let laps = before_ns.checked_div(self.lap_ns).unwrap_or(0);
        let rest_ns = before_ns - laps * self.lap_ns;
        let rest = self.records.partition_point(|record| record.intended_ns < rest_ns);
        laps * self.records.len() as u64 + rest as u64
    }

    /// The parts of a bulk_write's or a transaction's record.
    pub fn parts(&self, bulk: &Record) -> &[Record] {
        let first = bulk.document as usize;
        self.parts.get(first..first + bulk.count as usize).unwrap_or_default()
    }

    pub fn bytes(&self) -> u64 {
        (HEADER_BYTES + (self.records.len() + self.parts.len()) * self.record_bytes()) as u64
    }

    fn record_bytes(&self) -> usize {
        if self.guids { GUID_BYTES } else { PLAIN_BYTES }
    }

    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        self.write_to(&mut file)?;
        file.flush()
    }

    pub fn write_to(&self, file: &mut impl Write) -> io::Result<()> {
        file.write_all(MAGIC)?;
        file.write_all(&(self.record_bytes() as u32).to_le_bytes())?;
        file.write_all(&(self.records.len() as u32).to_le_bytes())?;
        file.write_all(&self.slices.to_le_bytes())?;
        file.write_all(&(self.parts.len() as u32).to_le_bytes())?;
        file.write_all(&self.lap_ns.to_le_bytes())?;
        for record in self.records.iter().chain(&self.parts) {
            file.write_all(&record.intended_ns.to_le_bytes())?;
            file.write_all(&record.key.to_le_bytes())?;
            file.write_all(&record.document.to_le_bytes())?;
            file.write_all(&record.count.to_le_bytes())?;
            let flags = if record.advances { ADVANCES } else { 0 };
            file.write_all(&[record.operation, flags, 0, 0])?;
            file.write_all(&record.duplicates.to_le_bytes())?;
            if self.guids {
                file.write_all(&record.guid)?;
            }
        }
        Ok(())
    }

    pub fn read(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        BufReader::new(File::open(path)?).read_to_end(&mut bytes)?;
        Self::parse(&bytes).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("no schedule: {}", path.display()))
        })
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let u32_at = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let u64_at = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let record_bytes = u32_at(8)? as usize;
        let (count, slices, parts) = (u32_at(12)? as usize, u32_at(16)?, u32_at(20)? as usize);
        let right = bytes.starts_with(MAGIC)
            && [PLAIN_BYTES, GUID_BYTES].contains(&record_bytes)
            && bytes.len() == HEADER_BYTES + (count + parts) * record_bytes
            && slices > 0
            && count % slices as usize == 0;
        if !right {
            return None;
        }
        let guids = record_bytes == GUID_BYTES;
        let record = |number: usize| {
            let at = HEADER_BYTES + number * record_bytes;
            let guid = if guids { bytes.get(at + 32..at + 48)?.try_into().ok()? } else { [0; 16] };
            Some(Record {
                intended_ns: u64_at(at)?,
                key: u64_at(at + 8)?,
                document: u32_at(at + 16)?,
                count: u32_at(at + 20)?,
                operation: *bytes.get(at + 24)?,
                advances: bytes.get(at + 25)? & ADVANCES != 0,
                duplicates: u32_at(at + 28)?,
                guid,
            })
        };
        let records = (0..count).map(record).collect::<Option<Vec<_>>>()?;
        let parts = (count..count + parts).map(record).collect::<Option<Vec<_>>>()?;
        Some(Self { slices, lap_ns: u64_at(24)?, guids, records, parts })
    }
}
