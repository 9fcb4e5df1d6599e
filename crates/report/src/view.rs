//! Texts for people, the same in the terminal, in Markdown and on the page: rows of figures
//! already written out, grouped by phase.

use serde::Serialize;

use super::answer_lines;
use super::palette::Palette;
use super::processes;
use super::result_columns::{ColumnContent, ResultColumn, columns};
use base::say::clean;
use base::strings::shell_quoted;
use base::text::clean_all;
use format::{self, MISSING};
use judge::analysis::types::{
    Analysis, ArmSummary, ComparisonRow, ConditionRow, ConditionValue, DeathRow, Metric,
    PhaseSummary, ResultRow,
};
use record::records::{Machine, Server, ServerKind, Unavailable};
use stats::threshold::Interleave;
use stats::verdict::Verdict;

/// One phase: its table and its comparisons.
#[derive(Debug, Serialize)]
pub struct PhaseView<'a> {
    pub name: String,
    /// How it was interleaved, its loop, its noise floor.
    pub notes: Vec<String>,
    /// Columns of the table, behind that of the arms.
    pub columns: Vec<ResultColumn>,
    /// More than one operation: the table has a column for them.
    #[serde(skip)]
    pub is_mix: bool,
    pub rows: Vec<RowView>,
    /// Comparisons of throughput, in the order of the arms, the A/A arm last.
    #[serde(skip)]
    pub verdicts: Vec<VerdictView<'a>>,
}

/// One line of a phase's table.
#[derive(Debug, Serialize)]
pub struct RowView {
    pub arm: String,
    pub is_aa: bool,
    /// The first row of its arm: cells of the whole phase are empty in the others.
    #[serde(skip)]
    pub is_first: bool,
    /// The arm has no figures here: it failed or never came so far.
    pub is_missing: bool,
    /// The verdict on throughput.
    pub verdict: Option<Verdict>,
    /// One for each column.
    pub cells: Vec<String>,
}

/// A throughput comparison and what else differs in direction.
#[derive(Debug)]
pub struct VerdictView<'a> {
    pub comparison: &'a ComparisonRow,
    pub others: Vec<&'a ComparisonRow>,
}

impl PhaseView<'_> {
    /// `6,644 ops/s, p50 140 µs, p99 324 µs`, of a mix the throughput alone; None where the arm has
    /// no figures.
    pub fn speed_of(&self, arm: &str) -> Option<String> {
        let row = self.rows.iter().find(|row| row.arm == arm && !row.is_missing)?;
        let cell = |wanted| {
            let mut cells = self.columns.iter().zip(&row.cells);
            cells.find(|(column, _)| column.content == ColumnContent::Value(wanted))
        };
        let mut speed = vec![format!("{} ops/s", cell(Metric::Throughput)?.1)];
        let quantiles = [Metric::P50, Metric::P99].into_iter().filter_map(cell);
        for (column, time) in quantiles.filter(|(_, time)| !self.is_mix && *time != MISSING) {
            speed.push(format!("{} {time} {}", column.name, column.unit));
        }
        Some(speed.join(", "))
    }
}

/// Every phase in the order of the experiment.
pub fn phases(analysis: &Analysis) -> Vec<PhaseView<'_>> {
    phase_names(analysis).into_iter().map(|name| phase(analysis, name)).collect()
}

pub fn phase_names(analysis: &Analysis) -> Vec<&str> {
    let mut names: Vec<&str> = analysis.phases.iter().map(|p| p.phase.as_str()).collect();
    let rows = analysis.results.iter().map(|r| r.phase.as_str());
    for name in rows.chain(analysis.comparisons.iter().map(|c| c.phase.as_str())) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn phase<'a>(analysis: &'a Analysis, name: &str) -> PhaseView<'a> {
    let results: Vec<&ResultRow> = analysis.results.iter().filter(|r| r.phase == name).collect();
    let is_mix = results.iter().any(|row| row.operation != results[0].operation);
    let (has_documents, documents) = answer_lines::documents(&results, is_mix);
    let columns = columns(&results, is_mix, has_documents);
    let mut rows = Vec::new();
    for arm in &analysis.arms {
        let of_arm = results.iter().copied().filter(|r| r.arm == arm.id).map(Some);
        let of_arm: Vec<Option<&ResultRow>> = of_arm.collect();
        let none = of_arm.is_empty().then_some(None);
        for (index, result) in of_arm.into_iter().chain(none).enumerate() {
            rows.push(row(analysis, (name, arm), &columns, result, index == 0));
        }
    }
    PhaseView {
        name: clean(name),
        notes: {
            let of_phase = analysis.phases.iter().find(|p| p.phase == name);
            let notes = of_phase.map(notes).unwrap_or_default();
            let unmeasured = analysis.arms.iter().filter_map(|arm| {
                let reason = clean(arm.not_measured.get(name)?);
                Some(format!("{} not measured: {reason}", arm_label(arm)))
            });
            let unchecked = of_phase.and_then(answer_lines::unchecked_note);
            let notes = notes.into_iter().chain(documents).chain(unchecked);
            notes.chain(processes::notes(&results)).chain(unmeasured).collect()
        },
        columns,
        is_mix,
        rows,
        verdicts: verdicts(analysis, name),
    }
}

