//! A constant cost per operation, injected in one arm of a test build, comes back inside its
//! interval.
//!
//! Copies of real adapters spin for so many us between the first clock reading and the driver's
//! call. In no-ops of 100 us nothing but the spin takes time, and it must come back as wall time.
//! On a server it must come back as client CPU per operation, and in the driver's share by the tap.
//! Wall time is shown beside it and is another question. While the client spins, the server
//! finishes its other work, and a core that may halt wakes up later.

use std::fs;
use std::path::Path;

use adapter::manifest::discover;
use base::child::usable_cores;
use record::records::PhaseRun;
use stats::descriptive::median;
use stats::rank::hodges_lehmann;
use stats::ratio::log_ratios;
use stats::threshold::Quantity;

use crate::support::{Bench, Condition, Measured, Outcome, benches, table};

const INJECTED_US: [u32; 2] = [15, 60];
const ROUNDS: &str = "8";
const SERVER_S: &str = "seconds=1";
const LONG_ROUNDS: &str = "20";
/// Spin of the baseline's operations where there is no server.
const BASE_US: u32 = 100;
/// The level of verdicts: one of a dozen intervals of 95 % would miss every second time.
const ALPHA: f64 = 0.01;

/// Where the cost is injected.
#[derive(Clone, Copy)]
enum Place {
    /// Into no-ops: time adds up.
    Nothing,
    /// Into find_one on a server, all processes on one core. The wake-up of another core would add
    /// to wall time and CPU time.
    OneCore,
    /// The same on all cores, as users run it.
    Server,
}

impl Place {
    fn phase(self) -> &'static str {
        match self {
            Self::Nothing => "noop",
            Self::OneCore | Self::Server => "find_one",
        }
    }

    /// For tables.
    fn cores(self) -> &'static str {
        if matches!(self, Self::OneCore) { "one core" } else { "all cores" }
    }

    /// Spin of an operation in the baseline.
    fn base_us(self) -> u32 {
        match self {
            Self::Nothing => BASE_US,
            Self::OneCore | Self::Server => 0,
        }
    }

    /// Metrics there, and whether the goal is judged by each.
    fn metrics(self) -> &'static [(Metric, bool)] {
        match self {
            Self::Nothing => &[(THROUGHPUT, true), (P50, true)],
            Self::OneCore => &[(CPU, true), (DRIVER, true), (THROUGHPUT, false), (P50, false)],
            Self::Server => &[(CPU, false), (DRIVER, false), (THROUGHPUT, false), (P50, false)],
        }
    }
}

/// A change to an adapter: file, text, and the text in its place.
struct Patch {
    adapter: &'static str,
    file: &'static str,
    text: &'static str,
    instead: &'static str,
}

/// Adapters with a patch; the short form takes the first of them that runs here.
const PATCHES: [Patch; 3] = [
    Patch {
        adapter: "go",
        file: "worker.go",
        text: "\tf.start = now()\n",
        instead: "\tf.start = now()\n\tfor now() < f.start+{ns} {\n\t}\n",
    },
    Patch {
        adapter: "python",
        file: "threads.py",
        text: "            start_ns = clock_ns()\n",
        instead: "            start_ns = clock_ns()\n\
                  \x20           while clock_ns() < start_ns + {ns}:\n\
                  \x20               pass\n",
    },
    Patch {
        adapter: "node",
        file: "workers.js",
        text: "  start_ns = now_ns();\n",
        instead: "  start_ns = now_ns();\n  while (now_ns() < start_ns + {ns});\n",
    },
];

pub fn run(bench: &Bench) -> Outcome {
    let able = PATCHES.iter().filter(|patch| bench.adapters.iter().any(|it| it == patch.adapter));
    let chosen: Vec<&Patch> = able.take(if bench.long { PATCHES.len() } else { 1 }).collect();
    let mut rows = Vec::new();
    let mut reached = !chosen.is_empty();
    for patch in chosen {
        for (place, condition) in experiments(bench) {
            let measured = measure(bench, patch, place, condition)?;
            for (number, injected_us) in INJECTED_US.iter().enumerate() {
                let arm = number + 2; // after the baseline and its A/A arm
                for (metric, is_judged) in place.metrics() {
                    let (row, inside) = row(&measured, place, arm, *injected_us, metric)?;
                    let machine = format!("{}, {}", condition.name(), place.cores());
                    let more = [patch.adapter.to_owned(), machine];
                    let judged = if *is_judged { "yes" } else { "no" }.to_owned();
                    rows.push([&more[..], &row, &[judged]].concat());
                    reached &= inside || !is_judged;
                }
            }
        }
    }
    let head = [
        "adapter",
        "machine",
        "operation",
        "metric",
        "injected us",
        "found us",
        "99 % interval us",
        "inside",
        "judged",
    ];
    table(&head, &rows);
    println!(
        "\n{} rounds; the interval is the signed-rank interval of the log ratios, in us of the \
         baseline's median\ngoal: the injected cost lies inside where it is judged (p50: or one \
         bucket beside it, 0.1 %)",
        if bench.long { LONG_ROUNDS } else { ROUNDS }
    );
    Ok(reached)
}

/// All cores and a disturbed machine belong to the long form.
fn experiments(bench: &Bench) -> Vec<(Place, Condition)> {
    let mut all = vec![(Place::Nothing, Condition::Quiet), (Place::OneCore, Condition::Quiet)];
    if bench.long {
        all.extend([(Place::OneCore, Condition::Disturbed), (Place::Server, Condition::Quiet)]);
    }
    all
}

