//! State that all connections of a listener share.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};

use base::clock::Epoch;

use super::link::SimulatedLink;
use super::mark::MarkFields;
use super::shapes::Shapes;

/// Stack of a connection's threads (two or four), which keep their buffers elsewhere.
const STACK_BYTES: usize = 128 << 10;

/// Takes finished records, whole ones, from any thread.
pub type Sink = Box<dyn Fn(&[u8]) + Send + Sync>;
/// Takes a line about a connection.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// A listener, as its connections see it.
pub(super) struct TappedArm {
    pub epoch: Epoch,
    pub shapes: Arc<Shapes>,
    pub link: Option<SimulatedLink>,
    pub marks: Option<Arc<MarkFields>>,
    pub sink: Sink,
    pub log: Log,
    pub numbers: Arc<AtomicU32>,
}

impl TappedArm {
    /// Number of the next connection; unique in the proxy, from 1.
    pub fn next_number(&self) -> u32 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub fn log(&self, line: &str) {
        (self.log)(line);
    }
}

/// A thread with a small stack.
pub(super) fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    thread::Builder::new().stack_size(STACK_BYTES).spawn(work)
}
