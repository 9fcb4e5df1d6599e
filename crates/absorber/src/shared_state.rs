//! State that all connections share, and the caller of one of them.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use super::engine::{Engine, WriteOutcome};
use super::faults::{FaultOptions, Faults};
use super::handshake::WireVersions;
use super::holds::HoldLog;
use super::server_counters::ServerCounters;
use super::simulated_load::{LoadOptions, SimulatedLoad};
use base::clock::monotonic_ns;
use base::process_id::raise_file_limit;

/// Files that are not connections.
const OTHER_FILES: i64 = 16;

#[derive(Debug, Clone)]
pub struct AbsorberOptions {
    pub listen: SocketAddr,
    pub wire: WireVersions,
    /// Name of the replica set that it announces itself as; None: a standalone server.
    pub replica_set: Option<String>,
    /// Limit on documents, index entries, cursors and messages together, bytes.
    pub memory_bytes: u64,
    pub load: LoadOptions,
    pub faults: FaultOptions,
    /// File for the log of holds.
    pub holds: Option<PathBuf>,
}

/// State that all connections share.
#[derive(Debug)]
pub struct SharedState {
    pub(super) address: SocketAddr,
    pub(super) wire: WireVersions,
    pub(super) replica_set: Option<String>,
    pub(super) began_ns: u64,
    pub(super) connections_max: i64,
    pub(super) engine: Engine,
    pub(super) counters: ServerCounters,
    pub(super) load: Option<SimulatedLoad>,
    pub(super) faults: Faults,
    pub(super) holds: Option<Arc<HoldLog>>,
}

impl SharedState {
    /// An absorber without a socket.
    pub fn new(options: &AbsorberOptions) -> io::Result<Arc<Self>> {
        let began_ns = monotonic_ns();
        Ok(Arc::new(Self {
            address: options.listen,
            wire: options.wire,
            replica_set: options.replica_set.clone(),
            began_ns,
            connections_max: connections_max(),
            engine: Engine::new(options.memory_bytes).replicated(options.replica_set.is_some()),
            counters: ServerCounters::default(),
            load: SimulatedLoad::new(options.load, began_ns),
            faults: Faults::new(options.faults),
            holds: options.holds.as_deref().map(HoldLog::create).transpose()?,
        }))
    }
}

/// Client of one connection, as commands see it.
#[derive(Debug)]
pub(super) struct Caller {
    pub server: Arc<SharedState>,
    /// Number of its connection, from 1.
    pub connection: i32,
    pub address: SocketAddr,
    /// Outcome of the last request; None if that was neither a legacy write nor a legacy command
    /// that failed.
    pub last_write: Option<WriteOutcome>,
}

/// Lets the process open as many files as it may, for each connection is one.
fn connections_max() -> i64 {
    i64::try_from(raise_file_limit()).unwrap_or(i64::MAX) - OTHER_FILES
}
