//! Tables of a study, a row an arm.

use format::MISSING;
use serde::Serialize;

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Table {
    pub caption: String,
    /// The columns after the arm's name.
    pub columns: Vec<Column>,
    pub rows: Vec<TableRow>,
}

impl Table {
    /// Without the columns that say nothing of any row.
    pub fn drop_empty(&mut self) {
        let says = |cell: &String| !cell.is_empty() && cell != MISSING;
        let mut kept: Vec<bool> = vec![self.rows.is_empty(); self.columns.len()];
        for row in &self.rows {
            kept.iter_mut().zip(&row.cells).for_each(|(kept, cell)| *kept |= says(cell));
        }
        let mut at = kept.iter();
        self.columns.retain(|_| at.next() == Some(&true));
        for row in &mut self.rows {
            let mut at = kept.iter();
            row.cells.retain(|_| at.next() == Some(&true));
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Column {
    pub name: String,
    /// Unit of the figures; empty if they have none.
    pub unit: String,
    /// Whether it holds figures, which stand to the right and sort as numbers.
    pub is_figure: bool,
    /// Too much for a terminal.
    pub page_only: bool,
}

impl Column {
    pub fn words(name: &str) -> Self {
        Self { name: name.to_owned(), unit: String::new(), is_figure: false, page_only: false }
    }

    /// A column of figures; `unit` may be empty.
    pub fn figures(name: &str, unit: &str) -> Self {
        Self { unit: unit.to_owned(), is_figure: true, ..Self::words(name) }
    }

    /// The same, left out on a terminal.
    pub fn page_only(self) -> Self {
        Self { page_only: true, ..self }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableRow {
    pub arm: String,
    /// One text for each column.
    pub cells: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_that_says_nothing_of_any_row_is_left_out() {
        let columns = ["read", "2014", "missed"].map(|name| Column::figures(name, "")).to_vec();
        let row = |cells: [&str; 3]| TableRow {
            arm: "a".to_owned(),
            cells: cells.map(str::to_owned).to_vec(),
        };
        let rows = vec![row([MISSING, "", "0"]), row(["7", MISSING, "0"])];
        let mut table = Table { caption: String::new(), columns, rows };
        table.drop_empty();
        let names: Vec<&str> = table.columns.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["read", "missed"]);
        assert_eq!(table.rows[0].cells, [MISSING, "0"]);
    }
}
