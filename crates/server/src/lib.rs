//! Servers: those that mongodyno installs and starts, and those it is only pointed at.
//!
//! ```text
//! choice ─► kinds/embedded (catalogue, download, install), kinds/mongod
//!               ─► program ─► managed (launch, guard) ─► mongod
//!        ─► kinds/absorber: this program again
//!        ─► external: connect (health)
//! ```
//! Everything lives below the cache directory ([`Host::home`]); a server of ours listens on
//! 127.0.0.1 only and ends with us, however we end (`guard.rs`).

#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "names say what plain fields hold, and every error explains itself"
)]

mod background;
mod catalogue;
mod choice;
mod cluster;
mod download;
mod external;
mod guard;
mod guard_handle;
mod health;
mod host;
mod install;
mod instance;
mod kind;
mod kinds;
mod launch;
mod local;
mod log_tail;
mod managed;
mod mask;
mod options;
mod program;
mod progress;
mod record;
mod refusal;
mod replica_set;
mod server;
mod shape;
pub mod sharding;
pub mod uri;
mod wire_versions;

pub use background::{BackgroundServer, ListedServer, install_version, list, status};
pub use background::{start as start_background, stop as stop_background};
pub use catalogue::{Catalogue, Entry, LICENCE, LICENCE_URL, Wheel, catalogue};
pub use choice::{ServerChoice, server_again, server_forms};
pub use download::fetch;
pub use external::connect;
pub use guard::guard_main;
pub use host::Host;
pub use install::{Depth, folder_of, install, is_installed};
pub use local::{Place, listeners, places};
pub use managed::start;
pub use mask::{keep_secret, mask_uri};
pub use options::StartOptions;
pub use program::Program;
pub use progress::Progress;
pub use record::{ServerRecord, ServerSource};
pub use server::Server;
pub use wire_versions::would_work;
