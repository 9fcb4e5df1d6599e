//! What can go wrong with a server, in words for the person at the terminal.

use std::path::Path;

use thiserror::Error;

/// A mistake or a fault that the user can do something about. Every case carries `text` (what
/// happened, and where) and `hint` (the one thing to do now).
#[derive(Debug, Error)]
pub enum ServerError {
    /// The request makes no sense: an unknown version, a name that is taken.
    #[error("{text}")]
    Usage { text: String, hint: String },
    /// The server does not answer, or not to us.
    #[error("{text}")]
    Unreachable { text: String, hint: String },
    /// This machine lacks something: a library, pip, the network, disk space.
    #[error("{text}")]
    Environment { text: String, hint: String },
}

impl ServerError {
    pub fn usage(text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { text: text.into(), hint: hint.into() }
    }

    pub fn unreachable(text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Unreachable { text: text.into(), hint: hint.into() }
    }

    pub fn environment(text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Environment { text: text.into(), hint: hint.into() }
    }

    /// A failed file operation: `doing` reads on after "cannot", as in "write the receipt".
    pub(super) fn io(doing: &str, path: &Path, error: &std::io::Error) -> Self {
        let hint = match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                "free some disk space, or set MDYN_HOME to a folder on a larger disk".to_string()
            }
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                "set MDYN_HOME to a folder that you may write to".to_string()
            }
            _ => format!("look at {} and try again", path.display()),
        };
        Self::environment(format!("cannot {doing}: {}: {error}", path.display()), hint)
    }

    /// What to do about it, one sentence without a full stop.
    #[must_use]
    pub fn hint(&self) -> &str {
        match self {
            Self::Usage { hint, .. }
            | Self::Unreachable { hint, .. }
            | Self::Environment { hint, .. } => hint,
        }
    }

    /// The process's exit code for this error, as documented for every verb.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage { .. } => 2,
            Self::Unreachable { .. } => 4,
            Self::Environment { .. } => 5,
        }
    }
}

impl From<ServerError> for base::error::Error {
    fn from(error: ServerError) -> Self {
        let exit = match &error {
            ServerError::Usage { .. } => base::error::Exit::Usage,
            ServerError::Unreachable { .. } => base::error::Exit::Unreachable,
            ServerError::Environment { .. } => base::error::Exit::Environment,
        };
        Self::new(exit, error.to_string(), error.hint())
    }
}
