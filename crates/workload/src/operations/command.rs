//! `command`: any command, for what has no operation of its own.

use super::about::{About, Concerns};
use super::making::{Making, needed};
use crate::plan::Operation;
use crate::sent::Form;
use crate::template::template;

pub const ABOUT: About = About {
    keys: &["command"],
    concerns: Concerns::Preference,
    writes: Operation::mentions_to_write,
    ..About::new(make)
};

fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    let command = needed(making.check, making.keys.command.as_ref(), "command", making.place)?;
    making.made.command = Some(template(making.check, command, Form::Command(&making.site.names)));
    Some(())
}
