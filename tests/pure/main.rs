//! The suite `pure`: one program, so that shared code is linked once.

#[path = "../support/broker.rs"]
mod broker_support;
#[path = "../support/browser.rs"]
mod browser;
#[path = "../support/fake.rs"]
mod fake_support;
#[path = "../support/npm.rs"]
mod npm;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/tmux.rs"]
mod tmux;
#[allow(dead_code, reason = "the benchmark prints more of the rates")]
#[path = "../../benches/performance/operating/world.rs"]
mod world;

mod contract_examples;
mod errors;
mod layout;
mod report_broker;
mod report_broker_page;
mod report_browser;
mod report_formats;
mod report_hostile;
mod report_joint;
mod report_keys;
mod report_live;
mod report_page;
mod report_terminal;
mod stats_across;
mod stats_bias;
mod stats_changes;
mod stats_curves;
mod stats_gates;
mod stats_histogram;
mod stats_queueing;
mod stats_ranks;
mod stats_simulation;
mod stats_thresholds;
mod stats_usl;
mod stats_verdicts;
mod workload_errors;
mod workload_expected;
mod workload_outcomes;
mod workload_plans;
mod workload_reference;
mod workload_schedules;
mod workload_schema;
mod workload_vectors;
