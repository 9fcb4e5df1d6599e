//! Experiments of the same request over time (section 3.8): a line for each figure of each arm, and
//! its steps.

mod figure_lines;
mod gate;
mod requests;
mod stored;
mod types;

pub use gate::hold;
pub use requests::over_time;
pub use stored::stored;
pub use types::{DatedExperiment, FigureLine, LineStep, MachineMove, OnMachine, RequestOverTime};
