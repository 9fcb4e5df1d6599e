//! The flags of `workloads`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::registry::RegistryArgs;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct WorkloadsArgs {
    /// Print this workload
    pub name: Option<String>,
    #[command(subcommand)]
    pub action: Option<WorkloadsAction>,
}

#[derive(Debug, Subcommand)]
pub enum WorkloadsAction {
    /// Say what drivers and servers can do of a workload; nothing is installed or started
    Check(WorkloadsCheckArgs),
}

#[derive(Debug, Args)]
pub struct WorkloadsCheckArgs {
    /// A built-in workload, or a file
    pub workload: String,
    /// Driver, as in `run` (repeatable)
    #[arg(short = 'd', long = "driver", value_name = "DRIVER")]
    pub drivers: Vec<String>,
    /// Servers, as in `run`; several with commas
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Set a parameter of the workload: threads=4 (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    #[command(flatten)]
    pub registry: RegistryArgs,
    /// Folder of further adapters
    #[arg(long, value_name = "DIR", env = "MDYN_ADAPTERS")]
    pub adapters_dir: Option<PathBuf>,
}
