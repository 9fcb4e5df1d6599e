//! `count`: how many documents there are, by a key, a range of keys or a filter.

use super::about::{About, AnswerSource, Concerns};
use super::making::Making;

pub const ABOUT: About = About {
    keys: &["collection", "by", "range", "filter"],
    concerns: Concerns::Read,
    answers: AnswerSource::ByFilter,
    ..About::new(make)
};

fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    making.filter()
}
