//! `absorber`: this program again, as a server that costs next to nothing. It is a separate
//! process, so that its CPU and memory are measured separately.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::guard::ending;
use crate::health;
use crate::kind_definition::KindDefinition;
use crate::launch::describe;
use crate::log_tail;
use crate::options::StartOptions;
use crate::record::ServerRecord;
use crate::server_handle::{Later, ServerHandle, ServerProcess};
use base::child::{die_with_parent, keep_to, ourselves, signal};
use base::error::{Error, Result};
use record::records::ServerKind;

pub const KIND: KindDefinition = KindDefinition {
    forms: "absorber",
    is_named: |words| words == "absorber",
    identity: |words| Ok(words.to_owned()),
    is_here: |_, _| Ok(true),
    prepare: |_, _, _| Ok(None),
    open: |_, _, options| Box::pin(start(options)),
    again: |_| Ok("absorber".to_owned()),
};

/// Longest time from its start to its first line.
const START_LIMIT: Duration = Duration::from_secs(10);
/// Longest time to write the rest of its hold log.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// A running absorber; it ends with the value, and with this process.
#[derive(Debug)]
struct RunningAbsorber {
    child: Mutex<Child>,
    pid: u32,
    log: PathBuf,
}

#[derive(Deserialize)]
struct Listening {
    address: String,
}

/// Starts `mongodyno absorber` with the further flags of `options`, and waits until it answers.
async fn start(options: &StartOptions) -> Result<ServerHandle> {
    let flags = [&["--listen=127.0.0.1:0".to_owned()], &options.extra_flags[..]].concat();
    let log = File::create(&options.log);
    let log = log.map_err(|error| Error::file("write", &options.log, &error))?;
    let program = options.guard_program.as_ref();
    let mut command = Command::from(program.map_or_else(ourselves, process::Command::new));
    command.arg("absorber").args(&flags).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
    die_with_parent(command.as_std_mut());
    keep_to(command.as_std_mut(), &options.cores);
    let child = command.kill_on_drop(true).spawn();
    let failed = |error| Error::file("start", Path::new("mongodyno absorber"), &error);
    let mut child = child.map_err(failed)?;
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let line = timeout(START_LIMIT, lines.next_line()).await.ok().and_then(Result::ok).flatten();
    let listening = line.and_then(|line| serde_json::from_str::<Listening>(&line).ok());
    let Some(listening) = listening else {
        let _ = child.kill().await;
        return Err(Error::usage(
            format!("the absorber did not start. {}", log_tail::quote(&options.log, 0)),
            "see `mongodyno absorber --help` for what its options take",
        ));
    };
    let uri = format!("mongodb://{}/", listening.address);
    let port = listening.address.rsplit(':').next().and_then(|port| port.parse().ok());
    let health = health::managed(port.unwrap_or_default(), START_LIMIT).await?;
    let record = ServerRecord {
        program: std::env::current_exe().ok(),
        flags,
        log: Some(options.log.clone()),
        ..ServerRecord::new(ServerKind::Absorber, uri.clone(), health)
    };
    let pid = child.id().unwrap_or_default();
    let running = RunningAbsorber { child: Mutex::new(child), pid, log: options.log.clone() };
    Ok(ServerHandle::new(uri, record, Some((pid, Box::new(running)))))
}

impl ServerProcess for RunningAbsorber {
    /// Returns an error with the end of its log.
    fn died(&self) -> Later<'_, Error> {
        Box::pin(async {
            let ended = self.child.lock().await.wait().await;
            Error::unreachable(
                format!(
                    "the absorber {}. {}",
                    ended.map_or_else(
                        |error| error.to_string(),
                        |status| describe(ending(status, false))
                    ),
                    log_tail::quote(&self.log, 0)
                ),
                "remove the cause named in its log and run again; finished runs are kept",
            )
        })
    }

    /// Stops the absorber after its hold log is written.
    fn stop(self: Box<Self>) -> Later<'static, ()> {
        Box::pin(async move {
            signal(Pid::from_raw(self.pid.cast_signed()), Signal::SIGTERM);
            let mut child = self.child.into_inner();
            if timeout(STOP_LIMIT, child.wait()).await.is_err() {
                let _ = child.kill().await;
            }
        })
    }
}
