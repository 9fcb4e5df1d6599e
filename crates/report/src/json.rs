//! The `Analysis` itself, for scripts.

use std::io::{self, Write};

use super::formats::{Format, Report};

pub const FORMAT: Format = Format { name: "json", about: "JSON", render };

fn render(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report.analysis)?;
    writeln!(out)
}
