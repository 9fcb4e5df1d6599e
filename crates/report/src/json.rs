//! The `Analysis` itself, for scripts.

use std::io::{self, Write};

use judge::analysis::types::Analysis;

pub(super) fn render(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, analysis)?;
    writeln!(out)
}
