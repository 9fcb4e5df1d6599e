//! `estimated_count`: how many documents the collection's metadata says there are.

use super::about::{About, AnswerSource, Concerns};

pub const ABOUT: About = About {
    keys: &["collection"],
    concerns: Concerns::Read,
    answers: AnswerSource::All,
    ..About::new(|_| Some(()))
};
