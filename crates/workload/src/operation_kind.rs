//! The kinds of operation: a further one is a line here and a file in `operations/`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Gives every kind and the name of its file, which is its name in YAML, to the macro `$with`; then
/// the words of YAML that are a `find` with another filter.
macro_rules! for_every_kind {
    ($with:ident) => {
        $with! {
            {
                Noop: noop,
                InsertOne: insert_one,
                InsertMany: insert_many,
                FindOne: find_one,
                Find: find,
                UpdateOne: update_one,
                ReplaceOne: replace_one,
                DeleteOne: delete_one,
                Count: count,
                EstimatedCount: estimated_count,
                FindOneAndUpdate: find_one_and_update,
                ReadModifyWrite: read_modify_write,
                BulkWrite: bulk_write,
                Transaction: transaction,
                Aggregate: aggregate,
                Command: command,
                Drop: drop,
                Distinct: distinct,
                UpdateMany: update_many,
                DeleteMany: delete_many,
            }
            {
                FullScan: full_scan,
                Scan: scan,
            }
        }
    };
}
pub(crate) use for_every_kind;

macro_rules! define {
    ({ $($kind:ident: $name:ident,)* } { $($find:ident: $find_name:ident,)* }) => {
        /// The operations a driver is asked for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum OperationKind {
            $($kind,)*
        }

        impl OperationKind {
            /// Returns the name in YAML.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => stringify!($name),)*
                }
            }
        }

        /// The operations of YAML: each kind, and finds of a certain form.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum OperationWord {
            $($kind,)*
            $($find,)*
        }

        impl OperationWord {
            pub const ALL: &[Self] = &[$(Self::$kind,)* $(Self::$find,)*];

            /// Returns the word as YAML has it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => stringify!($name),)*
                    $(Self::$find => stringify!($find_name),)*
                }
            }

            /// Returns the kind that adapters get.
            pub fn kind(self) -> OperationKind {
                match self {
                    $(Self::$kind => OperationKind::$kind,)*
                    $(Self::$find)|* => OperationKind::Find,
                }
            }
        }
    };
}
for_every_kind!(define);