fn measure(
    bench: &Bench,
    patch: &Patch,
    place: Place,
    condition: Condition,
) -> Result<Measured, String> {
    let phase = place.phase();
    let name = format!("adapters-{}-{phase}-{}", patch.adapter, condition.name());
    let adapters = bench.scratch.join(name);
    let mut words = Vec::new();
    for injected_us in [0].iter().chain(&INJECTED_US) {
        let name = format!("{}-spin{injected_us}", patch.adapter);
        write_patched(patch, &name, place.base_us() + injected_us, &adapters.join(&name))?;
        words.extend(["-d".to_owned(), name]);
    }
    let (spin, short) = (benches("workloads/spin.yaml"), benches("workloads/turns.yaml"));
    let folder = adapters.display().to_string();
    let mut all = match place {
        Place::Nothing => vec![spin.as_str(), "--server", "none"],
        Place::OneCore | Place::Server if bench.long => vec!["crud", "--tap"],
        Place::OneCore | Place::Server => vec![&short, "--tap", "--set", SERVER_S],
    };
    let rounds = if bench.long { LONG_ROUNDS } else { ROUNDS };
    all.extend(["--phase", phase, "--adapters-dir", &folder, "--rounds", rounds]);
    all.extend(["--interleave", "turns"]);
    all.extend(words.iter().map(String::as_str));
    let cores = if matches!(place, Place::OneCore) { &usable_cores()[..1] } else { &[] };
    bench.experiment_on(condition, cores, &all)
}

/// Writes an adapter's files below `folder`, patched and under another name.
fn write_patched(patch: &Patch, name: &str, us: u32, folder: &Path) -> Result<(), String> {
    let manifests = discover(None).map_err(|error| error.to_string())?;
    let manifest = manifests.iter().find(|it| it.name == patch.adapter).ok_or("no such adapter")?;
    let files = manifest.files().map_err(|error| error.to_string())?;
    let mut edits = 0;
    for (path, bytes) in files {
        let mut bytes = bytes;
        let edit = |text: &str, instead: &str| -> Result<Vec<u8>, String> {
            let whole = String::from_utf8_lossy(&bytes);
            if whole.matches(text).count() != 1 {
                return Err(format!("{}/{path}: {text:?} is not there once", patch.adapter));
            }
            Ok(whole.replace(text, instead).into_bytes())
        };
        if path == patch.file {
            bytes = edit(patch.text, &patch.instead.replace("{ns}", &(us * 1000).to_string()))?;
            edits += 1;
        } else if path == "adapter.toml" {
            let line = format!("\"{}\"\ndriver", patch.adapter);
            bytes = edit(&line, &format!("\"{name}\"\ndriver"))?;
            edits += 1;
        }
        let target = folder.join(path);
        let parent = target.parent().expect("below the folder");
        fs::create_dir_all(parent).map_err(|error| error.to_string())?;
        fs::write(&target, bytes).map_err(|error| error.to_string())?;
    }
    if edits == 2 { Ok(()) } else { Err(format!("{}: nothing to patch", patch.adapter)) }
}

/// A name, and time per operation in us from a phase.
struct Metric {
    name: &'static str,
    quantity: Quantity,
    value: fn(&PhaseRun) -> f64,
    us: fn(f64) -> f64,
    /// Relative precision of the metric.
    resolution: f64,
}

const THROUGHPUT: Metric = Metric {
    name: "throughput",
    quantity: Quantity::Throughput,
    value: |run| run.throughput,
    us: |per_second| 1e6 / per_second,
    resolution: 0.0,
};
const P50: Metric = Metric {
    name: "p50",
    quantity: Quantity::P50,
    value: |run| run.by_operation[0].service.p50_us.unwrap_or(f64::NAN),
    us: |us| us,
    resolution: 1e-3, // three digits, one bucket of the histogram
};
/// CPU time of the client's processes, by operation.
const CPU: Metric = Metric {
    name: "client CPU",
    quantity: Quantity::CpuPerOperation,
    value: |run| run.cpu_us_per_op,
    us: |us| us,
    resolution: 0.0,
};
/// Service time less server and wire.
const DRIVER: Metric = Metric {
    name: "driver's share",
    quantity: Quantity::P50,
    value: |run| run.tap.as_ref().and_then(|tap| tap.driver_us_per_op).unwrap_or(f64::NAN),
    us: |us| us,
    resolution: 0.0,
};

fn row(
    measured: &Measured,
    place: Place,
    arm: usize,
    injected_us: u32,
    metric: &Metric,
) -> Result<(Vec<String>, bool), String> {
    let base = measured.by_round(0, place.phase(), metric.value);
    let other = measured.by_round(arm, place.phase(), metric.value);
    let some = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
    let ratios = log_ratios(metric.quantity.direction(), &some(&base), &some(&other));
    let ratios: Vec<f64> = ratios.into_iter().flatten().collect();
    let found = hodges_lehmann(&ratios, ALPHA).ok_or("no rounds")?;
    let base_us = (metric.us)(median(&base).ok_or("no rounds")?);
    let us = |log_ratio: f64| base_us * log_ratio.exp_m1();
    let (low, high) = (us(found.low), us(found.high));
    let bucket_us = metric.resolution * (base_us + f64::from(injected_us));
    let inside = (low - bucket_us..=high + bucket_us).contains(&f64::from(injected_us));
    let cells = vec![
        place.phase().to_owned(),
        format!("{} (base {base_us:.1} us)", metric.name),
        injected_us.to_string(),
        format!("{:.2}", us(found.estimate)),
        format!("[{low:.2}, {high:.2}]"),
        if inside { "yes" } else { "NO" }.to_owned(),
    ];
    Ok((cells, inside))
}
