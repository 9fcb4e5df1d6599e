//! The end of an experiment: its page, its text, its exit code.

use std::path::Path;

use base::error::{Error, Exit, Result};
use base::strings::shell_quoted;
use judge::analysis::latencies::latencies;
use judge::analysis::types::{Analysis, Objective};
use record::folder::Folder;
use report::{Report, html, terminal};

/// The exit code of experiments that are whole.
pub fn worth(analyses: &[&Analysis]) -> Result<()> {
    gates(analyses)?;
    if !analyses.is_empty() && analyses.iter().all(|it| it.nothing_comparable()) {
        return Err(Error::new(
            Exit::RunInvalid,
            "no comparison could be made: each one is NOT COMPARABLE",
            "see the reasons in the report above",
        ));
    }
    Ok(())
}

/// The exit code of the gates that were asked for.
pub fn gates(analyses: &[&Analysis]) -> Result<()> {
    let any = |wanted| analyses.iter().any(|it| it.has_gate(wanted));
    if any(Objective::Broken) {
        let hint = "see which one in the report";
        return Err(Error::new(Exit::GateFailed, "a gate is broken", hint));
    }
    if any(Objective::Open) {
        let hint = "see which one in the report; give more --rounds, or decide it with \
                    --gate-unclear fail or pass";
        return Err(Error::new(Exit::GateUnclear, "a gate is not shown either way", hint));
    }
    Ok(())
}

/// Writes the page of an experiment; its text for a terminal.
pub fn shown(folder: &Folder, analysis: &Analysis, details: bool) -> Result<String> {
    let runs = folder.runs()?;
    let mut options = super::terminal_options(details);
    let (_, experiment) = Folder::open(folder.path())?;
    let (series, latencies) = (folder.series()?, latencies(folder, &experiment, &runs)?);
    let (series, latencies) = (&series, &latencies[..]);
    let page = Report { analysis, runs: &runs, series, latencies, options: &options };
    folder.write_whole("report.html", page.text(html::FORMAT)?.as_bytes())?;
    options.page = Some(folder.join("report.html").display().to_string());
    let report = Report { analysis, runs: &runs, series, latencies, options: &options };
    report.text(terminal::FORMAT)
}

/// The error of an experiment that was interrupted, with the way on.
pub fn interrupted(folder: &Path) -> Error {
    let hint = format!("to go on: mongodyno resume {}", shell_quoted(&folder.display()));
    Error::new(Exit::Interrupted, "interrupted", hint)
}
