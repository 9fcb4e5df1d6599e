//! The flag of every verb that measures.

use base::live;
use clap::Args;

#[derive(Debug, Clone, Args)]
pub struct ProgressArgs {
    /// Do not show the progress; warnings are still printed
    #[arg(short, long)]
    pub quiet: bool,
}

impl ProgressArgs {
    /// From now on: stderr belongs to the whole program.
    pub fn apply(&self) {
        if self.quiet {
            live::be_quiet();
        }
    }
}
