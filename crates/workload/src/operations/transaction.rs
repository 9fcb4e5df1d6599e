//! `transaction`: operations that are committed together, in their order. Its parts are separate
//! operations, which `operation_parts.rs` makes.

use super::about::{About, AnswerSource, Concerns};
use super::making::{Making, needed};
use crate::plan::Count;

pub const ABOUT: About = About {
    keys: &["parts"],
    concerns: Concerns::Both,
    answers: AnswerSource::ByParts,
    // The server counts what aborted attempts did as well.
    ..About::new(make)
};

fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    let parts = needed(making.check, making.keys.parts.as_ref(), "parts", making.place)?;
    making.made.count = Some(Count::Fixed { count: parts.value.len() as u32 });
    let concern = making.made.write_concern.as_ref();
    if let Some(place) = making.keys.write_concern.as_ref().map(|it| it.place)
        && concern.is_some_and(|it| it["w"] == 0)
    {
        let message = "a transaction cannot be committed without acknowledgement";
        making.check.wrong(place, message, "leave out `w: 0`");
    }
    Some(())
}
