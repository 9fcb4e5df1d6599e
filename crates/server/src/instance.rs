//! A server that runs, as files: `<home>/run/<id>/`, and how to clean up after a dead one.
//!
//! ```text
//! lock            locked by the living guard; others lock it only for a moment
//! guard.json      orders of the guard
//! processes.json  the guard and mongod, by pid and start time
//! record.json     what the server is (background servers)
//! ended.json      how mongod ended, if it ended by itself
//! ```

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use base::error::{Error, Result};
use base::lock::lock;
use base::paths::own_folder;
use base::process_id::ProcessId;

use super::host::Host;

/// File in every data folder that mongodyno made; other folders are never removed.
const MARKER: &str = "made-by-mongodyno";

/// The guard's orders; written by the launcher as `guard.json` into the instance folder.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct GuardOrder {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub library_path: Option<PathBuf>,
    pub log: PathBuf,
    pub data_folder: PathBuf,
    pub keep_data: bool,
    /// List of processes of the cgroup that mongod enters.
    #[serde(default)]
    pub cgroup_procs: Option<PathBuf>,
    /// Whether it outlives mongodyno, and ends by SIGTERM only.
    pub detached: bool,
}

/// The guard's words on stdout, one JSON document a line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub(super) enum GuardEvent {
    Started { guard: ProcessId, mongod: ProcessId },
    Ended(Ending),
    Failed { reason: String },
}

/// How mongod ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ending {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// Whether the guard had ended it.
    pub expected: bool,
    /// Whether the disk of its data was full then.
    #[serde(default)]
    pub disk_full: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Instance {
    pub folder: PathBuf,
}

impl Instance {
    pub fn lock(&self) -> PathBuf {
        self.folder.join("lock")
    }

    pub fn order(&self) -> PathBuf {
        self.folder.join("guard.json")
    }

    pub fn processes(&self) -> PathBuf {
        self.folder.join("processes.json")
    }

    pub fn record(&self) -> PathBuf {
        self.folder.join("record.json")
    }

    pub fn ending(&self) -> PathBuf {
        self.folder.join("ended.json")
    }

    pub fn name(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Whether its guard lives. Unknown counts as yes, since no would allow deletions.
    pub fn is_held(&self) -> bool {
        match OpenOptions::new().write(true).open(self.lock()) {
            Ok(file) => file.try_lock_shared().is_err(),
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        }
    }
}

/// All instances, living and dead.
pub(super) fn all(host: &Host) -> Vec<Instance> {
    let Ok(entries) = fs::read_dir(host.instances()) else {
        return Vec::new();
    };
    let folders = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    let mut instances: Vec<Instance> = folders.map(|folder| Instance { folder }).collect();
    instances.sort_by(|a, b| a.folder.cmp(&b.folder));
    instances
}

/// Locks the registry of instances, which keeps starts and sweeps apart. It is locked from before
/// an instance folder is made until its guard has the lock in it.
pub(super) fn registry_lock(host: &Host) -> Result<File> {
    own_folder(&host.instances())?;
    lock(&host.instances().join(".lock"), || ())
}

/// Removes what dead guards have left; the caller must have the registry lock.
pub(super) fn sweep(host: &Host) {
    for instance in all(host) {
        sweep_one(&instance);
    }
}

pub(super) fn sweep_one(instance: &Instance) {
    let file = match OpenOptions::new().write(true).open(instance.lock()) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(_) => return,
    };
    // Locked until the folder is removed, so that a late guard cannot start in it.
    match file.as_ref().map(File::try_lock) {
        None | Some(Ok(())) => {}
        Some(Err(TryLockError::WouldBlock | TryLockError::Error(_))) => return,
    }
    if let Ok(GuardEvent::Started { mongod, .. }) = read_json(&instance.processes()) {
        // The kernel has killed mongod with its guard; this waits until the process has ended.
        mongod.signal(Signal::SIGKILL);
        if !mongod.wait_gone(Duration::from_secs(5)) {
            return;
        }
    }
    if let Ok(order) = read_json::<GuardOrder>(&instance.order())
        && !order.keep_data
    {
        remove_data(&order.data_folder);
    }
    let _ = fs::remove_dir_all(&instance.folder);
}

/// Creates a data folder with mongod's own folder `db` in it; an earlier one of mongodyno's is used
/// again.
pub(super) fn create_data(folder: &Path, reuse: bool) -> Result<()> {
    let marker = folder.join(MARKER);
    if folder.exists() && !(reuse && marker.is_file()) {
        return Err(Error::usage(
            format!("the data folder {} exists already", folder.display()),
            "keep on using it with --keep-data, or delete it",
        ));
    }
    own_folder(&folder.join("db"))?;
    fs::write(&marker, "mongodyno made this folder and removes it.\n")
        .map_err(|error| Error::file("write", &marker, &error))
}

pub(super) fn remove_data(folder: &Path) {
    if folder.join(MARKER).is_file() {
        let _ = fs::remove_dir_all(folder);
    }
}

pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> std::io::Result<T> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

/// Replaces a file atomically: a reader sees the old one or the new one.
pub(super) fn write_json<T: Serialize>(path: &Path, value: &T) -> std::io::Result<()> {
    let new = path.with_extension("new");
    let mut file = File::create(&new)?;
    file.write_all(&serde_json::to_vec_pretty(value)?)?;
    fs::rename(&new, path)
}
