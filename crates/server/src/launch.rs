//! Starts a guard and, through it, a mongod on a free port.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::guard_handle::{GuardHandle, absolute};
use super::health::{self, Health};
use super::host::Host;
use super::instance::{self, Ending, GuardOrder, Instance};
use super::log_tail;
use super::options::StartOptions;
use super::program::Program;
use base::cgroup::Cgroup;
use base::error::{Error, Result};
use base::paths::own_folder;
use base::process_id::ProcessId;

/// Longest time from the start of mongod to its answer to a ping.
const START_LIMIT: Duration = Duration::from_secs(20);
/// Exit code of a mongod that cannot bind its port.
const NET_ERROR: i32 = 48;

/// A guard with its mongod, healthy.
#[derive(Debug)]
pub(super) struct Launched {
    pub guard: GuardHandle,
    pub mongod_id: ProcessId,
    pub port: u16,
    pub flags: Vec<String>,
    pub cache_gb: f64,
    pub data_folder: PathBuf,
    pub log: PathBuf,
    /// Length of the log before the start: a resumed experiment appends to the same file.
    pub log_start: u64,
    pub health: Health,
    /// Last field, since fields are dropped in order: mongod must have ended before.
    _cgroup: Option<Cgroup>,
}

/// Starts `program` as instance `id`; tries other ports if another process takes the chosen one
/// first.
pub(super) async fn launch(
    host: &Host,
    program: &Program,
    options: &StartOptions,
    id: &str,
    detached: bool,
) -> Result<Launched> {
    let mut tries_left = if options.port.is_some() { 1 } else { 5 };
    loop {
        tries_left -= 1;
        let port = options.port.map_or_else(free_port, Ok)?;
        let started = LaunchAttempt { host, program, options, id, detached, port }.run().await;
        match started {
            Err(LaunchFailure::PortTaken) if tries_left > 0 => {}
            Err(LaunchFailure::PortTaken) => {
                return Err(Error::environment(
                    format!("port {port} on 127.0.0.1 is taken, so mongod could not start"),
                    "run the same command again",
                ));
            }
            Err(LaunchFailure::Other(error)) => return Err(error),
            Ok(launched) => return Ok(launched),
        }
    }
}

fn free_port() -> Result<u16> {
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|l| l.local_addr());
    address.map(|address| address.port()).map_err(|error| {
        Error::environment(
            format!("no free port on 127.0.0.1: {error}"),
            "see that the loopback interface is up (`ip addr show lo`)",
        )
    })
}

enum LaunchFailure {
    PortTaken,
    Other(Error),
}

impl From<Error> for LaunchFailure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

struct LaunchAttempt<'a> {
    host: &'a Host,
    program: &'a Program,
    options: &'a StartOptions,
    id: &'a str,
    detached: bool,
    port: u16,
}

