//! `insert_one`: the next document of the worker's own.

use super::about::About;
use super::making::Making;
use crate::plan::KeySource;

pub const ABOUT: About =
    About { keys: &["collection"], inserts: true, ..About::write("opcounters.insert", make) };

/// The same for one and for many.
pub fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    making.made.key = KeySource::Counter;
    making.documents()
}
