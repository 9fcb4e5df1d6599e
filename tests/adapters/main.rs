//! The suite `adapters`: one program, so that shared code is linked once.

#[path = "../support/fake.rs"]
mod fake_support;
#[path = "../support/mod.rs"]
mod support;

mod adapters;
mod adapters_servers;
mod declared;
mod stories;
