//! The long table of a study: every figure of every part, phase and arm.

use super::cell::{Spread, StudyCell};
use super::phase_metrics::{self, PhaseMetric, PhaseReading, ServerMetric};
use super::sheet::{CellSelector, CellSheet, Coordinate, Names, OriginalSheet};
use crate::outcome::{Made, Outcome};
use judge::analysis::rounds::Rounds;
use record::records::PhaseRun;

use workload::plan::Phase;

/// The arm of figures that all arms share.
pub const SERVER: &str = "server";

/// A figure of a unit without its sign where the head of a column has it.
pub fn figure_text(unit: &str, value: f64) -> String {
    match unit {
        "bytes" => format::bytes(value.max(0.0) as u64),
        "count" if value.fract() == 0.0 => format::count(value.max(0.0) as u64),
        _ => format::signed_figure(value),
    }
}

/// The number with its sign, for a sentence.
pub fn words_text(unit: &str, value: f64) -> String {
    match unit {
        "us" if value < 0.0 => format!("-{}", format::time(-value)),
        "us" => format::time(value),
        "ms" => format::time(value * 1e3),
        "per_s" => format!("{}/s", format::figure(value)),
        "percent" | "change_percent" => format!("{} %", figure_text(unit, value)),
        _ => figure_text(unit, value),
    }
}

/// The sign in a column's head.
pub fn unit_text(unit: &str) -> &str {
    match unit {
        "us" => "µs",
        "per_s" => "a second",
        "percent" | "change_percent" => "%",
        "bytes" | "count" => "",
        other => other,
    }
}

/// The cells of a study, in the order of its parts, phases and arms.
#[derive(Debug, Default)]
pub struct Cells {
    pub all: Vec<StudyCell>,
}

impl Cells {
    /// Reads the cells that `study.toml` names from the folder.
    pub fn read(outcome: &Outcome<'_>, sheets: &[CellSheet]) -> Self {
        let mut cells = Self::default();
        for made in &outcome.made {
            for sheet in sheets.iter().filter(|it| it.part.has(made.part)) {
                cells.of_part(made, sheet);
            }
        }
        cells
    }

    /// Figures of the original, in the units of the cells that there are.
    pub fn add_originals(&mut self, sheets: &[OriginalSheet]) {
        for sheet in sheets {
            self.of_original(sheet);
        }
    }

    fn of_part(&mut self, made: &Made<'_>, sheet: &CellSheet) {
        let rounds = Rounds::new(made.experiment, made.runs);
        for phase in &made.experiment.plan.phases {
            for name in sheet.metrics.iter().filter(|_| sheet.phase.has(&phase.name)) {
                if let Some(metric) = phase_metrics::of_phase(name) {
                    self.of_phase(made, &rounds, phase, metric, sheet.shared);
                } else {
                    let metric = phase_metrics::of_server(name).expect("a metric that there is");
                    self.of_server(made, &phase.name, metric);
                }
            }
        }
    }

    fn of_phase(
        &mut self,
        made: &Made<'_>,
        rounds: &Rounds<'_>,
        phase: &Phase,
        metric: &PhaseMetric,
        shared: bool,
    ) {
        let plan = &made.experiment.plan;
        let read = |run: &PhaseRun| (metric.read)(&PhaseReading { plan, phase, run });
        // A second copy of a version is no arm.
        let arms = made.experiment.arms.iter().filter(|arm| !arm.is_aa && !arm.is_direct);
        for arm in arms {
            let runs = rounds.of(&arm.id, &phase.name).into_iter();
            // Runs that came to their end without an error.
            let whole = |run: &&PhaseRun| run.errors.is_empty() && run.operations > 0;
            let by_round: Vec<Option<f64>> =
                runs.map(|run| read(run.filter(whole)?).filter(|it| it.is_finite())).collect();
            if shared && by_round.iter().all(Option::is_none) {
                continue;
            }
            let name = if shared { SERVER } else { arm.id.as_str() };
            let at = [made.part, &phase.name, name, metric.name];
            let cell = self.push(at, metric.unit, by_round);
            let not_measured = arm.not_measured.get(&phase.name).cloned();
            let lost = || rounds.losses(&arm.id, &phase.name).into_iter().next();
            cell.note = not_measured.or_else(|| cell.value.is_none().then(lost).flatten());
            if shared {
                break;
            }
        }
    }

    fn of_server(&mut self, made: &Made<'_>, phase: &str, metric: &ServerMetric) {
        let series = made.folder.series().unwrap_or_default();
        let samples = series.server.iter().filter(|sample| sample.phase == phase);
        let samples: Vec<_> = samples.collect();
        let of_round = samples.chunk_by(|a, b| a.round == b.round);
        let by_round = of_round.map(metric.read).collect();
        self.push([made.part, phase, SERVER, metric.name], metric.unit, by_round);
    }

