//! A mongod of ours in use: it ends with the value.

use base::error::{Error, Result};

use super::host::Host;
use super::launch::{Launched, describe, launch};
use super::log_tail;
use super::options::StartOptions;
use super::program::Program;
use super::record::{ServerRecord, ServerSource};
use super::server::{Later, Process, Server};

/// A mongod of ours. It is stopped and its data removed by [`RunningServer::stop`], by dropping
/// the value, and by any end of this process.
#[derive(Debug)]
pub struct RunningServer {
    launched: Launched,
    record: ServerRecord,
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

pub(super) fn open<'a>(
    host: &'a Host,
    program: Option<&'a Program>,
    options: &'a StartOptions,
) -> Later<'a, Result<Server>> {
    let program = program.expect("a mongod is prepared before it is opened");
    Box::pin(async { start(host, program, options).await.map(Server::from) })
}

pub(super) fn record_of(program: &Program, launched: &Launched) -> ServerRecord {
    let uri = format!("mongodb://127.0.0.1:{}/", launched.port);
    ServerRecord {
        program: Some(program.path.clone()),
        flags: launched.flags.clone(),
        cache_gb: Some(launched.cache_gb),
        source: program.wheel.map(ServerSource::of),
        log: Some(launched.log.clone()),
        data_folder: Some(launched.data_folder.clone()),
        openssl_from_cache: program.library_path.is_some(),
        ..ServerRecord::new(program.kind, uri, launched.health.clone())
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

impl Process for RunningServer {
    fn died(&self) -> Later<'_, Error> {
        Box::pin(self.died())
    }

    fn stop(self: Box<Self>) -> Later<'static, ()> {
        Box::pin((*self).stop())
    }
}

impl From<RunningServer> for Server {
    fn from(running: RunningServer) -> Self {
        Self {
            uri: running.record.uri.clone(),
            record: running.record.clone(),
            pid: Some(running.pid()),
            process: Some(Box::new(running)),
        }
    }
}
