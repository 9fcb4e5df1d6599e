//! The same arms on several servers: how far the differences between drivers differ themselves
//! (methodology 3.7).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analysis::across_servers_same_arm::{ServerSide, itself};
use crate::analysis::adapter_costs::NOT_JUDGED;
use crate::analysis::compare;
use crate::analysis::types::{Analysis, ComparisonRow, Metric};
use crate::{AnalysisOutcome, analyse};
use base::error::Result;
use record::folder::Folder;
use record::records::Run;
use record::servers_folder::{ServerExperiment, Servers};
use stats::across_servers::{OnServer, across};
use stats::comparison::Comparison;
use stats::judge::Measure;
use stats::ratio::log_ratios;
use stats::verdict::Verdict;

/// The answer of `run --server A,B --json`, and of `report --format json` on its folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServersAnalysis {
    /// Version of this document's format.
    pub schema_version: u32,
    /// Path of the folder with an experiment for each server.
    pub folder: String,
    /// In the order asked for.
    pub servers: Vec<ServerAnalysis>,
    /// One row per compared arm, phase, metric, and server after the first.
    pub differences: Vec<ComparisonRow>,
    /// The same of each arm against itself on the first server.
    pub itself: Vec<ComparisonRow>,
}

/// The experiment of one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerAnalysis {
    /// The server as `--server` took it.
    pub server: String,
    pub analysis: Analysis,
}

/// Analyses each experiment, and holds the others against the first.
pub fn servers(folder: String, made: &[ServerExperiment]) -> Result<ServersAnalysis> {
    let all = judged(made)?;
    let (differences, itself) = between(&all);
    let servers = all
        .into_iter()
        .map(|(made, analysis, _)| ServerAnalysis { server: made.server.clone(), analysis });
    let servers = servers.collect();
    Ok(ServersAnalysis { schema_version: 1, folder, servers, differences, itself })
}

/// How many comparisons of throughput between servers have too few pairs of rounds for an interval,
/// after the first `rounds` of the experiment in `folder`. Servers that have made fewer have ended,
/// and the rounds that others have made beyond them are left out: so all servers find the same.
pub fn pairs_short(folder: &Folder, rounds: u32) -> Result<usize> {
    let parent = folder.path().parent().filter(|it| !it.as_os_str().is_empty());
    let Some(parent) = parent else { return Ok(0) };
    let Some(record) = Servers::read(parent)? else { return Ok(0) };
    let made = record.made(parent)?;
    if made.iter().all(|it| it.folder.path() != folder.path()) {
        return Ok(0);
    }
    let mut all = judged(&made)?;
    all.retain(|(_, analysis, _)| analysis.rounds >= rounds);
    for (_, _, runs) in &mut all {
        runs.retain(|run| run.round <= rounds);
    }
    let (differences, itself) = between(&all);
    let rows = differences.iter().chain(&itself);
    Ok(rows.filter(|row| row.metric == Metric::Throughput && row.is_short()).count())
}

/// The experiment of one server, its analysis and its runs.
type OfServer<'a> = (&'a ServerExperiment, Analysis, Vec<Run>);

fn judged(made: &[ServerExperiment]) -> Result<Vec<OfServer<'_>>> {
    let judged = made.iter().map(|it| {
        let AnalysisOutcome { analysis, .. } = analyse(&it.folder, &it.experiment)?;
        Ok((it, analysis, it.folder.runs()?))
    });
    judged.collect()
}

/// The others against the first: differences of arms, and each arm against itself.
fn between(all: &[OfServer<'_>]) -> (Vec<ComparisonRow>, Vec<ComparisonRow>) {
    let (mut differences, mut against_itself) = (Vec::new(), Vec::new());
    let mut sides = all.iter().map(ServerSide::new);
    if let Some(first) = sides.next() {
        for other in sides {
            differences.extend(first.against(&other));
            against_itself.extend(itself([&first, &other]));
        }
    }
    (differences, against_itself)
}

impl ServerSide<'_> {
    fn against(&self, other: &ServerSide<'_>) -> Vec<ComparisonRow> {
        let row = |one: &ComparisonRow| {
            let two = other.comparisons.iter().find(|row| row.is_about(one))?;
            self.difference(one, other, two)
        };
        self.comparisons.iter().filter_map(row).collect()
    }

    fn difference(
        &self,
        one: &ComparisonRow,
        other: &ServerSide<'_>,
        two: &ComparisonRow,
    ) -> Option<ComparisonRow> {
        let (quantity, of_one) = self.on_server(one)?;
        let (_, of_two) = other.on_server(two)?;
        let settings = &self.experiment.settings;
        let names = [one.baseline.as_str(), one.arm.as_str()];
        let mut found = across(names, quantity, [&of_one, &of_two], settings.looks.quick);
        settings.conduct.order().remark(&mut found.sentence);
        Some(ComparisonRow {
            from: Some(self.server.to_owned()),
            to: Some(other.server.to_owned()),
            found: Comparison { order: settings.conduct.order(), ..found },
            ..one.clone()
        })
    }

    fn on_server<'b>(
        &'b self,
        row: &'b ComparisonRow,
    ) -> Option<(stats::threshold::Quantity, OnServer<'b>)> {
        let phase = self.experiment.plan.phases.iter().find(|it| it.name == row.phase)?;
        let operation = Some(row.operation.as_str());
        let Measure { quantity, values, .. } =
            compare::values(self.experiment, &self.rounds, phase, row.metric, operation)?;
        let of = |id: &str| {
            let place = self.experiment.arms.iter().position(|arm| arm.id == id)?;
            values.get(place)
        };
        let ratios = log_ratios(quantity.direction(), of(&row.baseline)?, of(&row.arm)?);
        let is_unjudged =
            row.verdict == Verdict::NotComparable || row.sentence.starts_with(NOT_JUDGED);
        Some((
            quantity,
            OnServer {
                server: self.server,
                ratios,
                found: [row.estimate_percent, row.low_percent, row.high_percent],
                threshold_percent: row.threshold_percent,
                floor_percent: row.floor_percent,
                bias_percent: row.bias_percent,
                alpha: self.rounds.standing().look.alpha,
                unjudged: is_unjudged.then_some(&row.sentence),
                busy: row.busy.as_deref(),
            },
        ))
    }
}
