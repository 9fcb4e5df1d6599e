//! The operations, a file each: its keys in YAML, how its template is made, how its right answer is
//! known, how the server counts it. `kind.rs` lists them.

mod about;
mod making;

use crate::kind::{Kind, for_every_kind};
use crate::plan::Operation;

pub use about::{About, Answers, Concerns, Counted};
pub(crate) use making::{Making, Site};

macro_rules! declare {
    ($($kind:ident: $file:ident,)*) => {
        $(mod $file;)*

        pub fn about(kind: Kind) -> &'static About {
            match kind {
                $(Kind::$kind => &$file::ABOUT,)*
            }
        }
    };
}
for_every_kind!(declare);

/// Documents that one operation inserts.
pub fn inserts(operation: &Operation) -> u64 {
    if about(operation.kind).inserts { u64::from(operation.batch.unwrap_or(1)) } else { 0 }
}
