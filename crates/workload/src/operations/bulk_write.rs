//! `bulk_write`: inserts, updates, replacements and deletions in one call. The parts are
//! separate operations, which `operation_parts.rs` makes.

use super::about::{About, Concerns, ServerCount};
use super::making::{Making, needed};
use crate::plan::Count;

pub const ABOUT: About = About {
    keys: &["collection", "batch", "parts", "ordered"],
    concerns: Concerns::Write,
    counted: ServerCount::ByParts,
    writes: |_| true,
    ..About::new(make)
};

fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    let (keys, place) = (making.keys, making.place);
    making.made.ordered = keys.ordered.as_ref().map(|ordered| ordered.value);
    needed(making.check, keys.parts.as_ref(), "parts", place)?;
    let batch = needed(making.check, keys.batch.as_ref(), "batch", place)?;
    let count = batch.value.count().filter(|count| *count > 0);
    if count.is_none() {
        making.check.wrong(
            batch.place,
            "a bulk_write has a number of parts",
            "give `batch:`, such as 100",
        );
    }
    making.made.count = Some(Count::Fixed { count: count? });
    Some(())
}
