//! `read_modify_write`: find_one, then update_one of the same document, as one operation (YCSB F).

use super::about::{About, AnswerSource, Effect, ServerCount};
use super::find_one_and_update;

pub const ABOUT: About = About {
    keys: &["collection", "by", "set", "update", "shape"],
    effect: Effect::Updates,
    reads_documents: true,
    // What it adds up is made of the key, which no update changes.
    answers: AnswerSource::ByFilter,
    // Two counters, of which one operation has only one.
    counted: ServerCount::AsCommand,
    ..About::write("opcounters.update", find_one_and_update::make)
};
