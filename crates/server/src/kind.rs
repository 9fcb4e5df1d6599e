//! The differences between kinds of server.

use base::error::Result;

use super::host::Host;
use super::options::StartOptions;
use super::program::Program;
use super::progress::Progress;
use super::server::{Later, Server};

/// A kind of server that `--server` names.
pub(super) struct Kind {
    /// Its words after `--server`, for people.
    pub forms: &'static str,
    /// Whether these words name one.
    pub is_named: fn(&str) -> bool,
    /// The same text for all words that name the same server.
    pub identity: fn(&str) -> Result<String>,
    /// Whether `prepare` has nothing to install. Fails where it would fail before that.
    pub is_here: fn(&Host, &str) -> Result<bool>,
    /// The mongod that the words name, installed if need be; None where nothing is installed.
    pub prepare: fn(&Host, &str, Progress) -> Result<Option<Program>>,
    /// Starts it; with the mongod that `prepare` answered.
    pub open:
        for<'a> fn(&'a Host, Option<&'a Program>, &'a StartOptions) -> Later<'a, Result<Server>>,
    /// The words for one more like that of a record, by its version.
    pub again: fn(&str) -> Result<String>,
}
