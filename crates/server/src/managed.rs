//! A started mongod: it ends with the value, and so does its data.

use base::error::{Error, Result};

use super::download::NO_SPACE;
use super::host::Host;
use super::launch::{Launched, describe, launch};
use super::log_tail;
use super::options::StartOptions;
use super::program::Program;
use super::record::{ServerRecord, ServerSource};
use super::server_handle::{Later, ServerHandle, ServerProcess};

/// Starts `program` for this process alone and waits until it answers.
pub async fn start(host: &Host, program: &Program, options: &StartOptions) -> Result<ServerHandle> {
    // In two containers with one cache, both programs may be process 1.
    let id = format!("run-{}-{}", std::process::id(), bson::Uuid::new());
    let launched = launch(host, program, options, &id, false).await?;
    let record = record_of(program, &launched);
    let process = (launched.mongod_id.pid, Box::new(launched) as _);
    Ok(ServerHandle::new(record.uri.clone(), record, Some(process)))
}

pub(super) fn open<'a>(
    host: &'a Host,
    program: Option<&'a Program>,
    options: &'a StartOptions,
) -> Later<'a, Result<ServerHandle>> {
    let program = program.expect("a mongod is prepared before it is opened");
    Box::pin(start(host, program, options))
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

/// It is stopped by `stop`, by dropping the value, and by any end of this process.
impl ServerProcess for Launched {
    /// Returns an error with the end of its log.
    fn died(&self) -> Later<'_, Error> {
        Box::pin(async {
            let ended = self.guard.ended().await;
            let ending = describe(ended);
            let quote = log_tail::quote(&self.log, self.log_start);
            let which = format!("mongod {} on 127.0.0.1:{}", self.health.version, self.port);
            let full = log_tail::says_full(&self.log, self.log_start);
            if let Some(words) = full.or(ended.disk_full.then_some(NO_SPACE[0])) {
                let disk = self.data_folder.parent().unwrap_or(&self.data_folder).display();
                return Error::environment(
                    format!(
                        "the server ({which}) ran out of disk in {disk} ({words}); it {ending}. \
                         {quote}"
                    ),
                    "free some disk space, or choose another MDYN_HOME; finished runs are kept",
                );
            }
            Error::unreachable(
                format!("the server ({which}) {ending}. {quote}"),
                "remove the cause named in its log and run again; finished runs are kept",
            )
        })
    }

    fn stop(self: Box<Self>) -> Later<'static, ()> {
        Box::pin(async move {
            let launched = *self;
            launched.guard.stop().await;
        })
    }
}
