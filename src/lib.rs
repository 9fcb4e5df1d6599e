//! mongodyno, the dynamometer for MongoDB drivers and deployments.
//!
//! Data flows one way: [`workload`] (YAML to plan) → [`adapter`] (processes that replay it) →
//! [`experiment`] (rounds, turns, receipts) → [`result`] (the folder) → [`analysis`] over
//! [`stats`] (pure mathematics) and [`diagnosis`] → [`report`]. [`server`] starts what is measured
//! against, [`absorber`] is such a server, [`tap`] stands in between; [`commands`] wires it all,
//! one file per verb. See `ARCHITECTURE.md`.

// It panics where stderr has gone; `say!` does not.
#![deny(clippy::print_stderr)]

#[macro_use]
pub mod say;

pub mod absorber;
pub mod adapter;
pub mod analysis;
pub mod check;
pub mod child;
pub mod cli;
pub mod clock;
pub mod commands;
pub mod diagnosis;
pub mod error;
pub mod experiment;
pub mod figures;
pub mod paths;
pub mod process;
pub mod report;
pub mod result;
pub mod secrets;
pub mod server;
pub mod stats;
pub mod study;
pub mod tap;
pub mod units;
pub mod wire;
pub mod workload;
