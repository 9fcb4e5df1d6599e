//! Tables of a terminal, without borders. A cell is laid out as it reads and painted afterwards, so
//! that no colour takes a column; table libraries count the codes, or bring a second terminal
//! library.

use crate::paint::{Ink, Paint};
use base::text::{clip, width, wrap};

/// Blanks before a column.
const INDENT: usize = 2;
/// Columns that anything may be squeezed into.
const NARROWEST: usize = 8;

#[derive(Debug, Clone)]
pub struct Column {
    /// Name of the column; a line break separates it from the unit.
    pub head: String,
    /// Whether it holds figures: they end below each other and are never broken.
    pub is_figure: bool,
}

impl Column {
    /// The width that all its texts need, and the width below which nothing more can be broken.
    fn widths<'a>(&self, cells: impl Iterator<Item = &'a Cell>) -> (usize, usize) {
        let cells = cells.map(|cell| width(&cell.text)).max().unwrap_or(0);
        let whole = self.head.lines().map(width).fold(cells, usize::max);
        let words = self.head.split_whitespace().map(width).fold(cells, usize::max);
        (whole, if self.is_figure { words } else { 0 }.max(NARROWEST).min(whole))
    }
}

/// A text in a colour.
#[derive(Debug, Clone)]
pub struct Cell {
    pub text: String,
    pub ink: Ink,
}

impl Cell {
    pub fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), ink: Ink::Plain }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Table {
    pub columns: Vec<Column>,
    /// Rows, each with one cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// Lines across all columns, each with the number of the row below it. They take the place of
    /// the rule below the head.
    pub groups: Vec<(usize, Vec<Cell>)>,
}

impl Table {
    /// Columns of the page that it needs so that nothing is broken.
    pub fn width(&self) -> usize {
        Self::total(&self.widths(usize::MAX))
    }

    /// Whether a page so wide holds it, once all that can be broken is.
    pub fn fits(&self, page_width: usize) -> bool {
        Self::total(&self.widths(page_width)) <= page_width
    }

    /// Lines for a page of this width: if they do not fit, heads of figures break, then names.
    pub fn lines(&self, page_width: usize, paint: Paint) -> Vec<String> {
        let widths = self.widths(page_width);
        let head = |column: &Column| Cell { text: column.head.clone(), ink: Ink::Dim };
        let head: Vec<Cell> = self.columns.iter().map(head).collect();
        let mut lines = self.row(&head, &widths, paint);
        if self.groups.is_empty() {
            lines.push("─".repeat(Self::total(&widths)));
        }
        for (at, row) in self.rows.iter().enumerate() {
            let before = self.groups.iter().filter(|(row, _)| *row == at);
            lines.extend(before.map(|(_, cells)| across(cells, page_width, paint)));
            lines.extend(self.row(row, &widths, paint));
        }
        lines
    }

    /// Leaves a column out.
    pub fn remove(&mut self, column: usize) {
        self.columns.remove(column);
        self.rows.iter_mut().for_each(|row| drop(row.remove(column)));
    }

    fn total(widths: &[usize]) -> usize {
        widths.iter().map(|width| INDENT + width).sum()
    }

    fn widths(&self, page_width: usize) -> Vec<usize> {
        let cells = |at: usize| self.rows.iter().map(move |row| &row[at]);
        let columns = self.columns.iter().enumerate();
        let (mut widths, least): (Vec<usize>, Vec<usize>) =
            columns.map(|(at, column)| column.widths(cells(at))).unzip();
        while Self::total(&widths) > page_width {
            let breakable = (0..widths.len()).filter(|&at| widths[at] > least[at]);
            let key = |at: &usize| (self.columns[*at].is_figure, widths[*at]);
            let Some(widest) = breakable.max_by_key(key) else { break };
            widths[widest] -= 1;
        }
        widths
    }

    fn row(&self, cells: &[Cell], widths: &[usize], paint: Paint) -> Vec<String> {
        let broken = cells.iter().zip(widths).map(|(cell, &most)| {
            let fits = |line: &str| {
                if width(line) > most { wrap(line, most) } else { vec![line.to_owned()] }
            };
            cell.text.lines().flat_map(fits).collect()
        });
        let broken: Vec<Vec<String>> = broken.collect();
        let height = broken.iter().map(Vec::len).max().unwrap_or(0);
        let line = |number: usize| {
            let cell = |(at, column): (usize, &Column)| {
                let text = broken[at].get(number).map_or("", String::as_str);
                let indent = " ".repeat(INDENT);
                let blanks = " ".repeat(widths[at].saturating_sub(width(text)));
                let text = paint.ink(cells[at].ink, text);
                let parts =
                    if column.is_figure { [indent, blanks, text] } else { [indent, text, blanks] };
                parts.concat()
            };
            let line: String = self.columns.iter().enumerate().map(cell).collect();
            line.trim_end().to_owned()
        };
        (0..height).map(line).collect()
    }
}

/// One line of texts, cut where the page ends.
fn across(cells: &[Cell], page_width: usize, paint: Paint) -> String {
    let mut room = page_width;
    let cell = |cell: &Cell| {
        let text = clip(&cell.text, room);
        room = room.saturating_sub(width(&text) + INDENT);
        paint.ink(cell.ink, &text)
    };
    cells.iter().map(cell).collect::<Vec<_>>().join(&" ".repeat(INDENT)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let column = |head: &str, is_figure| Column { head: head.to_owned(), is_figure };
        let change = Cell { text: "+7.2".to_owned(), ink: Ink::Red };
        Table {
            columns: vec![column("arm", false), column("vs base\n%", true)],
            rows: vec![vec![Cell::plain("node@7.9.0 (A/A)"), change]],
            groups: Vec::new(),
        }
    }

    #[test]
    fn colours_take_no_column() {
        let lines = table().lines(80, Paint(true));
        let dim = |text: &str| format!("\x1b[2m{text}\x1b[0m");
        let blanks = |count| " ".repeat(count);
        assert_eq!(lines[0], format!("  {}{}{}", dim("arm"), blanks(15), dim("vs base")));
        assert_eq!(lines[1], format!("{}{}", blanks(26), dim("%")));
        assert_eq!(lines[2], "─".repeat(27));
        assert_eq!(lines[3], "  node@7.9.0 (A/A)     \x1b[31m+7.2\x1b[0m");
    }

    #[test]
    fn names_are_broken_only_where_they_must_be() {
        let plain = |width| table().lines(width, Paint(false)).split_off(3);
        assert_eq!(plain(27), ["  node@7.9.0 (A/A)     +7.2"]);
        assert_eq!(plain(26), ["  node@7.9.0          +7.2", "  (A/A)"]);
    }
}
