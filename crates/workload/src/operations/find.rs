//! `find`: a cursor over a document, a range of keys or a filter of one's own.

use super::about::{About, Answers, Concerns, Counted};
use super::making::Making;

pub const ABOUT: About = About {
    keys: &["collection", "by", "range", "filter", "limit", "projection", "batch_size", "shape"],
    concerns: Concerns::Read,
    reads_documents: true,
    answers: Answers::ByFilter,
    counted: Counted::By("opcounters.query"),
    ..About::new(make)
};

fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    making.limit();
    making.filter()?;
    making.read_documents();
    Some(())
}
