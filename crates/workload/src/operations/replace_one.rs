//! `replace_one`: another document in the place of the key's.

use super::about::About;
use super::making::Making;

pub const ABOUT: About = About {
    keys: &["collection", "by", "filter", "document_of", "upsert", "shape"],
    ..About::write("opcounters.update", make)
};

fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    making.filter()?;
    making.documents()?;
    making.shape();
    making.upsert();
    Some(())
}
