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
    sweep::{self, Cell},
};
use record::folder::Folder;
use report::{finding_line, text};

/// Runs the verb. Finding no cause is an answer: exit code 0.
pub fn run(args: &DiagnoseArgs) -> Result<()> {
    let cells = cells(&args.folder)?;
    if cells.is_empty() {
        let (folder, findings) = one(&args.folder)?;
        return super::print(&if args.json {
            pretty(&json!({ "folder": folder.path(), "findings": findings }))
        } else {
            listed(&folder.path().display().to_string(), &findings)
        });
    }
    let found = diagnosis::sweep_findings(&cells);
    let mut text = sweep_text(&cells);
    let mut each: Vec<Value> = Vec::new();
    for cell in &cells {
        let (folder, mut findings) = one(&args.folder.join(&cell.label))?;
        // A cause in the whole sweep is one in its parts.
        let explained = |it: &Finding| found.iter().any(|found| found.phase == it.phase);
        findings.retain(|it| it.rule != diagnosis::NO_CAUSE || !explained(it));
        if !findings.is_empty() {
            text += &listed(&cell.label, &findings);
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

/// The experiments below a folder that holds none itself, by the parameter's value.
pub fn cells(path: &Path) -> Result<Vec<Cell>> {
    if path.join("experiment.json").exists() {
        return Ok(Vec::new());
    }
    let entries = path.read_dir().into_iter().flatten().flatten();
    // Folders themselves: a link would lead elsewhere.
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir()));
    let names = folders.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_cell =
        |name: &String| name.contains('=') && path.join(name).join("experiment.json").is_file();
    let mut names: Vec<String> = names.filter(is_cell).collect();
    let value = |name: &str| name.split_once('=').and_then(|(_, it)| it.parse::<f64>().ok());
    // Numbers by size, before whatever is none.
    let order = |name: &str| value(name).unwrap_or(f64::INFINITY);
    names.sort_by(|a, b| order(a).total_cmp(&order(b)).then_with(|| a.cmp(b)));
    let cell = |label: String| {
        let (folder, experiment) = Folder::open(&path.join(&label))?;
        Ok(Cell { label, experiment, runs: folder.runs()? })
    };
    names.into_iter().map(cell).collect()
}

/// Findings of all cells of a sweep together.
pub fn sweep_text(cells: &[Cell]) -> String {
    let found = diagnosis::sweep_findings(cells);
    match sweep::too_small(cells).filter(|_| found.is_empty()) {
        Some(why) => format!("The sweep: {why}.\n\n"),
        None => listed("The sweep", &found),
    }
}

fn listed(title: &str, findings: &[Finding]) -> String {
    let width = usize::from(super::terminal_options().width.unwrap_or(100).max(60));
    let mut out = format!("{}: where the time goes\n", base::say::clean(title));
    if findings.is_empty() {
        out += "  No cause found: no rule applies.\n";
    }
    for finding in findings {
        for (number, line) in text::wrap(&finding_line(finding), width - 4).iter().enumerate() {
            let _ = writeln!(out, "  {}{line}", if number == 0 { "- " } else { "  " });
        }
    }
    out + "\n"
}
