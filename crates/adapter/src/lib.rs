//! Adapters: their needs, their installation, and the talk with their processes.

pub mod choice;
pub mod environment;
pub mod install;
pub mod manifest;
pub mod messages;
pub mod process;
mod sources;
