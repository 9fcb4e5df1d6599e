//! Flags of `check` and `clean`.

use std::path::PathBuf;

use clap::Args;

use super::uri;

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Adapter, as `run -d` takes it [default: every one this machine can run]
    #[arg(conflicts_with = "command")]
    pub adapter: Option<String>,
    /// Run only the checks that need no server
    #[arg(long)]
    pub offline: bool,
    /// Connection string of the server to check against
    #[arg(long, env = "MDYN_URI", hide_env_values = true, conflicts_with = "server")]
    pub uri: Option<String>,
    /// File with the connection string: every user of the machine can read a command line
    #[arg(long, value_name = "FILE", value_parser = uri::of_file, conflicts_with_all = [
        "uri", "server",
    ])]
    pub uri_file: Option<String>,
    /// Server to start
    #[arg(long, default_value = "embedded")]
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
    /// Connection string of the server
    #[arg(long, env = "MDYN_URI", hide_env_values = true)]
    pub uri: Option<String>,
    /// File with the connection string: every user of the machine can read a command line
    #[arg(long, value_name = "FILE", value_parser = uri::of_file, conflicts_with = "uri")]
    pub uri_file: Option<String>,
    /// List the databases and drop nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Drop without asking
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
}
