//! The broker study: why does the latency of some drivers' messages grow with their count?

pub mod evidence;
mod rows;
pub mod types;

pub use rows::analyse;
