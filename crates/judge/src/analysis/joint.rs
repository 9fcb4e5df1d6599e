//! Several experiments of the same arms as one answer: the values of a parameter, the servers, or
//! each value on each server.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analysis::across::{ServersAnalysis, servers};
use crate::analysis::types::{Analysis, ComparisonRow, Metric};
use base::error::{Error, Result};
use record::records::Ended;
use record::servers_folder::{ServerExperiment, Servers};
use record::sweep_folder::Sweep;
use stats::descriptive::{OverRounds, median, over_rounds};

/// The answer of `run --sweep --json`, and of `report --format json` on its folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JointAnalysis {
    /// Version of this document's format.
    pub schema_version: u32,
    /// Path of the folder that holds the experiments.
    pub folder: String,
    /// Name of the parameter; None where nothing is swept.
    pub parameter: Option<String>,
    /// One row per value, server, arm and phase; the A/A arm is left out.
    pub rows: Vec<JointRow>,
    /// What was asked for and is not there, or not whole, a sentence each.
    pub missing: Vec<String>,
    /// In the order asked for.
    pub values: Vec<ValueAnalysis>,
}

/// Throughput of an arm in a phase of one experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JointRow {
    /// Value of the parameter; empty where nothing is swept.
    pub value: String,
    /// The server as `--server` took it; empty where there is one.
    pub server: String,
    /// Arm id.
    pub arm: String,
    pub phase: String,
    pub is_baseline: bool,
    /// Median over the rounds that are compared.
    pub throughput_ops_per_s: Option<f64>,
    /// The same with its interval; None with fewer than two rounds.
    pub over_rounds: Option<OverRounds>,
    /// Comparison of throughput with the baseline of the same experiment.
    pub comparison: Option<ComparisonRow>,
}

/// The experiments of one value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValueAnalysis {
    /// Empty where nothing is swept.
    pub value: String,
    /// One without a name where there is one server.
    #[serde(flatten)]
    pub servers: ServersAnalysis,
}

impl JointAnalysis {
    /// Every experiment with its value and its server.
    pub fn each(&self) -> impl Iterator<Item = (&str, &str, &Analysis)> {
        self.values.iter().flat_map(|of| {
            let servers = of.servers.servers.iter();
            servers.map(|it| (of.value.as_str(), it.server.as_str(), &it.analysis))
        })
    }

    /// `threads=4 on absorber`, `threads=4` or `absorber`.
    pub fn name(&self, value: &str, server: &str) -> String {
        match (&self.parameter, server) {
            (None, server) => server.to_owned(),
            (Some(parameter), "") => format!("{parameter}={value}"),
            (Some(parameter), server) => format!("{parameter}={value} on {server}"),
        }
    }
}

/// The experiments of a folder in the order of [`JointAnalysis::each`], and what they come to; None
/// where it is not of several.
pub fn joint(path: &Path) -> Result<Option<(Vec<ServerExperiment>, JointAnalysis)>> {
    let words = |path: &Path| {
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        whole.display().to_string()
    };
    let mut all = JointAnalysis {
        schema_version: 1,
        folder: words(path),
        parameter: None,
        rows: Vec::new(),
        missing: Vec::new(),
        values: Vec::new(),
    };
    let mut every = Vec::new();
    let mut add =
        |all: &mut JointAnalysis, value: &str, path: &Path, made: Vec<ServerExperiment>| {
            let servers = servers(words(path), &made)?;
            every.extend(made);
            all.values.push(ValueAnalysis { value: value.to_owned(), servers });
            Ok::<(), Error>(())
        };
    if let Some(record) = Servers::read(path)? {
        let made = record.made(path)?;
        add(&mut all, "", path, made)?;
        all.missing_servers(&record, "");
    } else if let Some(sweep) = Sweep::read(path)? {
        all.parameter = Some(sweep.parameter.clone());
        for it in &sweep.values {
            let made = Sweep::made(it, path)?;
            let path = path.join(&it.folder);
            let name = all.name(&it.value, "");
            match Servers::read(&path)? {
                Some(record) => {
                    add(&mut all, &it.value, &path, made)?;
                    all.missing_servers(&record, &it.value);
                }
                None if made.is_empty() => all.missing.push(format!("{name}: not begun")),
                None => add(&mut all, &it.value, &path, made)?,
            }
        }
    } else {
        return Ok(None);
    }
    let cut = all.each().filter(|(_, _, it)| it.ended != Ended::Completed);
    let cut = cut.map(|(value, server, it)| {
        let rounds = if it.rounds == 1 { "round" } else { "rounds" };
        let name = all.name(value, server);
        format!("{name}: {} after {} {rounds}", it.ended.word(), it.rounds)
    });
    let cut: Vec<String> = cut.collect();
    all.missing.extend(cut);
    all.rows = all.each().flat_map(|(value, server, it)| rows(value, server, it)).collect();
    Ok(Some((every, all)))
}

impl JointAnalysis {
    /// Names the servers on which none has begun.
    fn missing_servers(&mut self, record: &Servers, value: &str) {
        let begun = self.values.last().map_or(&[][..], |it| &it.servers.servers);
        let is_begun = |server: &String| begun.iter().any(|it| it.server == *server);
        let others = record.servers.iter().map(|it| &it.server).filter(|it| !is_begun(it));
        let lines = others.map(|server| format!("{}: not begun", self.name(value, server)));
        let lines: Vec<String> = lines.collect();
        self.missing.extend(lines);
    }
}

/// The rows of one experiment.
pub fn rows(value: &str, server: &str, analysis: &Analysis) -> Vec<JointRow> {
    let mut rows: Vec<JointRow> = Vec::new();
    for it in &analysis.results {
        // Throughput is the whole phase's: the first operation of each arm has it.
        let known = rows.iter().any(|row| (&row.arm, &row.phase) == (&it.arm, &it.phase));
        let twin = analysis.arms.iter().any(|arm| arm.id == it.arm && arm.is_aa);
        if known || twin {
            continue;
        }
        let rates: Vec<f64> = it.throughput_by_round.iter().flatten().copied().collect();
        let is_same = |row: &&ComparisonRow| {
            (&row.arm, &row.phase, row.metric) == (&it.arm, &it.phase, Metric::Throughput)
        };
        rows.push(JointRow {
            value: value.to_owned(),
            server: server.to_owned(),
            arm: it.arm.clone(),
            phase: it.phase.clone(),
            is_baseline: analysis.arms.first().is_some_and(|arm| arm.id == it.arm),
            throughput_ops_per_s: median(&rates),
            over_rounds: over_rounds(&rates),
            comparison: analysis.comparisons.iter().find(is_same).cloned(),
        });
    }
    rows
}
