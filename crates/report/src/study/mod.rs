//! Shared by reports of studies: the view, its page, its look on a terminal and in Markdown.

mod markdown;
mod overview;
pub(crate) mod page;
mod participants;
mod questions;
mod table;
mod terminal;

pub use markdown::markdown;
pub use overview::overview;
pub use page::{EvidenceView, Figure, PhaseView, StudyReport, View, page, render};
pub use participants::{arms, facts};
pub use table::{Column, Table, TableRow};
pub use terminal::details;
