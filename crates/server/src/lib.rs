//! Servers: those that mongodyno installs and starts, and those that it only connects to.
//!
//! ```text
//! choice ─► kinds/embedded (catalogue, download, install), kinds/mongod
//!               ─► program ─► managed (launch, guard) ─► mongod
//!        ─► kinds/absorber: this program again
//!        ─► external: connect (health)
//! ```
//! All files are below the cache directory ([`Host::home`]). A started server listens on 127.0.0.1
//! only and ends with mongodyno, however that ends (`guard.rs`).

#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "names say what plain fields hold, and every error explains itself"
)]

mod background;
mod catalogue;
mod cluster;
pub mod connection_string;
mod download;
mod external;
mod guard;
mod guard_handle;
mod health;
mod host;
mod install_progress;
mod install_server;
mod instance;
mod kind_definition;
mod kinds;
mod launch;
mod listeners;
mod log_tail;
mod managed;
mod mask;
pub mod mongos_commands;
mod options;
mod program;
mod record;
mod refusal;
mod replica_set;
mod server_choice;
mod server_handle;
mod shape;
mod wire_versions;

pub use background::{BackgroundServer, ListedServer, install_version, list, status};
pub use background::{start as start_background, stop as stop_background};
pub use catalogue::{Catalogue, CatalogueEntry, LICENCE, LICENCE_URL, Wheel, catalogue};
pub use download::fetch;
pub use external::connect;
pub use guard::guard_main;
pub use host::Host;
pub use install_progress::InstallProgress;
pub use install_server::{Inspection, folder_of, install, is_installed};
pub use listeners::{ListenAddress, listeners, places};
pub use managed::start;
pub use mask::{keep_secret, mask_uri};
pub use options::StartOptions;
pub use program::Program;
pub use record::{ServerRecord, ServerSource};
pub use server_choice::{ServerChoice, server_again, server_forms};
pub use server_handle::ServerHandle;
pub use wire_versions::would_work;
