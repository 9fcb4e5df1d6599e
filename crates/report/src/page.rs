//! Input of the page's template: everything written out, so that the template only places it.

use serde::Serialize;

use super::answer_lines;
use super::drawing::Drawing;
use super::history;
use super::plots::{self, Axis};
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
    /// Name and value, for the list at the top.
    facts: Vec<(&'static str, String)>,
    doubts: Vec<String>,
    deaths: Vec<String>,
    gates: Vec<String>,
    since: Vec<String>,
    histories: Vec<String>,
    findings: Vec<String>,
    conditions: Vec<String>,
    making: Vec<String>,
    warnings: Vec<String>,
    phases: Vec<PagePhase<'a>>,
    arms: Vec<PageArm>,
    unavailable: Vec<[String; 3]>,
    again: String,
    schema_version: u32,
}

#[derive(Debug, Serialize)]
struct PagePhase<'a> {
    view: PhaseView<'a>,
    wire: Option<WireTable>,
    /// Target of links.
    anchor: String,
    sentences: Vec<Sentence>,
    /// Picture of the intervals, empty where there are none.
    intervals: String,
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
    hue: u32,
    is_aa: bool,
    verdict: Verdict,
    /// The verdict's word, and what follows it.
    word: String,
    rest: String,
    others: Vec<String>,
    /// Drift within the phase.
    drift: Option<String>,
}

#[derive(Debug, Serialize)]
struct PageComparison {
    arm: String,
    hue: u32,
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
    hue: u32,
    is_aa: bool,
    values: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PageArm {
    label: String,
    hue: u32,
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
pub fn page(analysis: &Analysis) -> Page<'_> {
    let unavailable = analysis.unavailable.iter();
    Page {
        title: clean(&analysis.workload),
        question: clean(&analysis.why),
        facts: facts(analysis),
        doubts: view::doubt_lines(analysis),
        deaths: view::death_lines(analysis),
        gates: answer_lines::gate_lines(analysis),
        since: answer_lines::since_lines(analysis),
        histories: history::charts(analysis).iter().map(Drawing::svg).collect(),
        findings: answer_lines::finding_lines(analysis),
        conditions: view::condition_lines(analysis),
        making: view::making_lines(analysis),
        warnings: view::warning_lines(analysis),
        phases: view::phases(analysis)
            .into_iter()
            .enumerate()
            .map(|(index, view)| phase(analysis, view, index))
            .collect(),
        arms: analysis.arms.iter().map(arm).collect(),
        unavailable: unavailable
            .map(|u| [clean(&u.adapter), clean(&u.reason), clean(&u.hint)])
            .collect(),
        again: format!("{} --format html", view::again(analysis)),
        schema_version: analysis.schema_version,
    }
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

fn phase<'a>(analysis: &'a Analysis, view: PhaseView<'a>, index: usize) -> PagePhase<'a> {
    // The view's name is cleaned; the records are looked up by the name they carry.
    let compared = analysis.comparisons.iter().filter(|c| clean(&c.phase) == view.name);
    let changes = plots::comparisons(analysis, &view);
    let of_rounds = plots::rounds(analysis, &view);
    let draw = |rows: &[plots::PlotRow], axis: Option<Axis>| {
        axis.map(|axis| plots::plot(&view.name, rows, &axis).svg()).unwrap_or_default()
    };
    let longest = of_rounds.iter().map(|row| row.rates().len()).max().unwrap_or(0);
    PagePhase {
        wire: wire_table::table(analysis, &view.name),
        anchor: format!("phase-{}", index + 1),
        sentences: view.verdicts.iter().map(|v| sentence(analysis, v)).collect(),
        intervals: draw(&changes, Axis::of_changes(changes.iter())),
        comparisons: compared.map(|c| comparison(analysis, c)).collect(),
        dots: draw(&of_rounds, Axis::of_rounds(of_rounds.iter())),
        rounds: of_rounds.iter().map(|row| rounds(row, longest)).collect(),
        round_numbers: (1..=longest as u32).map(|round| round_label(analysis, round)).collect(),
        view,
    }
}

fn round_label(analysis: &Analysis, round: u32) -> String {
    let aside = view::is_set_aside(analysis, round);
    if aside { format!("{round} (disturbed)") } else { round.to_string() }
}

fn rounds(row: &plots::PlotRow, longest: usize) -> PageRounds {
    let rates = row.rates().iter().copied().chain(std::iter::repeat(None));
    PageRounds {
        arm: row.label.clone(),
        hue: row.hue,
        is_aa: row.is_aa,
        values: rates.take(longest).map(format::optional).collect(),
    }
}

fn sentence(analysis: &Analysis, verdict: &view::VerdictView) -> Sentence {
    let comparison = verdict.comparison;
    let text = clean(&comparison.sentence);
    let word = comparison.verdict.word().to_owned();
    let (word, rest) = match text.strip_prefix(&word) {
        Some(rest) => (word, rest.trim_start_matches(':').trim_start().to_owned()),
        None => (word, text),
    };
    let label = view::label_of(analysis, &comparison.arm);
    let is_named = comparison.verdict.names_arms(comparison.direction_only);
    Sentence {
        arm: if is_named { String::new() } else { label },
        hue: view::hue(&comparison.arm),
        is_aa: comparison.is_aa,
        verdict: comparison.verdict,
        word,
        rest: rest.trim_start_matches(", ").to_owned(),
        others: verdict.others.iter().map(|other| view::short_line(other)).collect(),
        drift: view::drift_line(comparison),
    }
}

fn comparison(analysis: &Analysis, c: &ComparisonRow) -> PageComparison {
    PageComparison {
        arm: view::label_of(analysis, &c.arm),
        hue: view::hue(&c.arm),
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
        hue: view::hue(&arm.id),
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
