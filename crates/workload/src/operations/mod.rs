//! The operations. A file each says which keys it has in YAML, how its template is made, how its
//! right answer is known and what the server counts. `kind.rs` lists them.

mod about;
mod making;

use crate::kind::{Kind, for_every_kind};
use crate::plan::Operation;

pub use about::{About, Answers, Concerns, Counted};
pub(crate) use making::{Making, Site};

macro_rules! declare {
    ($($kind:ident: $file:ident,)*) => {
        $(mod $file;)*

        #[must_use]
        pub fn about(kind: Kind) -> &'static About {
            match kind {
                $(Kind::$kind => &$file::ABOUT,)*
            }
        }
    };
}
for_every_kind!(declare);

/// Documents that one operation inserts.
#[must_use]
pub fn inserts(operation: &Operation) -> u64 {
    if about(operation.kind).inserts { u64::from(operation.batch.unwrap_or(1)) } else { 0 }
}
