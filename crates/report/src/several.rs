//! Several folders on one page: a section each, below a list of contents.

use std::io::{self, Write as _};

use serde::Serialize;

use super::formats::{Format, Joint, Options, Report};
use super::page_template::{self, PageParts};
use super::palette::Palette;
use super::study::{self, StudyReport};
use super::{html, markdown, terminal, view};
use base::error::{Error, Result};
use base::say::clean;
use record::records::SCHEMA_VERSION;

/// The report of one folder.
pub enum FolderReport<'a> {
    Experiment(Report<'a>),
    Joint(Joint<'a>),
    Study(&'a dyn StudyReport, Options),
}

/// The reports of several folders, in the order in which they are added.
pub struct SeveralFolders {
    format: Format,
    palette: Palette,
    sections: Vec<FolderSection>,
    data: Vec<String>,
    text: Vec<u8>,
}

#[derive(Debug, Serialize)]
struct FolderSection {
    id: String,
    /// The folder, as it was asked for.
    folder: String,
    title: String,
    setting: String,
    main: String,
}

impl FolderReport<'_> {
    fn parts(&self, palette: &mut Palette) -> Result<io::Result<PageParts>> {
        Ok(match self {
            Self::Experiment(report) => {
                view::palette(report.analysis).names().for_each(|name| palette.add(name));
                html::experiment(report, palette.clone())
            }
            Self::Joint(joint) => {
                joint.palette().names().for_each(|name| palette.add(name));
                let parts = study::page(&joint.view(palette));
                parts.map(|parts| PageParts { palette: palette.clone(), ..parts })
            }
            // A study draws with a palette of its arms alone.
            Self::Study(report, _) => html::of_study(*report)?,
        })
    }
}

impl SeveralFolders {
    /// # Errors
    /// A format whose readers expect one folder.
    pub fn new(format: Format) -> Result<Self> {
        let known = [terminal::FORMAT, html::FORMAT, markdown::FORMAT].map(|it| it.name);
        if !known.contains(&format.name) {
            let what = format!("--format {} writes one folder at a time", format.name);
            let hint = format!("name one folder, or use {}", known.join(", "));
            return Err(Error::usage(what, hint));
        }
        let (palette, sections, data, text) = Default::default();
        Ok(Self { format, palette, sections, data, text })
    }

    /// # Errors
    /// As [`FolderReport::text`].
    pub fn add(&mut self, folder: &str, report: &FolderReport<'_>) -> Result<()> {
        let memory = "writing to memory";
        if self.format.name != html::FORMAT.name {
            let gap = if self.text.is_empty() { "" } else { "\n" };
            write!(self.text, "{gap}{}\n\n", self.heading(folder)).expect(memory);
            self.text.extend(report.text(self.format)?);
            return Ok(());
        }
        let parts = report.parts(&mut self.palette)?.expect(memory);
        let id = format!("folder-{}", self.sections.len() + 1);
        let words = |name: &str| parts.page[name].as_str().unwrap_or_default().to_owned();
        self.sections.push(FolderSection {
            main: page_template::main_part(&parts, &format!("{id}-")).expect(memory),
            id,
            folder: clean(folder),
            title: words("title"),
            setting: words("setting"),
        });
        self.data.extend(Some(parts.data).filter(|data| !data.is_empty()));
        Ok(())
    }

    /// A line before the report of a folder.
    fn heading(&self, folder: &str) -> String {
        if self.format.name == markdown::FORMAT.name {
            return format!("---\n\n`{}`", clean(folder).replace('`', ""));
        }
        format!("── {} ──", clean(folder))
    }

    /// All of them; `again` is the command that makes this once more.
    pub fn finish(self, again: &str) -> Vec<u8> {
        let mut out = self.text;
        if self.format.name == html::FORMAT.name {
            let page = serde_json::json!({
                "title": format!("{} folders", self.sections.len()),
                "again": clean(again),
                "sections": self.sections,
                "schema_version": SCHEMA_VERSION,
            });
            let data = format!("[{}]", self.data.join(","));
            let parts = PageParts { template: "several.html", page, palette: self.palette, data };
            page_template::write(&parts, &mut out).expect("writing to memory");
        }
        out
    }
}