    fn of_original(&mut self, sheet: &OriginalSheet) {
        for (name, value) in &sheet.values {
            let metric = if sheet.by == Coordinate::Metric { name } else { &sheet.metric };
            let known = self.all.iter().find(|cell| cell.metric == *metric);
            let unit = known.map_or(String::new(), |cell| cell.unit.clone());
            let mut at = [&sheet.part, &sheet.phase, &sheet.arm, &sheet.metric].map(String::as_str);
            let arms = self.all.iter().map(|cell| cell.arm.as_str());
            let arm = arms.filter(|_| sheet.by == Coordinate::Arm);
            let option = |arm: &&str| sheet.option.as_ref().is_none_or(|it| arm.contains(it));
            let arm = arm.into_iter().filter(option).find(|arm| starts(arm, name));
            // Without such an arm the original is a row beside the arms, never one of theirs.
            let arm = arm.map_or_else(
                || match &sheet.option {
                    Some(option) => format!("{name}/{option}"),
                    None => name.clone(),
                },
                str::to_owned,
            );
            at[sheet.by as usize] = &arm;
            self.push_plain(at, &unit, Some(value * sheet.times)).original = true;
        }
    }

    /// `at`: part, phase, arm and metric.
    pub fn push(
        &mut self,
        at: [&str; 4],
        unit: &str,
        by_round: Vec<Option<f64>>,
    ) -> &mut StudyCell {
        let values: Vec<f64> = by_round.iter().flatten().copied().collect();
        let cell = self.push_spread(at, unit, Spread::over(&values));
        cell.by_round = by_round;
        cell
    }

    /// A figure without rounds.
    pub fn push_plain(&mut self, at: [&str; 4], unit: &str, value: Option<f64>) -> &mut StudyCell {
        self.push_spread(at, unit, value.map(Spread::plain))
    }

    pub fn push_spread(
        &mut self,
        at: [&str; 4],
        unit: &str,
        value: Option<Spread>,
    ) -> &mut StudyCell {
        let [part, phase, arm, metric] = at.map(str::to_owned);
        let (unit, by_round) = (unit.to_owned(), Vec::new());
        let (original, note) = (false, None);
        let cell = StudyCell { part, phase, arm, metric, unit, value, by_round, original, note };
        self.all.push(cell);
        self.all.last_mut().expect("it was pushed")
    }

    /// In order. `first` and `last` are arms as [`CellSelector::arm`] says.
    pub fn select<'a>(&'a self, selector: &CellSelector) -> Vec<&'a StudyCell> {
        let mut selector = selector.clone();
        let wanted = match &selector.arm {
            Names::One(name) if name == "first" || name == "last" => Some(name == "first"),
            _ => None,
        };
        if wanted.is_some() {
            selector.arm = Names::Any;
        }
        let mut cells: Vec<&StudyCell> = self.all.iter().filter(|it| selector.has(it)).collect();
        if let Some(first) = wanted {
            // Among all cells: a ratio to the first arm is a figure of the others alone.
            cells.retain(|cell| is_end(cell, &self.all, first));
        }
        cells
    }

    /// The one cell beside another: that of the same driver where `first` or `last` is asked for.
    pub fn beside(&self, cell: &StudyCell, selector: &CellSelector) -> Option<&StudyCell> {
        let off =
            |it: &&StudyCell| (it.original != cell.original, driver(&it.arm) != driver(&cell.arm));
        self.select(&selector.beside(cell)).into_iter().min_by_key(off)
    }

    /// The median of one cell.
    pub fn median(&self, at: [&str; 4]) -> Option<f64> {
        self.at(at)?.value.map(|it| it.median)
    }

    pub fn at(&self, [part, phase, arm, metric]: [&str; 4]) -> Option<&StudyCell> {
        let same = |it: &&StudyCell| {
            it.part == part && it.phase == phase && it.arm == arm && it.metric == metric
        };
        self.all.iter().find(same)
    }

    /// Measured arms in order.
    pub fn arms(&self) -> Vec<&str> {
        let mut arms: Vec<&str> = Vec::new();
        for cell in self.all.iter().filter(|cell| !cell.original && cell.arm != SERVER) {
            if !arms.contains(&cell.arm.as_str()) {
                arms.push(&cell.arm);
            }
        }
        arms
    }
}

/// Whether a cell is of the first or the last arm that its driver has in the same part, of several.
fn is_end(cell: &StudyCell, among: &[StudyCell], first: bool) -> bool {
    let same = |it: &&StudyCell| {
        !it.original && it.part == cell.part && driver(&it.arm) == driver(&cell.arm)
    };
    let mut arms: Vec<&String> = Vec::new();
    for other in among.iter().filter(same).map(|it| &it.arm) {
        // A figure of the driver as a whole is no arm.
        if other != driver(other) && !arms.contains(&other) {
            arms.push(other);
        }
    }
    let end = if first { arms.first() } else { arms.last() };
    arms.len() > 1 && end == Some(&&cell.arm)
}

/// `go` of `go@2.9.3/w=1`.
pub fn driver(arm: &str) -> &str {
    arm.split(['@', ':', '/']).next().unwrap_or_default()
}

/// Whether an arm's name begins with another, up to an option or the end; or is, without its
/// options, the other one's in fewer numbers.
fn starts(arm: &str, name: &str) -> bool {
    let begins = |of: &str, with: &str| {
        of.strip_prefix(with).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
    };
    begins(arm, name) || begins(name, arm.split('/').next().unwrap_or_default())
}
