//! Flags about releases of drivers, and about those that are installed.

use std::path::PathBuf;
use std::time::Duration;

use base::units::parse_duration;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct DriversArgs {
    /// List the releases that `-d DRIVER@…` can name, the newest last
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
    /// Ask no registry and install nothing: take the last listing, and what is installed
    #[arg(long)]
    pub offline: bool,
}

#[derive(Debug, Args)]
pub struct EnvironmentsArgs {
    #[command(subcommand)]
    pub action: EnvironmentsAction,
    /// Folder of further adapters, whose environments are outdated without it
    #[arg(long, value_name = "DIR", env = "MDYN_ADAPTERS", global = true)]
    pub adapters_dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum EnvironmentsAction {
    /// List the installed environments
    List,
    /// Remove those that no adapter of this program would use
    Prune {
        /// Remove those as well that were not used for this time: 30d
        #[arg(long, value_name = "TIME", value_parser = parse_duration)]
        older_than: Option<Duration>,
        /// Name them and remove nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
}
