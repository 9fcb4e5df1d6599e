//! What goes wrong: each fault is named, and finished rounds stay readable.

mod adapters;
mod databases;
mod deployments;
mod files;
mod hangs;
mod hostile_servers;
mod impossible;
mod output;
mod passwords;
mod processes;
mod servers;
