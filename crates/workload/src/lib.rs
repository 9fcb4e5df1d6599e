//! Workloads: YAML in; a [`plan::Plan`], pools and schedules out.
//!
//! `load` reads YAML into the types of `schema`. `build` checks them and makes the plan and the
//! pools. `schedule` says what each process does in a phase, `expected` what it must answer.

#![allow(clippy::missing_errors_doc, reason = "the types of the errors say what can be wrong")]

mod arrivals;
mod bounds;
pub mod build;
pub mod builtin;
pub mod bytes;
mod check;
pub mod clients;
mod collection;
mod dealing;
mod deletions;
mod document;
pub mod error;
pub mod expected;
mod extended_json;
mod fields;
mod json_schema;
mod keys;
mod kind;
mod laps;
mod layout;
mod load;
mod located;
mod mention;
mod numbers;
mod operation;
pub mod operation_keys;
pub mod operations;
mod pacing;
mod phase;
pub mod places;
pub mod plan;
pub mod pool;
pub mod population;
pub mod random;
pub mod schedule;
mod schedule_file;
pub mod schema;
mod selected_documents;
mod sent;
mod sequence;
pub mod shard;
pub mod sharding;
pub mod stamp;
pub mod steps;
mod story;
mod substitute;
mod template;
mod tree;
mod typed;
mod unique;
mod unrolled;
mod user_file;
mod values;

pub use build::{DRIVER_OPTIONS, Workload, build};
pub use builtin::{BUILTINS, Builtin, open};
pub use check::MARKER;
pub use collection::own_name;
pub use error::WorkloadError;
pub use expected::{Answered, Expectation, Expected};
pub use json_schema::schema;
pub use load::{Loaded, parse};
pub use pool::{Pool, document_for_key, inserted_document};
pub use population::Population;
pub use schedule::{Record, Request, Schedule, Scheduled, Steps, Workers, schedule, split};
