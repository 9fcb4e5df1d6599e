//! `--live`, of every verb that measures and whose folder has a page.

use clap::Args;

#[derive(Debug, Clone, Args)]
pub struct LiveFlag {
    /// Serve the report page on 127.0.0.1 while the run goes on; stderr names its address
    #[arg(long)]
    pub live: bool,
}
