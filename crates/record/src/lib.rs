//! The written results: records, raw samples, the experiment folder, the machine.

pub mod broker;
mod death;
mod driver_options;
mod earlier_study;
pub mod folder;
pub mod history_store;
pub mod machine;
pub mod messages;
pub mod metric_values;
pub mod metrics;
pub mod plain;
pub mod process_limits;
mod quantiles;
pub mod queue;
pub mod records;
pub mod request;
pub mod samples;
mod server_kind;
pub mod servers_folder;
mod settings;
pub mod study_folder;
pub mod sweep_folder;
pub mod unavailable;
pub mod unbegun;
pub mod wire;
pub mod words;