fn row(
    analysis: &Analysis,
    (phase, arm): (&str, &ArmSummary),
    columns: &[ResultColumn],
    result: Option<&ResultRow>,
    is_first: bool,
) -> RowView {
    let compared = throughput_comparison(analysis, phase, &arm.id);
    let change = match compared {
        _ if result.is_none() => MISSING.to_owned(),
        Some(comparison) => change(comparison),
        None if is_baseline(analysis, arm) => "baseline".to_owned(),
        None => MISSING.to_owned(),
    };
    let cell = |column: &ResultColumn| match (column.content, result) {
        _ if column.is_of_phase() && !is_first => String::new(),
        (ColumnContent::Change, _) => change.clone(),
        (_, Some(result)) => column.text(result),
        (_, None) => MISSING.to_owned(),
    };
    RowView {
        arm: arm_label(arm),
        is_aa: arm.is_aa,
        is_first,
        is_missing: result.is_none(),
        verdict: compared.filter(|_| result.is_some()).map(|comparison| comparison.verdict),
        cells: columns.iter().map(cell).collect(),
    }
}

/// Name of an arm in tables; the duplicate of the baseline is always marked.
pub fn arm_label(arm: &ArmSummary) -> String {
    let id = clean(&arm.id);
    if arm.is_aa && !id.contains("(A/A)") { format!("{id} (A/A)") } else { id }
}

pub fn label_of(analysis: &Analysis, id: &str) -> String {
    let arm = analysis.arms.iter().find(|arm| arm.id == id);
    arm.map_or_else(|| clean(id), arm_label)
}

pub fn is_baseline(analysis: &Analysis, arm: &ArmSummary) -> bool {
    analysis.arms.first().is_some_and(|first| first.id == arm.id)
}

pub fn throughput_comparison<'a>(
    analysis: &'a Analysis,
    phase: &str,
    arm: &str,
) -> Option<&'a ComparisonRow> {
    let of_phase = |c: &&ComparisonRow| c.phase == phase && c.arm == arm;
    analysis.comparisons.iter().filter(of_phase).find(|c| c.metric == Metric::Throughput)
}

/// The change as a table cell: `+7.2 % (+5.1 to +9.4 %)`, `~` before what is inconclusive.
pub fn change(comparison: &ComparisonRow) -> String {
    let (low, high) = (comparison.low_percent, comparison.high_percent);
    let interval = format::interval(low, high);
    match comparison.verdict {
        Verdict::NotComparable => "not comparable".to_owned(),
        Verdict::Inconclusive => {
            interval.map_or_else(|| "~".to_owned(), |text| format!("~ ({text})"))
        }
        _ => format::change(comparison.estimate_percent, low, high)
            .unwrap_or_else(|| MISSING.to_owned()),
    }
}

fn verdicts<'a>(analysis: &'a Analysis, phase: &str) -> Vec<VerdictView<'a>> {
    let of_phase = analysis.comparisons.iter().filter(|c| c.phase == phase);
    let mut verdicts: Vec<VerdictView<'a>> = of_phase
        .clone()
        .filter(|c| c.metric == Metric::Throughput)
        .map(|comparison| VerdictView {
            comparison,
            others: of_phase
                .clone()
                .filter(|c| c.arm == comparison.arm && contradicts(c, comparison))
                .collect(),
        })
        .collect();
    verdicts.sort_by_key(|v| v.comparison.is_aa);
    verdicts
}

/// Another metric is worth a line when it says slower or faster and throughput does not say so.
fn contradicts(other: &ComparisonRow, throughput: &ComparisonRow) -> bool {
    let theirs = other.verdict;
    other.metric != Metric::Throughput
        && theirs != throughput.verdict
        && matches!(theirs, Verdict::Slower | Verdict::Faster)
}

/// The short line of another metric: `p99 of find: SLOWER, +12 % (+5 to +19 %), threshold 10 %`.
pub fn short_line(comparison: &ComparisonRow) -> String {
    let subject = comparison.metric.definition().label;
    let of = if comparison.operation == comparison.phase {
        String::new()
    } else {
        format!(" of {}", comparison.operation)
    };
    let threshold = format::threshold(comparison.threshold_percent);
    let (verdict, change) = (verdict_text(comparison), change(comparison));
    let caution = comparison.order.caution().map_or(String::new(), |it| format!(" ({it})"));
    clean(&format!("{subject}{of}: {verdict}, {change}, threshold {threshold} %{caution}"))
}

