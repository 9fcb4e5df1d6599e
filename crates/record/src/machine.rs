//! The machine, and its load by others while we measure (gate G4).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::disturbed::ForeignLoad;

/// The machine of the experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Processor model.
    pub cpu: String,
    /// Usable cores.
    pub cores: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    pub os: String,
    /// Kernel release.
    pub kernel: String,
    /// Such as `tsc`.
    pub clock_source: String,
    /// Frequency governor, if the system reports it.
    pub governor: Option<String>,
    /// Cores of the server and of the clients; None where they share all.
    #[serde(default)]
    pub placement: Option<Placement>,
    /// Whether cores were kept awake during turns; None in folders of earlier versions.
    #[serde(default)]
    pub keep_awake: Option<KeepAwake>,
}

/// Separate cores for server and clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Placement {
    /// Cores of the server that we start.
    pub server: Vec<usize>,
    /// Cores of all adapters.
    pub clients: Vec<usize>,
}

/// Idle-priority threads that keep cores from halting during turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeepAwake {
    /// Whether there were any.
    pub used: bool,
    /// Why, in a few words.
    pub reason: String,
    /// Round trip between two threads without them, us, as measured before the first round.
    pub round_trip_us: Option<f64>,
    /// The same with them, us.
    pub round_trip_awake_us: Option<f64>,
}

/// Load of the machine during a round that is not ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineNoise {
    /// CPU time stolen by the hypervisor.
    pub steal_fraction: f64,
    /// CPU time of processes that are not ours.
    pub foreign_fraction: f64,
    /// The largest of these processes, at most three.
    #[serde(default)]
    pub foreign: Vec<ForeignProcess>,
}

impl MachineNoise {
    /// The foreign load as statistics read it.
    pub fn around(&self) -> ForeignLoad<'_> {
        ForeignLoad {
            steal_fraction: self.steal_fraction,
            foreign_fraction: self.foreign_fraction,
            processes: self.foreign.iter().map(|it| (it.name.as_str(), it.fraction)).collect(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForeignProcess {
    /// Name of its command.
    pub name: String,
    /// CPU time it used, as a fraction of the whole machine's.
    pub fraction: f64,
}

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
        placement: None,
        keep_awake: None,
    }
}

/// Processes with less of the machine are not named.
const NAMED_FRACTION_MIN: f64 = 0.005;
const NAMES_MAX: usize = 3;

/// CPU time of the whole machine and of each process, in ticks.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    busy: u64,
    steal: u64,
    total: u64,
    processes: HashMap<u32, Process>,
}

#[derive(Debug, Clone)]
struct Process {
    name: String,
    parent: u32,
    /// In ticks after boot: numbers of processes are used again.
    began: u64,
    ticks: u64,
    /// CPU time of ended children that it waited for.
    waited: u64,
}

impl Reading {
    /// Reads `/proc/stat` and `/proc/PID/stat`; empty where they do not exist.
    pub fn take() -> Self {
        let mut reading = Self::of_machine(&fs::read_to_string("/proc/stat").unwrap_or_default());
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse() else { continue };
            let stat = fs::read(entry.path().join("stat")).unwrap_or_default();
            // A name is bytes, not text.
            let process = Process::parse(&String::from_utf8_lossy(&stat));
            reading.processes.extend(process.map(|process| (pid, process)));
        }
        reading
    }

    fn of_machine(stat: &str) -> Self {
        let first = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
        let fields: Vec<u64> = first.filter_map(|field| field.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest time is in user already.
        let at = |index: usize| fields.get(index).copied().unwrap_or(0);
        let idle = at(3) + at(4);
        let steal = at(7);
        let busy = at(0) + at(1) + at(2) + at(5) + at(6);
        Self { busy, steal, total: busy + idle + steal, processes: HashMap::new() }
    }

    /// The load since `before`. Ours are the core, everything it has started, and the processes
    /// `beside` it with their children.
    pub fn noise_since(&self, before: &Self, beside: &[u32]) -> MachineNoise {
        let total = self.total.saturating_sub(before.total).max(1) as f64;
        let roots: Vec<u32> = beside.iter().copied().chain([std::process::id()]).collect();
        let (ours, ours_before) = (self.family(&roots), before.family(&roots));
        let used = self.ticks_of(&ours).saturating_sub(before.ticks_of(&ours_before));
        let busy = self.busy.saturating_sub(before.busy);
        MachineNoise {
            steal_fraction: self.steal.saturating_sub(before.steal) as f64 / total,
            foreign_fraction: busy.saturating_sub(used) as f64 / total,
            foreign: self.names(before, &ours, total),
        }
    }

    /// These processes and all their descendants.
    fn family(&self, roots: &[u32]) -> HashSet<u32> {
        let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
        for (pid, process) in &self.processes {
            children.entry(process.parent).or_default().push(*pid);
        }
        let mut found = HashSet::new();
        let mut left = roots.to_vec();
        while let Some(pid) = left.pop() {
            if found.insert(pid) {
                left.extend(children.get(&pid).into_iter().flatten());
            }
        }
        found
    }

    /// CPU time with that of ended children: it holds adapters that lived between two readings.
    fn ticks_of(&self, pids: &HashSet<u32>) -> u64 {
        pids.iter().filter_map(|pid| self.processes.get(pid)).map(|it| it.ticks + it.waited).sum()
    }

    fn names(&self, before: &Self, ours: &HashSet<u32>, total: f64) -> Vec<ForeignProcess> {
        let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
        for (pid, process) in self.processes.iter().filter(|(pid, _)| !ours.contains(pid)) {
            let earlier = before.processes.get(pid).filter(|it| it.began == process.began);
            let ticks = process.ticks.saturating_sub(earlier.map_or(0, |it| it.ticks));
            *by_name.entry(&process.name).or_default() += ticks;
        }
        let mut foreign: Vec<ForeignProcess> = by_name
            .into_iter()
            .map(|(name, ticks)| ForeignProcess {
                name: name.to_owned(),
                fraction: ticks as f64 / total,
            })
            .filter(|it| it.fraction >= NAMED_FRACTION_MIN)
            .collect();
        foreign.sort_by(|a, b| b.fraction.total_cmp(&a.fraction));
        foreign.truncate(NAMES_MAX);
        foreign
    }
}

