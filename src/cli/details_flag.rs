//! The flag of every verb that prints a report.

use clap::Args;

#[derive(Debug, Clone, Args)]
pub struct DetailsArgs {
    /// Print every table and sentence in the terminal, and not the summary alone
    #[arg(long)]
    pub details: bool,
}
