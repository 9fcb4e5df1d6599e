//! The tap's files for one stretch of time: `PREFIX-ARM.bin` (exchanges) and `PREFIX-ARM.json`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use base::error::{Error, Result};

use super::CommandShape;
use super::exchange::{self, Exchange};

/// `PREFIX-ARM.json`: the meanings of the exchanges' numbers, and the connections.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// The link as it was asked for.
    pub link: Option<String>,
    /// Kinds of commands, by number.
    pub shapes: Vec<CommandShape>,
    /// Connections that were open at any time of the stretch.
    pub connections: Vec<ConnectionRecord>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionRecord {
    /// Number of the connection, as in the exchanges.
    pub number: u32,
    pub opened_ns: u64,
    /// When it was closed; None while it is open.
    pub closed_ns: Option<u64>,
    /// Bytes to the server since it was opened.
    pub bytes_out: u64,
    /// Bytes from the server since it was opened.
    pub bytes_in: u64,
    /// TLS: only its bytes are counted.
    pub encrypted: bool,
    /// Why the tap dropped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<String>,
}

pub fn paths(prefix: &Path, arm: usize) -> (PathBuf, PathBuf) {
    let with = |end: &str| {
        let mut name = prefix.as_os_str().to_owned();
        name.push(format!("-{arm}.{end}"));
        PathBuf::from(name)
    };
    (with("bin"), with("json"))
}

/// # Errors
/// Files that are missing or not the tap's.
pub fn read(prefix: &Path, arm: usize) -> Result<(Vec<Exchange>, Recording)> {
    let (bin, json) = paths(prefix, arm);
    let exchanges = exchange::read(&bin)?;
    let text = std::fs::read(&json).map_err(|error| Error::file("read", &json, &error))?;
    let recording = serde_json::from_slice(&text).map_err(|error| {
        Error::environment(format!("{}: {error}", json.display()), "the file was damaged")
    })?;
    Ok((exchanges, recording))
}
