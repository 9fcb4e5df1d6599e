//! One file per verb: they wire the modules together and print.

pub mod absorber;
pub mod adapters;
pub mod arms;
pub mod check;
pub mod diagnose;
pub mod fake_adapter;
mod fake_open_loop;
mod plan_text;
pub mod report;
pub mod resume;
pub mod run;
pub mod schema;
pub mod server;
pub mod study;
pub mod tap;
pub mod workloads;

use crate::error::Result;

/// Prints a result: the one place that writes to stdout.
///
/// # Errors
/// None: a reader that went away (`| head`) is no error.
#[allow(clippy::unnecessary_wraps)] // verbs end with it
fn print(text: &str) -> Result<()> {
    print_bytes(text.as_bytes());
    Ok(())
}

fn print_bytes(bytes: &[u8]) {
    use std::io::Write as _;
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(bytes);
    let _ = stdout.flush();
}

/// A table without borders.
fn table() -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::TableStyle::new());
    table
}
