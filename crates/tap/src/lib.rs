//! The tap: a proxy between drivers and a server that times every command, and the link that it can
//! simulate.
//!
//! ```text
//! driver ─► listener (proxy) ─► connection: threads that read, write on, then account ─► server
//!                                   │ message boundaries (message, body)  │ chunks (pipe, link)
//!                                   ▼                                     ▼
//!                               exchanges, 80 bytes each           bandwidth, delay, jitter
//!                                   │
//!                                   ▼
//!                               summary, fairness, messages: pure functions
//! ```
//! It always runs as a separate process (`mongodyno tap`): in front of an application (`alone`), or
//! driven by the core over lines on stdin (`control`). It has threads that block, and no runtime: a
//! wake-up through an event loop costs more than one out of `read`.

pub mod control;
pub mod exchange;
pub mod fairness;
mod framing;
pub mod link;
pub mod mark;
pub mod message_ways;
mod operation_matching;
mod pipe;
pub mod proxy;
pub mod recording;
mod reply_body;
mod request_body;
mod shapes;
pub mod standalone;
mod tally;
pub mod tap_summary;
pub mod tapped_arm;
mod tapped_connection;
pub mod validate;

pub use shapes::CommandShape;

/// Why a replica set cannot be tapped; None where it can be. `topology` is the record's.
pub fn refusal(topology: &str) -> Option<String> {
    topology.starts_with("replica set").then(|| {
        format!(
            "--tap and --link work for a standalone server or one mongos, and this is a \
             {topology}: its members tell drivers their own addresses, and drivers go there past \
             the tap"
        )
    })
}