impl Process {
    /// Reads a line of `/proc/PID/stat`.
    fn parse(stat: &str) -> Option<Self> {
        // The name may hold spaces and brackets: it ends with the last bracket.
        let (before, after) = (stat.find('(')?, stat.rfind(')')?);
        let fields: Vec<&str> = stat[after + 1..].split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        // The kernel's workers are called after their processor and queue: kworker/0:1-events.
        let name = stat[before + 1..after].split('/').next().unwrap_or_default();
        Some(Self {
            name: name.to_owned(),
            parent: number(1)? as u32,
            ticks: number(11)? + number(12)?,
            waited: number(13)? + number(14)?,
            began: number(19)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of two cores after so many ticks, busy for some of them.
    fn reading(total: u64, busy: u64, processes: &[(u32, u32, &str, u64, u64)]) -> Reading {
        let stat = format!("cpu  {busy} 0 0 {} 0 0 0 0 0 0\ncpu0 1 1 1\n", total - busy);
        let mut reading = Reading::of_machine(&stat);
        for (pid, parent, name, ticks, waited) in processes {
            let line = format!(
                "{pid} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 {ticks} 0 {waited} 0 \
                                20 0 1 0 {pid}77 0 0"
            );
            reading.processes.insert(*pid, Process::parse(&line).expect("a line"));
        }
        reading
    }

    #[test]
    fn a_name_may_hold_anything() {
        let process = Process::parse("7 (a) (b c) R 3 1 1 0 -1 0 0 0 0 0 5 6 7 8 20 0 1 0 99 0");
        let process = process.expect("a line");
        assert_eq!((process.name.as_str(), process.parent), ("a) (b c", 3));
        assert_eq!((process.ticks, process.waited, process.began), (11, 15, 99));
    }

    #[test]
    fn foreign_processes_are_named_by_what_they_used() {
        let own = std::process::id();
        let before = reading(
            1000,
            500,
            &[
                (own, 1, "mongodyno", 10, 0),
                (900_001, 1, "rustc", 100, 0),
                (900_002, 1, "chrome", 50, 0),
                (900_003, 1, "idle", 5, 0),
            ],
        );
        let after = reading(
            2000,
            1300,
            &[
                (own, 1, "mongodyno", 60, 200), // an adapter that came and went
                (900_001, 1, "rustc", 250, 0),
                (900_002, 1, "chrome", 80, 0),
                (900_003, 1, "idle", 6, 0),
                (900_004, 1, "rustc", 150, 0), // began meanwhile
                (900_005, 1, "kworker/0:1-events", 10, 0),
                (900_006, 1, "bash", 8, 0),
                (900_007, own, "mongod", 100, 0),
            ],
        );
        let noise = after.noise_since(&before, &[]);
        assert!((noise.foreign_fraction - (800.0 - 350.0) / 1000.0).abs() < 1e-9, "{noise:?}");
        let named: Vec<(&str, f64)> =
            noise.foreign.iter().map(|it| (it.name.as_str(), it.fraction)).collect();
        assert_eq!(named, [("rustc", 0.3), ("chrome", 0.03), ("kworker", 0.01)]);
    }

    #[test]
    fn a_server_beside_us_is_ours_with_its_children() {
        let before = reading(1000, 0, &[(900_010, 1, "mongod", 100, 0)]);
        let after = reading(
            2000,
            500,
            &[(900_010, 1, "mongod", 500, 0), (900_011, 900_010, "helper", 90, 0)],
        );
        let noise = after.noise_since(&before, &[900_010]);
        assert!((noise.foreign_fraction - 0.01).abs() < 1e-9, "{noise:?}");
        assert_eq!(noise.foreign, []);
        assert!(after.noise_since(&before, &[]).foreign_fraction > 0.4);
    }

    #[test]
    fn a_reading_of_this_machine_knows_this_process() {
        let reading = Reading::take();
        assert!(reading.total > 0);
        assert!(reading.processes.contains_key(&std::process::id()));
    }
}
