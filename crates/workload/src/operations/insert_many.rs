//! `insert_many`: the next documents of the worker's own, in one call.

use super::about::{About, Effect};
use super::insert_one;
use super::making::{Making, needed};
use crate::authoring::yaml_values::BatchYaml;
use crate::plan::Count;

pub const ABOUT: About = About {
    keys: &["collection", "document_of", "batch", "ordered", "lazy", "shape", "expect"],
    effect: Effect::Inserts,
    ..About::write("opcounters.insert", make)
};

fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    insert_one::make(making)?;
    let (keys, place) = (making.keys, making.place);
    making.made.ordered = keys.ordered.as_ref().map(|ordered| ordered.value);
    making.made.lazy = keys.lazy.as_ref().map(|lazy| lazy.value);
    let batch = needed(making.check, keys.batch.as_ref(), "batch", place)?;
    let documents = making.site.documents;
    let size = match (batch.value, documents) {
        (BatchYaml::Of(0), _) => {
            making.check.wrong(batch.place, "a batch cannot have 0 documents", "make it 1 or more");
            return None;
        }
        (BatchYaml::Of(size), _) => size,
        (BatchYaml::All, Some(documents)) => {
            let share = documents.div_ceil(making.site.all_workers);
            u32::try_from(share).unwrap_or(u32::MAX)
        }
        (BatchYaml::All, None) => {
            let hint = "add `documents:` to the phase";
            making.check.wrong(batch.place, "`batch: all` needs the number of documents", hint);
            return None;
        }
    };
    making.made.count = Some(match documents {
        Some(documents) => Count::Rest { batch: size, documents },
        None => Count::Fixed { count: size },
    });
    Some(())
}
