//! Shared by the figures: the command line, running the binary, reading its runs, tables.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use adapter::manifest::discover;
use base::child::keep_to;
use record::folder::Folder;
use record::machine;
use record::records::{Experiment, PhaseRun, Run};
use stats::rank::{HodgesLehmann, hodges_lehmann};

use crate::disturb::Disturber;

/// Whether the figure's goal was reached; or why it could not be measured.
pub type Outcome = Result<bool, String>;

/// The request, and where files go.
pub struct Bench {
    /// The form whose figures are published.
    pub long: bool,
    /// Adapters that this machine can run, or the drivers asked for, as `-d` takes them.
    pub adapters: Vec<String>,
    /// Experiments and everything else written.
    pub scratch: PathBuf,
    keep: bool,
    experiments: AtomicU32,
}

impl Bench {
    /// Reads the command line; the second part of the answer names the figures.
    pub fn parse(words: &[String], figures: &[&str]) -> Result<(Self, Vec<String>), String> {
        let (mut long, mut keep, mut adapters, mut chosen) = (false, false, vec![], vec![]);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--long" => long = true,
                "--keep" => keep = true,
                "--adapter" => adapters.push(words.next().ok_or("--adapter wants a name")?.clone()),
                name if figures.contains(&name) => chosen.push(name.to_owned()),
                other => return Err(format!("there is no figure {other}")),
            }
        }
        if adapters.is_empty() {
            let all = discover(None).map_err(|error| error.to_string())?;
            let able = all.iter().filter(|manifest| manifest.probe().is_ok());
            adapters = able.map(|manifest| manifest.name.clone()).collect();
        }
        let name = format!("figures-{}", std::process::id());
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
        Ok((Self { long, adapters, scratch, keep, experiments: AtomicU32::new(0) }, chosen))
    }

    /// Version, machine, time, and how busy the machine was.
    pub fn heading(&self) -> String {
        let machine = machine::describe();
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split(' ').next().unwrap_or_default();
        let mut text = format!(
            "mongodyno {} · {} · {} cores of {} · {} · Linux {} · {} form",
            env!("CARGO_PKG_VERSION"),
            base::clock::wall(),
            machine.cores,
            machine.cpu,
            machine.os,
            machine.kernel,
            if self.long { "long" } else { "short" }
        );
        if load.parse().is_ok_and(|load: f64| load > 0.5) {
            text.extend(["\nWARNING: load average ", load, "; measure again on an idle machine"]);
        }
        text
    }

    /// Removes the written files, unless they are to be kept.
    pub fn clear(&self) {
        if self.keep {
            println!("kept: {}", self.scratch.display());
        } else {
            let _ = fs::remove_dir_all(&self.scratch);
        }
    }

    /// A separate path for an experiment, or for a server's log.
    pub fn fresh(&self) -> PathBuf {
        let number = self.experiments.fetch_add(1, Ordering::Relaxed);
        self.scratch.join(format!("{number:03}"))
    }

    /// A new experiment's folder, and the command that fills it; its output goes to a log.
    pub fn run_command(&self, words: &[&str]) -> Result<(PathBuf, Command), String> {
        self.command(&[&["run"], words].concat())
    }

    /// The same of any verb that fills a folder.
    pub fn command(&self, words: &[&str]) -> Result<(PathBuf, Command), String> {
        let folder = self.fresh();
        let mut command = Command::new(env!("CARGO_BIN_EXE_mongodyno"));
        command.stdin(Stdio::null());
        for name in ["MDYN_URI", "MDYN_ADAPTERS"] {
            command.env_remove(name);
        }
        command.args(words).arg("--out").arg(&folder);
        let log = folder.with_extension("log");
        let file = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let twin = file.try_clone().map_err(|error| format!("{}: {error}", log.display()))?;
        command.stdout(file).stderr(twin);
        Ok((folder, command))
    }

    /// Runs an experiment and reads its records. On a busy machine gates void rounds and the binary
    /// answers 6; the figures take the rounds as they were.
    pub fn experiment(&self, words: &[&str]) -> Result<Measured, String> {
        self.experiment_on(Condition::Quiet, &[], words)
    }

    /// The same on a quiet machine, for which it waits, or on a disturbed one. All processes of the
    /// experiment run on `cores`; on any where there are none.
    pub fn experiment_on(
        &self,
        condition: Condition,
        cores: &[usize],
        words: &[&str],
    ) -> Result<Measured, String> {
        let (folder, mut command) = self.run_command(words)?;
        keep_to(&mut command, cores);
        let disturbed = condition == Condition::Disturbed;
        if disturbed {
            command.arg("--no-wait");
        }
        let _disturber = disturbed.then(Disturber::start).transpose()?;
        let status = command.status().map_err(|error| error.to_string())?;
        if !matches!(status.code(), Some(0 | 6)) {
            let log = fs::read_to_string(folder.with_extension("log")).unwrap_or_default();
            let tail: Vec<&str> = log.lines().rev().take(5).collect();
            let tail: Vec<&str> = tail.into_iter().rev().collect();
            return Err(format!("run {}: {status}\n{}", words.join(" "), tail.join("\n")));
        }
        Measured::read(&folder)
    }
}

