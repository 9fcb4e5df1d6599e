//! `command`: any command, for what no other operation does.

use super::about::{About, AnswerSource, Concerns};
use super::making::{Making, needed};
use crate::authoring::sent::Form;
use crate::authoring::template::template;
use crate::plan::Operation;

pub const ABOUT: About = About {
    keys: &["command"],
    concerns: Concerns::Preference,
    answers: AnswerSource::Unread,
    writes: Operation::mentions_to_write,
    ..About::new(make)
};

fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    let command = needed(making.check, making.keys.command.as_ref(), "command", making.place)?;
    making.made.command = Some(template(making.check, command, Form::Command(&making.site.names)));
    Some(())
}

/// Whether a command has nothing to answer but that it was done.
pub fn answers_nothing(operation: &Operation) -> bool {
    let command = operation.command.as_ref();
    command.and_then(|it| it.document.keys().next()).is_some_and(|name| name == "ping")
}

/// Documents that a command inserts each time, none of which can meet another's `_id`; None of any
/// other command.
pub fn inserted(operation: &Operation) -> Option<u64> {
    let command = &operation.command.as_ref()?.document;
    let documents = command.get_array("documents").ok()?;
    let mut documents_made = documents.iter().filter_map(|it| it.as_document());
    let inserts = command.keys().next().is_some_and(|name| name == "insert");
    let unique = inserts && documents_made.all(|it| !it.contains_key("_id"));
    unique.then_some(documents.len() as u64)
}
