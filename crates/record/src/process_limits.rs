//! Limits of a process: what `ulimit` shows, and the memory of its cgroup.

use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// In force when the process had started (the soft ones); None: no limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    pub open_files: Option<u64>,
    /// Processes that its user may have.
    pub processes: Option<u64>,
    pub address_space_bytes: Option<u64>,
    pub locked_memory_bytes: Option<u64>,
    /// The smallest of its cgroup and of those above it.
    pub cgroup_memory_bytes: Option<u64>,
}

/// Version 1 of cgroups has no word for "no limit", but a number of that size.
const UNLIMITED_BYTES: u64 = 1 << 62;

impl Limits {
    /// None for a process that has gone or is hidden from us.
    pub fn of(pid: u32) -> Option<Self> {
        let process = Path::new("/proc").join(pid.to_string());
        let limits = fs::read_to_string(process.join("limits")).ok()?;
        let soft = |name: &str| {
            let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let cgroups = fs::read_to_string(process.join("cgroup")).unwrap_or_default();
        Some(Self {
            open_files: soft("Max open files"),
            processes: soft("Max processes"),
            address_space_bytes: soft("Max address space"),
            locked_memory_bytes: soft("Max locked memory"),
            cgroup_memory_bytes: cgroup_memory_bytes(&cgroups, Path::new("/sys/fs/cgroup")),
        })
    }
}

/// `cgroups` is `/proc/PID/cgroup`. Within a container the path may be the host's: the file at the
/// top is then the container's own.
fn cgroup_memory_bytes(cgroups: &str, mounted: &Path) -> Option<u64> {
    let limits = cgroups.lines().filter_map(|line| {
        let (_, line) = line.split_once(':')?;
        let (controllers, path) = line.split_once(':')?;
        let (top, file) = match controllers {
            "" => (mounted.to_owned(), "memory.max"),
            "memory" => (mounted.join("memory"), "memory.limit_in_bytes"),
            _ => return None,
        };
        let own = top.join(path.trim_start_matches('/'));
        let levels = own.ancestors().take_while(|it| it.starts_with(&top));
        let limit = |level: &Path| fs::read_to_string(level.join(file)).ok()?.trim().parse().ok();
        levels.filter_map(limit).min()
    });
    limits.min().filter(|bytes| *bytes < UNLIMITED_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_of_memory_above_a_process_holds() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, text).expect("a file");
        };
        let bytes = |cgroups: &str| cgroup_memory_bytes(cgroups, folder.path());
        write("user/memory.max", "1000\n");
        write("user/run/memory.max", "max\n");
        write("user/run/small/memory.max", "10\n");
        assert_eq!(bytes("0::/user/run\n"), Some(1000));
        assert_eq!(bytes("0::/user/run/small\n"), Some(10));
        assert_eq!(bytes("0::/elsewhere\n"), None);
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/box/memory.limit_in_bytes", "2000\n");
        assert_eq!(bytes("4:memory:/\n1:cpu:/box\n0::/\n"), None);
        assert_eq!(bytes("4:memory:/box/unseen\n0::/\n"), Some(2000));
    }
}
