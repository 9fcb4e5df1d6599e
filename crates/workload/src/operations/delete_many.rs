//! `delete_many`: the documents of a range of keys, or of a filter, once.

use super::about::{About, AnswerSource, Effect};
use super::delete_one;

pub const ABOUT: About = About {
    keys: &["collection", "by", "range", "filter"],
    effect: Effect::Deletes,
    answers: AnswerSource::Deleted,
    ..About::write("opcounters.delete", delete_one::make)
};
