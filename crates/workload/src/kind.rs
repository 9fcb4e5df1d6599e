//! The kinds of operation: a further one is a line here and a file in `operations/`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Gives every kind and the name of its file, which is its name in YAML, to the macro `$with`.
macro_rules! for_every_kind {
    ($with:ident) => {
        $with! {
            Noop: noop,
            InsertOne: insert_one,
            InsertMany: insert_many,
            FindOne: find_one,
            Find: find,
            UpdateOne: update_one,
            ReplaceOne: replace_one,
            DeleteOne: delete_one,
            Count: count,
            Aggregate: aggregate,
            Command: command,
        }
    };
}
pub(crate) use for_every_kind;

macro_rules! define {
    ($($kind:ident: $name:ident,)*) => {
        /// The operations a driver is asked for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Kind {
            $($kind,)*
        }

        impl Kind {
            pub(crate) const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Its name in YAML.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => stringify!($name),)*
                }
            }
        }
    };
}
for_every_kind!(define);
