//! The machine: what it is, and what else it does while we measure (gate G4).

use std::fs;

use nix::unistd::{SysconfVar, sysconf};

use crate::result::records::{Machine, MachineNoise};

/// What the machine is.
#[must_use]
pub fn describe() -> Machine {
    let read = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).ok();
    let line = |path: &str, name: &str| {
        let text = read(path)?;
        let line = text.lines().find(|line| line.starts_with(name))?.to_owned();
        Some(line.split_once([':', '='])?.1.trim().trim_matches('"').to_owned())
    };
    let memory_kib: u64 = line("/proc/meminfo", "MemTotal")
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .unwrap_or(0);
    Machine {
        cpu: line("/proc/cpuinfo", "model name").unwrap_or_default(),
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
        memory_bytes: memory_kib * 1024,
        os: line("/etc/os-release", "PRETTY_NAME").unwrap_or_default(),
        kernel: read("/proc/sys/kernel/osrelease").unwrap_or_default(),
        clock_source: read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .unwrap_or_default(),
        governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    }
}

/// A reading of the whole machine's CPU time, in ticks.
#[derive(Debug, Clone, Copy, Default)]
pub struct CpuReading {
    busy: u64,
    steal: u64,
    total: u64,
}

impl CpuReading {
    /// Reads the first line of /proc/stat; all zero where there is none.
    #[must_use]
    pub fn take() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let fields: Vec<u64> = text
            .lines()
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .skip(1)
            .filter_map(|field| field.parse().ok())
            .collect();
        // user nice system idle iowait irq softirq steal; guest time is in user already.
        let at = |index: usize| fields.get(index).copied().unwrap_or(0);
        let idle = at(3) + at(4);
        let steal = at(7);
        let busy = at(0) + at(1) + at(2) + at(5) + at(6);
        Self { busy, steal, total: busy + idle + steal }
    }

    /// What happened since `before`, `ours_ns` being the CPU time of our own processes.
    #[must_use]
    pub fn noise_since(&self, before: &Self, ours_ns: u64) -> MachineNoise {
        let ticks_per_s = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100) as f64;
        let total = (self.total - before.total).max(1) as f64;
        let ours = ours_ns as f64 / 1e9 * ticks_per_s;
        let foreign = ((self.busy - before.busy) as f64 - ours).max(0.0);
        MachineNoise {
            steal_fraction: (self.steal - before.steal) as f64 / total,
            foreign_fraction: foreign / total,
            foreign: Vec::new(),
        }
    }
}
