//! Tables of a study, a row an arm.

use serde::Serialize;

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Table {
    pub caption: String,
    /// The columns after the arm's name.
    pub columns: Vec<Column>,
    pub rows: Vec<TableRow>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Column {
    pub name: String,
    /// Its unit; empty without.
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
    /// As many as there are columns.
    pub cells: Vec<String>,
}
