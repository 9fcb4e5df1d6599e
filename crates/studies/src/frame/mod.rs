//! The one shape of a study: a long table of cells, and questions about them.
//!
//! `study.toml` says which cells shared code reads from the experiment folder, which tables and
//! charts show them, which figures the original had, and what each question compares. JSON is
//! [`crate::StudyTable`], CSV is its cells, and every table for people is a view of them.
//!
//! # How to write a study
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
//!    that all its cells have), `rows` (the coordinates that distinguish rows, `["arm"]` where left
//!    out), `each` for a table a part or phase (`abouts` by its name), and `columns` with a
//!    `heading` and the names that `select` and `rows` leave open; `median`, `page_only`, `unit`,
//!    `times`, `note` and `original` (the original's figure of the row's arm) change how one is
//!    written.
//! 5. `[[questions]]` are in the order of the original's claims, `claim` being the letter or
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
//!    by a part. A special picture is
//!    [`Study::own_drawings`](crate::Study::own_drawings).
//! 10. Tests give cells to [`questions`](crate::finished::questions). The JSON of all studies has
//!     one schema, `mongodyno schema study`.

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
pub use question::{EvidenceRow, Question, StudyAnswer, rows as answered};
pub use sheet::{
    Band, CellSelector, CellSheet, ChartSheet, Coordinate, Names, OriginalSheet, QuestionRule,
    QuestionSheet, TableSheet, Weighs,
};
pub use views::{cells_csv, charts, tables};
