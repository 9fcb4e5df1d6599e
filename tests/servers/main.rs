//! The suite `servers`: one program, so that shared code is linked once.

#[path = "../support/server.rs"]
mod server_support;
#[path = "../support/mod.rs"]
mod support;

mod server_install;
mod server_lifecycle;
mod server_shapes;
mod server_uri;
