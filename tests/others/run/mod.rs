//! What an experiment does: order, machine, limits, several servers.

mod bisect;
mod blocks;
mod conditions;
mod disturbed;
mod limits;
mod machine;
mod observed_options;
mod order;
mod over_time;
pub mod probe;
mod progress;
mod servers;
mod taking_part;
mod tls;
