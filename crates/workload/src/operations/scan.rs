//! `scan`: a `find` from a key on, ended by its limit (YCSB E).

use super::about::About;
use super::find;
use super::making::{Making, needed};

pub const ABOUT: About = About {
    keys: &["collection", "by", "limit", "projection", "batch_size", "shape"],
    make,
    ..find::ABOUT
};

fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    making.filter_from_key()?;
    needed(making.check, making.keys.limit.as_ref(), "limit", making.place)?;
    making.limit();
    making.read_documents();
    Some(())
}
