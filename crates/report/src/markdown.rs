//! GitHub Markdown, for issues, pull requests and `$GITHUB_STEP_SUMMARY`.

use std::io::{self, Write};

use super::answer_lines;
use super::formats::{Format, Joint, Report};
use super::markup::{escape, list};
use super::result_columns::ResultColumn;
use super::study;
use super::view::{self, PhaseView, RowView};
use super::wire_table;
use judge::analysis::types::Analysis;

pub const FORMAT: Format = Format {
    name: "md",
    about: "Markdown",
    experiments: Some((render, joint)),
    study: Some(|it, _, out| Ok(study::markdown(&it.view(), out))),
};

fn render(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Report { analysis, options, .. } = report;
    writeln!(out, "# mongodyno: {}\n", escape(&analysis.workload))?;
    list(out, answer_lines::GATES, &answer_lines::gate_lines(analysis))?;
    list(out, view::DOUBTS, &analysis.doubts)?;
    list(out, view::DEATHS, &view::death_lines(analysis))?;
    list(out, "Since which version", &answer_lines::since_lines(analysis))?;
    for phase in view::phases(analysis) {
        write_phase(analysis, &phase, out)?;
    }
    writeln!(out, "\n## What was measured\n")?;
    if !analysis.why.is_empty() {
        writeln!(out, "{}\n", escape(&analysis.why))?;
    }
    writeln!(out, "- Server: {}", escape(&view::server_text(&analysis.server)))?;
    writeln!(out, "- Machine: {}", escape(&view::machine_text(&analysis.machine)))?;
    writeln!(out, "- Rounds: {}", escape(&view::rounds_line(analysis)))?;
    writeln!(out, "- Experiment: {}", escape(&analysis.id))?;
    list(out, "Where the time goes", &answer_lines::finding_lines(analysis))?;
    list(out, view::CONDITIONS, &view::condition_lines(analysis))?;
    list(out, "Warnings", &analysis.warnings)?;
    list(out, "Void runs", &view::void_lines(analysis))?;
    list(out, "Not measured", &view::unavailable_lines(analysis))?;
    let costs = view::noop_costs(analysis).into_iter();
    let costs: Vec<String> = costs.map(|(name, cost)| format!("{name}: {cost}")).collect();
    list(out, "Own cost of measuring, per operation (no-op)", &costs)?;
    list(out, "Making a document, before it is timed", &view::making_lines(analysis))?;
    writeln!(out, "\nFolder: {}  ", escape(&analysis.experiment))?;
    if let Some(page) = &options.page {
        writeln!(out, "Page: {}  ", escape(page))?;
    }
    writeln!(out, "Again: {} --format md", escape(&view::again(analysis)))
}

fn joint(joint: &Joint<'_>, out: &mut dyn Write) -> io::Result<()> {
    study::markdown(&joint.view(&joint.palette()), out)?;
    joint.each(render, out)
}

fn write_phase(analysis: &Analysis, phase: &PhaseView, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n## {}\n", escape(&phase.name))?;
    writeln!(out, "{}\n", escape(&phase.notes.join(" · ")))?;
    let heads = columns(phase).map(|(_, column)| format!("{} {}", column.name, column.unit));
    let heads = heads.map(|head| head.trim_end().to_owned());
    let head: Vec<String> = std::iter::once("arm".to_owned()).chain(heads).collect();
    writeln!(out, "| {} |", head.join(" | "))?;
    let names = if phase.is_mix { 2 } else { 1 };
    let rule = (0..head.len()).map(|i| if i < names { "---" } else { "--:" });
    writeln!(out, "| {} |", rule.collect::<Vec<_>>().join(" | "))?;
    for row in &phase.rows {
        writeln!(out, "| {} |", cells(phase, row).join(" | "))?;
    }
    if !phase.verdicts.is_empty() {
        writeln!(out)?;
    }
    for verdict in &phase.verdicts {
        let comparison = verdict.comparison;
        let label = view::label_of(analysis, &comparison.arm);
        writeln!(out, "- **{}** {}", escape(&label), escape(&comparison.sentence))?;
        for other in &verdict.others {
            writeln!(out, "  - also {}", escape(&view::short_line(other)))?;
        }
        if let Some(drift) = view::drift_line(comparison) {
            writeln!(out, "  - {}", escape(&drift))?;
        }
    }
    let Some(wire) = wire_table::table(analysis, &phase.name) else { return Ok(()) };
    writeln!(out, "\n| on the wire | {} |", wire.head.join(" | "))?;
    writeln!(out, "| --- |{}", " --: |".repeat(wire.head.len()))?;
    for row in &wire.rows {
        writeln!(out, "| {} | {} |", escape(&row.arm), row.cells.join(" | "))?;
    }
    for note in &wire.notes {
        writeln!(out, "\n{}", escape(note))?;
    }
    Ok(())
}

/// The columns that texts have, with their places.
fn columns<'a>(phase: &'a PhaseView) -> impl Iterator<Item = (usize, &'a ResultColumn)> {
    phase.columns.iter().enumerate().filter(|(_, column)| !column.head.is_empty())
}

fn cells(phase: &PhaseView, row: &RowView) -> Vec<String> {
    let name = if row.is_first { escape(&row.arm) } else { String::new() };
    let name = if row.is_aa && row.is_first { format!("*{name}*") } else { name };
    let cells = columns(phase).map(|(at, _)| escape(&row.cells[at]));
    std::iter::once(name).chain(cells).collect()
}