/// The machine's other work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    Quiet,
    /// A second process works half of the time.
    Disturbed,
}

impl Condition {
    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Disturbed => "disturbed",
        }
    }
}

pub struct Measured {
    pub experiment: Experiment,
    pub runs: Vec<Run>,
}

impl Measured {
    pub fn read(folder: &Path) -> Result<Self, String> {
        let (folder, experiment) = Folder::open(folder).map_err(|error| error.to_string())?;
        let runs = folder.runs().map_err(|error| error.to_string())?;
        if let Some(reason) = runs.iter().find_map(|run| run.failed.as_ref()) {
            return Err(format!("a run failed: {reason}"));
        }
        Ok(Self { experiment, runs })
    }

    /// A value of every round of an arm in one phase, in the order of rounds.
    pub fn by_round(&self, arm: usize, phase: &str, value: fn(&PhaseRun) -> f64) -> Vec<f64> {
        let id = &self.experiment.arms[arm].id;
        let runs = self.runs.iter().filter(|run| &run.arm == id);
        runs.flat_map(|run| &run.phases).filter(|run| run.phase == phase).map(value).collect()
    }
}

/// Standard deviation; 0 with fewer than two values.
pub fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// A part as text: `1.25 %`.
pub fn percent(fraction: f64) -> String {
    format!("{:.2} %", 100.0 * fraction)
}

/// Prints a Markdown table.
pub fn table(head: &[&str], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let padded = cells.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        println!("| {} |", padded.collect::<Vec<_>>().join(" | "));
    };
    line(head.to_vec());
    println!(
        "|{}|",
        widths.iter().map(|width| "-".repeat(width + 2)).collect::<Vec<_>>().join("|")
    );
    for row in rows {
        line(row.iter().map(String::as_str).collect());
    }
}

/// Centre of paired values, with its 95 % interval (Hodges-Lehmann, signed ranks).
pub fn centre(values: &[f64]) -> Result<HodgesLehmann, String> {
    hodges_lehmann(values, 0.05).ok_or_else(|| "nothing was measured".to_owned())
}

/// The centre of paired log ratios as a ratio with its interval: `0.98 [0.97, 0.99]`.
pub fn ratio(log_ratios: &[f64]) -> Result<(f64, String), String> {
    let found = centre(log_ratios)?;
    let [middle, low, high] = [found.estimate, found.low, found.high].map(f64::exp);
    Ok((middle, format!("{middle:.3} [{low:.3}, {high:.3}]")))
}

/// Bytes in MB (10^6), one decimal.
pub fn megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

/// Runs of the benchmark's own files.
pub fn benches(relative: &str) -> String {
    format!("{}/benches/{relative}", env!("CARGO_MANIFEST_DIR"))
}
