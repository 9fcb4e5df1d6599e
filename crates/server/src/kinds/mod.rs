//! The kinds of server that `--server` names, a file each. `record::server_kind` lists them.

use record::records::ServerKind;

use crate::kind::Kind;

macro_rules! declare {
    ($($kind:ident: $file:ident, $about:literal;)*) => {
        $(pub(crate) mod $file;)*

        pub(crate) static KINDS: &[(ServerKind, Kind)] =
            &[$((ServerKind::$kind, $file::KIND),)*];
    };
}
record::for_every_server!(declare);

/// None for servers that `--server` does not name.
pub(crate) fn kind_of(kind: ServerKind) -> Option<&'static Kind> {
    KINDS.iter().find(|(other, _)| *other == kind).map(|(_, kind)| kind)
}
