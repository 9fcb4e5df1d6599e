//! What the reports of studies share: the view, its page, its look on a terminal and in Markdown.

mod facts;
mod markdown;
mod page;
mod terminal;

pub use facts::{arms, facts};
pub use markdown::markdown;
pub use page::{Column, EvidenceView, Figure, PhaseView, Table, TableRow, View, render};
pub use terminal::terminal;
