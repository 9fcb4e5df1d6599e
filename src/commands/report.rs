//! `mongodyno report DIR...`: results again, from the folders alone.

use std::path::{Path, PathBuf};

use super::Take;
use super::experiment_end::gates;
use crate::cli::{DetailsArgs, HistoryFlag, ReportArgs};
use base::error::{Error, Result};
use base::strings::shell_quoted;
use judge::analyse;
use judge::analysis::latencies::latencies;
use judge::analysis::types::Analysis;
use record::folder::{Folder, Series};
use record::study_folder::StudyRecord;
use report::{FolderReport, Report, SeveralFolders, html, series};

/// Runs the verb.
pub fn run(args: &ReportArgs) -> Result<()> {
    let mut analyses = Vec::new();
    let bytes = if let [folder] = &args.folders[..] {
        let mut bytes = Vec::new();
        analyses.extend(folder_report(args, folder, &mut |it| {
            bytes = it.text(args.format)?;
            Ok(())
        })?);
        bytes
    } else {
        let mut all = SeveralFolders::new(args.format)?;
        for folder in &args.folders {
            let name = folder.display().to_string();
            analyses.extend(folder_report(args, folder, &mut |it| all.add(&name, it))?);
        }
        let folders = args.folders.iter().map(|it| shell_quoted(&it.display()));
        let folders = folders.collect::<Vec<_>>().join(" ");
        all.finish(&format!("mongodyno report {folders} --format {}", args.format.name))
    };
    super::print_result(&bytes)?;
    gates(&analyses.iter().collect::<Vec<_>>())
}

/// The page of a folder as far as it is filled.
///
/// # Errors
/// It holds nothing to show yet.
pub fn page(path: &Path, history: Option<PathBuf>) -> Result<String> {
    let args = ReportArgs {
        folders: Vec::new(),
        format: html::FORMAT,
        details: DetailsArgs { details: false },
        gate: Vec::new(),
        gate_unclear: None,
        history: HistoryFlag { history },
    };
    let mut bytes = Vec::new();
    folder_report(&args, path, &mut |it| {
        bytes = it.text(args.format)?;
        Ok(())
    })?;
    Ok(String::from_utf8(bytes).expect("a page is text"))
}

/// Reads a folder and passes its report on; returns what its gates were held against.
fn folder_report(args: &ReportArgs, path: &Path, take: Take<'_>) -> Result<Vec<Analysis>> {
    let details = args.details.details;
    if StudyRecord::is_in(path) {
        no_gates(args, "report the folder of one of its experiments")?;
        super::study_report::report(path, details, take)?;
        return Ok(Vec::new());
    }
    if let Some((made, analysis)) = super::joint_reports::read(path)? {
        return super::joint_reports::report(args, path, &made, analysis, take);
    }
    let (folder, experiment) = Folder::open(path)?;
    super::name_leftovers(&folder, &experiment);
    let over_time = args.format.name == series::FORMAT.name;
    if let Some(study) = experiment.study.as_ref().filter(|study| study.part.is_none()) {
        no_gates(args, "leave out --gate")?;
        if !over_time {
            let name = study.name.clone();
            super::study_report::report_one(&name, folder, experiment, details, take)?;
            return Ok(Vec::new());
        }
    }
    let mut analysis = analyse(&folder, &experiment)?.analysis;
    judge::keep(&mut analysis, &args.gate, args.gate_unclear);
    super::experiment_history::hold(&mut analysis, &experiment, args.history.history.as_deref())?;
    let mut options = super::terminal_options(details);
    let page = folder.join("report.html");
    options.page = page.exists().then(|| page.display().to_string());
    let is_page = args.format.name == html::FORMAT.name;
    let series = if over_time || is_page { folder.series()? } else { Series::default() };
    let runs = folder.runs()?;
    let latencies = if is_page { latencies(&folder, &experiment, &runs)? } else { Vec::new() };
    take(&FolderReport::Experiment(Report {
        analysis: &analysis,
        runs: &runs,
        series: &series,
        latencies: &latencies,
        options: &options,
    }))?;
    Ok(vec![analysis])
}

/// # Errors
/// `--gate` at a study.
fn no_gates(args: &ReportArgs, hint: &str) -> Result<()> {
    if args.gate.is_empty() {
        return Ok(());
    }
    Err(Error::usage("a study has no gates", hint))
}
