//! A memory limit by the kernel: a cgroup of version 2, or of version 1's memory controller.
//!
//! Never `RLIMIT_AS`: runtimes reserve addresses that they never use.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const PREFIX: &str = "mongodyno-";
/// Number of tries until the last killed process has left.
const LEAVE_LOOKS_MAX: u32 = 50;
const LEAVE_EVERY: Duration = Duration::from_millis(10);

/// Files of one version of cgroups.
#[derive(Debug, Clone, Copy)]
struct Version {
    /// Type of its mount, and a mount option that it must have.
    mount: (&'static str, &'static str),
    limit: &'static str,
    /// Limit of memory and swap: a client that is swapped out would continue, a thousand times
    /// slower.
    swap: &'static str,
    /// Whether `swap` is a separate limit, and not one of both together.
    swap_apart: bool,
    /// File that makes the kernel kill all processes together.
    group: Option<&'static str>,
    /// File with the number of kills after the word `oom_kill`.
    kills: &'static str,
    peak: &'static str,
}

const VERSIONS: [Version; 2] = [
    Version {
        mount: ("cgroup2", ""),
        limit: "memory.max",
        swap: "memory.swap.max",
        swap_apart: true,
        group: Some("memory.oom.group"),
        kills: "memory.events",
        peak: "memory.peak",
    },
    Version {
        mount: ("cgroup", "memory"),
        limit: "memory.limit_in_bytes",
        swap: "memory.memsw.limit_in_bytes",
        swap_apart: false,
        group: None,
        kills: "memory.oom_control",
        peak: "memory.max_usage_in_bytes",
    },
];

/// A cgroup that mongodyno made; it is removed with the value.
#[derive(Debug)]
pub struct Cgroup {
    folder: PathBuf,
    version: Version,
    limit_bytes: u64,
}

impl Cgroup {
    /// # Errors
    /// The reason why none can be made here, in a few words.
    pub fn new(limit_bytes: u64) -> Result<Self, String> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut why = "this system has no memory cgroups".to_owned();
        for version in VERSIONS {
            for parent in parents(&mounts, &own, version) {
                match Self::below(&parent, version, limit_bytes) {
                    Ok(made) => return Ok(made),
                    Err(error) => why = format!("no cgroup can be made: {error}"),
                }
            }
        }
        Err(why)
    }

    fn below(parent: &Path, version: Version, limit_bytes: u64) -> Result<Self, std::io::Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        sweep(parent);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&folder)?;
        let made = Self { folder, version, limit_bytes };
        fs::write(made.folder.join(version.limit), limit_bytes.to_string())?;
        let swap_bytes = if version.swap_apart { 0 } else { limit_bytes };
        // The file is missing if the kernel does not account for swap.
        let _ = fs::write(made.folder.join(version.swap), swap_bytes.to_string());
        if let Some(group) = version.group {
            let _ = fs::write(made.folder.join(group), "1");
        }
        File::options().write(true).open(made.procs())?;
        Ok(made)
    }

    /// List of its processes: a process that writes 0 to it enters.
    pub fn procs(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }

    /// How often the kernel has killed because of the limit.
    pub fn kills(&self) -> u64 {
        let text = fs::read_to_string(self.folder.join(self.version.kills)).unwrap_or_default();
        let kills = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        kills.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
    }

    /// Most memory that was in use; the limit if the kernel does not report it.
    pub fn peak_bytes(&self) -> u64 {
        let text = fs::read_to_string(self.folder.join(self.version.peak)).unwrap_or_default();
        text.trim().parse().unwrap_or(self.limit_bytes)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for _ in 0..LEAVE_LOOKS_MAX {
            match fs::remove_dir(&self.folder) {
                Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
                    std::thread::sleep(LEAVE_EVERY);
                }
                _ => return,
            }
        }
    }
}

/// Puts the child into a cgroup from its first instruction on.
///
/// # Errors
/// The list of its processes cannot be opened.
#[allow(unsafe_code)] // as for `child::die_with_parent`
pub fn enter(command: &mut Command, procs: &Path) -> std::io::Result<()> {
    let procs = File::options().write(true).open(procs)?;
    // SAFETY: write is a system call and touches no memory of ours.
    unsafe { command.pre_exec(move || Ok(nix::unistd::write(&procs, b"0").map(|_| ())?)) };
    Ok(())
}

/// Our own cgroup and those above it, the nearest first: in version 2 only one without processes
/// passes the controller on.
fn parents(mounts: &str, own: &str, version: Version) -> Vec<PathBuf> {
    let (kind, option) = version.mount;
    let mount = mounts.lines().find_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, path, its, options, ..] = words[..] else { return None };
        let has = option.is_empty() || options.split(',').any(|it| it == option);
        (its == kind && has).then_some(path)
    });
    let path = own.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers.split(',').any(|it| it == option).then_some(path)
    });
    let Some(mount) = mount.map(Path::new) else { return Vec::new() };
    let own = mount.join(path.unwrap_or("/").trim_start_matches('/'));
    own.ancestors().take_while(|it| it.starts_with(mount)).map(Path::to_owned).collect()
}

/// Removes cgroups that killed processes of this program have left. One that is in use stays.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(PREFIX).and_then(|it| it.split('-').next());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_cgroup_is_tried_before_those_above_it() {
        let mounts = "cgroup /c/cpu cgroup rw,cpu 0 0\ncgroup /c/memory cgroup rw,memory 0 0\n\
                      cgroup2 /c/unified cgroup2 rw 0 0\n";
        let own = "3:cpu:/\n4:memory:/a/b\n0::/x\n";
        let [two, one] = VERSIONS.map(|version| parents(mounts, own, version));
        assert_eq!(two, ["/c/unified/x", "/c/unified"].map(PathBuf::from));
        assert_eq!(one, ["/c/memory/a/b", "/c/memory/a", "/c/memory"].map(PathBuf::from));
        assert!(parents("", own, VERSIONS[0]).is_empty());
    }
}
