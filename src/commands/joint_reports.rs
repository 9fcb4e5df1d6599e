//! Folders of several experiments: the values of `--sweep`, the servers of `--server A,B`, or both.

use std::path::Path;

use super::Take;
use super::experiment_end::{interrupted, shown, worth};
use crate::ask::Ask;
use crate::cli::ReportArgs;
use base::error::{Error, Exit, Result};
use base::say;
use judge::analysis::joint::{self, JointAnalysis};
use judge::analysis::types::{Analysis, Finding};
use judge::diagnosis::contention::{self, SweptExperiment};
use judge::diagnosis::sweep_findings;
use record::folder::{Folder, Series};
use record::records::{Ended, Run};
use record::servers_folder::ServerExperiment;
use report::{FolderReport, Format, Joint, Report, finding_line, html, json, series, terminal};

/// None where the folder holds one experiment, or a study.
pub fn read(path: &Path) -> Result<Option<(Vec<ServerExperiment>, JointAnalysis)>> {
    let Some((made, analysis)) = joint::joint(path)? else { return Ok(None) };
    if made.is_empty() {
        return Err(Error::usage(
            format!("no experiment had begun in {}", path.display()),
            "start anew, with another --out",
        ));
    }
    Ok(Some((made, analysis)))
}

/// `report` of such a folder.
pub fn report(
    args: &ReportArgs,
    path: &Path,
    made: &[ServerExperiment],
    mut analysis: JointAnalysis,
    take: Take<'_>,
) -> Result<Vec<Analysis>> {
    let of_values = analysis.values.iter_mut().flat_map(|it| &mut it.servers.servers);
    for (it, made) in of_values.zip(made) {
        judge::keep(&mut it.analysis, &args.gate, args.gate_unclear);
        let history = args.history.history.as_deref();
        super::experiment_history::hold(&mut it.analysis, &made.experiment, history)?;
    }
    let over_time = args.format.name == series::FORMAT.name;
    with_joint(path, made, &analysis, (over_time, args.details.details), take)?;
    let of_values = analysis.values.into_iter().flat_map(|it| it.servers.servers);
    Ok(of_values.map(|it| it.analysis).collect())
}

/// Shows the folder of experiments that `made` just now, and writes their pages. Reports of single
/// experiments are printed where they were not as they ended.
pub fn finish(ask: &Ask, path: &Path, made: Vec<Result<Folder>>) -> Result<()> {
    let failed = made.into_iter().filter_map(Result::err);
    let (stopped, failed): (Vec<_>, Vec<_>) = failed.partition(|it| it.exit == Exit::Interrupted);
    let mut failed = failed.into_iter();
    let begun = joint::joint(path)?.filter(|(begun, _)| !begun.is_empty());
    let Some((begun, mut analysis)) = begun else {
        return Err(failed.next().unwrap_or_else(measure::stop::interrupted));
    };
    let of_values = analysis.values.iter_mut().flat_map(|it| &mut it.servers.servers);
    for (it, made) in of_values.zip(&begun) {
        super::experiment_history::hold(
            &mut it.analysis,
            &made.experiment,
            ask.here.history.as_deref(),
        )?;
    }
    let is_cut = |it: &ServerExperiment| it.experiment.ended == Some(Ended::Interrupted);
    let stopped = !stopped.is_empty() || begun.iter().any(is_cut);
    // The experiments of a sweep were shown as they ended.
    let unshown = begun.iter().zip(analysis.each()).filter(|_| analysis.parameter.is_none());
    for (made, (.., analysis)) in unshown {
        shown(&made.folder, analysis, false)?;
    }
    let page = text(path, &begun, &analysis, (html::FORMAT, false))?;
    record::plain::write_whole(path, PAGE, &page)
        .map_err(|error| Error::file("write", &path.join(PAGE), &error))?;
    let format = if ask.here.json { json::FORMAT } else { terminal::FORMAT };
    super::print_result(&text(path, &begun, &analysis, (format, ask.here.details))?)?;
    if stopped {
        return Err(interrupted(&path.canonicalize().unwrap_or_else(|_| path.to_owned())));
    }
    if let Some(first) = failed.next() {
        failed.for_each(|error| say!("error: {error}"));
        return Err(first);
    }
    worth(&each(&analysis))
}

