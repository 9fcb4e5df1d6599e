//! The overview of a study, or of several experiments: its questions, a line each, or its table;
//! one picture of blocks, doubts, and where everything else is. At most 24 lines where it can be.

use std::io::{self, Write};

use super::page::View;
use super::questions::questions;
use super::table::{Column, Table};
use super::terminal::table;
use crate::formats::Options;
use crate::lines::{Page, Remark, SCREEN, at_most};
use crate::paint::Ink;
use crate::screen::rest;
use base::say::clean;
use base::text::{clip, short_names, width};
use record::unavailable::not_measured;

/// Facts in the title.
const FACTS: [&str; 3] = ["Values", "Server", "Rounds"];
const LISTED_MAX: usize = 3;
const BARS_MAX: usize = 6;
const BAR: f64 = 24.0;

pub fn overview(view: &View, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(options, out);
    let facts = view.facts.iter().filter(|(name, _)| FACTS.contains(&name.as_str()));
    let title = std::iter::once(&view.title).chain(facts.map(|(_, fact)| fact));
    let title = clean(&title.map(String::as_str).collect::<Vec<_>>().join(" · "));
    let title = page.paint.ink(Ink::Bold, &clip(&title, page.width));
    page.line(&title)?;
    questions(view, &mut page)?;
    let is_table = view.evidence.is_empty();
    for phase in view.phases.iter().filter(|_| is_table) {
        let name = page.paint.ink(Ink::Bold, &clean(&phase.name));
        page.line(&name)?;
        table(&Table { caption: String::new(), ..phase.table.clone() }, &mut page)?;
    }
    page.line("")?;
    let below = below(view);
    // The title, the blank lines and the last one.
    let used = view.evidence.len() + below.len() + 4;
    for line in picture(view, page.width).into_iter().take(SCREEN.saturating_sub(used)) {
        page.line(&line)?;
    }
    for (name, ink, text) in below {
        page.remark(name, ink, &text)?;
    }
    rest(&view.again, options, &mut page)
}

/// Bars of the first column of figures that says something.
fn picture(view: &View, page_width: usize) -> Vec<String> {
    let figures = |table: &Table| {
        let columns = table.columns.iter().position(|column| column.is_figure && !column.page_only);
        let at = columns?;
        let values: Vec<f64> = table.rows.iter().filter_map(|row| figure(&row.cells[at])).collect();
        (values.len() > 1).then_some(at)
    };
    let found = view.phases.iter().find_map(|phase| Some((phase, figures(&phase.table)?)));
    let Some((phase, at)) = found.filter(|_| !view.evidence.is_empty()) else { return Vec::new() };
    let Column { name, unit, .. } = &phase.table.columns[at];
    let rows = phase.table.rows.iter().filter(|row| figure(&row.cells[at]).is_some());
    let rows: Vec<_> = rows.take(BARS_MAX).collect();
    let names: Vec<String> = rows.iter().map(|row| clean(&row.arm)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let names = short_names(&names, page_width);
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let values: Vec<f64> = rows.iter().filter_map(|row| figure(&row.cells[at])).collect();
    let highest = values.iter().copied().fold(0.0, f64::max);
    let of = if unit.is_empty() { String::new() } else { format!(", {unit}") };
    let title = clip(&clean(&format!("{}: {name}{of}", phase.name)), page_width);
    let bar = |((name, value), row): ((&String, f64), &&super::table::TableRow)| {
        let length = if highest > 0.0 { (BAR * value / highest).round() as usize } else { 0 };
        let name = format!("{name}{}", " ".repeat(widest - width(name)));
        let bar = format!("{:1$}", "█".repeat(length), BAR as usize);
        clip_end(&format!("  {name}  {bar}  {}", clean(&row.cells[at])), page_width)
    };
    let bars = names.iter().zip(values).zip(&rows).map(bar);
    let mut lines: Vec<String> = std::iter::once(title).chain(bars).collect();
    lines.push(String::new());
    lines
}

/// Columns are kept, unlike by [`clip`].
fn clip_end(text: &str, max: usize) -> String {
    if width(text) <= max { text.to_owned() } else { text.chars().take(max).collect() }
}

/// `168` of `168 (155 to 197)`.
fn figure(cell: &str) -> Option<f64> {
    let number = cell.split(' ').next()?.replace(',', "");
    number.parse().ok().filter(|it: &f64| it.is_finite() && *it >= 0.0)
}

/// Answers of several experiments, losses and doubts.
fn below(view: &View) -> Vec<Remark> {
    let mut lines = Vec::new();
    for (title, answers) in &view.answers {
        let named = |it: &String| clean(&format!("{title}: {it}"));
        lines.extend(first("answer", Ink::Plain, answers.iter().map(named)));
    }
    lines.extend(first("messages", Ink::Plain, view.lost.iter().map(|it| clean(it))));
    lines.extend(first("doubt", Ink::Yellow, view.warnings.iter().map(|it| clean(it))));
    let names: Vec<&str> = view.unavailable.iter().map(|[name, ..]| name.as_str()).collect();
    lines.extend(not_measured(&names).map(|line| ("missing", Ink::Dim, clean(&line))));
    lines
}

fn first(name: &'static str, ink: Ink, all: impl Iterator<Item = String>) -> Vec<Remark> {
    at_most(LISTED_MAX, all.map(|line| (name, ink, line)).collect())
}
