//! The suite `instruments`: one program, so that shared code is linked once.

#[path = "../support/absorber.rs"]
mod absorber_support;
#[path = "../support/diagnosis.rs"]
mod diagnosis_support;
#[path = "../support/fake.rs"]
mod fake_support;
#[path = "../support/npm.rs"]
mod npm;
#[path = "../support/replay.rs"]
mod replay_support;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/tap.rs"]
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
