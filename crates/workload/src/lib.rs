//! Workloads: YAML in; a [`plan::Plan`], pools and schedules out.
//!
//! `authoring` reads YAML and makes the plan and the pools. `replay` computes from the plan what
//! each process does in a phase (`schedule`) and what it must answer (`expected`).

#![allow(clippy::missing_errors_doc, reason = "the types of the errors say what can be wrong")]

mod authoring;
mod client_sharing;
mod extended_json;
mod mention;
mod operation_kind;
pub mod operations;
pub mod plan;
mod replay;
pub mod server_needs;
mod unrolled;

pub use authoring::builtin::{BUILTINS, Builtin, open};
pub use authoring::checking::MARKER;
pub use authoring::collections::own_name;
pub use authoring::json_schema::schema;
pub use authoring::planning::{DRIVER_OPTIONS, Workload, build};
pub use authoring::pool::{Pool, document_for_key, inserted_document};
pub use authoring::problem::WorkloadError;
pub use authoring::workload_file::{Loaded, parse};
pub use authoring::{builtin, operation_keys, places, pool, shard};
pub use replay::expected::{Answered, Expectation, Expected};
pub use replay::population::Population;
pub use replay::schedule::{
    Record, Schedule, ScheduleRequest, Scheduled, Steps, Workers, schedule, split,
};
pub use replay::{bytes, expected, population, random, schedule, stamp, steps};
