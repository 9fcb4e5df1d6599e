//! The disk of a server's data, by the kernel's counts.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::Instant;

use nix::sys::stat::{major, minor};

/// A disk, with its last reading.
pub struct Disk {
    device: u64,
    read: (Instant, u64),
}

impl Disk {
    /// The disk below the data of a mongod of this machine; None where it cannot be found: the
    /// process is another user's, or its files are on no block device (tmpfs, overlay).
    ///
    /// It is the disk of the lock file that mongod holds open. Rejected: its dbpath, which may be a
    /// path in a container.
    pub fn of_server(pid: u32) -> Option<Self> {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
        let is_lock = |to: std::path::PathBuf| to.ends_with("mongod.lock");
        let lock = files.map(|it| it.path()).find(|it| fs::read_link(it).is_ok_and(is_lock))?;
        let device = fs::metadata(lock).ok()?.dev();
        Some(Self { device, read: (Instant::now(), busy_ms(device)?) })
    }

    /// The part of the time since the last call in which it was at work.
    pub fn busy_fraction(&mut self) -> Option<f64> {
        let now = (Instant::now(), busy_ms(self.device)?);
        let (then, before) = std::mem::replace(&mut self.read, now);
        let passed_ms = now.0.duration_since(then).as_secs_f64() * 1e3;
        Some((now.1.saturating_sub(before) as f64 / passed_ms.max(1.0)).min(1.0))
    }
}

fn busy_ms(device: u64) -> Option<u64> {
    let disks = fs::read_to_string("/proc/diskstats").ok()?;
    disks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        (number(0)? == major(device) && number(1)? == minor(device)).then(|| number(12))?
    })
}
