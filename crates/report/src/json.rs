//! The analysis itself, for scripts.

use std::io::{self, Write};

use super::formats::{Format, Joint, Report};

pub const FORMAT: Format = Format {
    name: "json",
    about: "JSON",
    experiments: Some((render, joint)),
    study: Some(|it, _, out| Ok(writeln!(out, "{:#}", it.analysis()))),
};

fn render(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report.analysis)?;
    writeln!(out)
}

/// The document of several servers alone is older than that of a sweep.
fn joint(joint: &Joint<'_>, out: &mut dyn Write) -> io::Result<()> {
    match &joint.analysis.values[..] {
        [one] if joint.analysis.parameter.is_none() => {
            serde_json::to_writer_pretty(&mut *out, &one.servers)?;
        }
        _ => serde_json::to_writer_pretty(&mut *out, joint.analysis)?,
    }
    writeln!(out)
}
