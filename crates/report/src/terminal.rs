//! The report for a terminal: calm, one table a phase, sentences below, no borders.

use std::collections::BTreeSet;
use std::io::{self, Write};

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle,
};

use super::Options;
use super::lines::{DEFAULT_WIDTH, MIN_WIDTH, Page, wrap_hanging};
use super::paint::{Ink, Paint};
use super::text::{shorten, width};
use super::view::{self, CONDITIONS, PhaseView, RowView, VerdictView};
use super::wire;
use base::say::clean;
use judge::analysis::types::Analysis;

const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

pub(super) fn render(
    analysis: &Analysis,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let width = options.width.unwrap_or(DEFAULT_WIDTH).max(MIN_WIDTH);
    let mut page = Page { out, width: usize::from(width), paint: Paint(options.colour) };
    header(analysis, &mut page)?;
    for phase in view::phases(analysis) {
        page.line("")?;
        phase_block(analysis, &phase, &mut page)?;
    }
    page.list("Where the time goes", Ink::Bold, &view::finding_lines(analysis))?;
    page.list(CONDITIONS, Ink::Bold, &view::condition_lines(analysis))?;
    page.list("Warnings", Ink::Yellow, &clean_all(&analysis.warnings))?;
    page.list("Void runs", Ink::Red, &view::void_lines(analysis))?;
    unavailable(analysis, &mut page)?;
    footer(analysis, options, &mut page)
}

fn clean_all(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| clean(text)).collect()
}

fn header(analysis: &Analysis, page: &mut Page) -> io::Result<()> {
    let title = page.paint.ink(Ink::Bold, &clean(&analysis.workload));
    page.line(&title)?;
    page.field("server", &view::server_line(analysis))?;
    page.field("machine", &view::machine_line(analysis))?;
    page.field("rounds", &view::rounds_line(analysis))?;
    if analysis.comparisons.is_empty() {
        return Ok(());
    }
    page.field("reading", "vs base is the change of time per operation: + slower, - faster")
}

fn phase_block(analysis: &Analysis, phase: &PhaseView, page: &mut Page) -> io::Result<()> {
    let title = page.paint.ink(Ink::Bold, &phase.name);
    page.line(&title)?;
    page.wrapped(2, Ink::Dim, &phase.notes.join(" · "))?;
    let names = short_names(phase, page.width);
    let everything = Shown { phase, columns: columns(phase), names: &names, every_row: true };
    // Measured without colour, whose codes would count as columns.
    let natural = everything.draw(Paint(false), None);
    if natural.lines().all(|line| width(line) <= page.width) {
        page.out.write_all(everything.draw(page.paint, None).as_bytes())?;
    } else {
        // Too narrow for everything: throughput first, then time; nothing is left out.
        for part in [Part::Work, Part::Time] {
            let shown = Shown {
                columns: everything
                    .columns
                    .iter()
                    .filter(|c| c.belongs_to(part))
                    .cloned()
                    .collect(),
                every_row: part == Part::Time,
                ..everything
            };
            page.out.write_all(shown.draw(page.paint, Some(page.width)).as_bytes())?;
            if part == Part::Work {
                page.line("")?;
            }
        }
    }
    if !phase.verdicts.is_empty() {
        page.line("")?;
    }
    for verdict in &phase.verdicts {
        sentence(analysis, verdict, page)?;
    }
    wire_block(analysis, &phase.name, page)
}

/// What the tap saw.
fn wire_block(analysis: &Analysis, phase: &str, page: &mut Page) -> io::Result<()> {
    let Some(wire) = wire::table(analysis, phase) else { return Ok(()) };
    page.line("")?;
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(page.width).unwrap_or(DEFAULT_WIDTH));
    let right = |text: &String| Cell::new(text).set_alignment(CellAlignment::Right);
    let name = Cell::new("on the wire");
    table.set_header(std::iter::once(name).chain(wire.head.iter().map(right)));
    for row in &wire.rows {
        let arm = Cell::new(shorten(&row.arm, (page.width * 9 / 40).max(16)));
        table.add_row(std::iter::once(arm).chain(row.cells.iter().map(right)));
    }
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((2, 0));
        // Heads may wrap; a name never does.
        if number == 0 {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    for line in table.lines() {
        page.line(&line)?;
    }
    for note in &wire.notes {
        page.wrapped(2, Ink::Dim, note)?;
    }
    Ok(())
}

