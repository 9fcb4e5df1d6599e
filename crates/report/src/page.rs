//! Input of the page's template: everything written out, so that the template only places it.

use serde::Serialize;

use super::answer_lines;
use super::axis::Axis;
use super::drawing::Drawing;
use super::formats::Report;
use super::history;
use super::page_charts;
use super::palette::Palette;
use super::plot_rows;
use super::plots;
use super::view::{self, PhaseView};
use super::wire_table::{self, WireTable};
use base::say::clean;
use format::{self, MISSING};
use judge::analysis::types::{Analysis, ArmSummary, ComparisonRow};
use stats::verdict::Verdict;

#[derive(Debug, Serialize)]
pub struct Page<'a> {
    /// The workload, and why it exists.
    title: String,
    question: String,
    /// Server, machine and rounds in a line.
    setting: String,
    legend: Vec<String>,
    answers: Vec<PageAnswer>,
    /// Name and value, for the list at the end.
    facts: Vec<(&'static str, String)>,
    /// Doubts and warnings, the strongest first.
    cautions: Vec<String>,
    deaths: Vec<String>,
    gates: Vec<String>,
    since: Vec<String>,
    histories: Vec<String>,
    findings: Vec<String>,
    conditions: Vec<String>,
    making: Vec<String>,
    phases: Vec<PagePhase<'a>>,
    arms: Vec<PageArm>,
    unavailable: Vec<[String; 3]>,
    again: String,
    schema_version: u32,
}

/// What a phase comes to: in words, and as a picture.
#[derive(Debug, Serialize)]
struct PageAnswer {
    name: String,
    /// Target of links.
    anchor: String,
    sentences: Vec<Sentence>,
    /// Words over the picture; empty where there is none.
    caption: &'static str,
    /// The picture beside the sentences, and on a phone.
    pictures: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PagePhase<'a> {
    view: PhaseView<'a>,
    wire: Option<WireTable>,
    /// Rows of charts.
    charts: Vec<Vec<String>>,
    anchor: String,
    /// Other figures that differ, and drift within the phase.
    also: Vec<String>,
    comparisons: Vec<PageComparison>,
    /// Picture of the rounds, empty where there are none.
    dots: String,
    rounds: Vec<PageRounds>,
    round_numbers: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Sentence {
    /// Empty where the sentence itself names the arm.
    arm: String,
    swatch: String,
    is_aa: bool,
    verdict: Option<Verdict>,
    /// The verdict's word, what follows it, and how sure it is.
    word: String,
    rest: String,
    basis: String,
}

#[derive(Debug, Serialize)]
struct PageComparison {
    arm: String,
    is_aa: bool,
    operation: String,
    metric: &'static str,
    verdict: Verdict,
    word: String,
    change: String,
    threshold: String,
    level: String,
    rounds: u32,
    p_value: String,
    discovery: &'static str,
}

#[derive(Debug, Serialize)]
struct PageRounds {
    arm: String,
    values: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PageArm {
    label: String,
    is_aa: bool,
    driver: String,
    version: String,
    native: &'static str,
    runtime: String,
    concurrency: String,
    runs: u32,
    failed: u32,
    noop: String,
    resolved: Vec<(String, String)>,
}

/// Everything the template places.
pub fn page<'a>(report: &Report<'a>, palette: &Palette) -> Page<'a> {
    let analysis = report.analysis;
    let unavailable = analysis.unavailable.iter();
    let phases = view::phases(analysis).into_iter().enumerate();
    let (answers, phases) = phases
        .map(|(index, view)| {
            let anchor = format!("phase-{}", index + 1);
            let answer = answer(analysis, &view, palette, anchor.clone());
            (answer, phase(report, view, palette, anchor))
        })
        .unzip();
    Page {
        title: clean(&analysis.workload),
        question: clean(&analysis.why),
        setting: setting(analysis),
        legend: view::palette(analysis).names().map(str::to_owned).collect(),
        answers,
        facts: facts(analysis),
        cautions: cautions(analysis),
        deaths: view::death_lines(analysis),
        gates: answer_lines::gate_lines(analysis),
        since: answer_lines::since_lines(analysis),
        histories: history::charts(analysis).iter().map(Drawing::svg).collect(),
        findings: answer_lines::finding_lines(analysis),
        conditions: view::condition_lines(analysis),
        making: view::making_lines(analysis),
        phases,
        arms: analysis.arms.iter().map(arm).collect(),
        unavailable: unavailable
            .map(|u| [clean(&u.adapter), clean(&u.reason), clean(&u.hint)])
            .collect(),
        again: format!("{} --format html", view::again(analysis)),
        schema_version: analysis.schema_version,
    }
}

