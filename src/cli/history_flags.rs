//! Flags of `history`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::run::new_path;
use report::dated_lines::{DATED_FORMATS, DatedFormat};
use report::terminal;

#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Folders of experiments, or folders that contain such folders
    #[arg(required_unless_present = "store")]
    pub folders: Vec<PathBuf>,
    /// File that the experiments are appended to, and read from; it only grows
    #[arg(long, value_name = "FILE", value_parser = new_path())]
    pub store: Option<PathBuf>,
    /// Format of the report
    #[arg(long, value_parser = formats(), default_value = terminal::FORMAT.name)]
    pub format: DatedFormat,
}

fn formats() -> impl TypedValueParser<Value = DatedFormat> {
    let value = |format: DatedFormat| PossibleValue::new(format.name).help(format.about);
    PossibleValuesParser::new(DATED_FORMATS.map(value))
        .map(|name| DatedFormat::named(&name).expect("clap lets no other name through"))
}
