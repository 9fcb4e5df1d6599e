//! Processes by identity.

use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its number.
    pub pid: u32,
    /// Field 22 of `/proc/PID/stat`: clock ticks after boot.
    pub start_ticks: u64,
}

impl ProcessId {
    /// None if there is no such process (any more).
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The command name may hold spaces and brackets: count from the last bracket.
        let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
        let state = fields.next()?;
        let start_ticks = fields.nth(18)?.parse().ok()?;
        // A zombie holds no resources and waits only for its parent to look.
        (state != "Z" && state != "X").then_some(Self { pid, start_ticks })
    }

    /// Whether it still runs.
    #[must_use]
    pub fn is_alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Sends `signal` if the process is still the one that was meant.
    pub fn signal(self, signal: Signal) {
        if self.is_alive() {
            // It may end between the check and here; then there is nothing left to do.
            let _ = kill(Pid::from_raw(self.pid.cast_signed()), signal);
        }
    }

    /// Whether the process was gone within `limit`.
    #[must_use]
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

/// Lets this process open as many files as it may: each connection is one or two, and the usual
/// soft limit is 1,024. How many that are.
#[must_use]
pub fn raise_file_limit() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 0 };
    if setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() { hard } else { soft }
}
