//! The study for a terminal: the tables, what was lost, the answer.

use std::io::{self, Write};

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, TableStyle,
};

use super::page::View;
use super::table::Table;
use crate::Options;
use crate::lines::{DEFAULT_WIDTH, MIN_WIDTH, Page};
use crate::paint::{Ink, Paint};
use crate::text::shorten;
use base::say::clean;

const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));
/// What is said of the experiment; the page says more.
const FACTS: [&str; 5] = ["Server", "Consumer", "Machine", "Clock", "Rounds"];

/// Writes the study.
///
/// # Errors
/// Whatever writing to `out` gives.
pub fn terminal(view: &View, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let width = options.width.unwrap_or(DEFAULT_WIDTH).max(MIN_WIDTH);
    let mut page = Page { out, width: usize::from(width), paint: Paint(options.colour) };
    let title = page.paint.ink(Ink::Bold, &clean(&view.title));
    page.line(&title)?;
    for (name, value) in view.facts.iter().filter(|(name, _)| FACTS.contains(&name.as_str())) {
        page.field(&name.to_lowercase(), &clean(value))?;
    }
    for phase in &view.phases {
        page.line("")?;
        let name = page.paint.ink(Ink::Bold, &clean(&phase.name));
        page.line(&name)?;
        page.wrapped(2, Ink::Dim, &clean(&phase.about))?;
        table(&phase.table, &mut page)?;
    }
    page.list("Messages", Ink::Bold, &cleaned(&view.lost))?;
    page.list("Notes", Ink::Yellow, &cleaned(&view.warnings))?;
    for it in &view.evidence {
        page.line("")?;
        let heading = page.paint.ink(Ink::Bold, &clean(&it.heading));
        page.line(&heading)?;
        for (number, sentence) in it.sentences.iter().enumerate() {
            let (indent, ink) = if number == 0 { (2, Ink::Plain) } else { (4, Ink::Dim) };
            page.wrapped(indent, ink, &clean(sentence))?;
        }
    }
    page.line("")?;
    if let Some(path) = &options.page {
        page.field("page", &clean(path))?;
    }
    page.field("again", &clean(&view.again))
}

fn cleaned(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| clean(text)).collect()
}

fn table(from: &Table, page: &mut Page) -> io::Result<()> {
    let columns = from.columns.iter().enumerate();
    let shown: Vec<usize> =
        columns.filter(|(_, column)| !column.page_only).map(|(at, _)| at).collect();
    let cell = |at: usize, text: &str| {
        let figure = from.columns[at].is_figure;
        let way = if figure { CellAlignment::Right } else { CellAlignment::Left };
        Cell::new(clean(text)).set_alignment(way)
    };
    let mut table = comfy_table::Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(page.width).unwrap_or(DEFAULT_WIDTH));
    let head = shown.iter().map(|&at| cell(at, &from.columns[at].name));
    table.set_header(std::iter::once(Cell::new("")).chain(head));
    for row in &from.rows {
        let name = Cell::new(shorten(&clean(&row.arm), page.width * 2 / 5));
        let cells = shown.iter().map(|&at| cell(at, &row.cells[at]));
        table.add_row(std::iter::once(name).chain(cells));
    }
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if number == 0 { 0 } else { 2 }, 0));
        // Heads may wrap; a name and a curve never do.
        if number == 0 || !from.columns[shown[number - 1]].is_figure {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    for line in table.lines() {
        page.line(&line)?;
    }
    let units = shown.iter().map(|&at| &from.columns[at]).filter(|it| !it.unit.is_empty());
    let units: Vec<String> = units.map(|it| format!("{} in {}", it.name, it.unit)).collect();
    page.wrapped(2, Ink::Dim, &units.join(", "))
}
