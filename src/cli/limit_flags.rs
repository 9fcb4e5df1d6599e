//! Flags of `run` that limit clients, and a mongod that it starts.

use base::units::parse_bytes;
use clap::Args;

#[derive(Debug, Clone, Copy, Default, Args)]
pub struct LimitArgs {
    /// Limit the memory of the processes of each driver, such as 256MiB; a driver that runs out of
    /// it is a result
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub client_memory: Option<u64>,
    /// Cache of a mongod that mongodyno starts, 256MiB or more [default: a quarter of the memory,
    /// at most 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub server_cache: Option<u64>,
    /// Limit the connections of a mongod that mongodyno starts; mongodyno needs some of them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub server_connections: Option<u32>,
    /// Limit the memory of a mongod that mongodyno starts, by a cgroup
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub server_memory: Option<u64>,
}
