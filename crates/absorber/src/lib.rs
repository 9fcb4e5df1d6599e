//! The absorber: a server in memory that costs next to nothing, so that what is measured is the
//! driver; with a load and with faults as they are asked for.
//!
//! [`server`] accepts → one thread per connection reads ([`wire`]), has a [`session`]
//! answer, waits ([`load`], [`holds`]) and writes. A session answers commands about the server
//! itself ([`handshake`]) and gives those on documents to the [`engine`].
//!
//! Threads that block, and no event loop: with a connection's own thread asleep in `read` an
//! answer costs two system calls and one wake-up, as with mongod; an event loop adds a third call
//! and shares one core among connections that drivers keep few.

use base::say;

mod administration;
mod connection;
pub mod counters;
pub mod engine;
pub mod faults;
pub mod handshake;
pub mod holds;
pub mod listener;
pub mod load;
pub mod server;
pub mod session;

fn log(line: &str) {
    say!("absorber: {line}");
}
