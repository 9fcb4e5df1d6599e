//! `find_one`: one document, by its key or by a filter of the workload.

use super::about::{About, AnswerSource, Concerns, ServerCount};
use super::making::Making;

pub const ABOUT: About = About {
    keys: &[
        "collection",
        "by",
        "range",
        "filter",
        "sort",
        "hint",
        "collation",
        "max_time",
        "projection",
        "shape",
        "expect",
    ],
    concerns: Concerns::Read,
    reads_documents: true,
    answers: AnswerSource::ByFilter,
    counted: ServerCount::By("opcounters.query"),
    ..About::new(make)
};

fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    making.filter()?;
    making.find_options();
    making.read_documents();
    making.expect_missing();
    Some(())
}
