//! JUnit XML, which every system of continuous integration shows: a test case for each gate, arm
//! and phase. Without gates, one for each comparison, which none fails.

use std::io::{self, Write};

use super::format::{Format, Report};
use base::say::clean;
use judge::analysis::types::{Analysis, Objective};

pub const FORMAT: Format = Format { name: "junit", about: "JUnit XML: a test case a gate", render };

struct Case<'a> {
    class: String,
    name: &'a str,
    objective: Objective,
    sentence: &'a str,
}

fn cases(analysis: &Analysis) -> Vec<Case<'_>> {
    let class = |phase: &str, arm: &str| format!("{}.{phase}.{arm}", analysis.workload);
    if analysis.objectives.is_empty() {
        let rows = analysis.comparisons.iter();
        let rows = rows.map(|row| Case {
            class: class(&row.phase, &row.arm),
            name: row.metric.word(),
            objective: Objective::Kept,
            sentence: &row.sentence,
        });
        return rows.collect();
    }
    let rows = analysis.objectives.iter();
    let rows = rows.map(|row| Case {
        class: class(&row.phase, &row.arm),
        name: &row.gate,
        objective: analysis.counted(row.objective),
        sentence: &row.sentence,
    });
    rows.collect()
}

fn render(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let analysis = report.analysis;
    let cases = cases(analysis);
    let count =
        |wanted: &[Objective]| cases.iter().filter(|case| wanted.contains(&case.objective)).count();
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(
        out,
        r#"<testsuite name="mongodyno {}" tests="{}" failures="{}" skipped="{}">"#,
        escape(&analysis.id),
        cases.len(),
        count(&[Objective::Broken]),
        count(&[Objective::Open, Objective::Skipped]),
    )?;
    for case in &cases {
        let (class, name) = (escape(&case.class), escape(case.name));
        writeln!(out, r#"  <testcase classname="{class}" name="{name}">"#)?;
        let sentence = escape(case.sentence);
        match case.objective {
            Objective::Kept => writeln!(out, "    <system-out>{sentence}</system-out>")?,
            Objective::Broken => writeln!(out, r#"    <failure message="{sentence}"/>"#)?,
            Objective::Open | Objective::Skipped => {
                writeln!(out, r#"    <skipped message="{sentence}"/>"#)?;
            }
        }
        writeln!(out, "  </testcase>")?;
    }
    writeln!(out, "</testsuite>")
}

/// Text that no XML can be made of.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}
