//! `aggregate`: a pipeline of one's own.

use bson::Bson;

use super::about::{About, Answers, Concerns};
use super::making::{Making, needed};
use crate::plan::Operation;
use crate::template::template;
use crate::tree::Tree;

pub const ABOUT: About = About {
    keys: &["collection", "pipeline", "batch_size"],
    concerns: Concerns::Read,
    reads_documents: true,
    answers: Answers::Unknown,
    writes,
    ..About::new(make)
};

fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    let pipeline = needed(making.check, making.keys.pipeline.as_ref(), "pipeline", making.place)?;
    if !matches!(pipeline.value, Tree::List(_)) {
        making.check.wrong(pipeline.place, "a pipeline is a list of stages", "`- $match: …`");
    }
    making.made.pipeline = Some(template(making.check, pipeline, Some("pipeline")));
    making.batch_size();
    Some(())
}

fn writes(made: &Operation) -> bool {
    let stages = made.pipeline.iter().filter_map(|it| it.document.get_array("pipeline").ok());
    let mut stages = stages.flatten().filter_map(Bson::as_document);
    stages.any(|stage| stage.contains_key("$out") || stage.contains_key("$merge"))
}