/// Names cut in the middle, unless two would then look alike.
fn short_names(phase: &PhaseView, page_width: usize) -> Vec<String> {
    let full: BTreeSet<&str> = phase.rows.iter().map(|row| row.arm.as_str()).collect();
    let max = (page_width * 9 / 40).max(16);
    let short: BTreeSet<String> = full.iter().map(|name| shorten(name, max)).collect();
    let max = if short.len() == full.len() { max } else { usize::MAX };
    phase.rows.iter().map(|row| shorten(&row.arm, max)).collect()
}

/// Which of two tables a column goes to when one does not fit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Both,
    Work,
    Time,
}

/// A column: its two header lines, where it goes, and how a row fills it.
#[derive(Clone)]
struct Column {
    head: [&'static str; 2],
    part: Part,
    right: bool,
    cell: fn(&RowView) -> &str,
}

impl Column {
    fn belongs_to(&self, part: Part) -> bool {
        self.part == Part::Both || self.part == part
    }

    fn alignment(&self) -> CellAlignment {
        if self.right { CellAlignment::Right } else { CellAlignment::Left }
    }
}

fn columns(phase: &PhaseView) -> Vec<Column> {
    type Fill = fn(&RowView) -> &str;
    let figure =
        |head, unit, part, cell: Fill| Column { head: [head, unit], part, right: true, cell };
    let name = |head, part, cell: Fill| Column { head: [head, ""], part, right: false, cell };
    let time = phase.time_unit;
    let mut columns = vec![name("arm", Part::Both, |r| first(r, &r.arm))];
    if phase.is_mix {
        columns.push(name("operation", Part::Time, |r| &r.operation));
    }
    columns.extend([
        figure("ops/s", "", Part::Work, |r| first(r, &r.throughput)),
        figure("vs base", "% time/op", Part::Work, |r| first(r, &r.change)),
        figure("p50", time, Part::Time, |r| &r.quantiles[0]),
        figure("p90", time, Part::Time, |r| &r.quantiles[1]),
        figure("p99", time, Part::Time, |r| &r.quantiles[2]),
        figure("p99.9", time, Part::Time, |r| &r.quantiles[3]),
    ]);
    if phase.has_response {
        columns.push(figure("resp.", "p50", Part::Time, |r| &r.response[0]));
        columns.push(figure("resp.", "p99", Part::Time, |r| &r.response[1]));
    }
    // Errors are the operation's: in a mix they go where the operations are.
    let errors = if phase.is_mix { Part::Time } else { Part::Work };
    columns.extend([
        figure("CPU/op", phase.cpu_unit, Part::Work, |r| first(r, &r.cpu)),
        figure("peak", "RSS MiB", Part::Work, |r| first(r, &r.rss)),
        figure("errors", "", errors, |r| &r.errors),
    ]);
    columns
}

/// Figures of the whole phase stand once an arm.
fn first<'a>(row: &RowView, cell: &'a str) -> &'a str {
    if row.is_first { cell } else { "" }
}

/// One table to draw: some columns of a phase.
struct Shown<'a> {
    phase: &'a PhaseView<'a>,
    columns: Vec<Column>,
    /// What each row calls its arm.
    names: &'a [String],
    /// Or only the first of each arm.
    every_row: bool,
}

