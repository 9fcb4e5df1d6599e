//! The kinds of server. One more that `--server` names is a line here and a file in
//! `crates/server/src/kinds/`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Gives each kind that `--server` names, its file and its text in the schema to the macro `$with`.
#[macro_export]
macro_rules! for_every_server {
    ($with:ident) => {
        $with! {
            Embedded: embedded, "Out of the catalogue, installed and started by mongodyno.";
            Mongod: mongod, "A mongod of the machine, started by mongodyno.";
            Absorber: absorber, "The absorber, started by mongodyno.";
        }
    };
}

macro_rules! define {
    ($($kind:ident: $name:ident, $about:literal;)*) => {
        /// Where a server comes from.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum ServerKind {
            $(#[doc = $about] $kind,)*
            /// Somebody else's, by connection string.
            External,
            /// There is none: the workload needs none.
            None,
        }

        impl ServerKind {
            /// The word as printed, and as `--server` takes it.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$kind => stringify!($name),)*
                    Self::External => "external",
                    Self::None => "none",
                }
            }
        }
    };
}
for_every_server!(define);
