//! Counters of the absorber, by mongod's rules, for serverStatus.
//!
//! They are relaxed atomics of the whole server: a few additions per command, far cheaper than its
//! two system calls. Sums per connection were rejected: every serverStatus would walk a list of all
//! connections, ended ones included.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opcounter {
    Insert,
    Query,
    Update,
    Delete,
    GetMore,
    Command,
}

/// Counters only go up; `current` and `active` are gauges.
#[derive(Debug, Default)]
pub struct ServerCounters {
    operations: [AtomicU64; 6],
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    requests: AtomicU64,
    pub connections_current: AtomicI64,
    pub connections_created: AtomicI64,
    /// Connections that are being answered.
    pub connections_active: AtomicI64,
}

impl ServerCounters {
    pub fn add(&self, counted: Opcounter, operations: usize) {
        self.operations[counted as usize].fetch_add(operations as u64, Ordering::Relaxed);
    }

    pub fn operations(&self, counted: Opcounter) -> i64 {
        signed(&self.operations[counted as usize])
    }

    /// Bytes in, bytes out and messages in, so far.
    pub fn network(&self) -> [i64; 3] {
        [&self.bytes_in, &self.bytes_out, &self.requests].map(signed)
    }

    pub fn received(&self, bytes: usize) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes_in.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts before the message goes out, as mongod does: a client that has an answer finds it
    /// counted.
    pub fn sent(&self, bytes: usize) {
        self.bytes_out.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// The counter as BSON's signed integer.
fn signed(counter: &AtomicU64) -> i64 {
    counter.load(Ordering::Relaxed).cast_signed()
}

/// Raises a gauge by one until it is dropped.
#[derive(Debug)]
pub struct Raised<'a>(&'a AtomicI64);

impl<'a> Raised<'a> {
    pub fn new(gauge: &'a AtomicI64) -> Self {
        gauge.fetch_add(1, Ordering::Relaxed);
        Self(gauge)
    }
}

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