/// `SLOWER, size uncertain`. CPU time, bytes and memory are MORE or LESS, not slower or faster.
pub fn verdict_text(comparison: &ComparisonRow) -> String {
    let word = match comparison.verdict {
        Verdict::Slower if comparison.metric.is_amount() => "MORE",
        Verdict::Faster if comparison.metric.is_amount() => "LESS",
        verdict => verdict.word(),
    };
    let aside = if comparison.direction_only { ", size uncertain" } else { "" };
    format!("{word}{aside}")
}

fn notes(phase: &PhaseSummary) -> Vec<String> {
    let mut notes = Vec::new();
    notes.push(match (phase.interleave, phase.turn_ms) {
        (Interleave::Turns, Some(ms)) => format!("turns of {} ms", format::figure(ms)),
        (Interleave::Turns, None) => "turns".to_owned(),
        (Interleave::Runs, _) if phase.interleave_reason.is_empty() => "whole runs".to_owned(),
        (Interleave::Runs, _) => format!("whole runs: {}", clean(&phase.interleave_reason)),
    });
    if !phase.loop_note.is_empty() {
        notes.push(clean(&phase.loop_note));
    }
    notes.push(match phase.aa_noise_percent.filter(|v| v.is_finite()) {
        Some(noise) => format!("A/A noise floor ±{} %", format::fixed(noise, 1)),
        None => "A/A noise floor n/a".to_owned(),
    });
    notes
}

/// The looks of the arms, by their labels.
pub fn palette(analysis: &Analysis) -> Palette {
    let labels: Vec<String> = analysis.arms.iter().map(arm_label).collect();
    Palette::of(labels.iter().map(String::as_str))
}

/// `embedded MongoDB 6.0.5, standalone`.
pub fn server_text(server: &Server) -> String {
    if server.kind == ServerKind::None {
        return "none".to_owned();
    }
    if server.kind == ServerKind::Absorber {
        let load: Vec<&str> = server.flags.iter().map(String::as_str).filter(is_load).collect();
        let load = if load.is_empty() { "no load of its own".to_owned() } else { load.join(" ") };
        return clean(&format!("absorber, {load}; announced as MongoDB {}", server.version));
    }
    clean(&format!("{} MongoDB {}, {}", server.kind.word(), server.version, server.topology))
}

/// Whether a flag of an absorber is about what it does, and not about where it is.
fn is_load(flag: &&str) -> bool {
    !flag.starts_with("--listen") && !flag.starts_with("--holds")
}

/// `AMD EPYC 7B13, 2 cores, 7.75 GiB, Debian 12, kernel 6.1.0`.
pub fn machine_text(machine: &Machine) -> String {
    let cores = if machine.cores == 1 { "core" } else { "cores" };
    let awake = machine.keep_awake.as_ref().is_some_and(|it| it.used);
    let placed = machine.placement.is_some();
    clean(&format!(
        "{}, {} {cores}{}{}, {}, {}, kernel {}",
        machine.cpu,
        machine.cores,
        if awake { " kept awake" } else { "" },
        if placed { ", of which server and clients have their own" } else { "" },
        format::bytes(machine.memory_bytes),
        machine.os,
        machine.kernel
    ))
}

/// `10 rounds, quick, completed; seed 42; started 2026-11-21T10:00:00Z`; of rounds that something
/// else disturbed how many they were, and what became of them.
pub fn rounds_line(analysis: &Analysis) -> String {
    let rounds = if analysis.rounds == 1 { "round" } else { "rounds" };
    let quick = if analysis.quick { ", quick" } else { "" };
    let disturbed = analysis.disturbance.as_ref().map_or(String::new(), |what| {
        let count = analysis.rounds_disturbed.len();
        let all_count = analysis.rounds_compared == analysis.rounds;
        let what_then = if all_count { "compared all the same" } else { "shown, not compared" };
        format!(" ({count} disturbed: {what}; {what_then})")
    });
    clean(&format!(
        "{} {rounds}{disturbed}{quick}, {}; seed {}; started {}",
        analysis.rounds,
        analysis.ended.word(),
        analysis.seed,
        analysis.started_at
    ))
}

/// `drift: B against A: +0.4 % (95.2 % CI -0.6 to 1.4 %) from first to second half`: that no drift
/// is shown does not say that there is none.
pub fn drift_line(comparison: &ComparisonRow) -> Option<String> {
    comparison.drift.as_ref().map(|drift| clean(&format!("drift: {}", drift.sentence)))
}

/// Whether a round was disturbed and is therefore not compared.
pub fn is_set_aside(analysis: &Analysis, round: u32) -> bool {
    analysis.rounds_compared < analysis.rounds && analysis.rounds_disturbed.contains(&round)
}

