//! The absorber: a server in memory that costs next to nothing, so that the driver alone is
//! measured. It can simulate load and inject faults.
//!
//! [`listener`] accepts → one thread per connection reads ([`wire`]), has a [`session`] answer,
//! waits ([`simulated_load`], [`holds`]) and writes. A session answers commands about the server
//! itself ([`handshake`]) and gives those on documents to the [`engine`].
//!
//! Threads block, without an event loop. With a connection's own thread asleep in `read` an answer
//! costs two system calls and one wake-up, as with mongod. An event loop adds a third call and
//! shares one core among the few connections of a driver.

use base::say;

mod administration;
mod client_connection;
pub mod engine;
pub mod faults;
pub mod handshake;
pub mod holds;
pub mod listener;
pub mod server_counters;
pub mod session;
pub mod shared_state;
pub mod simulated_load;

fn log(line: &str) {
    say!("absorber: {line}");
}