impl Shown<'_> {
    fn draw(&self, paint: Paint, fit: Option<usize>) -> String {
        let mut table = Table::new();
        table.load_style(STYLE);
        match fit.and_then(|columns| u16::try_from(columns).ok()) {
            Some(columns) => {
                table.set_content_arrangement(ContentArrangement::Dynamic).set_width(columns)
            }
            None => table.set_content_arrangement(ContentArrangement::Disabled),
        };
        table.set_header(self.columns.iter().map(|column| {
            let text = paint.mark(Ink::Dim, column.head.join("\n").trim_end());
            Cell::new(text).set_alignment(column.alignment())
        }));
        for (row, name) in self.phase.rows.iter().zip(self.names) {
            if row.is_first || self.every_row {
                table.add_row(self.columns.iter().map(|column| cell(row, name, column, paint)));
            }
        }
        for (column, drawn) in self.columns.iter().zip(table.column_iter_mut()) {
            drawn.set_padding((2, 0));
            // Only names may wrap; a figure never does.
            if column.right {
                drawn.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        let lines = table.lines().map(|line| paint.inked(line.trim_end()) + "\n");
        lines.collect()
    }
}

fn cell(row: &RowView, name: &str, column: &Column, paint: Paint) -> Cell {
    let text = match column.head[0] {
        "arm" => first(row, name).to_owned(),
        // The header says percent; the room is needed for the name.
        "vs base" => (column.cell)(row).replace(" %", ""),
        _ => (column.cell)(row).to_owned(),
    };
    Cell::new(paint.mark(ink(row, column), &text)).set_alignment(column.alignment())
}

fn ink(row: &RowView, column: &Column) -> Ink {
    if row.is_aa || row.is_missing {
        Ink::Dim
    } else if column.head[0] == "vs base" {
        Ink::of_verdict(row.verdict)
    } else {
        Ink::Plain
    }
}

fn sentence(analysis: &Analysis, verdict: &VerdictView, page: &mut Page) -> io::Result<()> {
    let comparison = verdict.comparison;
    let arm = analysis.arms.iter().find(|arm| arm.id == comparison.arm);
    let label = arm.map_or_else(|| clean(&comparison.arm), view::arm_label);
    let ink =
        if comparison.is_aa { Ink::Dim } else { Ink::of_verdict(view::verdict_class(comparison)) };
    let mut text = clean(&comparison.sentence);
    if !text.contains(&label) {
        text = format!("{label}: {text}");
    }
    // The verdict's word carries the colour, unless the whole line is dimmed.
    let mut lines = wrap_hanging(&text, page.width, 2, 4);
    if comparison.is_aa {
        lines = lines.iter().map(|line| page.paint.ink(Ink::Dim, line)).collect();
    } else {
        let word = comparison.verdict.word();
        let painted = page.paint.ink(ink, word);
        let place = lines.iter().position(|line| line.contains(word)).unwrap_or(0);
        lines[place] = lines[place].replacen(word, &painted, 1);
    }
    for line in lines {
        page.line(&line)?;
    }
    let ink = if comparison.is_aa { Ink::Dim } else { Ink::Plain };
    let others =
        verdict.others.iter().map(|other| (ink, format!("also {}", view::short_line(other))));
    let drift = view::drift_line(comparison).map(|line| (Ink::Dim, line));
    for (ink, text) in others.chain(drift) {
        for line in wrap_hanging(&text, page.width, 4, 6) {
            let painted = page.paint.ink(ink, &line);
            page.line(&painted)?;
        }
    }
    Ok(())
}

fn unavailable(analysis: &Analysis, page: &mut Page) -> io::Result<()> {
    let lines: Vec<String> = analysis
        .unavailable
        .iter()
        .map(|u| clean(&format!("{}: {} → {}", u.adapter, u.reason, u.hint)))
        .collect();
    page.list("Not measured", Ink::Yellow, &lines)
}

fn footer(analysis: &Analysis, options: &Options, page: &mut Page) -> io::Result<()> {
    page.line("")?;
    let costs: Vec<String> =
        view::noop_costs(analysis).iter().map(|(name, cost)| format!("{name} {cost}")).collect();
    page.field("own cost", &format!("{} per operation (no-op)", costs.join(" · ")))?;
    let making = view::making_lines(analysis);
    if !making.is_empty() {
        page.field(
            "making",
            &format!("a document costs, before it is timed: {}", making.join(" · ")),
        )?;
    }
    page.field("folder", &clean(&analysis.experiment))?;
    if let Some(path) = &options.page {
        page.field("page", &clean(path))?;
    }
    page.field("again", &view::again(analysis))
}
