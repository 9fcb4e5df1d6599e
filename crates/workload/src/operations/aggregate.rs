//! `aggregate`: a pipeline of the workload.

use bson::Bson;

use super::about::{About, AnswerSource, Concerns};
use super::making::{Making, needed};
use crate::authoring::sent::Form;
use crate::authoring::template::template;
use crate::authoring::tree::YamlTree;
use crate::plan::{Operation, Stamp, Template};

pub const ABOUT: About = About {
    keys: &["collection", "pipeline", "batch_size"],
    concerns: Concerns::Read,
    reads_documents: true,
    answers: AnswerSource::ByStages,
    writes: Operation::mentions_to_write,
    ..About::new(make)
};

fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    let pipeline = needed(making.check, making.keys.pipeline.as_ref(), "pipeline", making.place)?;
    if !matches!(pipeline.value, YamlTree::List(_)) {
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

/// The filter of a pipeline that begins with `$match`; that of any other pipeline selects all.
pub fn leading_match(pipeline: &Template) -> Template {
    const PATH: [&str; 3] = ["pipeline", "0", "$match"];
    let first = stages(pipeline).first().and_then(|stage| stage.as_document());
    let document = first.and_then(|stage| stage.get_document(PATH[2]).ok()).cloned();
    let within = |stamp: &Stamp| {
        let path = stamp.path.strip_prefix(&PATH.map(str::to_owned))?.to_vec();
        Some(Stamp { path, ..stamp.clone() })
    };
    Template {
        document: document.unwrap_or_default(),
        stamps: pipeline.stamps.iter().filter_map(within).collect(),
        mentions: Vec::new(),
    }
}

/// Number of documents that a pipeline makes of so many, after its leading `$match`; None where it
/// depends on their values.
pub fn returned(pipeline: &Template, documents: u64) -> Option<u64> {
    let is_of = |stamp: &Stamp, name: &str| stamp.path.get(2).is_some_and(|it| it == name);
    let stamped = |name: &str| pipeline.stamps.iter().any(|stamp| is_of(stamp, name));
    stages(pipeline).iter().enumerate().try_fold(documents, |documents, (at, stage)| {
        let (name, value) = stage.as_document()?.iter().next()?;
        let number = || number(value).filter(|_| !stamped(name));
        let inner = value.as_document();
        match name.as_str() {
            "$addFields" | "$fill" | "$graphLookup" | "$lookup" | "$project" | "$replaceRoot"
            | "$replaceWith" | "$set" | "$setWindowFields" | "$sort" | "$unset" => Some(documents),
            "$match" if at == 0 || inner?.is_empty() => Some(documents),
            "$limit" => Some(documents.min(number()?)),
            "$skip" => Some(documents.saturating_sub(number()?)),
            "$count" => Some(documents.min(1)),
            "$group" if inner?.get("_id") == Some(&Bson::Null) => Some(documents.min(1)),
            "$facet" => Some(1),
            _ => None,
        }
    })
}

fn stages(pipeline: &Template) -> &[Bson] {
    pipeline.document.get_array("pipeline").map_or(&[], Vec::as_slice)
}

fn number(value: &Bson) -> Option<u64> {
    let number = value.as_i64().or_else(|| value.as_i32().map(i64::from))?;
    u64::try_from(number).ok()
}
