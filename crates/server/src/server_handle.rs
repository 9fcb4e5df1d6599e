//! A server in use, of any kind: a started one, which ends with the value, or an external one.

use std::fmt;
use std::pin::Pin;

use base::error::Error;

use super::connection_string::parts;
use super::record::{REPLICA_SET, ServerRecord};

#[derive(Debug)]
pub struct ServerHandle {
    pub(super) uri: String,
    pub(super) record: ServerRecord,
    pub(super) pid: Option<u32>,
    /// Process of the server; None for an external one.
    pub(super) process: Option<Box<dyn ServerProcess>>,
    /// Further started mongods, or further external servers.
    pub(super) others: Vec<ServerHandle>,
    /// Whether they are one replica set or cluster, which drivers see as one.
    pub(super) is_one: bool,
}

pub(super) type Later<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Process of a started server.
pub(super) trait ServerProcess: fmt::Debug + Send + Sync {
    /// Resolves if the process ends before it is stopped.
    fn died(&self) -> Later<'_, Error>;
    /// Stops the server, and waits until nothing of it is left.
    fn stop(self: Box<Self>) -> Later<'static, ()>;
}

impl ServerHandle {
    /// One server, without others.
    pub(super) fn new(
        uri: String,
        record: ServerRecord,
        process: Option<(u32, Box<dyn ServerProcess>)>,
    ) -> Self {
        let (pid, process) = process.unzip();
        Self { uri, record, pid, process, others: Vec::new(), is_one: false }
    }

    /// Connection string with credentials; for drivers only, never for people.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Connection strings of all servers that drivers see, with credentials; the first is
    /// [`ServerHandle::uri`].
    pub fn uris(&self) -> Vec<&str> {
        let others = self.others.iter().filter(|_| !self.is_one);
        std::iter::once(self).chain(others).map(ServerHandle::uri).collect()
    }

    /// Connection strings of all servers whose counters together show all that drivers did: for a
    /// started replica set every member, because a read may go to any of them.
    pub fn counted(&self) -> Vec<String> {
        if !self.is_one || !self.record.topology.starts_with(REPLICA_SET) {
            return self.uris().into_iter().map(str::to_owned).collect();
        }
        let hosts = parts(&self.uri).hosts.into_iter();
        hosts.map(|host| format!("mongodb://{host}/?directConnection=true")).collect()
    }

    /// Process id of a started server, for its CPU and memory; None for an external server.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    pub fn record(&self) -> &ServerRecord {
        &self.record
    }

    /// Whether it is a started mongod, which no one else uses.
    pub fn is_exclusive(&self) -> bool {
        self.record.data_folder.is_some()
    }

    /// Resolves if a started server ends before it is stopped; never for others.
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
