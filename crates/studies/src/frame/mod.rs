//! The one shape of a study: a long table of cells, and questions about them.
//!
//! `study.toml` says which cells shared code reads from the experiment folder, which tables and
//! charts show them, which figures the original had, and what each question compares. JSON is
//! [`StudyTable`], CSV is its cells, and every table for people is a view of them.
//!
//! # How to convert a study
//!
//! 1. `[[cells]]` names `metrics` ([`phase_metrics`], a line for a new one) of `part` and `phase`
//!    (a name, a list, `write_*`, or left out for all); `shared = true` makes one cell of the arm
//!    `server` where arms do not matter.
//! 2. What is not a metric of one phase is Rust: [`Study::own_cells`](crate::Study::own_cells)
//!    reads the folder, or cells that there are, and pushes cells ([`Cells::push`] with a value by
//!    round, [`Cells::push_spread`], [`Cells::push_plain`]), whose phase may be any name.
//! 3. `[[originals]]` has the figures of the original: `metric`, `part`, `phase`, and `values` `by`
//!    one coordinate, with `times` to the metric's unit; they become cells of the arm `the
//!    original` (or of `arm`), or of measured arms with `by = "arm"`.
//! 4. `[[tables]]` has a `name`, `about` (`{documents}` is that figure), `caption`, `select` (names
//!    that all its cells have), `rows` (the coordinates that tell rows apart, `["arm"]` where left
//!    out), `each` for a table a part or phase (`abouts` by its name), and `columns` with a
//!    `heading` and the names that `select` and `rows` leave open; `median`, `page_only`, `unit`,
//!    `times`, `note` and `original` (the original's figure of the row's arm) change how one is
//!    written.
//! 5. `[[questions]]` stand in the order of the original's claims, `claim` being the letter or
//!    number, those that it does not have after them; `text` asks, `sentence` answers with `{}` for
//!    the number.
//! 6. The `rule` is `value` (each cell of `of`), `ratio` (each cell of `of` to the cell `to`, which
//!    says only what differs: `{phase = "one_by_one"}`, `{arm = "first"}`, `{arm = "the
//!    original"}`; `paired = true` by round), `grows` (exponent over the parts, or `over =
//!    "phase"`, `against` a metric; `inverse` for rates), or `own`: rows by
//!    [`Study::own_rows`](crate::Study::own_rows), which [`own_answer`](crate::Study::own_answer)
//!    settles where not all arms have to agree.
//! 7. `yes` and `no` are bands (`above`, `below`) that hold a whole interval, `no` all beyond `yes`
//!    where left out; `level` is the least of an interval that decides, and `settle` is `agree`,
//!    `any` (one yes is enough) or `every` (one no is enough) for several cells of one arm; arms
//!    have to agree, but where `together = true` settles the cells of all arms so.
//! 8. `needs` are conditions on a cell beside the judged one, `evidence` names cells that are said
//!    beside it, `basis` the parts whose doubts are its own (else all), `weighs` the runs of those
//!    that take it back where they are void, and `optional` leaves a question out that was not
//!    measured.
//! 9. `[[charts]]` draws a line an arm beside a `table`: cells `of`, `against` a metric, or side by
//!    side by phase where that is left out, `each` as in tables; `table = "{}"` is each table named
//!    by a part. A special picture is still [`Study::drawings`](crate::Study::drawings).
//! 10. Then `schema`, `analysis`, `view`, `drawings` and `csv` of the study go away with its types,
//!     views and answers, tests give cells to [`questions`], and `protocol/NAME.schema.json` is
//!     deleted: all have `mongodyno schema study`.

mod cell;
mod cells;
mod phase_metrics;
mod question;
mod sheet;
#[cfg(test)]
mod tests;
mod views;

pub use cell::{Spread, StudyCell};
pub use cells::{Cells, SERVER, driver, words_text};
pub use question::{EvidenceRow, Question, StudyAnswer};
pub use sheet::{
    Band, CellSelector, CellSheet, ChartSheet, Coordinate, Names, OriginalSheet, QuestionRule,
    QuestionSheet, TableSheet, Weighs,
};
pub use views::cells_csv;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::definition::Definition;
use crate::doubts::{self, Basis, Doubts};
use crate::study::{Outcome, Study};
use record::records::SCHEMA_VERSION;
use report::drawing::Drawing;
use report::study::View;

/// What a study has measured and answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyTable {
    pub schema_version: u32,
    pub study: String,
    pub title: String,
    /// Its size, as a part of the original's.
    pub scale: Option<f64>,
    pub cells: Vec<StudyCell>,
    pub questions: Vec<Question>,
    /// Failures and doubts, a sentence each.
    pub notes: Vec<String>,
}

