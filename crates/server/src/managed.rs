//! A server in use: ours, which ends with the value, or somebody else's.

use base::error::{Error, Result};

use super::absorber::{self, RunningAbsorber};
use super::choice::ServerChoice;
use super::health;
use super::host::Host;
use super::launch::{Launched, StartOptions, describe, launch};
use super::log_tail;
use super::mask::{keep_secret, mask_uri};
use super::program::Program;
use super::progress::Progress;
use super::record::{ServerKind, ServerRecord, ServerSource};

/// A mongod of ours. It is stopped and its data removed by [`RunningServer::stop`], by dropping
/// the value, and by any end of this process.
#[derive(Debug)]
pub struct RunningServer {
    launched: Launched,
    record: ServerRecord,
}

/// What a choice leads to.
#[derive(Debug)]
pub enum Server {
    Managed(Box<RunningServer>),
    Absorber(Box<RunningAbsorber>),
    External { uri: String, record: Box<ServerRecord> },
}

/// The mongod that `choice` names, installed if need be. Blocks (downloads): call it before the
/// runtime is busy, or on a blocking thread. None where there is nothing to start.
pub fn prepare(host: &Host, choice: &ServerChoice, progress: Progress) -> Result<Option<Program>> {
    match choice {
        ServerChoice::Embedded(wanted) => {
            Program::embedded(host, wanted.as_deref(), progress).map(Some)
        }
        ServerChoice::Mongod(path) => {
            Program::of_this_machine(host, path.as_deref(), progress).map(Some)
        }
        ServerChoice::Absorber | ServerChoice::External(_) => Ok(None),
    }
}

/// Starts `program` for this process alone and waits until it answers.
pub async fn start(
    host: &Host,
    program: &Program,
    options: &StartOptions,
) -> Result<RunningServer> {
    // Two containers on one cache may both be process 1.
    let id = format!("run-{}-{}", std::process::id(), bson::Uuid::new());
    let launched = launch(host, program, options, &id, false).await?;
    let record = record_of(program, &launched);
    Ok(RunningServer { launched, record })
}

/// Asks a server that is already there who it is.
pub async fn connect(uri: &str) -> Result<ServerRecord> {
    keep_secret(uri);
    let health = health::external(uri).await?;
    Ok(ServerRecord {
        kind: ServerKind::External,
        version: health.version,
        git_version: health.git_version,
        topology: health.topology,
        max_wire_version: health.max_wire_version,
        uri: mask_uri(uri),
        program: None,
        flags: Vec::new(),
        cache_gb: None,
        source: None,
        log: None,
        data_folder: None,
        openssl_from_cache: false,
    })
}

pub(super) fn record_of(program: &Program, launched: &Launched) -> ServerRecord {
    let health = launched.health.clone();
    ServerRecord {
        kind: if program.wheel.is_some() { ServerKind::Embedded } else { ServerKind::Mongod },
        version: health.version,
        git_version: health.git_version,
        topology: health.topology,
        max_wire_version: health.max_wire_version,
        uri: format!("mongodb://127.0.0.1:{}/", launched.port),
        program: Some(program.path.clone()),
        flags: launched.flags.clone(),
        cache_gb: Some(launched.cache_gb),
        source: program.wheel.map(ServerSource::of),
        log: Some(launched.log.clone()),
        data_folder: Some(launched.data_folder.clone()),
        openssl_from_cache: program.library_path.is_some(),
    }
}

impl Server {
    /// Starts what `choice` names, or connects to it. `program` is what [`prepare`] answered.
    pub async fn open(
        host: &Host,
        choice: &ServerChoice,
        program: Option<&Program>,
        options: &StartOptions,
    ) -> Result<Self> {
        match (choice, program) {
            (ServerChoice::External(uri), _) => {
                let record = Box::new(connect(uri).await?);
                Ok(Self::External { uri: uri.clone(), record })
            }
            (ServerChoice::Absorber, _) => {
                Ok(Self::Absorber(Box::new(absorber::start(options).await?)))
            }
            (_, Some(program)) => Ok(Self::Managed(Box::new(start(host, program, options).await?))),
            (_, None) => {
                Err(Error::usage("this kind of server is not a process", "use `--server embedded`"))
            }
        }
    }

    /// With credentials; for drivers only, never for people.
    #[must_use]
    pub fn uri(&self) -> &str {
        match self {
            Self::Managed(server) => server.uri(),
            Self::Absorber(absorber) => &absorber.record().uri,
            Self::External { uri, .. } => uri,
        }
    }

    /// Of the process that is ours, for its CPU and memory; None for somebody else's server.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        match self {
            Self::Managed(server) => Some(server.pid()),
            Self::Absorber(absorber) => Some(absorber.pid()),
            Self::External { .. } => None,
        }
    }

    #[must_use]
    pub fn record(&self) -> &ServerRecord {
        match self {
            Self::Managed(server) => server.record(),
            Self::Absorber(absorber) => absorber.record(),
            Self::External { record, .. } => record,
        }
    }

    /// Resolves if a server of ours ends before it is stopped; never for others.
    pub async fn died(&self) -> Error {
        match self {
            Self::Managed(server) => server.died().await,
            Self::Absorber(absorber) => absorber.died().await,
            Self::External { .. } => std::future::pending().await,
        }
    }

    pub async fn stop(self) {
        match self {
            Self::Managed(server) => server.stop().await,
            Self::Absorber(absorber) => absorber.stop().await,
            Self::External { .. } => {}
        }
    }
}

impl RunningServer {
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.record.uri
    }

    #[must_use]
    pub fn record(&self) -> &ServerRecord {
        &self.record
    }

    /// mongod's, for sampling its CPU and memory.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.launched.mongod_id.pid
    }

    #[must_use]
    pub fn guard_pid(&self) -> u32 {
        self.launched.guard_id.pid
    }

    /// Resolves if mongod ends before it is stopped, with the end of its log.
    pub async fn died(&self) -> Error {
        let ending = self.launched.guard.ended().await;
        Error::unreachable(
            format!(
                "the server (mongod {}) {}. {}",
                self.record.version,
                describe(ending),
                log_tail::quote(&self.launched.log, 0)
            ),
            "remove the cause named in its log and run again; finished runs are kept",
        )
    }

    /// Stops mongod and waits until its process and its data folder are gone.
    pub async fn stop(self) {
        self.launched.guard.stop().await;
    }
}
