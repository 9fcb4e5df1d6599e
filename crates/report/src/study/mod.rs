//! Shared by reports of studies: the view, its page, its look on a terminal and in Markdown.

mod markdown;
pub(crate) mod page;
mod participants;
mod table;
mod terminal;

pub use markdown::markdown;
pub use page::{EvidenceView, Figure, PhaseView, StudyReport, View, render};
pub use participants::{arms, facts};
pub use table::{Column, Table, TableRow};
pub use terminal::terminal;
