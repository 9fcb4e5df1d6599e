//! `update_many`: all documents of a range of keys or of a filter.

use super::about::{About, AnswerSource, Effect};
use super::making::Making;
use super::update_one;

pub const ABOUT: About = About {
    keys: &["collection", "by", "range", "filter", "set", "update"],
    effect: Effect::Updates,
    answers: AnswerSource::ByFilter,
    ..About::write("opcounters.update", make)
};

fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    update_one::make(making)
}
