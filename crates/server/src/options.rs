//! Options of a start.

use std::path::PathBuf;

#[derive(Debug, Clone, Default)]
pub struct StartOptions {
    /// mongod's log, which is kept. Its folder is created if it is missing.
    pub log: PathBuf,
    /// Folder in which the data folder is made; `<home>/data` if None.
    pub data_parent: Option<PathBuf>,
    pub keep_data: bool,
    /// Port; a free one if None.
    pub port: Option<u16>,
    /// `--wiredTigerCacheSizeGB`; a quarter of the memory, 0.25 to 1, if None.
    pub cache_gb: Option<f64>,
    /// `--maxConns`; mongod's own, by its limit of open files, if None.
    pub connections: Option<u32>,
    /// Memory of mongod, by a cgroup.
    pub memory_bytes: Option<u64>,
    /// `--configdb` of a mongos; None for a mongod.
    pub config_servers: Option<String>,
    /// Further flags for mongod, for example `--replSet=rs0`.
    pub extra_flags: Vec<String>,
    /// The program that has the verb `guard-server`; this one if None.
    pub guard_program: Option<PathBuf>,
    /// Cores that it may use; all if empty.
    pub cores: Vec<usize>,
}

impl StartOptions {
    pub fn new(log: impl Into<PathBuf>) -> Self {
        Self { log: log.into(), ..Self::default() }
    }
}