/// `embedded MongoDB 6.0.5, standalone · AMD EPYC, 2 cores · 6 rounds, quick`.
fn setting(analysis: &Analysis) -> String {
    let machine = &analysis.machine;
    let cores = format::counted(u64::from(machine.cores), "core");
    let rounds = format::counted(u64::from(analysis.rounds), "round");
    let quick = if analysis.quick { ", quick form" } else { "" };
    let server = view::server_text(&analysis.server);
    clean(&format!("{server} · {}, {cores} · {rounds}{quick}", machine.cpu))
}

/// Doubts about the question come before doubts about the figures, and of these the quick form
/// first.
fn cautions(analysis: &Analysis) -> Vec<String> {
    let (quick, others): (Vec<_>, Vec<_>) =
        view::warning_lines(analysis).into_iter().partition(|line| line.starts_with("quick form"));
    [view::doubt_lines(analysis), quick, others].concat()
}

fn facts(analysis: &Analysis) -> Vec<(&'static str, String)> {
    let machine = &analysis.machine;
    let governor = machine.governor.as_deref().unwrap_or("unknown");
    let mut facts = vec![
        ("Server", view::server_text(&analysis.server)),
        ("Machine", view::machine_text(&analysis.machine)),
        ("Clock", clean(&format!("{}; governor {governor}", machine.clock_source))),
        ("Rounds", view::rounds_line(analysis)),
        ("Experiment", clean(&analysis.id)),
    ];
    if !analysis.server.flags.is_empty() {
        facts.insert(1, ("Server flags", clean(&analysis.server.flags.join(" "))));
    }
    facts
}

fn answer(analysis: &Analysis, view: &PhaseView, palette: &Palette, anchor: String) -> PageAnswer {
    let changes = plots::comparisons(analysis, view, palette);
    let is_compared = analysis.comparisons.iter().any(|it| !it.is_aa);
    let axis = Axis::of_changes(changes.iter()).filter(|_| is_compared);
    let (caption, rows, axis) = if axis.is_some() {
        (CHANGES, changes, axis)
    } else {
        // The A/A arm alone compares nothing: there is one driver, and what it measured.
        let rounds = plots::rounds(analysis, view, palette);
        let axis = Axis::of_rounds(rounds.iter());
        (ROUNDS, rounds, axis)
    };
    let draw = |layout| Some(plots::plot(&view.name, &rows, axis.as_ref()?, layout).svg());
    let mut sentences: Vec<Sentence> = Vec::new();
    if !is_compared {
        sentences.extend(analysis.arms.first().and_then(|arm| speed(arm, view)));
    }
    sentences.extend(view.verdicts.iter().map(|verdict| sentence(analysis, verdict)));
    PageAnswer {
        name: view.name.clone(),
        anchor,
        sentences,
        caption: if axis.is_some() { caption } else { "" },
        pictures: [&plot_rows::BESIDE, &plot_rows::NARROW].into_iter().filter_map(draw).collect(),
    }
}

/// Words over the picture of an answer.
const CHANGES: &str = "Change of time per operation against the baseline: estimate and interval. \
    Within the shade it is SAME, beyond it SLOWER or FASTER.";
const ROUNDS: &str = "Throughput of every round, the first on top; the line is their median.";

fn phase<'a>(
    report: &Report<'a>,
    view: PhaseView<'a>,
    palette: &Palette,
    anchor: String,
) -> PagePhase<'a> {
    let analysis = report.analysis;
    // The view's name is cleaned; the records are looked up by the name they carry.
    let compared = analysis.comparisons.iter().filter(|c| clean(&c.phase) == view.name);
    let of_rounds = plots::rounds(analysis, &view, palette);
    let axis = Axis::of_rounds(of_rounds.iter());
    let dots =
        axis.map(|axis| plots::plot(&view.name, &of_rounds, &axis, &plot_rows::BESIDE).svg());
    let longest = of_rounds.iter().map(|row| row.rates().len()).max().unwrap_or(0);
    PagePhase {
        wire: wire_table::table(analysis, &view.name),
        charts: chart_rows(report, &view.name, palette),
        anchor,
        also: view.verdicts.iter().flat_map(|verdict| also(analysis, verdict)).collect(),
        comparisons: compared.map(|c| comparison(analysis, c)).collect(),
        dots: dots.unwrap_or_default(),
        rounds: of_rounds.iter().map(|row| rounds(row, longest)).collect(),
        round_numbers: (1..=longest as u32).map(|round| round_label(analysis, round)).collect(),
        view,
    }
}

