//! A study whose experiments have ended: its cells and answers, computed once, and its report.

use std::io::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, to_value};

use crate::definition::Definition;
use crate::doubts::{self, Basis, Doubts};
use crate::frame::{
    Cells, Question, QuestionRule, QuestionSheet, StudyAnswer, StudyCell, Weighs, answered,
    cells_csv, charts, tables,
};
use crate::outcome::Outcome;
use crate::study::Study;
use base::error::Result;
use record::records::SCHEMA_VERSION;
use report::drawing::Drawing;
use report::palette::Palette;
use report::study::{StudyReport, View};

/// What a study has measured and answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyTable {
    pub schema_version: u32,
    pub study: String,
    pub title: String,
    /// The study's size, as a part of the original's.
    pub scale: Option<f64>,
    pub cells: Vec<StudyCell>,
    pub questions: Vec<Question>,
    /// Failures and doubts, a sentence each.
    pub notes: Vec<String>,
}

/// A study's report.
pub fn finished<'a>(study: &'a dyn Study, outcome: &'a Outcome<'a>) -> impl StudyReport + use<'a> {
    let definition = study.definition();
    let cells = cells(study, &definition, outcome);
    Finished { study, definition, outcome, cells }
}

/// The files of [`Study::own_files`].
pub fn own_files(study: &dyn Study, outcome: &Outcome<'_>) -> Vec<(&'static str, String)> {
    study.own_files(&cells(study, &study.definition(), outcome))
}

/// The cells of a study and its answers.
pub fn analyse(study: &dyn Study, outcome: &Outcome<'_>) -> StudyTable {
    let definition = study.definition();
    let cells = cells(study, &definition, outcome);
    Finished { study, definition, outcome, cells }.table()
}

fn cells(study: &dyn Study, definition: &Definition, outcome: &Outcome<'_>) -> Cells {
    let mut cells = Cells::read(outcome, &definition.cells);
    study.own_cells(outcome, &mut cells);
    cells.add_originals(&definition.originals);
    cells
}

/// The questions of `study.toml`, answered from cells.
pub fn questions(
    study: &dyn Study,
    definition: &Definition,
    outcome: &Outcome<'_>,
    cells: &Cells,
) -> Vec<Question> {
    let question = |sheet: &QuestionSheet| {
        let mut remarks = Vec::new();
        let rows = match sheet.rule {
            QuestionRule::Own => study.own_rows(&sheet.id, outcome, cells),
            _ => answered(sheet, cells, &mut remarks),
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

/// A study whose experiments have ended, with its cells: to read them may take every sample.
struct Finished<'a> {
    study: &'a dyn Study,
    definition: Definition,
    outcome: &'a Outcome<'a>,
    cells: Cells,
}

impl Finished<'_> {
    fn table(&self) -> StudyTable {
        let Self { study, definition, outcome, cells } = self;
        let compares =
            outcome.made.iter().any(|made| !made.experiment.settings.conduct.figures_only);
        let mut doubts = doubts::of_parts(outcome, compares);
        if study.judges_disturbed() {
            doubts.iter_mut().for_each(Doubts::forget_busy);
        }
        let mut questions = questions(*study, definition, outcome, cells);
        for question in &mut questions {
            let sheet = definition.questions.iter().find(|sheet| sheet.id == question.id);
            doubt(&doubts, sheet.expect("a question of its definition"), question);
        }
        let mut notes = doubts::notes_of_parts(outcome, &doubts);
        study.own_notes(outcome, &mut notes);
        StudyTable {
            schema_version: SCHEMA_VERSION,
            study: study.name().to_owned(),
            title: definition.title.clone(),
            scale: outcome.scale,
            cells: cells.all.clone(),
            questions,
            notes,
        }
    }
}

impl StudyReport for Finished<'_> {
    /// Without columns that say nothing, and without an option that every arm has.
    fn view(&self) -> View {
        let table = self.table();
        let view = view_of_records(&self.definition, self.outcome);
        let view = View {
            evidence: table.questions.iter().map(Question::view).collect(),
            phases: tables(&self.definition.tables, &self.cells),
            warnings: [view.warnings.clone(), table.notes].concat(),
            ..view
        };
        let mut view = self.study.own_view(self.outcome, view);
        view.phases.iter_mut().for_each(|phase| phase.table.drop_empty());
        if let Some(options) = self.outcome.shared_options() {
            view.leave_out(&options);
        }
        view
    }

    fn drawings(&self, table: &str) -> Result<Vec<Drawing>> {
        let arms = self.outcome.only().experiment.arms.iter();
        let palette = Palette::of(arms.map(|arm| arm.id.as_str()));
        let mut drawings = charts(&self.definition.charts, table, &self.cells, &palette);
        drawings.extend(self.study.own_drawings(self.outcome, table)?);
        Ok(drawings)
    }

    fn analysis(&self) -> Value {
        to_value(self.table()).expect("tables serialise")
    }

    fn csv(&self, out: &mut dyn Write) -> Result<Vec<String>> {
        let own = self.study.own_csv(self.outcome, out);
        own.unwrap_or_else(|| cells_csv(&self.cells.all, out))
    }

    fn gnuplot(&self) -> Option<&'static str> {
        self.study.gnuplot()
    }
}

/// By the definition and the records alone. Machine, server and arms are those of the first part: a
/// study has one of each, and its own tables say where a part differs.
fn view_of_records(definition: &Definition, outcome: &Outcome<'_>) -> View {
    let first = outcome.only();
    let mut view = View {
        title: definition.title.clone(),
        question: definition.question.clone(),
        notes: definition.reading.clone(),
        ..View::of(first.experiment, first.runs, &outcome.folder)
    };
    let others = outcome.made[1..].iter().flat_map(|made| &made.experiment.unavailable);
    for arm in others {
        let missing = [arm.adapter.clone(), arm.reason.clone(), arm.hint.clone()];
        if !view.unavailable.contains(&missing) {
            view.unavailable.push(missing);
        }
    }
    let words = |(part, reason): (&String, &String)| format!("{part} is left out: {reason}.");
    view.warnings.extend(outcome.left_out.iter().map(words));
    view
}
