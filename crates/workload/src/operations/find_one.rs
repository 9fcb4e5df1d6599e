//! `find_one`: one document, by its key or by a filter of one's own.

use super::about::{About, Answers, Concerns, Counted};
use super::making::Making;

pub const ABOUT: About = About {
    keys: &["collection", "by", "filter", "projection", "shape"],
    concerns: Concerns::Read,
    reads_documents: true,
    answers: Answers::ByFilter,
    counted: Counted::By("opcounters.query"),
    ..About::new(make)
};

fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    making.filter()?;
    making.read_documents();
    Some(())
}
