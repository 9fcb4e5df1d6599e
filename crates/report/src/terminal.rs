//! The report for a terminal: a summary, or with `--details` everything, phase by phase: verdicts,
//! table, evidence.

use std::io::{self, Write};

use super::answer_lines;
use super::formats::{Format, Joint, Options, Report};
use super::history;
use super::lines::{Page, wrap_hanging};
use super::paint::Ink;
use super::result_columns::{ColumnContent, ResultColumn};
use super::screen;
use super::study;
use super::table::{Cell, Column, Table};
use super::view::{self, CONDITIONS, DEATHS, PhaseView, RowView, VerdictView};
use super::wire_table;
use base::say::clean;
use base::text::{clean_all, short_names, shorten};
use judge::analysis::types::Analysis;

pub const FORMAT: Format = Format {
    name: "terminal",
    about: "Tables and sentences",
    experiments: Some((render, joint)),
    study: Some(|it, options, out| Ok(of_view(&it.view(), options, out))),
};

fn render(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let write = if report.options.details { details } else { screen::render };
    write(report, out)
}

fn details(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Report { analysis, options, .. } = report;
    let mut page = Page::new(options, out);
    header(analysis, &mut page)?;
    page.list(view::DOUBTS, Ink::Red, &view::doubt_lines(analysis))?;
    for phase in view::phases(analysis) {
        page.line("")?;
        phase_block(analysis, &phase, &mut page)?;
    }
    page.list(DEATHS, Ink::Bold, &view::death_lines(analysis))?;
    page.list(answer_lines::GATES, Ink::Bold, &answer_lines::gate_lines(analysis))?;
    page.list("Since which version", Ink::Bold, &answer_lines::since_lines(analysis))?;
    for bars in history::bars(analysis) {
        page.line("")?;
        for bar in bars {
            page.line(&format!("  {bar}"))?;
        }
    }
    page.list("Where the time goes", Ink::Bold, &answer_lines::finding_lines(analysis))?;
    page.list(CONDITIONS, Ink::Bold, &view::condition_lines(analysis))?;
    page.list("Warnings", Ink::Yellow, &clean_all(&analysis.warnings))?;
    page.list("Void runs", Ink::Red, &view::void_lines(analysis))?;
    page.list("Not measured", Ink::Yellow, &view::unavailable_lines(analysis))?;
    footer(analysis, options, &mut page)
}

fn of_view(view: &study::View, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let write = if options.details { study::details } else { study::overview };
    write(view, options, out)
}

fn joint(joint: &Joint<'_>, out: &mut dyn Write) -> io::Result<()> {
    of_view(&joint.view(&joint.palette()), joint.options, out)?;
    if joint.options.details { joint.each(details, out) } else { Ok(()) }
}

fn header(analysis: &Analysis, page: &mut Page) -> io::Result<()> {
    let title = page.paint.ink(Ink::Bold, &clean(&analysis.workload));
    page.line(&title)?;
    page.field("server", &view::server_text(&analysis.server))?;
    page.field("machine", &view::machine_text(&analysis.machine))?;
    page.field("rounds", &view::rounds_line(analysis))?;
    if analysis.comparisons.is_empty() {
        return Ok(());
    }
    page.field("reading", "vs base is the change of time per operation: + slower, - faster")
}

fn phase_block(analysis: &Analysis, phase: &PhaseView, page: &mut Page) -> io::Result<()> {
    let title = page.paint.ink(Ink::Bold, &phase.name);
    page.line(&title)?;
    for verdict in &phase.verdicts {
        sentence(analysis, verdict, page)?;
    }
    if !phase.verdicts.is_empty() {
        page.line("")?;
    }
    let labels: Vec<&str> = phase.rows.iter().map(|row| row.arm.as_str()).collect();
    let names = short_names(&labels, page.width);
    let whole = table(phase, &names, None);
    if whole.width() <= page.width {
        page.table(&whole)?;
    } else {
        // Too narrow for everything: throughput first, then time; nothing is left out.
        page.table(&table(phase, &names, Some(TablePart::Work)))?;
        page.line("")?;
        page.table(&table(phase, &names, Some(TablePart::Time)))?;
    }
    page.line("")?;
    page.wrapped(2, Ink::Dim, &phase.notes.join(" · "))?;
    wire_block(analysis, &phase.name, page)
}

