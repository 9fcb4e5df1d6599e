//! `insert_one`: the next document of the worker's own.

use super::about::{About, Effect};
use super::making::Making;

pub const ABOUT: About = About {
    keys: &["collection", "document_of", "shape", "expect"],
    effect: Effect::Inserts,
    ..About::write("opcounters.insert", make)
};

/// The same for one and for many.
pub fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    making.shape();
    making.expect_duplicates();
    making.documents()
}
