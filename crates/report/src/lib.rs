//! Reports: an analysis written in the format asked for. A format is a file with a [`Format`] in
//! it, and its line in [`FORMATS`]. Several share [`view`] (what is shown), [`table`], [`text`] and
//! [`drawing`] (how it is written).

mod across;
mod answers;
mod benchstat;
mod chart;
mod csv;
pub mod drawing;
mod formats;
pub mod history;
pub mod html;
mod joint;
pub mod json;
mod junit;
mod lines;
mod markdown;
mod page;
mod paint;
mod picture;
mod plots;
mod processes;
pub mod series;
pub mod study;
mod table;
pub mod terminal;
pub mod text;
mod view;
mod wire;

pub use answers::finding_line;
pub use formats::{Format, Options, Report};
pub use joint::Joint;

/// Every format of an experiment's report, in the order of `--help`.
pub const FORMATS: [Format; 9] = [
    terminal::FORMAT,
    html::FORMAT,
    markdown::FORMAT,
    json::FORMAT,
    csv::FORMAT,
    series::FORMAT,
    benchstat::FORMAT,
    junit::FORMAT,
    picture::FORMAT,
];
