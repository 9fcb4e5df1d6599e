//! `--history` of verbs that hold an experiment against a store.

use std::path::PathBuf;

use clap::Args;

/// The store that gates hold an experiment against.
#[derive(Debug, Clone, Args)]
pub struct HistoryFlag {
    /// Store of earlier experiments, for the gate 'slower than history <= 3%'
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
}
