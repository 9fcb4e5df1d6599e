//! `mongodyno report DIR`: results again, from the folder alone.

use super::run::gates;
use crate::cli::ReportArgs;
use base::error::{Error, Result};
use judge::analyse;
use judge::analysis::latencies::latencies;
use record::folder::{Folder, Series};
use record::study_folder::StudyRecord;
use report::{Report, html, series};

/// Runs the verb.
pub fn run(args: &ReportArgs) -> Result<()> {
    if StudyRecord::is_in(&args.folder) {
        no_gates(args, "report the folder of one of its experiments")?;
        let shown = (args.format.name, args.details.details);
        let bytes = super::study_report::report(&args.folder, shown)?;
        return super::print_result(&bytes);
    }
    if let Some((made, analysis)) = super::joint_reports::read(&args.folder)? {
        return super::joint_reports::report(args, &made, analysis);
    }
    let (folder, experiment) = Folder::open(&args.folder)?;
    super::name_leftovers(&folder, &experiment);
    let over_time = args.format.name == series::FORMAT.name;
    if let Some(study) = experiment.study.as_ref().filter(|study| study.part.is_none()) {
        no_gates(args, "leave out --gate")?;
        if !over_time {
            let shown = (args.format.name, args.details.details);
            let name = study.name.clone();
            let bytes = super::study_report::report_one(&name, folder, experiment, shown)?;
            return super::print_result(&bytes);
        }
    }
    let mut analysis = analyse(&folder, &experiment)?.analysis;
    judge::keep(&mut analysis, &args.gate, args.gate_unclear);
    super::experiment_history::hold(&mut analysis, &experiment, args.history.history.as_deref())?;
    let mut options = super::terminal_options(args.details.details);
    let page = folder.join("report.html");
    options.page = page.exists().then(|| page.display().to_string());
    let is_page = args.format.name == html::FORMAT.name;
    let series = if over_time || is_page { folder.series()? } else { Series::default() };
    let runs = folder.runs()?;
    let latencies = if is_page { latencies(&folder, &experiment, &runs)? } else { Vec::new() };
    let report = Report {
        analysis: &analysis,
        runs: &runs,
        series: &series,
        latencies: &latencies,
        options: &options,
    };
    super::print_result(report.text(args.format)?.as_bytes())?;
    gates(&[&analysis])
}

/// # Errors
/// `--gate` at a study.
fn no_gates(args: &ReportArgs, hint: &str) -> Result<()> {
    if args.gate.is_empty() {
        return Ok(());
    }
    Err(Error::usage("a study has no gates", hint))
}