impl LaunchAttempt<'_> {
    async fn run(self) -> Result<Launched, LaunchFailure> {
        let cache_gb = self.options.cache_gb.unwrap_or_else(default_cache_gb);
        let parent = self.options.data_parent.clone();
        let parent = parent.unwrap_or_else(|| self.host.data());
        let data_folder = absolute(&parent)?.join(format!("mongodyno-{}", self.id));
        let log = absolute(&self.options.log)?;
        let flags = self.flags(&data_folder, cache_gb);
        let log_start = std::fs::metadata(&log).map_or(0, |meta| meta.len());

        let cgroup = self.options.memory_bytes.map(cgroup).transpose()?;
        let registry = instance::registry_lock(self.host)?;
        instance::sweep(self.host);
        let instance = self.register(&data_folder, &log, &flags, cgroup.as_ref())?;
        let mut guard = GuardHandle::spawn(instance, self.options, &log, self.detached)?;
        let started = guard.started().await;
        drop(registry);

        let healthy = match started.map_err(|reason| start_failed(&reason, &log))? {
            Some(id) => self.become_healthy(&guard, &log, log_start).await.map(|it| (id, it)),
            None => Err(Unhealthy::Ended(guard.ending().unwrap_or_default())),
        };
        match healthy {
            Ok((mongod_id, health)) => Ok(Launched {
                guard,
                mongod_id,
                port: self.port,
                flags,
                cache_gb,
                data_folder,
                log,
                log_start,
                health,
                _cgroup: cgroup,
            }),
            Err(why) => {
                // The guard stops first, so that the log is complete and the folders are free
                // again.
                drop(guard);
                Err(self.explain(why, &log, log_start))
            }
        }
    }

    fn flags(&self, data_folder: &Path, cache_gb: f64) -> Vec<String> {
        let mut flags = vec![
            format!("--port={}", self.port),
            "--bind_ip=127.0.0.1".to_string(),
            "--nounixsocket".to_string(),
            "--setParameter=diagnosticDataCollectionEnabled=false".to_string(),
            // Every five minutes mongod stores the drivers' sessions. It counts these updates with
            // the drivers' own, which made the receipt of the arm in its turn wrong.
            "--setParameter=logicalSessionRefreshMillis=86400000".to_string(),
        ];
        match &self.options.config_servers {
            // A mongos stores nothing.
            Some(servers) => flags.push(format!("--configdb={servers}")),
            None => flags.extend([
                format!("--dbpath={}", data_folder.join("db").display()),
                format!("--wiredTigerCacheSizeGB={cache_gb}"),
            ]),
        }
        flags.extend(self.options.connections.map(|count| format!("--maxConns={count}")));
        flags.extend(self.options.extra_flags.iter().cloned());
        flags
    }

    fn register(
        &self,
        data_folder: &Path,
        log: &Path,
        flags: &[String],
        cgroup: Option<&Cgroup>,
    ) -> Result<Instance> {
        let instance = Instance { folder: self.host.instances().join(self.id) };
        if instance.folder.exists() {
            return Err(Error::usage(
                format!("a server named {:?} is already running", self.id),
                format!("stop it with `mongodyno server stop {}`, or choose another name", self.id),
            ));
        }
        if let Some(folder) = log.parent() {
            own_folder(folder)?;
        }
        instance::create_data(data_folder, self.options.keep_data)?;
        own_folder(&instance.folder)?;
        let order = GuardOrder {
            program: self.program.path.clone(),
            arguments: flags.to_vec(),
            library_path: self.program.library_path.clone().map(PathBuf::from),
            log: log.to_path_buf(),
            data_folder: data_folder.to_path_buf(),
            keep_data: self.options.keep_data,
            cgroup_procs: cgroup.map(Cgroup::procs),
            detached: self.detached,
        };
        let failed = |error: std::io::Error| Error::file("write", &instance.order(), &error);
        std::fs::write(instance.lock(), "").map_err(failed)?;
        instance::write_json(&instance.order(), &order).map_err(failed)?;
        Ok(instance)
    }

    async fn become_healthy(
        &self,
        guard: &GuardHandle,
        log: &Path,
        log_start: u64,
    ) -> Result<Health, Unhealthy> {
        let begin = Instant::now();
        let deadline = begin + START_LIMIT;
        // The driver looks at a refusing port only twice a second; most starts are faster.
        while !self.listens(log, log_start, begin).await {
            if let Some(ending) = guard.ending() {
                return Err(Unhealthy::Ended(ending));
            }
            if Instant::now() >= deadline {
                return Err(Unhealthy::Silent);
            }
            sleep(Duration::from_millis(10)).await;
        }
        tokio::select! {
            biased;
            ending = guard.ended() => Err(Unhealthy::Ended(ending)),
            health = health::managed(self.port, deadline - Instant::now()) => {
                health.map_err(Unhealthy::Refused)
            }
        }
    }

    /// Whether it is the started mongod that listens. Another server may have taken the port first,
    /// and would answer a ping as well. Only a log that was redirected by flags is silent.
    async fn listens(&self, log: &Path, log_start: u64, begin: Instant) -> bool {
        let silent_log = begin.elapsed() > Duration::from_secs(5);
        (log_tail::says_ready(log, log_start) || silent_log)
            && tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await.is_ok()
    }

    fn explain(&self, why: Unhealthy, log: &Path, log_start: u64) -> LaunchFailure {
        let version = &self.program.version;
        let name = if self.options.config_servers.is_some() { "mongos" } else { "mongod" };
        let error = match why {
            Unhealthy::Ended(ending) if ending.code == Some(NET_ERROR) => {
                return LaunchFailure::PortTaken;
            }
            Unhealthy::Ended(ending) => Error::environment(
                format!(
                    "{name} {version} {} while it started. {}",
                    describe(ending),
                    log_tail::quote(log, log_start)
                ),
                "remove the cause named in its log, or give your own server: --uri",
            ),
            Unhealthy::Silent => Error::unreachable(
                format!(
                    "{name} {version} did not listen within {} s. {}",
                    START_LIMIT.as_secs(),
                    log_tail::quote(log, log_start)
                ),
                "see whether the disk or the CPU is overloaded, and try again",
            ),
            Unhealthy::Refused(error) => error,
        };
        LaunchFailure::Other(error)
    }
}

fn cgroup(bytes: u64) -> Result<Cgroup> {
    Cgroup::new(bytes).map_err(|why| {
        Error::environment(
            format!("mongod cannot be kept to {} MiB: {why}", bytes >> 20),
            "leave out --server-memory, or run where cgroups can be made, as root for example",
        )
    })
}

enum Unhealthy {
    Ended(Ending),
    Silent,
    Refused(Error),
}

fn start_failed(reason: &str, log: &Path) -> LaunchFailure {
    LaunchFailure::Other(Error::environment(
        format!("mongod could not be started: {reason} (its log: {})", log.display()),
        "try again; if it stays, give your own server: --uri",
    ))
}

/// "ended with exit code 14", "was killed by signal 9".
pub(super) fn describe(ending: Ending) -> String {
    match (ending.code, ending.signal) {
        (_, Some(9)) => "was killed (signal 9; often: out of memory)".to_string(),
        (_, Some(signal)) => format!("was ended by signal {signal}"),
        (Some(code), None) => format!("ended with exit code {code}"),
        (None, None) => "ended".to_string(),
    }
}

/// A quarter of the memory, at least `WiredTiger`'s minimum, at most 1 GB: the same on most
/// machines. Rejected: mongod's own default, half of the memory, which differs on each.
fn default_cache_gb() -> f64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    let gib = kib.unwrap_or(4.0 * 1_048_576.0) / 1_048_576.0;
    ((gib / 4.0).clamp(0.25, 1.0) * 100.0).round() / 100.0
}
