//! `mongodyno diagnose DIR`: where the time goes, from the folder of an experiment or of a sweep.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::cli::DiagnoseArgs;
use base::error::Result;
use judge::analyse;
use judge::analysis::types::Finding;
use judge::diagnosis::{
    self,
    contention::{self, SweptExperiment},
};
use record::folder::Folder;
use record::sweep_folder::Sweep;
use report::{finding_line, text};

/// Runs the verb. Finding no cause is an answer: exit code 0.
pub fn run(args: &DiagnoseArgs) -> Result<()> {
    let cells = cells(&args.folder)?;
    if cells.is_empty() {
        let (folder, findings) = one(&args.folder)?;
        return super::print(&if args.json {
            pretty(&json!({ "folder": folder.path(), "findings": findings }))
        } else {
            listed(&folder.path().display().to_string(), &lines(&findings))
        });
    }
    let found = diagnosis::sweep_findings(&cells);
    let mut text = listed("The sweep", &sweep_lines(&cells));
    let mut each: Vec<Value> = Vec::new();
    for cell in &cells {
        let (folder, mut findings) = one(&args.folder.join(&cell.label))?;
        // A cause in the whole sweep is one in its parts.
        let explained = |it: &Finding| found.iter().any(|found| found.phase == it.phase);
        findings.retain(|it| it.rule != diagnosis::NO_CAUSE || !explained(it));
        if !findings.is_empty() {
            text += &listed(&cell.label, &lines(&findings));
        }
        each.push(json!({ "cell": cell.label, "folder": folder.path(), "findings": findings }));
    }
    super::print(&if args.json {
        pretty(&json!({ "folder": args.folder, "findings": found, "cells": each }))
    } else {
        text
    })
}

fn one(path: &Path) -> Result<(Folder, Vec<Finding>)> {
    let (folder, experiment) = Folder::open(path)?;
    let findings = analyse(&folder, &experiment)?.analysis.diagnosis;
    Ok((folder, findings))
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("findings serialise") + "\n"
}

/// The experiments of a sweep on one server, in the order of its values; none of other folders.
fn cells(path: &Path) -> Result<Vec<SweptExperiment>> {
    let Some(sweep) = Sweep::read(path)? else { return Ok(Vec::new()) };
    let mut cells = Vec::new();
    for value in &sweep.values {
        for made in Sweep::made(value, path)?.into_iter().filter(|it| it.server.is_empty()) {
            let runs = made.folder.runs()?;
            let (label, experiment) = (value.folder.clone(), made.experiment);
            cells.push(SweptExperiment { label, experiment, runs });
        }
    }
    Ok(cells)
}

/// Findings of all cells of a sweep together, a sentence each.
pub fn sweep_lines(cells: &[SweptExperiment]) -> Vec<String> {
    let found = diagnosis::sweep_findings(cells);
    match contention::too_small(cells).filter(|_| found.is_empty()) {
        Some(why) => vec![format!("{why}.")],
        None => lines(&found),
    }
}

fn lines(findings: &[Finding]) -> Vec<String> {
    if findings.is_empty() {
        return vec!["No cause found: no rule applies.".to_owned()];
    }
    findings.iter().map(finding_line).collect()
}

fn listed(title: &str, lines: &[String]) -> String {
    let width = usize::from(super::terminal_options().width.unwrap_or(100).max(60));
    let mut out = format!("{}: where the time goes\n", base::say::clean(title));
    for line in lines {
        for (number, line) in text::wrap(line, width - 4).iter().enumerate() {
            let _ = writeln!(out, "  {}{line}", if number == 0 { "- " } else { "  " });
        }
    }
    out + "\n"
}
