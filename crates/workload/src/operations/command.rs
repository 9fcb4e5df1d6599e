//! `command`: any command, for what has no operation of its own.

use super::about::{About, Concerns};
use super::making::{Making, needed};
use crate::plan::Operation;
use crate::template::template;

/// Commands that change no collection.
const READING: [&str; 15] = [
    "ping",
    "hello",
    "isMaster",
    "buildInfo",
    "serverStatus",
    "dbStats",
    "collStats",
    "count",
    "distinct",
    "find",
    "listCollections",
    "listIndexes",
    "explain",
    "connectionStatus",
    "getParameter",
];

pub const ABOUT: About =
    About { keys: &["command"], concerns: Concerns::Preference, writes, ..About::new(make) };

fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    let command = needed(making.check, making.keys.command.as_ref(), "command", making.place)?;
    if let Some(drop) = command.value.get("dropDatabase") {
        let hint = "use the operation `drop`, which drops the arm's collection";
        making.check.wrong(drop.place, "the database is mongodyno's own to drop", hint);
    }
    making.made.command = Some(template(making.check, command, None));
    Some(())
}

fn writes(made: &Operation) -> bool {
    let name = made.command.as_ref().and_then(|command| command.document.keys().next());
    name.is_some_and(|name| !READING.contains(&name.as_str()))
}
