//! What the core asks the operating system about its children.

use std::fs;
use std::os::unix::process::CommandExt as _;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::signal::{Signal, kill, killpg};
use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

/// The child is killed when the thread that starts it ends, however that comes.
///
/// The core starts every child from its main thread, so that this is the end of the core.
#[allow(unsafe_code)] // prctl between fork and exec has no safe form
pub fn die_with_parent(command: &mut tokio::process::Command) {
    let parent = nix::unistd::getpid();
    // SAFETY: prctl and getppid are async-signal-safe and touch no memory of ours.
    unsafe {
        command.pre_exec(move || {
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
            // The parent may have gone between fork and prctl.
            if nix::unistd::getppid() != parent {
                return Err(std::io::Error::other("the core has gone"));
            }
            Ok(())
        });
    }
}

/// The child and all that it starts run on these cores only; on all of them where there are none.
#[allow(unsafe_code)] // nothing safe runs between fork and exec
pub fn keep_to(command: &mut std::process::Command, cores: &[usize]) {
    let mut set = CpuSet::new();
    for core in cores {
        set.set(*core).expect("the kernel named it");
    }
    if !cores.is_empty() {
        // Before exec: a runtime counts its cores when it starts.
        // SAFETY: sched_setaffinity is a system call and touches no memory of ours.
        unsafe { command.pre_exec(move || Ok(sched_setaffinity(Pid::from_raw(0), &set)?)) };
    }
}

/// Sends a signal to one process; one that has gone is no error.
pub fn signal(pid: Pid, signal: Signal) {
    let _ = kill(pid, signal);
}

/// Sends a signal to a process group that a child of ours leads.
pub fn kill_group(pid: Pid, signal: Signal) {
    let _ = killpg(pid, signal);
}

/// CPU time of a process, ns.
///
/// The process's own CPU clock, because /proc counts in ticks of 10 ms: a fifth of a turn.
#[must_use]
pub fn cpu_ns(pid: Pid) -> Option<u64> {
    let clock: ClockId = clock_getcpuclockid(pid).ok()?;
    let time = clock_gettime(clock).ok()?;
    Some(time.tv_sec().cast_unsigned() * 1_000_000_000 + time.tv_nsec().cast_unsigned())
}

/// Sets the peak resident set of a process back to what it is now.
pub fn reset_rss_peak(pid: Pid) {
    let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
}

/// Resident set and its peak, bytes.
#[must_use]
pub fn rss_bytes(pid: Pid) -> Option<(u64, u64)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib * 1024)
    };
    Some((field("VmRSS:")?, field("VmHWM:")?))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::result::machine::usable_cores;

    #[test]
    fn a_child_keeps_to_its_cores() {
        let allowed = |cores: &[usize]| {
            let mut command = Command::new("grep");
            command.args(["Cpus_allowed_list", "/proc/self/status"]);
            keep_to(&mut command, cores);
            let said = String::from_utf8(command.output().expect("it runs").stdout);
            said.expect("text").split_whitespace().last().map(str::to_owned)
        };
        let last = *usable_cores().last().expect("a core");
        assert_eq!(allowed(&[last]), Some(last.to_string()));
        let own = fs::read_to_string("/proc/self/status").expect("Linux");
        let own = own.lines().find(|line| line.starts_with("Cpus_allowed_list")).expect("a line");
        assert_eq!(allowed(&[]).as_deref(), own.split_whitespace().last(), "all that we have");
    }
}
