//! Flags about releases of drivers.

use std::path::PathBuf;

use clap::Args;

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
