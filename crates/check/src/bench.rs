//! The server and folder of a check.

use base::clock::Epoch;
use record::folder::Folder;
use workload::plan::{Kind, Operation};

pub struct Bench<'a> {
    /// URI with credentials and options.
    pub uri: &'a str,
    pub database: String,
    /// Whether the server is ours alone.
    pub exclusive: bool,
    /// Whether it is an absorber: it lacks some of what mongod has (docs/absorber.md).
    pub absorber: bool,
    /// Scratch folder, laid out like an experiment's.
    pub folder: &'a Folder,
    pub epoch: &'a Epoch,
}

impl Bench<'_> {
    /// Whether the server cannot do an operation that `check` asks for.
    pub fn lacks(&self, operation: &Operation) -> bool {
        let is_modify = operation.kind == Kind::FindOneAndUpdate;
        self.absorber && (is_modify || operation.projection.is_some())
    }
}