/// Cost of one operation's bookkeeping per adapter: the dearest of its arms.
pub fn noop_costs(analysis: &Analysis) -> Vec<(String, String)> {
    let mut costs: Vec<(String, Option<f64>)> = Vec::new();
    for arm in &analysis.arms {
        let name = clean(&arm.adapter);
        let cost = arm.noop_ns.filter(|v| v.is_finite());
        match costs.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = (*known).into_iter().chain(cost).reduce(f64::max),
            None => costs.push((name, cost)),
        }
    }
    let text = |cost: Option<f64>| cost.map_or(MISSING.to_owned(), |ns| format::time(ns / 1e3));
    costs.into_iter().map(|(name, cost)| (name, text(cost))).collect()
}

/// Cost of making one document, a line for each operation that makes some:
/// `insert_one: go@2.9.3 0.61 µs, node@7.9.0 1.20 µs`.
pub fn making_lines(analysis: &Analysis) -> Vec<String> {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for row in &analysis.results {
        let Some(ns) = row.get(Metric::DocumentNs).filter(|_| !is_aa(analysis, &row.arm)) else {
            continue;
        };
        let of = if row.phase == row.operation {
            row.phase.clone()
        } else {
            format!("{}, {}", row.phase, row.operation)
        };
        let cost = format!("{} {}", row.arm, format::time(ns / 1e3));
        match lines.iter_mut().find(|(known, _)| *known == of) {
            Some((_, costs)) => costs.push(cost),
            None => lines.push((of, vec![cost])),
        }
    }
    lines.into_iter().map(|(of, costs)| clean(&format!("{of}: {}", costs.join(", ")))).collect()
}

/// Over the list of [`condition_lines`].
pub const CONDITIONS: &str = "Conditions of the arms";

/// `pool size: 100 (go@2.9.3, node@7.9.0), not told (rust@3.8.0)`.
pub fn condition_lines(analysis: &Analysis) -> Vec<String> {
    let line = |row: &ConditionRow| {
        let value = |it: &ConditionValue| match row.values.len() {
            1 => it.value.clone(),
            _ => format!("{} ({})", it.value, it.arms.join(", ")),
        };
        let values: Vec<String> = row.values.iter().map(value).collect();
        clean(&format!("{}: {}", row.condition, values.join(", ")))
    };
    analysis.conditions.iter().map(line).collect()
}

pub fn is_aa(analysis: &Analysis, arm: &str) -> bool {
    analysis.arms.iter().any(|it| it.id == arm && it.is_aa)
}

/// `go@2.4.0: 3 of 10 runs void; the first: adapter crashed`.
pub fn void_lines(analysis: &Analysis) -> Vec<String> {
    let void = analysis.arms.iter().filter(|arm| arm.failed > 0);
    void.map(|arm| {
        let reason = arm.reason.as_deref().unwrap_or("no reason recorded");
        let label = arm_label(arm);
        clean(&format!("{label}: {} of {} runs void; the first: {reason}", arm.failed, arm.runs))
    })
    .collect()
}

/// Over the list of [`death_lines`].
pub const DEATHS: &str = "Died of memory";

/// `node@7.9.0 died of memory at 64 MiB … (in 3 of 3 rounds; the first)`.
pub fn death_lines(analysis: &Analysis) -> Vec<String> {
    let line = |it: &DeathRow| {
        let label = label_of(analysis, &it.arm);
        let which = match (it.rounds, it.begun) {
            (1, 1) => String::new(),
            (died, begun) => format!(" (in {died} of {begun} rounds; here the first)"),
        };
        clean(&format!("{label} {}{which}", it.first.sentence()))
    };
    analysis.deaths.iter().map(line).collect()
}

/// Over [`doubt_lines`].
pub const DOUBTS: &str = "Doubts";

/// What precedes all else: a verdict may answer a question other than the one asked.
pub fn doubt_lines(analysis: &Analysis) -> Vec<String> {
    clean_all(&analysis.doubts)
}

/// Cautions to read before the numbers.
pub fn warning_lines(analysis: &Analysis) -> Vec<String> {
    [clean_all(&analysis.warnings), void_lines(analysis)].concat()
}

/// `java: no JDK 17 or newer on PATH → apt-get install openjdk-17-jdk-headless`.
pub fn unavailable_lines(analysis: &Analysis) -> Vec<String> {
    let line = |it: &Unavailable| clean(&format!("{}: {} → {}", it.adapter, it.reason, it.hint));
    analysis.unavailable.iter().map(line).collect()
}

/// The command that makes this report again.
pub fn again(analysis: &Analysis) -> String {
    format!("mongodyno report {}", shell_quoted(&clean(&analysis.experiment)))
}
