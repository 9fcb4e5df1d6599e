//! Adapters: their needs, their installation, and the talk with their processes.

pub mod cached;
pub mod choice;
pub mod environment;
mod failure;
pub mod install;
pub mod listing;
mod local;
pub mod manifest;
pub mod memory;
pub mod messages;
mod parse;
pub mod patience;
pub mod process;
mod registry;
mod sources;
pub mod versions;
