//! One self-contained page. Everything comes written out; the template only places it.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use super::participants;
use super::table::Table;
use crate::chart::CHART_WIDTH;
use crate::drawing::Drawing;
use crate::page_template::{self, PageParts};
use crate::palette::Palette;
use base::error::Result;
use base::say::clean;
use base::strings::shell_quoted;
use record::records::{Experiment, Run, SCHEMA_VERSION};

/// Content of every format of a study. Its strings are text, not markup, but for the SVG of
/// [`Figure`].
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct View {
    pub title: String,
    /// The question, in a paragraph.
    pub question: String,
    /// The command that measures all this again.
    pub command: String,
    /// The command that makes this page again; empty where there is none.
    pub again: String,
    /// Name and value, for the list at the top ([`super::facts`]).
    pub facts: Vec<(String, String)>,
    /// Sentences before all else, by title.
    pub answers: Vec<(String, Vec<String>)>,
    /// The answer, piece by piece.
    pub evidence: Vec<EvidenceView>,
    /// Cautions to read before the numbers, a sentence each.
    pub warnings: Vec<String>,
    pub phases: Vec<PhaseView>,
    /// Who took part ([`super::arms`]).
    pub arms: Table,
    /// Arms that could not take part: name, reason, remedy.
    pub unavailable: Vec<[String; 3]>,
    /// Fate of messages that did not arrive once.
    pub lost: Vec<String>,
    /// How to read the page, a sentence each.
    pub notes: Vec<String>,
}

/// The parts of a study's report, each made where a format needs it.
pub trait StudyReport {
    fn view(&self) -> View;

    /// The pictures of a phase of the view. They read every sample.
    fn drawings(&self, phase: &str) -> Result<Vec<Drawing>>;

    fn analysis(&self) -> Value;

    /// Writes its table of figures; returns a sentence for each gap.
    fn csv(&self, out: &mut dyn Write) -> Result<Vec<String>>;

    fn gnuplot(&self) -> Option<&'static str>;
}

impl View {
    /// What the records have; `folder` is how a user calls the experiment's folder.
    pub fn of(experiment: &Experiment, runs: &[Run], folder: &str) -> Self {
        let unavailable = experiment.unavailable.iter();
        let command = experiment.command.iter().map(shell_quoted);
        Self {
            command: command.collect::<Vec<_>>().join(" "),
            again: format!("mongodyno report {}", shell_quoted(&folder)),
            facts: participants::facts(experiment, runs),
            arms: participants::arms(experiment, runs),
            unavailable: unavailable
                .map(|it| [it.adapter.clone(), it.reason.clone(), it.hint.clone()])
                .collect(),
            ..Self::default()
        }
    }

    /// The looks of the arms that took part.
    pub fn palette(&self) -> Palette {
        Palette::of(self.arms.rows.iter().map(|row| row.arm.as_str()))
    }

    /// Shortens the names of arms, all of which have `options`: `/from=folder/runtime=mono`.
    pub fn leave_out(&mut self, options: &str) {
        let sentences = self.evidence.iter_mut().flat_map(|it| &mut it.sentences);
        let tables = self.phases.iter_mut().map(|it| &mut it.table).chain([&mut self.arms]);
        let names = tables.flat_map(|it| it.rows.iter_mut().map(|row| &mut row.arm));
        for text in sentences.chain(&mut self.warnings).chain(names) {
            *text = text.replace(options, "");
        }
        let words = options[1..].split('/').collect::<Vec<_>>().join(" and ");
        self.warnings.insert(0, format!("all arms have {words}; their names here leave it out"));
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvidenceView {
    /// Subject of the evidence.
    pub heading: String,
    /// The finding, with its numbers.
    pub sentences: Vec<String>,
    /// `Yes`, `No` or `Not shown`; the first sentence begins with it.
    pub answer: String,
    /// The number that lies nearest to the limit, with its interval; empty where there is none.
    pub number: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseView {
    pub name: String,
    /// Work of the phase, in a paragraph.
    pub about: String,
    pub table: Table,
    pub figures: Vec<Figure>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// For those who cannot see it.
    pub caption: String,
    /// Whether it needs the whole width of a page.
    pub is_wide: bool,
    /// Markup, placed as it is.
    pub svg: String,
}

impl Figure {
    /// Figure of a drawing, whose title is the caption.
    pub fn of(drawing: &Drawing) -> Self {
        let is_wide = drawing.width() > CHART_WIDTH;
        Self { caption: drawing.title().to_owned(), is_wide, svg: drawing.svg() }
    }
}

/// The page of a view.
pub fn page(view: &View) -> io::Result<PageParts> {
    let mut page = serde_json::to_value(view)?;
    finish(&mut page);
    page["picture"] = first_picture(&mut page).unwrap_or_default();
    let palette = view.palette();
    page["legend"] = palette.names().collect::<Vec<_>>().into();
    page["schema_version"] = SCHEMA_VERSION.into();
    Ok(PageParts { template: "study.html", page, palette, data: String::new() })
}

pub fn render(view: &View, out: &mut dyn Write) -> io::Result<()> {
    page_template::write(&page(view)?, out)
}

/// Takes the first picture from its phase, to be beside the answer.
fn first_picture(page: &mut Value) -> Option<Value> {
    let phases = page["phases"].as_array_mut()?;
    let mut figures = phases.iter_mut().filter_map(|phase| phase["figures"].as_array_mut());
    figures.find(|figures| !figures.is_empty()).map(|figures| figures.remove(0))
}

/// Text is cleaned, markup is left as it is.
fn finish(value: &mut Value) {
    match value {
        Value::String(text) => *text = clean(text),
        Value::Array(items) => items.iter_mut().for_each(finish),
        Value::Object(fields) => {
            let markup = |name: &str| name == "svg";
            fields.iter_mut().filter(|(name, _)| !markup(name)).for_each(|(_, it)| finish(it));
        }
        _ => {}
    }
}
