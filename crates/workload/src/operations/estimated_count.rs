//! `estimated_count`: how many documents the collection's metadata says there are.

use super::about::{About, Answers, Concerns};

pub const ABOUT: About = About {
    keys: &["collection"],
    concerns: Concerns::Read,
    answers: Answers::All,
    ..About::new(|_| Some(()))
};
