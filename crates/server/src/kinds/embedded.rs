//! `embedded`: a MongoDB out of the catalogue.

use crate::catalogue::catalogue;
use crate::install_server::{is_installed, supported};
use crate::kind_definition::KindDefinition;
use crate::managed;
use crate::program::Program;

pub const KIND: KindDefinition = KindDefinition {
    forms: "embedded, embedded@VERSION",
    is_named: |words| words == "embedded" || version(words).is_some(),
    identity: |words| Ok(catalogue().resolve(version(words))?.version.clone()),
    is_here: |host, words| {
        let entry = catalogue().resolve(version(words))?;
        supported(host, entry).map(|()| is_installed(host, entry))
    },
    prepare: |host, words, progress| Program::embedded(host, version(words), progress).map(Some),
    open: managed::open,
    again: |version| Ok(format!("embedded@{version}")),
};

/// Version in the words; None if they name none, which means the catalogue's first.
pub fn version(words: &str) -> Option<&str> {
    words.strip_prefix("embedded@")
}
