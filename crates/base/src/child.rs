//! Child processes: their start, their end, and the CPU and memory they use.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use nix::libc;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::signal::{Signal, kill, killpg};
use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

use crate::process_id::ProcessId;

/// Variable in the environment of every adapter and installer, and so of all their children.
const OWNER: &str = "MDYN_OWNER";

/// Makes the kernel kill the child when the thread that started it ends. The core starts every
/// child from its main thread, so that this is the end of the core. The child leads a process
/// group: the terminal sends Ctrl-C and its end to the core alone, which ends its turn and its
/// children.
#[allow(unsafe_code)] // prctl between fork and exec has no safe form
pub fn die_with_parent(command: &mut Command) {
    let parent = nix::unistd::getpid();
    command.process_group(0);
    // SAFETY: prctl and getppid are async-signal-safe and touch no memory of ours.
    unsafe {
        command.pre_exec(move || {
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
            // The parent may have ended between fork and prctl.
            if nix::unistd::getppid() != parent {
                return Err(std::io::Error::other("the core has gone"));
            }
            Ok(())
        });
    }
}

/// Lets the child inherit stdin, stdout and stderr alone. Otherwise a child that outlives mongodyno
/// would keep the files and locks that our caller left open.
#[allow(unsafe_code)] // as above
pub fn inherit_nothing(command: &mut Command) {
    // SAFETY: close_range and fcntl are system calls that touch no memory of ours. Files are closed
    // by exec: the standard library's own pipe works until then.
    unsafe {
        command.pre_exec(|| {
            let cloexec = libc::CLOSE_RANGE_CLOEXEC;
            if libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, cloexec) != 0 {
                // Before Linux 5.11.
                for file in 3..1024 {
                    libc::fcntl(file, libc::F_SETFD, libc::FD_CLOEXEC);
                }
            }
            Ok(())
        });
    }
}

/// Ends the child with the core, and everything that the child starts, even in another session.
///
/// The kernel's signal reaches the child alone, and `setsid` leaves a process group. So a guard
/// process waits for the core's end, then kills every process with its mark in the environment.
/// Rejected: a PID namespace, which containers forbid; a subreaper between core and adapter, whose
/// end would free the grandchildren.
pub fn own(command: &mut Command) {
    static MARK: OnceLock<String> = OnceLock::new();
    let mark = MARK.get_or_init(|| {
        // Without /proc no process with a mark is found, and no mark is used twice.
        let own = ProcessId::of(std::process::id());
        let mark = format!("{}.{}", std::process::id(), own.map_or(0, |own| own.start_ticks));
        let mut guard = ourselves();
        guard.args(["guard-children", &mark]).env_remove(OWNER);
        guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        // Without a guard, grandchildren may outlive a killed core, which is no reason not to
        // measure.
        if let Ok(mut guard) = guard.spawn() {
            std::mem::forget(guard.stdin.take()); // closed by the end of the core
        }
        mark
    });
    command.env(OWNER, mark);
}

/// The hidden verb `guard-children`: waits for the end of the core, then kills the processes with
/// its mark.
pub fn guard(mark: &str) {
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    let mark = format!("{OWNER}={mark}");
    // A process that is forked between a look and the kill is found by the next look.
    for _ in 0..1000 {
        let left = marked(mark.as_bytes());
        if left.is_empty() {
            return;
        }
        for pid in left {
            signal(pid, Signal::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn marked(mark: &[u8]) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_marked = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark)
    };
    pids.filter(is_marked).map(Pid::from_raw).collect()
}

/// A command that runs this program again. It does not use `current_exe`: a rebuild or an upgrade
/// replaces that file, but not the running program.
pub fn ourselves() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("mongodyno");
    command
}

/// Keeps the child and its children to these cores; an empty list sets no limit.
#[allow(unsafe_code)] // nothing safe runs between fork and exec
pub fn keep_to(command: &mut Command, cores: &[usize]) {
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

pub fn usable_cores() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else { return Vec::new() };
    (0..nix::sched::CpuSet::count()).filter(|core| set.is_set(*core).unwrap_or(false)).collect()
}

/// Sends a signal. A process that has ended is no error.
pub fn signal(pid: Pid, signal: Signal) {
    let _ = kill(pid, signal);
}

pub fn kill_group(pid: Pid, signal: Signal) {
    let _ = killpg(pid, signal);
}

/// CPU time of a process by its own CPU clock: /proc counts in ticks of 10 ms, a fifth of a turn.
pub fn cpu_ns(pid: Pid) -> Option<u64> {
    let clock: ClockId = clock_getcpuclockid(pid).ok()?;
    let time = clock_gettime(clock).ok()?;
    Some(time.tv_sec().cast_unsigned() * 1_000_000_000 + time.tv_nsec().cast_unsigned())
}

/// Sets the peak resident set back to the present one.
pub fn reset_rss_peak(pid: Pid) {
    let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
}

/// Resident set, bytes: quicker to read than its peak.
pub fn resident_bytes(pid: Pid) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    let page = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok()??;
    Some(pages * page.cast_unsigned())
}

/// Children of a process, and theirs. It takes some microseconds for each thread, which has its own
/// children.
pub fn descendants(pid: Pid) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let children = threads.filter_map(|it| fs::read_to_string(it.path().join("children")).ok());
    let children = children.collect::<String>();
    let children = children.split_whitespace().flat_map(str::parse).map(Pid::from_raw);
    children.flat_map(|child| [vec![child], descendants(child)].concat()).collect()
}

/// Resident set and its peak, bytes.
pub fn rss_bytes(pid: Pid) -> Option<(u64, u64)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib * 1024)
    };
    Some((field("VmRSS:")?, field("VmHWM:")?))
}

pub fn threads(pid: Pid) -> Option<u64> {
    Some(fs::read_dir(format!("/proc/{pid}/task")).ok()?.count() as u64)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

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
