//! Errors for people, lines on stderr and the block below them, secrets, child processes, the
//! clock, the cache, quantities and words.

#[macro_use]
pub mod say;

pub mod cgroup;
pub mod child;
pub mod clock;
pub mod error;
pub mod live;
pub mod lock;
pub mod paths;
pub mod process_id;
pub mod secrets;
pub mod strings;
pub mod text;
pub mod units;
