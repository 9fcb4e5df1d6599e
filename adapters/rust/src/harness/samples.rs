//! The file of samples.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::protocol::Failure;

pub struct Sample {
    pub intended_ns: u64,
    pub start_ns: u64,
    pub service_ns: u64,
    pub index: u32,
    pub operation: u8,
    pub outcome: u8,
    pub worker: u16,
}

const BUFFER_BYTES: usize = 32_768 * 32;
/// A buffer that has waited so long is written, so that the core sees progress.
const WAIT_NS: u64 = 1_000_000_000;

/// One worker's buffer in front of the file that all workers of the process share.
pub struct Samples {
    buffer: Vec<u8>,
    written_ns: u64,
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

    /// A turn begins: nothing has waited yet.
    pub fn begin(&mut self, now_ns: u64) {
        self.written_ns = now_ns;
    }

    pub fn push(&mut self, sample: &Sample) -> io::Result<()> {
        let small = u64::from(sample.index)
            | u64::from(sample.operation) << 32
            | u64::from(sample.outcome) << 40
            | u64::from(sample.worker) << 48;
        let fields = [sample.intended_ns, sample.start_ns, sample.service_ns, small];
        self.buffer.extend_from_slice(fields.map(u64::to_le_bytes).as_flattened());
        let end_ns = sample.start_ns + sample.service_ns;
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
