//! `distinct`: the different values of a field, among all documents or those of a filter.

use super::about::{About, AnswerSource, Concerns};
use super::making::{Making, needed};
use crate::plan::Template;

pub const ABOUT: About = About {
    keys: &["collection", "field", "by", "range", "filter"],
    concerns: Concerns::Read,
    answers: AnswerSource::ByFilter,
    ..About::new(make)
};

fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    let field = needed(making.check, making.keys.field.as_ref(), "field", making.place)?;
    making.known_field(&field.value, field.place);
    let keys = making.keys;
    if keys.by.is_none() && keys.range.is_none() && keys.filter.is_none() {
        making.made.filter = Some(Template::default());
    } else {
        making.filter()?;
    }
    making.made.field = Some(field.value.clone());
    making.sum_whole(|stamp| stamp.path[0] == field.value);
    Some(())
}
