//! `drop`: the arm's own collection, with all its documents.

use super::about::{About, Concerns};

pub const ABOUT: About = About {
    keys: &["collection"],
    concerns: Concerns::Write,
    writes: |_| true,
    ..About::new(|_| Some(()))
};
