//! `mongodyno diagnose DIR`: where the time goes, from the folder of an experiment, of a sweep, of
//! several servers, or of a sweep on each of them.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::joint_reports::{self, cause_lines, sweep_lines};
use crate::cli::DiagnoseArgs;
use base::error::Result;
use base::text;
use judge::analyse;
use judge::analysis::types::Finding;
use judge::diagnosis;
use record::folder::Folder;

/// Runs the verb. Finding no cause is an answer: exit code 0.
pub fn run(args: &DiagnoseArgs) -> Result<()> {
    let Some((made, joint)) = joint_reports::read(&args.folder)? else {
        let (folder, experiment) = Folder::open(&args.folder)?;
        let findings = analyse(&folder, &experiment)?.analysis.diagnosis;
        return super::print(&if args.json {
            pretty(&json!({ "folder": folder.path(), "findings": findings }))
        } else {
            listed(&folder.path().display().to_string(), &cause_lines(&findings))
        });
    };
    let runs = made.iter().map(|made| made.folder.runs()).collect::<Result<Vec<_>>>()?;
    let (mut text, mut found) = (String::new(), Vec::new());
    for (server, cells) in joint_reports::cells(&made, &joint, runs.iter()) {
        text += &listed(&joint_reports::sweep_on(&server), &sweep_lines(&cells));
        let findings = diagnosis::sweep_findings(&cells);
        found.extend(findings.into_iter().map(|finding| (server.clone(), finding)));
    }
    let mut each: Vec<Value> = Vec::new();
    for (made, (value, server, analysis)) in made.iter().zip(joint.each()) {
        let mut findings = analysis.diagnosis.clone();
        // A cause in the whole sweep is one in its parts.
        let explained =
            |it: &Finding| found.iter().any(|(on, found)| on == server && found.phase == it.phase);
        findings.retain(|it| it.rule != diagnosis::NO_CAUSE || !explained(it));
        let (name, folder) = (joint.name(value, server), made.folder.path());
        if joint.parameter.is_none() || !findings.is_empty() {
            text += &listed(&name, &cause_lines(&findings));
        }
        each.push(json!({ "cell": name, "folder": folder, "findings": findings }));
    }
    let found: Vec<Value> = found.into_iter().map(|(server, it)| on(&server, &it)).collect();
    super::print(&if args.json {
        pretty(&json!({ "folder": args.folder, "findings": found, "cells": each }))
    } else {
        text
    })
}

/// A finding of a sweep with its server, where there are several.
fn on(server: &str, finding: &Finding) -> Value {
    let mut value = json!(finding);
    if !server.is_empty() {
        value["server"] = server.into();
    }
    value
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("findings serialise") + "\n"
}

fn listed(title: &str, lines: &[String]) -> String {
    let width = usize::from(super::console_width().unwrap_or(100).max(60));
    let mut out = format!("{}: where the time goes\n", base::say::clean(title));
    for line in lines {
        for (number, line) in text::wrap(line, width - 4).iter().enumerate() {
            let _ = writeln!(out, "  {}{line}", if number == 0 { "- " } else { "  " });
        }
    }
    out + "\n"
}
