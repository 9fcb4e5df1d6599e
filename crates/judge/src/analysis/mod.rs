//! From records to rounds, gates, comparisons, and the rows of reports.

pub mod across;
pub mod across_servers_same_arm;
pub mod adapter_costs;
pub mod changed;
pub mod compare;
pub mod conditions;
pub mod documents;
pub mod joint;
pub mod latencies;
pub mod load;
pub mod pooled_quantiles;
pub mod rounds;
pub mod rows;
pub mod since;
pub mod taps;
pub mod types;
