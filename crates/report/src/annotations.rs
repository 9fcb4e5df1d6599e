//! Annotations of GitHub's workflows: a command a line, which the page of the run shows. First the
//! gates, then the verdicts on throughput.

use std::io::{self, Write};

use super::formats::{Format, Joint, Report};
use base::say::clean;
use judge::analysis::types::{Analysis, Metric, Objective};

pub const FORMAT: Format = Format {
    name: "github",
    about: "Annotations of GitHub's workflows",
    experiments: Some((render, joint)),
    study: None,
};

fn render(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    write(report.analysis, "", out)
}

fn joint(joint: &Joint<'_>, out: &mut dyn Write) -> io::Result<()> {
    joint.named().try_for_each(|(name, report)| write(report.analysis, &format!("{name}: "), out))
}

fn write(analysis: &Analysis, before: &str, out: &mut dyn Write) -> io::Result<()> {
    if analysis.objectives.is_empty() && analysis.comparisons.is_empty() {
        return line("warning", "verdict", &format!("{before}nothing was compared"), out);
    }
    for row in &analysis.objectives {
        let command = match analysis.counted(row.objective) {
            Objective::Broken => "error",
            Objective::Open => "warning",
            Objective::Kept | Objective::Skipped => "notice",
        };
        line(command, "gate", &format!("{before}{}", row.sentence), out)?;
    }
    let rows = analysis.comparisons.iter();
    for row in rows.filter(|row| !row.is_aa && row.metric == Metric::Throughput) {
        let sentence = if row.names_arms() {
            format!("{before}{}: {}", row.phase, row.sentence)
        } else {
            format!("{before}{}, {}: {}", row.phase, row.arm, row.sentence)
        };
        // A driver that is slower than another one is no fault; a gate says what is.
        line("notice", "verdict", &sentence, out)?;
    }
    Ok(())
}

/// What is quoted can neither end the line nor begin another command.
fn line(command: &str, title: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
    let text = clean(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    writeln!(out, "::{command} title=mongodyno {title}::{text}")
}
