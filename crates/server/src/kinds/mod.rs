//! The kinds of server that `--server` names, a file each. `record::server_kind` lists them.

use record::records::ServerKind;

use crate::kind_definition::KindDefinition;

macro_rules! declare {
    ($($kind:ident: $file:ident, $about:literal;)*) => {
        $(pub(crate) mod $file;)*

        pub(crate) static KINDS: &[(ServerKind, KindDefinition)] =
            &[$((ServerKind::$kind, $file::KIND),)*];
    };
}
record::for_every_server!(declare);

/// Returns the kind's definition; None for servers that `--server` does not name.
pub(crate) fn kind_of(kind: ServerKind) -> Option<&'static KindDefinition> {
    KINDS.iter().find(|(other, _)| *other == kind).map(|(_, kind)| kind)
}
