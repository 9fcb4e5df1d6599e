//! What the reports of studies share: their page, their tables, their look on a terminal.

mod page;
mod terminal;

pub use crate::view::{machine_text, server_text};
pub use page::{Column, EvidenceView, Figure, PhaseView, Table, TableRow, View, render};
pub use terminal::terminal;
