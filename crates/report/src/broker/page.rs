//! One self-contained page. Everything comes written out; the template only places it.

use std::io::{self, Write};

use serde::Serialize;

use crate::drawing::Drawing;
use crate::html;
use crate::text::clean_all;
use crate::view::hue;
use base::say::clean;
use record::records::SCHEMA_VERSION;

/// The whole page. Its strings are text, not markup, but for the SVG of [`Figure`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct View {
    /// Heading.
    pub title: String,
    /// What was asked, in a paragraph.
    pub question: String,
    /// The command that measures all this again.
    pub command: String,
    /// The command that makes this page again; empty where there is none.
    pub again: String,
    /// Name and value, for the list at the top ([`super::facts`] and what the study adds).
    pub facts: Vec<(String, String)>,
    /// The answer, piece by piece.
    pub evidence: Vec<EvidenceView>,
    /// What the reader must know before trusting the numbers, a sentence each.
    pub warnings: Vec<String>,
    /// The phases in their order.
    pub phases: Vec<PhaseView>,
    /// Who took part ([`super::arms`]).
    pub arms: Table,
    /// What could not take part: name, reason, what to do.
    pub unavailable: Vec<[String; 3]>,
    /// What became of messages that did not arrive once ([`super::lost`]).
    pub lost: Vec<String>,
    /// How to read the page, a sentence each.
    pub notes: Vec<String>,
}

/// One piece of evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvidenceView {
    /// What it is about.
    pub heading: String,
    /// What was found, with its numbers.
    pub sentences: Vec<String>,
    /// Whether it was shown.
    pub shown: bool,
}

/// One phase.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseView {
    /// Its name.
    pub name: String,
    /// How messages are issued in it ([`super::pacing`]).
    pub pacing: String,
    /// Its figures, a row an arm.
    pub table: Table,
    /// Its pictures ([`super::figures`]).
    pub figures: Vec<Figure>,
}

/// A picture on the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// What is to be seen, for those who cannot; the picture itself has a title.
    pub caption: String,
    /// Markup, placed as it is.
    pub svg: String,
}

impl Figure {
    /// Of a drawing, its title the caption.
    #[must_use]
    pub fn of(drawing: &Drawing) -> Self {
        Self { caption: drawing.title().to_owned(), svg: drawing.svg() }
    }
}

/// A table with a row an arm.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// What it holds.
    pub caption: String,
    /// The columns after the arm's name.
    pub columns: Vec<Column>,
    /// A row an arm.
    pub rows: Vec<TableRow>,
}

/// One column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its unit; empty without.
    pub unit: String,
    /// Whether it holds figures, which stand to the right and sort as numbers.
    pub is_figure: bool,
}

impl Column {
    /// A column of words.
    #[must_use]
    pub fn words(name: &str) -> Self {
        Self { name: name.to_owned(), unit: String::new(), is_figure: false }
    }

    /// A column of figures; `unit` may be empty.
    #[must_use]
    pub fn figures(name: &str, unit: &str) -> Self {
        Self { name: name.to_owned(), unit: unit.to_owned(), is_figure: true }
    }
}

/// One arm's row.
#[derive(Debug, Clone, PartialEq)]
pub struct TableRow {
    /// Its name.
    pub arm: String,
    /// As many as there are columns.
    pub cells: Vec<String>,
}

/// Writes the page.
///
/// # Errors
/// Whatever writing to `out` gives.
pub fn render(view: &View, out: &mut dyn Write) -> io::Result<()> {
    html::write("broker.html", Page::of(view), "", out)
}

/// The view as the template takes it: cleaned, with colours and anchors.
#[derive(Serialize)]
struct Page {
    title: String,
    question: String,
    command: String,
    again: String,
    facts: Vec<[String; 2]>,
    evidence: Vec<EvidenceView>,
    warnings: Vec<String>,
    phases: Vec<PagePhase>,
    arms: PageTable,
    unavailable: Vec<[String; 3]>,
    lost: Vec<String>,
    notes: Vec<String>,
    schema_version: u32,
}

#[derive(Serialize)]
struct PagePhase {
    anchor: String,
    name: String,
    pacing: String,
    table: PageTable,
    figures: Vec<Figure>,
}

#[derive(Serialize)]
struct PageTable {
    caption: String,
    columns: Vec<Column>,
    rows: Vec<PageRow>,
}

#[derive(Serialize)]
struct PageRow {
    arm: String,
    hue: u32,
    cells: Vec<String>,
}

impl Page {
    fn of(view: &View) -> Self {
        let phases = view.phases.iter().enumerate().map(|(number, phase)| PagePhase {
            anchor: format!("phase-{}", number + 1),
            name: clean(&phase.name),
            pacing: clean(&phase.pacing),
            table: PageTable::of(&phase.table),
            figures: phase.figures.clone(),
        });
        let evidence = view.evidence.iter().map(|it| EvidenceView {
            heading: clean(&it.heading),
            sentences: clean_all(&it.sentences),
            shown: it.shown,
        });
        Self {
            title: clean(&view.title),
            question: clean(&view.question),
            command: clean(&view.command),
            again: clean(&view.again),
            facts: view.facts.iter().map(|(name, value)| [clean(name), clean(value)]).collect(),
            evidence: evidence.collect(),
            warnings: clean_all(&view.warnings),
            phases: phases.collect(),
            arms: PageTable::of(&view.arms),
            unavailable: view
                .unavailable
                .iter()
                .map(|it| it.each_ref().map(|it| clean(it)))
                .collect(),
            lost: clean_all(&view.lost),
            notes: clean_all(&view.notes),
            schema_version: SCHEMA_VERSION,
        }
    }
}

impl PageTable {
    fn of(table: &Table) -> Self {
        let rows = table.rows.iter().map(|row| PageRow {
            arm: clean(&row.arm),
            hue: hue(&row.arm),
            cells: clean_all(&row.cells),
        });
        Self {
            caption: clean(&table.caption),
            columns: table.columns.clone(),
            rows: rows.collect(),
        }
    }
}
