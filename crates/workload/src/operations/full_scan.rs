//! `full_scan`: a `find` of all documents.

use super::about::About;
use super::find;
use super::making::Making;
use crate::plan::Template;

pub const ABOUT: About =
    About { keys: &["collection", "projection", "batch_size", "shape"], make, ..find::ABOUT };

#[expect(clippy::unnecessary_wraps, reason = "the table's signature")]
fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    making.made.filter = Some(Template::default());
    making.read_documents();
    Some(())
}
