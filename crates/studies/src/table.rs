//! Tables of figures as CSV.

use std::io::Write;

use base::error::{Error, Result};
use base::text::csv_cell;

/// A row after the other. Missing figures are empty cells.
pub fn csv(
    out: &mut dyn Write,
    head: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> Result<Vec<String>> {
    let mut table = ::csv::Writer::from_writer(out);
    let lost = |it: ::csv::Error| Error::environment(it.to_string(), "free some disk space");
    table.write_record(head).map_err(lost)?;
    for row in rows {
        table.write_record(row.iter().map(|cell| csv_cell(cell))).map_err(lost)?;
    }
    Ok(Vec::new())
}

pub fn cell<T: ToString>(value: Option<T>) -> String {
    value.map_or(String::new(), |it| it.to_string())
}
