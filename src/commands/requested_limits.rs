//! Limits of clients and server that `run` was asked for.

use adapter::memory_limit::MemoryLimit;
use base::error::{Error, Result};
use record::records::{ClientMemory, ServerKind};
use record::request::Request;
use server::ServerChoice;

/// Below it no runtime starts.
const CLIENT_MEMORY_MIN: u64 = 1 << 20;
/// mongod's own bounds, bytes.
const CACHE_BYTES: std::ops::RangeInclusive<u64> = (1 << 28)..=(10_000 << 30);

/// Returns the limit of each arm's memory.
///
/// # Errors
/// A size that nothing works with; a limit for a server that is not ours.
pub fn limits(request: &Request) -> Result<Option<ClientMemory>> {
    let options = request.server_limits;
    if let Some((name, _)) = options.words().next() {
        let flag = format!("--{}", name.replace(' ', "-"));
        if !starts_mongod(request)? {
            return Err(Error::usage(
                format!("{flag}: only a mongod that mongodyno starts has this limit"),
                format!("use --server embedded, or leave out {flag}"),
            ));
        }
    }
    if let Some(bytes) = options.cache_bytes.filter(|bytes| !CACHE_BYTES.contains(bytes)) {
        return Err(Error::usage(
            format!("--server-cache: mongod has no cache of {}", format::bytes(bytes)),
            "give 256MiB or more",
        ));
    }
    request.client_memory_bytes.map(client_memory).transpose()
}

/// Whether the server is a mongod that we start.
pub fn starts_mongod(request: &Request) -> Result<bool> {
    let server = request.server()?;
    if request.uri.is_some() || !request.hosts.is_empty() || server == "none" {
        return Ok(false);
    }
    let kind = ServerChoice::parse(server, None)?.kind();
    Ok([ServerKind::Embedded, ServerKind::Mongod].contains(&kind))
}

fn client_memory(bytes: u64) -> Result<ClientMemory> {
    if bytes < CLIENT_MEMORY_MIN {
        return Err(Error::usage(
            format!("--client-memory: no program works in {}", format::bytes(bytes)),
            "give 1MiB or more",
        ));
    }
    let no_cgroup = MemoryLimit::without_cgroup(bytes);
    Ok(ClientMemory { bytes, no_cgroup })
}
