//! The memory limit of all processes of an arm together: by the kernel, or by a watchdog if no
//! cgroup can be made.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base::cgroup::{self, Cgroup};
use base::child;
use nix::sys::signal::Signal;
use nix::unistd::Pid;

/// Pause between two checks of the watchdog. A client that allocates 1 GB a second is 20 MB over
/// its limit when it is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Checks between two searches for children, which read one file per thread.
const LOOKS_PER_SEARCH: u32 = 10;

/// Limit of one arm in one round; it ends with the value.
#[derive(Debug)]
pub struct MemoryLimit {
    pub bytes: u64,
    /// Number of processes that share it, as planned.
    processes: u32,
    by: LimitMechanism,
}

#[derive(Debug)]
enum LimitMechanism {
    Cgroup(Cgroup),
    Watchdog(Arc<Watched>),
    /// The limit is not enforced: only the runtime is given it.
    Runtime,
}

#[derive(Debug, Default)]
struct Watched {
    pids: Mutex<Vec<Pid>>,
    peak_bytes: AtomicU64,
    killed: AtomicBool,
    ended: AtomicBool,
}

impl MemoryLimit {
    pub fn new(bytes: u64, processes: u32) -> Self {
        match Cgroup::new(bytes) {
            Ok(cgroup) => Self { bytes, processes, by: LimitMechanism::Cgroup(cgroup) },
            Err(_) => Self::watched(bytes, processes),
        }
    }

    fn watched(bytes: u64, processes: u32) -> Self {
        let watched = Arc::new(Watched::default());
        let own = Arc::clone(&watched);
        std::thread::spawn(move || own.watch(bytes));
        Self { bytes, processes, by: LimitMechanism::Watchdog(watched) }
    }

    /// Limit that only the runtime is given, by the manifest's `memory_flag`.
    pub fn told(bytes: u64) -> Self {
        Self { bytes, processes: 1, by: LimitMechanism::Runtime }
    }

    /// Returns why no cgroup can be made here; None if one can.
    pub fn without_cgroup(bytes: u64) -> Option<String> {
        Cgroup::new(bytes).err()
    }

    /// Share of one process, whose runtime knows of no others.
    pub(crate) fn share_bytes(&self) -> u64 {
        self.bytes / u64::from(self.processes.max(1))
    }

    pub(crate) fn enter(&self, command: &mut Command) -> std::io::Result<()> {
        match &self.by {
            LimitMechanism::Cgroup(cgroup) => cgroup::enter(command, &cgroup.procs()),
            LimitMechanism::Watchdog(_) | LimitMechanism::Runtime => Ok(()),
        }
    }

    pub(crate) fn started(&self, pid: Pid) {
        if let LimitMechanism::Watchdog(watched) = &self.by {
            watched.pids.lock().unwrap_or_else(PoisonError::into_inner).push(pid);
        }
    }

    /// Whether a process was killed because of the limit.
    pub fn killed(&self) -> bool {
        match &self.by {
            LimitMechanism::Cgroup(cgroup) => cgroup.kills() > 0,
            LimitMechanism::Watchdog(watched) => watched.killed.load(Ordering::Relaxed),
            LimitMechanism::Runtime => false,
        }
    }

    /// Most memory that was observed in use.
    pub fn peak_bytes(&self) -> u64 {
        match &self.by {
            LimitMechanism::Cgroup(cgroup) => cgroup.peak_bytes(),
            LimitMechanism::Watchdog(watched) => watched.peak_bytes.load(Ordering::Relaxed),
            LimitMechanism::Runtime => 0,
        }
    }
}

impl Watched {
    fn watch(&self, bytes: u64) {
        let (mut look, mut children) = (0, Vec::new());
        while !self.ended.load(Ordering::Relaxed) && !self.killed.load(Ordering::Relaxed) {
            let pids = self.pids.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if look % LOOKS_PER_SEARCH == 0 {
                children = pids.iter().flat_map(|pid| child::descendants(*pid)).collect();
            }
            look += 1;
            // Pages that a fork shares count twice: to ask for their shares takes milliseconds.
            let all = pids.iter().chain(&children);
            let used = all.filter_map(|pid| child::resident_bytes(*pid)).sum();
            self.peak_bytes.fetch_max(used, Ordering::Relaxed);
            if used > bytes {
                // Set before the kill: whoever notices the end of the process asks for the reason.
                self.killed.store(true, Ordering::Relaxed);
                for pid in pids {
                    child::kill_group(pid, Signal::SIGKILL);
                }
                for child in &children {
                    child::signal(*child, Signal::SIGKILL); // it may have left the group
                }
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        if let LimitMechanism::Watchdog(watched) = &self.by {
            watched.ended.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::process::Stdio;

    use super::*;

    /// A process that holds so many bytes and waits.
    fn hungry(limit: &MemoryLimit, bytes: u64) -> std::process::Child {
        let script = format!("x=$(head -c {bytes} /dev/zero | tr '\\0' x); read line || true");
        started(limit, &["-c", &script])
    }

    fn started(limit: &MemoryLimit, words: &[&str]) -> std::process::Child {
        let mut command = Command::new("sh");
        command.args(words).process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        limit.enter(&mut command).expect("it lets in");
        let child = command.spawn().expect("it starts");
        limit.started(Pid::from_raw(child.id().cast_signed()));
        child
    }

    fn kills_beyond_it_alone(limit: impl Fn(u64, u32) -> MemoryLimit) {
        let tight = limit(16 << 20, 1);
        let mut child = hungry(&tight, 64 << 20);
        let status = child.wait().expect("it ends");
        assert_eq!(status.signal(), Some(9), "{status}");
        assert!(tight.killed() && tight.peak_bytes() >= 15 << 20, "{}", tight.peak_bytes());
        let wide = limit(512 << 20, 1);
        let mut child = hungry(&wide, 4 << 20);
        drop(child.stdin.take());
        let status = child.wait().expect("it ends");
        assert!(status.success() && !wide.killed(), "{status}");
    }

    #[test]
    fn the_watchdog_kills_beyond_its_limit() {
        kills_beyond_it_alone(MemoryLimit::watched);
    }

    #[test]
    fn the_watchdog_counts_and_kills_children_in_a_session_of_their_own() {
        let holds = "x=$(head -c 67108864 /dev/zero | tr '\\0' x); sleep 5; echo alive";
        let script = "setsid sh -c \"$0\" & wait";
        let limit = MemoryLimit::watched(16 << 20, 1);
        let mut child = started(&limit, &["-c", script, holds]);
        let mut said = String::new();
        let mut stdout = child.stdout.take().expect("a pipe");
        stdout.read_to_string(&mut said).expect("until both have ended");
        let status = child.wait().expect("it ends");
        assert_eq!((status.signal(), said.as_str()), (Some(9), ""), "{status}");
        assert!(limit.killed() && limit.peak_bytes() >= 15 << 20, "{}", limit.peak_bytes());
    }

    #[test]
    fn what_this_machine_has_kills_beyond_its_limit() {
        kills_beyond_it_alone(MemoryLimit::new);
    }
}
