//! Go benchmark text: `benchstat -col /driver FILE` reads it. One line per arm, phase, operation
//! and round, arms in the experiment's order so that the baseline is benchstat's first column.
//!
//! Void runs are left out, as benchstat has no word for them. benchstat compares unpaired samples;
//! its p-values do not use the rounds, so they are weaker than the report's own verdicts.

use std::io::{self, Write};

use super::formats::{Format, Joint, Report};
use super::view::{arm_label, is_set_aside, server_text};
use base::say::clean;
use judge::analysis::types::{Analysis, ArmSummary, Metric};
use record::records::{OperationRun, PhaseRun, Run};

pub const FORMAT: Format = Format {
    name: "benchstat",
    about: "Text of Go benchmarks, for benchstat",
    experiments: Some((render, joint)),
    study: None,
};

fn render(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Report { analysis, runs, .. } = report;
    writeln!(out, "workload: {}", value(&analysis.workload))?;
    writeln!(out, "server: {}", value(&server_text(&analysis.server)))?;
    writeln!(out, "cpu: {}", value(&analysis.machine.cpu))?;
    writeln!(out, "os: {}", value(&analysis.machine.os))?;
    writeln!(out, "experiment: {}", value(&analysis.id))?;
    writeln!(out, "Unit ops/s better=higher\n")?;
    let (aside, compared): (Vec<&Run>, Vec<&Run>) =
        runs.iter().partition(|run| is_set_aside(analysis, run.round));
    write_runs(analysis, &compared, out)?;
    if !aside.is_empty() {
        // benchstat makes a separate table for lines under another configuration.
        writeln!(out, "\nrounds: disturbed, not compared\n")?;
    }
    write_runs(analysis, &aside, out)
}

/// Lines of each under its own configuration, which benchstat makes a table of.
fn joint(joint: &Joint<'_>, out: &mut dyn Write) -> io::Result<()> {
    joint.named().try_for_each(|(name, report)| {
        writeln!(out, "asked: {}", value(&name))?;
        render(report, out)
    })
}

fn write_runs(analysis: &Analysis, runs: &[&Run], out: &mut dyn Write) -> io::Result<()> {
    for arm in &analysis.arms {
        for run in runs.iter().filter(|run| run.arm == arm.id && run.failed.is_none()) {
            for phase in run.phases.iter().filter(|phase| phase.throughput > 0.0) {
                write_phase(analysis, arm, phase, out)?;
            }
        }
    }
    Ok(())
}

fn write_phase(
    analysis: &Analysis,
    arm: &ArmSummary,
    phase: &PhaseRun,
    out: &mut dyn Write,
) -> io::Result<()> {
    let driver = segment(&arm_label(arm));
    let name = benchmark_name(&phase.phase);
    // Without a last `-N` benchstat would take a version's own (`1.0-3`) for GOMAXPROCS.
    let cores = analysis.machine.cores.max(1);
    let whole = |out: &mut dyn Write| {
        write!(out, "\t{} ns/op\t{} ops/s", real(1e9 / phase.throughput), real(phase.throughput))?;
        write!(out, "\t{} cpu-ns/op", real(phase.cpu_us_per_op * 1e3))?;
        write!(out, "\t{} peak-RSS-bytes", phase.rss_peak_bytes)
    };
    if let [operation] = phase.by_operation.as_slice() {
        write!(out, "Benchmark{name}/driver={driver}-{cores}\t{}", phase.operations)?;
        whole(out)?;
        quantiles(operation, out)?;
        return writeln!(out);
    }
    // A mix: the phase's own line has the time per operation, each operation its quantiles.
    write!(out, "Benchmark{name}/driver={driver}-{cores}\t{}", phase.operations)?;
    whole(out)?;
    writeln!(out)?;
    for operation in phase.by_operation.iter().filter(|operation| operation.count > 0) {
        let kind = segment(&operation.operation);
        write!(out, "Benchmark{name}/operation={kind}/driver={driver}-{cores}")?;
        write!(out, "\t{}", operation.count)?;
        quantiles(operation, out)?;
        writeln!(out)?;
    }
    Ok(())
}

fn quantiles(operation: &OperationRun, out: &mut dyn Write) -> io::Result<()> {
    let service = &operation.service;
    write!(out, "\t{} mean-ns", real(service.mean_us * 1e3))?;
    for (metric, _) in Metric::compared() {
        if let Some(us) = metric.quantile(service).filter(|us| us.is_finite()) {
            write!(out, "\t{} {}-ns", real(us * 1e3), metric.word())?;
        }
    }
    Ok(())
}

/// Go writes benchmark figures without an exponent.
fn real(value: f64) -> String {
    if value.is_finite() { format!("{value:.4}") } else { "0".to_owned() }
}

/// `find_one` becomes `FindOne`: `Benchmark` must be followed by an upper-case letter.
fn benchmark_name(phase: &str) -> String {
    let mut name = String::new();
    for word in segment(phase).split('_').filter(|word| !word.is_empty()) {
        let mut chars = word.chars();
        name.extend(chars.next().into_iter().flat_map(char::to_uppercase));
        name.push_str(chars.as_str());
    }
    if name.starts_with(|c: char| c.is_lowercase() || !c.is_alphanumeric()) || name.is_empty() {
        name.insert_str(0, "Phase");
    }
    name
}

/// A part of a name: no white space and no `/`, which benchstat splits at.
fn segment(text: &str) -> String {
    clean(text).chars().map(|c| if c.is_whitespace() || c == '/' { '_' } else { c }).collect()
}

/// A configuration value: one line, trimmed.
fn value(text: &str) -> String {
    clean(text).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_go_expects() {
        assert_eq!(benchmark_name("find_one"), "FindOne");
        assert_eq!(benchmark_name("insert many/w0"), "InsertManyW0");
        assert_eq!(benchmark_name("100 inserts"), "100Inserts");
        assert_eq!(benchmark_name("…"), "Phase…");
        assert_eq!(segment("node@7.9.0 (A/A)"), "node@7.9.0_(A_A)");
    }
}
