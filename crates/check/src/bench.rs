//! Where an adapter is checked on a server.

use base::clock::Epoch;
use record::folder::Folder;

/// Where the adapter is checked.
pub struct Bench<'a> {
    /// URI with credentials and options.
    pub uri: &'a str,
    /// Database of this check.
    pub database: String,
    /// Whether the server is ours alone.
    pub exclusive: bool,
    /// Scratch folder, laid out like an experiment's.
    pub folder: &'a Folder,
    /// Zero of all times.
    pub epoch: &'a Epoch,
}
