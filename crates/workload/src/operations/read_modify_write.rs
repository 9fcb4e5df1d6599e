//! `read_modify_write`: find_one, then update_one of the same document, as one operation (YCSB F).

use super::about::{About, AnswerSource, ServerCount};
use super::find_one_and_update;

pub const ABOUT: About = About {
    keys: find_one_and_update::ABOUT.keys,
    reads_documents: true,
    // Which of its updates it comes after depends on the workers.
    answers: AnswerSource::Unknown,
    // Two counters, of which one operation has only one.
    counted: ServerCount::AsCommand,
    ..About::write("opcounters.update", find_one_and_update::make)
};
