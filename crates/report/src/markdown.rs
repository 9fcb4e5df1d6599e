//! GitHub Markdown, for issues, pull requests and `$GITHUB_STEP_SUMMARY`.

use std::io::{self, Write};

use super::answers;
use super::formats::{Format, Report};
use super::view::{self, PhaseView, RowView};
use super::wire;
use base::say::clean;
use judge::analysis::types::Analysis;

pub const FORMAT: Format = Format { name: "md", about: "Markdown", render };

fn render(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Report { analysis, options, .. } = report;
    writeln!(out, "# mongodyno: {}\n", escape(&analysis.workload))?;
    if !analysis.why.is_empty() {
        writeln!(out, "{}\n", escape(&analysis.why))?;
    }
    writeln!(out, "- Server: {}", escape(&view::server_text(&analysis.server)))?;
    writeln!(out, "- Machine: {}", escape(&view::machine_text(&analysis.machine)))?;
    writeln!(out, "- Rounds: {}", escape(&view::rounds_line(analysis)))?;
    writeln!(out, "- Experiment: {}", escape(&analysis.id))?;
    list(out, view::DOUBTS, &analysis.doubts)?;
    list(out, view::DEATHS, &view::death_lines(analysis))?;
    list(out, answers::GATES, &answers::gate_lines(analysis))?;
    list(out, "Since which version", &answers::since_lines(analysis))?;
    list(out, "Where the time goes", &answers::finding_lines(analysis))?;
    list(out, view::CONDITIONS, &view::condition_lines(analysis))?;
    list(out, "Warnings", &analysis.warnings)?;
    for phase in view::phases(analysis) {
        write_phase(analysis, &phase, out)?;
    }
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

pub(crate) fn list(out: &mut dyn Write, title: &str, lines: &[String]) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n## {title}\n")?;
    for line in lines {
        writeln!(out, "- {}", escape(line))?;
    }
    Ok(())
}

fn write_phase(analysis: &Analysis, phase: &PhaseView, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n## {}\n", escape(&phase.name))?;
    writeln!(out, "{}\n", escape(&phase.notes.join(" · ")))?;
    let time = phase.time_unit;
    let mut head = vec!["arm".to_owned()];
    if phase.is_mix {
        head.push("operation".to_owned());
    }
    head.extend(["ops/s".to_owned(), "time/op vs base, + is slower".to_owned()]);
    head.extend(["p50", "p90", "p99", "p99.9"].map(|name| format!("{name} {time}")));
    if phase.has_response {
        head.extend(["response p50", "response p99"].map(|name| format!("{name} {time}")));
    }
    if phase.has_documents {
        head.push("documents/op".to_owned());
    }
    head.push(format!("CPU/op {}", phase.cpu_unit));
    head.extend(["peak RSS MiB", "errors"].map(str::to_owned));
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
    let Some(wire) = wire::table(analysis, &phase.name) else { return Ok(()) };
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

fn cells(phase: &PhaseView, row: &RowView) -> Vec<String> {
    let first = |cell: &str| if row.is_first { cell.to_owned() } else { String::new() };
    let name = first(&escape(&row.arm));
    let mut cells = vec![if row.is_aa && row.is_first { format!("*{name}*") } else { name }];
    if phase.is_mix {
        cells.push(escape(&row.operation));
    }
    cells.extend([first(&row.throughput), first(&escape(&row.change))]);
    cells.extend(row.quantiles.iter().cloned());
    if phase.has_response {
        cells.extend(row.response.iter().cloned());
    }
    if phase.has_documents {
        cells.push(row.documents.clone());
    }
    cells.extend([first(&row.cpu), first(&row.rss), row.errors.clone()]);
    cells
}

/// Text that Markdown shows as it is: no markup, no HTML, no mention, no column break.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn nothing_becomes_markup() {
        assert_eq!(escape("a|b `c` *d* <e>\n# f"), r"a\|b \`c\` \*d\* &lt;e&gt; \# f");
    }
}
