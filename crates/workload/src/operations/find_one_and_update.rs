//! `find_one_and_update`: an update that answers the document as it was before.

use super::about::{About, AnswerSource, ServerCount};
use super::making::Making;
use super::update_one;

pub const ABOUT: About = About {
    keys: &["collection", "by", "set", "update", "shape"],
    reads_documents: true,
    // Which of its updates it comes after depends on the workers.
    answers: AnswerSource::Unknown,
    // Servers do not agree on the counter.
    counted: ServerCount::AsCommand,
    ..About::write("opcounters.update", make)
};

/// The same for a read and an update in two calls.
pub fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    update_one::make(making)?;
    making.read_documents();
    Some(())
}
