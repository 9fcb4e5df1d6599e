//! JUnit XML, which every system of continuous integration shows: a test case for each gate, arm
//! and phase. Without gates, one for each comparison, which none fails.

use std::borrow::Cow;
use std::io::{self, Write};

use super::between_servers;
use super::formats::{Format, Joint, Report};
use base::say::clean;
use judge::analysis::types::{Analysis, Objective};

pub const FORMAT: Format = Format {
    name: "junit",
    about: "JUnit XML: a test case a gate",
    experiments: Some((render, joint)),
    study: None,
};

struct JunitCase<'a> {
    class: String,
    name: Cow<'a, str>,
    objective: Objective,
    sentence: &'a str,
}

fn cases(analysis: &Analysis) -> Vec<JunitCase<'_>> {
    let class = |phase: &str, arm: &str| format!("{}.{phase}.{arm}", analysis.workload);
    if analysis.objectives.is_empty() {
        let rows = analysis.comparisons.iter();
        let rows = rows.map(|row| JunitCase {
            class: class(&row.phase, &row.arm),
            name: row.metric.word().into(),
            objective: Objective::Kept,
            sentence: &row.sentence,
        });
        return rows.collect();
    }
    let rows = analysis.objectives.iter();
    let rows = rows.map(|row| JunitCase {
        class: class(&row.phase, &row.arm),
        name: row.gate.as_str().into(),
        objective: analysis.counted(row.objective),
        sentence: &row.sentence,
    });
    rows.collect()
}

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>"#;

fn render(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEAD}")?;
    suite(&report.analysis.id, &cases(report.analysis), out)
}

/// A suite for each of several experiments, and before them one of the servers of a value.
fn joint(joint: &Joint<'_>, out: &mut dyn Write) -> io::Result<()> {
    let all = joint.analysis;
    writeln!(out, "{HEAD}\n<testsuites>")?;
    for of in all.values.iter().filter(|of| of.servers.servers.len() > 1) {
        let workload = &of.servers.servers[0].analysis.workload;
        let cases = between_servers::found(&of.servers).map(|row| JunitCase {
            class: format!("{workload}.{}.{}", row.phase, row.arm),
            name: format!("{} {}", row.metric.word(), between_servers::between(row)).into(),
            objective: Objective::Kept,
            sentence: &row.sentence,
        });
        let name = all.name(&of.value, "");
        let name = if name.is_empty() { name } else { format!("{name}, ") };
        suite(&format!("{name}between servers"), &cases.collect::<Vec<_>>(), out)?;
    }
    for (value, server, analysis) in all.each() {
        let name = format!("{}, {}", analysis.id, all.name(value, server));
        suite(&name, &cases(analysis), out)?;
    }
    writeln!(out, "</testsuites>")
}

fn suite(name: &str, cases: &[JunitCase<'_>], out: &mut dyn Write) -> io::Result<()> {
    let count =
        |wanted: &[Objective]| cases.iter().filter(|case| wanted.contains(&case.objective)).count();
    writeln!(
        out,
        r#"<testsuite name="mongodyno {}" tests="{}" failures="{}" skipped="{}">"#,
        escape(name),
        cases.len(),
        count(&[Objective::Broken]),
        count(&[Objective::Open, Objective::Skipped]),
    )?;
    for case in cases {
        let (class, name) = (escape(&case.class), escape(&case.name));
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
