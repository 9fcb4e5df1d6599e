//! `delete_one`: the key's document, which is there once.

use super::about::{About, Effect};
use super::making::Making;

pub const ABOUT: About = About {
    keys: &["collection", "by", "filter", "expect"],
    effect: Effect::Deletes,
    ..About::write("opcounters.delete", make)
};

/// The same for one and for many.
pub fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    if let Some(capped) = making.collection().filter(|it| it.capped.is_some()) {
        let message = format!("`{}` is capped: nothing can be deleted there", capped.name);
        making.check.wrong(making.place, message, "use a collection that is not capped");
    }
    making.filter()?;
    making.expect_missing();
    Some(())
}
