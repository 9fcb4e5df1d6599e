//! Processes, distinguished from later ones with the same number.

use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    pub pid: u32,
    /// Field 22 of `/proc/PID/stat`: clock ticks after boot.
    pub start_ticks: u64,
}

impl ProcessId {
    /// Returns None if the process does not exist any more.
    pub fn of(pid: u32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The command name may contain spaces and brackets: count from the last bracket.
        let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
        let state = fields.next()?;
        let start_ticks = fields.nth(18)?.parse().ok()?;
        // A zombie has no resources and waits only for its parent.
        (state != "Z" && state != "X").then_some(Self { pid, start_ticks })
    }

    pub fn is_alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Sends `signal`, unless the process has ended.
    pub fn signal(self, signal: Signal) {
        if self.is_alive() {
            // It may end between the check and the signal: nothing is left to do.
            let _ = kill(Pid::from_raw(self.pid.cast_signed()), signal);
        }
    }

    /// True if the process ended within `limit`.
    pub fn wait_gone(self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while self.is_alive() {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }
}

/// Identifies the system whose process numbers we see: this boot of the machine, and the namespace
/// of a container. It is empty if they are unknown.
pub fn system() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let namespace = std::fs::read_link("/proc/self/ns/pid");
    let (Ok(boot), Ok(namespace)) = (boot, namespace) else { return String::new() };
    format!("{} {}", boot.trim(), namespace.display())
}

/// Inodes of the sockets that a process has open.
///
/// # Errors
/// The process has ended, or is another user's.
pub fn sockets(pid: u32) -> std::io::Result<Vec<u64>> {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd"))?.flatten();
    let inode = |file: std::fs::DirEntry| {
        let to = std::fs::read_link(file.path()).ok()?;
        to.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    Ok(files.filter_map(inode).collect())
}

/// Raises the limit of open files as far as allowed, and returns it. A connection takes one or two,
/// and the usual soft limit is 1,024.
pub fn raise_file_limit() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 0 };
    if setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() { hard } else { soft }
}
