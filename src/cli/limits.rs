//! Flags of `run` that limit clients, and a mongod that it starts.

use base::units::parse_bytes;
use clap::Args;

#[derive(Debug, Clone, Copy, Default, Args)]
pub struct LimitArgs {
    /// Memory of each driver's processes together: 256MiB. Running out of it is recorded as a
    /// result
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub client_memory: Option<u64>,
    /// Cache of the started mongod, 256MiB or more [default: a quarter of the memory, at most 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub server_cache: Option<u64>,
    /// Limit of connections of the started mongod; mongodyno needs some itself
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub server_connections: Option<u32>,
    /// Memory of the started mongod, where cgroups can be made
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub server_memory: Option<u64>,
}