/// The cells of a study and its answers.
pub fn analyse<S: Study + ?Sized>(study: &S, outcome: &Outcome<'_>) -> StudyTable {
    let definition = study.definition();
    let compares = outcome.made.iter().any(|made| !made.experiment.settings.figures_only);
    let mut doubts = doubts::of_parts(outcome, compares);
    if study.judges_disturbed() {
        doubts.iter_mut().for_each(Doubts::forget_busy);
    }
    let cells = cells(study, &definition, outcome);
    let mut questions = questions(study, &definition, outcome, &cells);
    for (question, sheet) in questions.iter_mut().filter_map(|question| {
        let sheet = definition.questions.iter().find(|sheet| sheet.id == question.id)?;
        Some((question, sheet))
    }) {
        doubt(&doubts, sheet, question);
    }
    let mut notes = doubts::notes_of_parts(outcome, &doubts);
    study.own_notes(outcome, &mut notes);
    StudyTable {
        schema_version: SCHEMA_VERSION,
        study: study.name().to_owned(),
        title: definition.title,
        scale: outcome.scale,
        cells: cells.all,
        questions,
        notes,
    }
}

fn cells<S: Study + ?Sized>(study: &S, definition: &Definition, outcome: &Outcome<'_>) -> Cells {
    let mut cells = Cells::read(outcome, &definition.cells);
    study.own_cells(outcome, &mut cells);
    cells.add_originals(&definition.originals);
    cells
}

/// The questions of `study.toml`, answered from cells.
pub fn questions<S: Study + ?Sized>(
    study: &S,
    definition: &Definition,
    outcome: &Outcome<'_>,
    cells: &Cells,
) -> Vec<Question> {
    let question = |sheet: &QuestionSheet| {
        let mut remarks = Vec::new();
        let rows = match sheet.rule {
            QuestionRule::Own => study.own_rows(&sheet.id, outcome, cells),
            _ => question::rows(sheet, cells, &mut remarks),
        };
        let mut question = Question::of(sheet, rows, remarks)?;
        if let Some(answer) = study.own_answer(&sheet.id, &question.rows) {
            question.answer = answer;
        }
        Some(question)
    };
    definition.questions.iter().filter_map(question).collect()
}

/// Takes an answer back that is made of void parts, and says what is in doubt of another.
fn doubt(doubts: &[Doubts], sheet: &QuestionSheet, question: &mut Question) {
    let arms = match sheet.weighs {
        Weighs::Rows => Some(question.rows.iter().map(|row| row.arm.as_str()).collect()),
        Weighs::Part => Some(Vec::new()),
        Weighs::Nothing => None,
    };
    let basis = sheet.basis.iter();
    let basis = basis.map(|part| Basis { part, arms: arms.clone() }).collect();
    let claims = question.answer != StudyAnswer::NotShown;
    let (is_void, said) = doubts::said(doubts, basis, claims);
    if is_void {
        question.answer = StudyAnswer::NotShown;
    }
    question.remarks.splice(0..0, said);
}

/// For people.
pub fn view<S: Study + ?Sized>(study: &S, outcome: &Outcome<'_>) -> View {
    let definition = study.definition();
    let table = analyse(study, outcome);
    let cells = Cells { all: table.cells };
    let phases = views::tables(&definition.tables, &cells);
    let view = outcome.view(definition);
    View {
        evidence: table.questions.iter().map(Question::view).collect(),
        phases,
        warnings: [view.warnings.clone(), table.notes].concat(),
        ..view
    }
}

/// The charts of `study.toml` beside a table.
pub fn charts<S: Study + ?Sized>(study: &S, outcome: &Outcome<'_>, table: &str) -> Vec<Drawing> {
    let definition = study.definition();
    let has = |name: &str| definition.charts.iter().any(|chart| chart.table == name);
    let part = outcome.part(table).filter(|_| has("{}"));
    match part.map(|part| Outcome::from(*part)) {
        _ if has(table) => charts_of(&definition, table, &cells(study, &definition, outcome)),
        // Reading a part may take every sample.
        Some(part) => charts_of(&definition, table, &cells(study, &definition, &part)),
        None => Vec::new(),
    }
}

pub(crate) fn charts_of(definition: &Definition, table: &str, cells: &Cells) -> Vec<Drawing> {
    let mut charts = definition.charts.clone();
    charts.retain(|chart| chart.table == table || chart.table == "{}");
    for chart in charts.iter_mut().filter(|chart| chart.table == "{}") {
        chart.of = chart.of.clone().with(Coordinate::Part, table);
        chart.title = chart.title.replace("{}", table);
    }
    views::charts(&charts, cells)
}
