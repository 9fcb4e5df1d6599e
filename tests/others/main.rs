//! The suite `others`: one program, so that shared code is linked once.

#[path = "../support/fake.rs"]
mod fake_support;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/tmux.rs"]
mod tmux;

mod action;
mod cli;
mod faults;
mod installs;
mod reports;
mod run;
