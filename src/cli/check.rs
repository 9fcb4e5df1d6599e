//! Flags of `check` and `clean`.

use std::path::PathBuf;

use clap::Args;

use super::uri::UriArgs;

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Adapter, as `run -d` takes it [default: all that this machine can run]
    #[arg(conflicts_with = "command")]
    pub adapter: Option<String>,
    /// Run only the checks that need no server
    #[arg(long)]
    pub offline: bool,
    /// The server that runs already.
    #[command(flatten)]
    pub at: UriArgs,
    /// Server to start
    #[arg(long, default_value = "embedded", conflicts_with_all = ["uri", "uri_file"])]
    pub server: String,
    /// Folder of further adapters
    #[arg(long, value_name = "DIR", env = "MDYN_ADAPTERS")]
    pub adapters_dir: Option<PathBuf>,
    /// Command line of a program that speaks the contract
    #[arg(last = true)]
    pub command: Vec<String>,
}

#[derive(Debug, Args)]
pub struct CleanArgs {
    /// The server that runs already.
    #[command(flatten)]
    pub at: UriArgs,
    /// List the databases and drop nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Drop without asking
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
}