fn chart_rows(report: &Report<'_>, phase: &str, palette: &Palette) -> Vec<Vec<String>> {
    let rows = page_charts::charts(report, phase, palette).into_iter();
    rows.map(|row| row.iter().map(Drawing::svg).collect()).collect()
}

fn also(analysis: &Analysis, verdict: &view::VerdictView) -> Vec<String> {
    let label = view::label_of(analysis, &verdict.comparison.arm);
    let others = verdict.others.iter().map(|other| view::short_line(other));
    let others = others.map(|line| format!("{label}: {line}"));
    others.chain(view::drift_line(verdict.comparison)).collect()
}

fn round_label(analysis: &Analysis, round: u32) -> String {
    let aside = view::is_set_aside(analysis, round);
    if aside { format!("{round} (disturbed)") } else { round.to_string() }
}

fn rounds(row: &plot_rows::PlotRow, longest: usize) -> PageRounds {
    let rates = row.rates().iter().copied().chain(std::iter::repeat(None));
    PageRounds {
        arm: row.label.clone(),
        values: rates.take(longest).map(format::optional).collect(),
    }
}

fn sentence(analysis: &Analysis, verdict: &view::VerdictView) -> Sentence {
    let comparison = verdict.comparison;
    let text = clean(&comparison.sentence);
    let word = comparison.verdict.word().to_owned();
    let (word, rest) = match text.strip_prefix(&word) {
        Some(rest) => (word, rest.trim_start_matches(':').trim_start()),
        None => (word, text.as_str()),
    };
    let rest = rest.trim_start_matches(", ");
    // The confidence in parentheses ends the sentence; names of arms may have some as well.
    let basis = [" % CI ", " paired round", "threshold "].into_iter();
    let basis = basis.filter_map(|words| rest.find(words)).min();
    let at = basis.and_then(|at| rest[..at].rfind(" (")).unwrap_or(rest.len());
    let label = view::label_of(analysis, &comparison.arm);
    let is_named = comparison.verdict.names_arms(comparison.direction_only);
    Sentence {
        arm: if is_named { String::new() } else { label.clone() },
        swatch: label,
        is_aa: comparison.is_aa,
        verdict: Some(comparison.verdict),
        word,
        basis: rest[at..].trim_start().to_owned(),
        rest: rest[..at].to_owned(),
    }
}

/// What an arm measured that is compared with none.
fn speed(arm: &ArmSummary, view: &PhaseView) -> Option<Sentence> {
    let label = view::arm_label(arm);
    Some(Sentence {
        rest: view.speed_of(&label)?,
        arm: label.clone(),
        swatch: label,
        is_aa: false,
        verdict: None,
        word: "measured".to_owned(),
        basis: String::new(),
    })
}

fn comparison(analysis: &Analysis, c: &ComparisonRow) -> PageComparison {
    PageComparison {
        arm: view::label_of(analysis, &c.arm),
        is_aa: c.is_aa,
        operation: clean(&c.operation),
        metric: c.metric.definition().label,
        verdict: c.verdict,
        word: view::verdict_text(c),
        change: view::change(c),
        threshold: format!("±{} %", format::threshold(c.threshold_percent)),
        level: c.level.map_or(MISSING.to_owned(), format::level),
        rounds: c.rounds,
        p_value: c.p_value.map_or(MISSING.to_owned(), |p| {
            if p < 0.0005 { "< 0.0005".to_owned() } else { format::fixed(p, 3) }
        }),
        discovery: match c.bh_rejected {
            Some(true) => "yes",
            Some(false) => "no",
            None => MISSING,
        },
    }
}

fn arm(arm: &ArmSummary) -> PageArm {
    PageArm {
        label: view::arm_label(arm),
        is_aa: arm.is_aa,
        driver: clean(&arm.driver),
        version: clean(&arm.version),
        native: match arm.native {
            Some(true) => "yes",
            Some(false) => "no",
            None => "none exists",
        },
        runtime: clean(&arm.runtime),
        concurrency: clean(&arm.concurrency),
        runs: arm.runs,
        failed: arm.failed,
        noop: arm.noop_ns.map_or(MISSING.to_owned(), |ns| format::time(ns / 1e3)),
        resolved: arm.resolved.as_object().map_or_else(Vec::new, |defaults| {
            let mark = |name: &String| match &arm.seen {
                Some(seen) if seen.options.contains_key(name) => " (seen on the wire)",
                _ => "",
            };
            let value = |(name, value): (&String, &serde_json::Value)| {
                (clean(name), clean(&format!("{value}{}", mark(name))))
            };
            defaults.iter().map(value).collect()
        }),
    }
}
