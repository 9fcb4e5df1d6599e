//! The record of a server in a result.

use std::path::PathBuf;

use record::records::ServerKind;
use serde::{Deserialize, Serialize};

use super::catalogue::Wheel;
use super::health::Health;

/// Start of the topology of a replica set.
pub(super) const REPLICA_SET: &str = "replica set";

/// Record of a server in every result; it has no credentials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerRecord {
    pub kind: ServerKind,
    pub version: String,
    pub git_version: String,
    /// `standalone`, `replica set NAME` or `sharded`.
    pub topology: String,
    pub max_wire_version: i32,
    /// Connection string, masked.
    pub uri: String,
    /// Program that was started. This field and the following are empty for a server that mongodyno
    /// did not start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_gb: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<ServerSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_folder: Option<PathBuf>,
    /// Whether it uses the OpenSSL 1.1 of the cache.
    #[serde(default)]
    pub openssl_from_cache: bool,
}

/// Origin of an embedded server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSource {
    pub wheel: String,
    pub sha256: String,
    pub licence: String,
}

impl ServerRecord {
    /// Makes the record of a server from its own words.
    pub(super) fn new(kind: ServerKind, uri: String, health: Health) -> Self {
        Self {
            kind,
            version: health.version,
            git_version: health.git_version,
            topology: health.topology,
            max_wire_version: health.max_wire_version,
            uri,
            program: None,
            flags: Vec::new(),
            cache_gb: None,
            source: None,
            log: None,
            data_folder: None,
            openssl_from_cache: false,
        }
    }
}

impl ServerSource {
    pub(super) fn of(wheel: &Wheel) -> Self {
        Self {
            wheel: wheel.file.clone(),
            sha256: wheel.sha256.clone(),
            licence: super::catalogue::LICENCE.to_string(),
        }
    }
}