/// Commands seen by the tap.
fn wire_block(analysis: &Analysis, phase: &str, page: &mut Page) -> io::Result<()> {
    let Some(wire) = wire_table::table(analysis, phase) else { return Ok(()) };
    page.line("")?;
    let column = |head: &str, is_figure| Column { head: head.to_owned(), is_figure };
    let heads = wire.head.iter().map(|head| column(head, true));
    let row = |row: &wire_table::WireRow| {
        let arm = shorten(&row.arm, (page.width * 9 / 40).max(16));
        std::iter::once(&arm).chain(&row.cells).map(|text| Cell::plain(text)).collect()
    };
    let table = Table {
        columns: std::iter::once(column("on the wire", false)).chain(heads).collect(),
        rows: wire.rows.iter().map(row).collect(),
        groups: Vec::new(),
    };
    page.table(&table)?;
    for note in &wire.notes {
        page.wrapped(2, Ink::Dim, note)?;
    }
    Ok(())
}

/// Which of two tables a column goes to when one does not fit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TablePart {
    Work,
    Time,
}

impl TablePart {
    fn of(column: &ResultColumn, phase: &PhaseView) -> Self {
        // What is of the operation goes where the operations are: in a mix to their times.
        let is_work = column.is_of_phase() || (!phase.is_mix && !column.is_time());
        if is_work { Self::Work } else { Self::Time }
    }
}

/// The table of a phase, or a part of it. `names` is what each row calls its arm.
fn table(phase: &PhaseView, names: &[String], part: Option<TablePart>) -> Table {
    let is_shown = |column: &ResultColumn| {
        !column.head.is_empty() && part.is_none_or(|part| part == TablePart::of(column, phase))
    };
    let places: Vec<usize> =
        (0..phase.columns.len()).filter(|at| is_shown(&phase.columns[*at])).collect();
    let column = |at: &usize| {
        let ResultColumn { head, unit, content, .. } = &phase.columns[*at];
        let is_figure = *content != ColumnContent::Operation;
        Column { head: head.replace("{}", unit), is_figure }
    };
    // Throughput is the whole phase's: of an arm's rows the first has all of it.
    let is_row = |row: &RowView| row.is_first || part != Some(TablePart::Work);
    let rows = phase.rows.iter().zip(names).filter(|(row, _)| is_row(row)).map(|(row, name)| {
        let ink = if row.is_aa || row.is_missing { Ink::Dim } else { Ink::Plain };
        let name = if row.is_first { name.clone() } else { String::new() };
        let cells = places.iter().map(|at| cell(row, *at, &phase.columns[*at]));
        std::iter::once(Cell { text: name, ink }).chain(cells).collect()
    });
    let arm = Column { head: "arm".to_owned(), is_figure: false };
    Table {
        rows: rows.collect(),
        groups: Vec::new(),
        columns: std::iter::once(arm).chain(places.iter().map(column)).collect(),
    }
}

fn cell(row: &RowView, at: usize, column: &ResultColumn) -> Cell {
    let (text, ink) = match column.content {
        // The header says percent; the room is needed for the name.
        ColumnContent::Change => {
            (row.cells[at].replace(" %", ""), row.verdict.map_or(Ink::Plain, Ink::of_verdict))
        }
        _ => (row.cells[at].clone(), Ink::Plain),
    };
    Cell { text, ink: if row.is_aa || row.is_missing { Ink::Dim } else { ink } }
}

fn sentence(analysis: &Analysis, verdict: &VerdictView, page: &mut Page) -> io::Result<()> {
    let comparison = verdict.comparison;
    let label = view::label_of(analysis, &comparison.arm);
    let mut text = clean(&comparison.sentence);
    if !comparison.verdict.names_arms(comparison.direction_only) {
        text = format!("{label}: {text}");
    }
    // The verdict's word carries the colour, unless the whole line is dimmed.
    let mut lines = wrap_hanging(&text, page.width, 2, 4);
    if comparison.is_aa {
        lines = lines.iter().map(|line| page.paint.ink(Ink::Dim, line)).collect();
    } else {
        let word = comparison.verdict.word();
        let painted = page.paint.ink(Ink::of_verdict(comparison.verdict), word);
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
