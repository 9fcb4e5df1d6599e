//! Holds: sleeping until an answer is due, and the log of it.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

pub const HOLD_BYTES: usize = 32;
/// Records that a connection keeps before it writes them.
const BUFFERED: usize = 256;

/// One answer that was held back. Nanoseconds of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// When the command had been read; for a getMore, when its documents were there.
    pub arrival_ns: u64,
    /// When service began: later than the arrival if the command queued or met a stall.
    pub start_ns: u64,
    /// When the answer was due.
    pub due_ns: u64,
    /// When the thread woke up and began to write the answer.
    pub released_ns: u64,
}

impl Hold {
    fn to_bytes(self) -> [u8; HOLD_BYTES] {
        let mut bytes = [0; HOLD_BYTES];
        let numbers = [self.arrival_ns, self.start_ns, self.due_ns, self.released_ns];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; HOLD_BYTES]) -> Self {
        let at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        Self { arrival_ns: at(0), start_ns: at(8), due_ns: at(16), released_ns: at(24) }
    }
}

/// The file of an absorber's holds: records of [`HOLD_BYTES`], little endian, in the order of the
/// fields of [`Hold`], in no order among each other.
#[derive(Debug)]
pub struct HoldLog {
    file: Mutex<File>,
    connections: Mutex<Vec<Weak<Mutex<Vec<u8>>>>>,
    failed: AtomicBool,
}

impl HoldLog {
    /// Creates the file, which must not exist.
    pub fn create(path: &Path) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            file: Mutex::new(File::create_new(path)?),
            connections: Mutex::default(),
            failed: AtomicBool::new(false),
        }))
    }

    /// Reads a file without its torn record, if it has one.
    pub fn read(path: &Path) -> io::Result<Vec<Hold>> {
        let bytes = std::fs::read(path)?;
        let (records, _) = bytes.as_chunks();
        Ok(records.iter().map(Hold::from_bytes).collect())
    }

    pub fn connection(self: &Arc<Self>) -> ConnectionHolds {
        let records = Arc::new(Mutex::new(Vec::new()));
        let mut connections = lock(&self.connections);
        connections.retain(|it| it.strong_count() > 0);
        connections.push(Arc::downgrade(&records));
        ConnectionHolds { log: Arc::clone(self), records }
    }

    /// Writes the holds of all connections.
    pub fn flush(&self) {
        for connection in lock(&self.connections).iter() {
            if let Some(records) = connection.upgrade() {
                self.write(&mut lock(&records));
            }
        }
    }

    fn write(&self, records: &mut Vec<u8>) {
        if let Err(error) = lock(&self.file).write_all(records)
            && !self.failed.swap(true, Ordering::Relaxed)
        {
            super::log(&format!("holds cannot be written and are lost: {error}"));
        }
        records.clear();
    }
}

/// The holds of one connection, written when they are many and when it ends.
#[derive(Debug)]
pub struct ConnectionHolds {
    log: Arc<HoldLog>,
    records: Arc<Mutex<Vec<u8>>>,
}

impl ConnectionHolds {
    /// Notes a hold in memory before its answer is written: after the answer a client may end the
    /// absorber, and still finds the hold in the log.
    pub fn push(&self, hold: Hold) {
        lock(&self.records).extend_from_slice(&hold.to_bytes());
    }

    /// Writes to the file if there are many. It is called after an answer, when no client waits.
    pub fn write_if_many(&self) {
        let mut records = lock(&self.records);
        if records.len() >= BUFFERED * HOLD_BYTES {
            self.log.write(&mut records);
        }
    }
}

impl Drop for ConnectionHolds {
    fn drop(&mut self) {
        self.log.write(&mut lock(&self.records));
    }
}

/// A thread that panicked leaves bytes behind, but never half a record.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(number: u64) -> Hold {
        Hold { arrival_ns: number, start_ns: number + 1, due_ns: u64::MAX, released_ns: 1 << 40 }
    }

    #[test]
    fn every_hold_is_written_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("holds");
        let log = HoldLog::create(&path).expect("a file");
        let (first, second) = (log.connection(), log.connection());
        for number in 0..1000 {
            first.push(hold(number));
            first.write_if_many();
        }
        drop(first);
        second.push(hold(1000));
        log.flush();
        second.push(hold(1001));
        drop(second);
        let read = HoldLog::read(&path).expect("records");
        assert_eq!(read, (0..=1001).map(hold).collect::<Vec<_>>());
    }

    #[test]
    fn a_torn_record_is_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("holds");
        let mut bytes = hold(7).to_bytes().to_vec();
        bytes.extend_from_slice(&hold(8).to_bytes()[..31]);
        std::fs::write(&path, bytes).expect("a file");
        assert_eq!(HoldLog::read(&path).expect("records"), [hold(7)]);
    }
}
