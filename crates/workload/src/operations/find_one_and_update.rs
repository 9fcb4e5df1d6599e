//! `find_one_and_update`: an update that answers the document as it was before.

use super::about::{About, AnswerSource, Effect, ServerCount};
use super::making::Making;
use super::update_one;

pub const ABOUT: About = About {
    keys: &[
        "collection",
        "by",
        "range",
        "filter",
        "sort",
        "collation",
        "max_time",
        "set",
        "update",
        "shape",
    ],
    effect: Effect::Updates,
    reads_documents: true,
    // What it adds up is made of the key, which no update changes.
    answers: AnswerSource::ByFilter,
    // Servers do not agree on the counter.
    counted: ServerCount::AsCommand,
    ..About::write("opcounters.update", make)
};

/// The same for a read and an update in two calls.
pub fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    update_one::make(making)?;
    making.find_options();
    making.read_documents();
    Some(())
}
