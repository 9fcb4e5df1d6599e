//! Flags about releases of drivers, and about those that are installed.

use std::path::PathBuf;
use std::time::Duration;

use base::units::parse_duration;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct DriversArgs {
    /// List the releases that `-d DRIVER@VERSION` can name, newest last
    #[arg(long, value_name = "DRIVER")]
    pub versions: Option<String>,
    #[command(flatten)]
    pub registry: RegistryArgs,
    /// Folder of further adapters
    #[arg(long, value_name = "DIR", env = "MDYN_ADAPTERS")]
    pub adapters_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, Default, Args)]
pub struct RegistryArgs {
    /// Use what is installed and the last listing of releases; download nothing
    #[arg(long)]
    pub offline: bool,
}

#[derive(Debug, Args)]
pub struct EnvironmentsArgs {
    #[command(subcommand)]
    pub action: EnvironmentsAction,
    /// Folder of further adapters; without it their environments count as unused
    #[arg(long, value_name = "DIR", env = "MDYN_ADAPTERS", global = true)]
    pub adapters_dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum EnvironmentsAction {
    /// List the installed environments
    List,
    /// Remove the environments that no adapter would use
    Prune {
        /// Also remove environments that were not used for this time, such as 30d
        #[arg(long, value_name = "TIME", value_parser = parse_duration)]
        older_than: Option<Duration>,
        /// List what would be removed, and remove nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
}
