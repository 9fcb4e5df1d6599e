//! The server and folder of a check.

use base::clock::Epoch;
use record::folder::Folder;

pub struct Bench<'a> {
    /// URI with credentials and options.
    pub uri: &'a str,
    pub database: String,
    /// Whether no one else uses the server.
    pub exclusive: bool,
    /// Whether it is an absorber, which cannot list its cursors.
    pub absorber: bool,
    /// Scratch folder, laid out like an experiment's.
    pub folder: &'a Folder,
    pub epoch: &'a Epoch,
}
