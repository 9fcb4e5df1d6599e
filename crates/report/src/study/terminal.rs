//! All of a study for a terminal: answers, tables, what was lost, and the evidence.

use std::io::{self, Write};

use super::page::View;
use super::questions::questions;
use super::table::Table;
use crate::formats::Options;
use crate::lines::Page;
use crate::paint::Ink;
use crate::table::{self, Cell};
use base::say::clean;
use base::text::{clean_all, shorten};

/// Facts of the experiment; the page has more.
const FACTS: [&str; 6] = ["Values", "Server", "Consumer", "Machine", "Clock", "Rounds"];

pub fn details(view: &View, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(options, out);
    let title = page.paint.ink(Ink::Bold, &clean(&view.title));
    page.line(&title)?;
    for (name, value) in view.facts.iter().filter(|(name, _)| FACTS.contains(&name.as_str())) {
        page.field(&name.to_lowercase(), &clean(value))?;
    }
    if !view.evidence.is_empty() {
        page.line("")?;
    }
    questions(view, &mut page)?;
    for (title, lines) in &view.answers {
        page.list(&clean(title), Ink::Bold, &clean_all(lines))?;
    }
    for phase in &view.phases {
        page.line("")?;
        let name = page.paint.ink(Ink::Bold, &clean(&phase.name));
        page.line(&name)?;
        if !phase.about.is_empty() {
            page.wrapped(2, Ink::Dim, &clean(&phase.about))?;
        }
        table(&phase.table, &mut page)?;
    }
    page.list("Messages", Ink::Bold, &clean_all(&view.lost))?;
    page.list("Notes", Ink::Yellow, &clean_all(&view.warnings))?;
    page.list("How to read this", Ink::Bold, &clean_all(&view.notes))?;
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

pub fn table(from: &Table, page: &mut Page) -> io::Result<()> {
    let columns = from.columns.iter().enumerate();
    let shown: Vec<usize> =
        columns.filter(|(_, column)| !column.page_only).map(|(at, _)| at).collect();
    let whole = laid_out(from, &shown, page.width, str::to_owned);
    let (table, caption) = if whole.fits(page.width) {
        (whole, from.caption.clone())
    } else {
        let cells = || from.rows.iter().flat_map(|row| shown.iter().map(|&at| &row.cells[at]));
        let mut caption = from.caption.clone();
        if cells().any(|cell| without_interval(cell) != *cell) {
            caption.push_str(" No room here for intervals: the page has them.");
        }
        (laid_out(from, &shown, page.width, without_interval), caption)
    };
    page.table(&table)?;
    let columns: Vec<_> = shown.iter().map(|&at| &from.columns[at]).collect();
    let same = columns.windows(2).all(|pair| pair[0].unit == pair[1].unit);
    let units = match &columns[..] {
        [first, _, ..] if same && !first.unit.is_empty() => format!("all in {}", first.unit),
        _ => {
            let with_unit = columns.iter().filter(|it| !it.unit.is_empty());
            let named: Vec<_> = with_unit.map(|it| format!("{} in {}", it.name, it.unit)).collect();
            named.join(", ")
        }
    };
    page.wrapped(2, Ink::Dim, &units)?;
    page.wrapped(2, Ink::Dim, &clean(&caption))
}

/// `168` of `168 (155 to 197)`.
fn without_interval(cell: &str) -> String {
    let interval = cell.split_once(" (").filter(|(_, interval)| interval.contains(" to "));
    interval.map_or(cell, |(middle, _)| middle).to_owned()
}

/// The columns that are shown, their cells as `told`.
fn laid_out(from: &Table, shown: &[usize], width: usize, told: fn(&str) -> String) -> table::Table {
    let name = table::Column { head: String::new(), is_figure: false };
    let column = |&at: &usize| table::Column {
        head: clean(&from.columns[at].name),
        is_figure: from.columns[at].is_figure,
    };
    let row = |row: &super::table::TableRow| {
        let name = shorten(&clean(&row.arm), width * 2 / 5);
        let cells = shown.iter().map(|&at| Cell::plain(&clean(&told(&row.cells[at]))));
        std::iter::once(Cell::plain(&name)).chain(cells).collect()
    };
    table::Table {
        columns: std::iter::once(name).chain(shown.iter().map(column)).collect(),
        rows: from.rows.iter().map(row).collect(),
        groups: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::{Column, TableRow};
    use super::*;

    #[test]
    fn a_table_too_wide_leaves_its_intervals_to_the_page() {
        let names = ["one by one", "by 1,000", "at once"];
        let columns = names.map(|name| Column::figures(name, "µs")).to_vec();
        let shown = |cells: [&str; 3], width| {
            let cells = cells.map(str::to_owned).to_vec();
            let rows = vec![TableRow { arm: "node".to_owned(), cells }];
            let caption = "Time.".to_owned();
            let from = Table { caption, columns: columns.clone(), rows };
            let options = Options { width: Some(width), ..Options::default() };
            let mut out = Vec::new();
            table(&from, &mut Page::new(&options, &mut out)).expect("memory");
            String::from_utf8(out).expect("text")
        };
        let cells = ["168 (155 to 197)", "2.59 (2.36 to 3.36)", "4.12 (3.94 to 7.22)"];
        let wide = shown(cells, 80);
        assert!(wide.contains("node  168 (155 to 197)  2.59 (2.36 to 3.36)"), "{wide}");
        let narrow = shown(cells, 60);
        assert!(narrow.contains("node         168      2.59     4.12\n"), "{narrow}");
        assert!(!shown(["168 MiB"; 3], 20).contains("the page has them"), "it never had any");
        assert_eq!(without_interval("n/a (not measured)"), "n/a (not measured)");
        assert!(narrow.contains("the page has them"), "{narrow}");
    }
}
