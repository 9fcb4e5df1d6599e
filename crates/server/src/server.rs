//! A server in use, of whichever kind: ours, which ends with the value, or somebody else's.

use std::fmt;
use std::pin::Pin;

use base::error::Error;

use super::record::{REPLICA_SET, ServerRecord};
use super::uri::parts;

#[derive(Debug)]
pub struct Server {
    pub(super) uri: String,
    pub(super) record: ServerRecord,
    pub(super) pid: Option<u32>,
    /// None: somebody else's.
    pub(super) process: Option<Box<dyn Process>>,
    /// Further mongods of ours, or further servers of somebody's.
    pub(super) others: Vec<Server>,
    /// They are one replica set or cluster, which drivers see as one.
    pub(super) is_one: bool,
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

    /// One for each server that drivers see, with credentials; the first is [`Server::uri`].
    pub fn uris(&self) -> Vec<&str> {
        let others = self.others.iter().filter(|_| !self.is_one);
        std::iter::once(self).chain(others).map(Server::uri).collect()
    }

    /// One for each server whose counters tell all that drivers did: of a replica set of ours every
    /// member, for a read may go to any of them.
    pub fn counted(&self) -> Vec<String> {
        if !self.is_one || !self.record.topology.starts_with(REPLICA_SET) {
            return self.uris().into_iter().map(str::to_owned).collect();
        }
        let hosts = parts(&self.uri).hosts.into_iter();
        hosts.map(|host| format!("mongodb://{host}/?directConnection=true")).collect()
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
        let mut died: Vec<Later<'_, Error>> = Vec::new();
        let all = std::iter::once(self).chain(&self.others);
        died.extend(all.filter_map(|it| Some(it.process.as_ref()?.died())));
        if died.is_empty() {
            return std::future::pending().await;
        }
        futures_util::future::select_all(died).await.0
    }

    pub async fn stop(self) {
        let all = std::iter::once(self.process).chain(self.others.into_iter().map(|it| it.process));
        for process in all.flatten() {
            process.stop().await;
        }
    }
}
