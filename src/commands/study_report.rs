//! The report of a study's folder, of as many parts as were made.

use std::collections::BTreeMap;
use std::path::Path;

use super::Take;
use super::study_drivers::unknown;
use crate::ask::Here;
use base::error::{Error, Exit, Result};
use base::strings::shell_quoted;
use record::folder::Folder;
use record::plain;
use record::records::{Experiment, Run};
use record::study_folder::StudyRecord;
use report::{FolderReport, Format, html, json, terminal};
use studies::{Made, Outcome};

/// Writes the page and prints the result, of as many parts as were made.
pub fn show(record: &StudyRecord, folder: &Path, here: &Here) -> Result<()> {
    let parts = MadeParts::read(record, folder)?;
    let page = parts.render(record, folder, (html::FORMAT, false))?;
    plain::write_whole(folder, "report.html", &page)
        .map_err(|error| Error::file("write", &folder.join("report.html"), &error))?;
    for (name, text) in parts.own_files(record, folder)? {
        plain::write_whole(folder, name, text.as_bytes())
            .map_err(|error| Error::file("write", &folder.join(name), &error))?;
    }
    let format = if here.json { json::FORMAT } else { terminal::FORMAT };
    super::print_result(&parts.render(record, folder, (format, here.details))?)?;
    if parts.made.iter().flat_map(|it| &it.3).all(|run| run.phases.is_empty()) {
        return Err(Error::new(
            Exit::RunInvalid,
            "nothing could be measured: each run is void",
            "see the reasons above",
        ));
    }
    Ok(())
}

/// The report of a study's folder.
///
/// # Errors
/// No part that was made; a format that studies do not have.
pub fn report(folder: &Path, details: bool, take: Take<'_>) -> Result<()> {
    let record = StudyRecord::read(folder)?;
    let parts = MadeParts::read(&record, folder)?;
    let of = (record.study.as_str(), Some(record.scale));
    parts.with_report(of, parts.left_out(&record), folder, details, take)
}

/// The report of the one experiment that a study was to an earlier version.
///
/// # Errors
/// As [`report`].
pub fn report_one(
    study: &str,
    folder: Folder,
    experiment: Experiment,
    details: bool,
    take: Take<'_>,
) -> Result<()> {
    let path = folder.path().to_owned();
    let runs = folder.runs()?;
    let made = vec![(String::new(), folder, experiment, runs)];
    let parts = MadeParts { made, not_begun: Vec::new() };
    parts.with_report((study, None), BTreeMap::new(), &path, details, take)
}

/// The parts of a study that were made, with their names, and the names of the others.
struct MadeParts {
    made: Vec<(String, Folder, Experiment, Vec<Run>)>,
    not_begun: Vec<String>,
}

impl MadeParts {
    fn read(record: &StudyRecord, folder: &Path) -> Result<Self> {
        let is_there = |name: &String| folder.join(name).join("experiment.json").exists();
        let is_earlier = record.experiments.is_empty();
        let names = record.experiments.iter().map(|part| part.name.clone());
        let names = if is_earlier { folders(folder) } else { names.collect() };
        let (there, not_begun): (Vec<String>, _) = names.into_iter().partition(is_there);
        let mut made = Vec::new();
        for name in there {
            let (part, experiment) = Folder::open(&folder.join(&name))?;
            let runs = part.runs()?;
            made.push((name, part, experiment, runs));
        }
        if is_earlier {
            // An earlier version made the parts one after the other.
            made.sort_by(|(.., a, _), (.., b, _)| a.started_at.cmp(&b.started_at));
            return Ok(Self { made, not_begun: Vec::new() });
        }
        Ok(Self { made, not_begun })
    }

    fn render(
        &self,
        record: &StudyRecord,
        folder: &Path,
        (format, details): (Format, bool),
    ) -> Result<Vec<u8>> {
        let of = (record.study.as_str(), Some(record.scale));
        let mut bytes = Vec::new();
        self.with_report(of, self.left_out(record), folder, details, &mut |it| {
            bytes = it.text(format)?;
            Ok(())
        })?;
        Ok(bytes)
    }

    fn left_out(&self, record: &StudyRecord) -> BTreeMap<String, String> {
        let mut left_out = record.left_out.clone();
        for name in &self.not_begun {
            left_out.entry(name.clone()).or_insert("it has not begun".to_owned());
        }
        left_out
    }

    fn own_files(&self, record: &StudyRecord, folder: &Path) -> Result<Vec<(&str, String)>> {
        let study = studies::find(&record.study).ok_or_else(|| unknown(&record.study))?;
        let outcome = self.outcome(self.left_out(record), folder, Some(record.scale))?;
        Ok(studies::own_files(study, &outcome))
    }

    fn with_report(
        &self,
        (study, scale): (&str, Option<f64>),
        left_out: BTreeMap<String, String>,
        folder: &Path,
        details: bool,
        take: Take<'_>,
    ) -> Result<()> {
        let study = studies::find(study).ok_or_else(|| unknown(study))?;
        let outcome = self.outcome(left_out, folder, scale)?;
        let mut options = super::terminal_options(details);
        let page = folder.join("report.html");
        options.page = page.exists().then(|| page.display().to_string());
        take(&FolderReport::Study(&studies::finished(study, &outcome), options))
    }

    fn outcome(
        &self,
        left_out: BTreeMap<String, String>,
        folder: &Path,
        scale: Option<f64>,
    ) -> Result<Outcome<'_>> {
        if self.made.is_empty() {
            return Err(Error::new(
                Exit::RunInvalid,
                format!("{}: no part of the study was made", folder.display()),
                format!("mongodyno resume {}", shell_quoted(&folder.display())),
            ));
        }
        let made = self.made.iter().map(|(name, folder, experiment, runs)| Made {
            part: name,
            folder,
            experiment,
            runs,
        });
        let (made, folder) = (made.collect(), folder.display().to_string());
        Ok(Outcome { made, left_out, folder, scale })
    }
}

/// Names of the folders in one.
fn folders(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}
