//! Adapters: what they need, where they are installed, how the core talks with their processes.

pub mod choice;
pub mod environment;
pub mod install;
pub mod manifest;
pub mod messages;
pub mod process;
