//! `aggregate`: a pipeline of one's own.

use super::about::{About, Answers, Concerns};
use super::making::{Making, needed};
use crate::plan::Operation;
use crate::sent::Form;
use crate::template::template;
use crate::tree::Tree;

pub const ABOUT: About = About {
    keys: &["collection", "pipeline", "batch_size"],
    concerns: Concerns::Read,
    reads_documents: true,
    answers: Answers::Unknown,
    writes: Operation::mentions_to_write,
    ..About::new(make)
};

fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    let pipeline = needed(making.check, making.keys.pipeline.as_ref(), "pipeline", making.place)?;
    if !matches!(pipeline.value, Tree::List(_)) {
        making.check.wrong(
            pipeline.place,
            "a pipeline has to be a list of stages",
            "begin each with a dash: `- $match: …`",
        );
    }
    making.made.pipeline =
        Some(template(making.check, pipeline, Form::Pipeline(&making.site.names)));
    making.batch_size();
    Some(())
}