const PAGE: &str = "report.html";

fn each(analysis: &JointAnalysis) -> Vec<&Analysis> {
    analysis.each().map(|(.., it)| it).collect()
}

fn text(
    path: &Path,
    made: &[ServerExperiment],
    analysis: &JointAnalysis,
    (format, details): (Format, bool),
) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    with_joint(path, made, analysis, (false, details), &mut |it| {
        bytes = it.text(format)?;
        Ok(())
    })?;
    Ok(bytes)
}

/// Passes the joint report on, with what was read over time where that is asked for.
fn with_joint(
    path: &Path,
    made: &[ServerExperiment],
    analysis: &JointAnalysis,
    (over_time, details): (bool, bool),
    take: Take<'_>,
) -> Result<()> {
    let page = |path: &Path| {
        let page = path.join(PAGE);
        page.exists().then(|| page.display().to_string())
    };
    let read = |it: &ServerExperiment| {
        let mut options = super::terminal_options(details);
        options.page = page(it.folder.path());
        let series = if over_time { it.folder.series()? } else { Series::default() };
        Ok((it.folder.runs()?, series, options))
    };
    let records = made.iter().map(read).collect::<Result<Vec<_>>>()?;
    let parts = made.iter().zip(analysis.each()).zip(&records);
    let parts = parts.map(|((made, (.., analysis)), (runs, series, options))| {
        (&made.experiment, Report { analysis, runs, series, latencies: &[], options })
    });
    let (parts, findings) = (parts.collect::<Vec<_>>(), findings(made, analysis, &records));
    let mut options = super::terminal_options(details);
    options.page = page(path);
    take(&FolderReport::Joint(Joint {
        analysis,
        parts: &parts,
        findings: &findings,
        options: &options,
    }))
}

/// Where the time goes over a sweep, for each server.
fn findings<T, U>(
    made: &[ServerExperiment],
    analysis: &JointAnalysis,
    records: &[(Vec<Run>, T, U)],
) -> Vec<(String, Vec<String>)> {
    let cells = cells(made, analysis, records.iter().map(|(runs, ..)| runs));
    let list = |(server, cells): &(String, Vec<SweptExperiment>)| {
        (format!("{}: where the time goes", sweep_on(server)), sweep_lines(cells))
    };
    cells.iter().map(list).collect()
}

/// A sweep on one of several servers, or on the only one, whose name is empty.
pub fn sweep_on(server: &str) -> String {
    if server.is_empty() { "The sweep".to_owned() } else { format!("The sweep on {server}") }
}

/// The experiments of a sweep by server; none where nothing is swept.
pub fn cells<'a>(
    made: &[ServerExperiment],
    analysis: &JointAnalysis,
    runs: impl Iterator<Item = &'a Vec<Run>>,
) -> Vec<(String, Vec<SweptExperiment>)> {
    let mut cells: Vec<(String, Vec<SweptExperiment>)> = Vec::new();
    if analysis.parameter.is_none() {
        return cells;
    }
    for ((made, (value, server, _)), runs) in made.iter().zip(analysis.each()).zip(runs) {
        let (experiment, runs) = (made.experiment.clone(), runs.clone());
        let cell = SweptExperiment { label: analysis.name(value, ""), experiment, runs };
        match cells.iter_mut().find(|(known, _)| known == server) {
            Some((_, cells)) => cells.push(cell),
            None => cells.push((server.to_owned(), vec![cell])),
        }
    }
    cells
}

/// Findings of all cells of a sweep together, a sentence each.
pub fn sweep_lines(cells: &[SweptExperiment]) -> Vec<String> {
    let found = sweep_findings(cells);
    match contention::too_small(cells).filter(|_| found.is_empty()) {
        Some(why) => vec![format!("{why}.")],
        None => cause_lines(&found),
    }
}

/// A sentence each, or that there is none.
pub fn cause_lines(findings: &[Finding]) -> Vec<String> {
    if findings.is_empty() {
        return vec!["No cause found: no rule applies.".to_owned()];
    }
    findings.iter().map(finding_line).collect()
}
