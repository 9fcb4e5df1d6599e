//! Adapters: what they need, their installation, and the protocol with their processes.

pub mod adapter_process;
pub mod cached;
pub mod driver_choice;
pub mod environment;
mod failure;
pub mod installation;
pub mod listing;
mod local_sources;
pub mod manifest;
pub mod memory_limit;
mod parse;
pub mod patience;
pub mod protocol;
mod registry_listing;
mod sources;
pub mod version_selection;
