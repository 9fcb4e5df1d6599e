//! A server in use, of whichever kind: ours, which ends with the value, or somebody else's.

use std::fmt;
use std::pin::Pin;

use base::error::Error;

use super::record::ServerRecord;

#[derive(Debug)]
pub struct Server {
    pub(super) uri: String,
    pub(super) record: ServerRecord,
    pub(super) pid: Option<u32>,
    /// None: somebody else's.
    pub(super) process: Option<Box<dyn Process>>,
}

pub(super) type Later<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A server that we have started.
pub(super) trait Process: fmt::Debug + Send + Sync {
    /// Resolves if it ends before it is stopped.
    fn died(&self) -> Later<'_, Error>;
    /// Stops it, and waits until nothing of it is left.
    fn stop(self: Box<Self>) -> Later<'static, ()>;
}

impl Server {
    /// With credentials; for drivers only, never for people.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Of the process that is ours, for its CPU and memory; None for somebody else's server.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    pub fn record(&self) -> &ServerRecord {
        &self.record
    }

    /// Whether it is a mongod of ours, at which nobody else works.
    pub fn is_exclusive(&self) -> bool {
        self.record.data_folder.is_some()
    }

    /// Resolves if a server of ours ends before it is stopped; never for others.
    pub async fn died(&self) -> Error {
        match &self.process {
            Some(process) => process.died().await,
            None => std::future::pending().await,
        }
    }

    pub async fn stop(self) {
        if let Some(process) = self.process {
            process.stop().await;
        }
    }
}
