//! The memory that all connections share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::fault::{Fallible, Fault};

#[derive(Debug)]
pub struct MemoryBudget {
    pub limit: u64,
    used: AtomicU64,
}

impl MemoryBudget {
    pub fn new(limit: u64) -> Self {
        Self { limit, used: AtomicU64::new(0) }
    }

    #[cfg(test)]
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub(super) fn take(&self, bytes: u64) -> Fallible<()> {
        if self.used.fetch_add(bytes, Ordering::Relaxed) + bytes > self.limit {
            self.give_back(bytes);
            return Err(Fault::memory(self.limit));
        }
        Ok(())
    }

    pub(super) fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The part of one cursor or connection, given back with the value.
#[derive(Debug)]
pub struct Share {
    memory: Arc<MemoryBudget>,
    bytes: u64,
}

impl Share {
    pub fn of(memory: &Arc<MemoryBudget>) -> Self {
        Self { memory: Arc::clone(memory), bytes: 0 }
    }

    /// Grows or shrinks to this size. Where memory is short it stays as it was.
    pub(crate) fn set(&mut self, bytes: u64) -> Fallible<()> {
        if bytes > self.bytes {
            self.memory.take(bytes - self.bytes)?;
        } else if bytes < self.bytes {
            self.memory.give_back(self.bytes - bytes);
        }
        self.bytes = bytes;
        Ok(())
    }

    pub(super) fn add(&mut self, bytes: u64) -> Fallible<()> {
        self.set(self.bytes + bytes)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.memory.give_back(self.bytes);
    }
}
