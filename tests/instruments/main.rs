//! The suite `instruments`: one program, so that shared code is linked once.

#[path = "../absorber_support/mod.rs"]
mod absorber_support;
#[path = "../diagnosis_support/mod.rs"]
mod diagnosis_support;
#[path = "../fake_support/mod.rs"]
mod fake_support;
#[path = "../replay_support/mod.rs"]
mod replay_support;
#[path = "../support/mod.rs"]
mod support;
#[path = "../tap_support/mod.rs"]
mod tap_support;

mod absorber_abuse;
mod absorber_differential;
mod absorber_driver;
mod absorber_server;
mod changed;
mod diagnosis_rules;
mod diagnosis_runs;
mod doubts;
mod instruments;
mod old_clients;
mod tap_alone;
mod tap_commands;
mod tap_control;
mod tap_faults;
mod tap_link;
mod tap_messages;
mod tap_parts;
mod tap_summary;
