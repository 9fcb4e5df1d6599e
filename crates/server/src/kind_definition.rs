//! The differences between kinds of server.

use base::error::Result;

use super::host::Host;
use super::install_progress::InstallProgress;
use super::options::StartOptions;
use super::program::Program;
use super::server_handle::{Later, ServerHandle};

/// A kind of server that `--server` names.
pub(super) struct KindDefinition {
    /// Words after `--server` that name it, for people.
    pub forms: &'static str,
    /// Whether these words name a server of this kind.
    pub is_named: fn(&str) -> bool,
    /// The same text for all words that name the same server.
    pub identity: fn(&str) -> Result<String>,
    /// Whether `prepare` has nothing to install. Fails if `prepare` would fail before installing.
    pub is_here: fn(&Host, &str) -> Result<bool>,
    /// Returns the mongod that the words name, and installs it if it is missing; None for a kind
    /// without a mongod.
    pub prepare: fn(&Host, &str, InstallProgress) -> Result<Option<Program>>,
    /// Starts the server with the mongod that `prepare` returned.
    pub open: for<'a> fn(
        &'a Host,
        Option<&'a Program>,
        &'a StartOptions,
    ) -> Later<'a, Result<ServerHandle>>,
    /// Words for another server like that of a record, by its version.
    pub again: fn(&str) -> Result<String>,
}
