//! Errors for people: one sentence on the failure and its place, one hint, one exit code.
//!
//! A failed measurement is data (`record::records::Run::failed`), and a bug is a panic.

use std::fmt;
use std::io::ErrorKind;

/// Exit codes, documented in `--help` and stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// A gate or check failed.
    GateFailed = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The workload file is wrong.
    Workload = 3,
    /// No usable server at the address.
    Unreachable = 4,
    /// Something this machine lacks: a toolchain, a package, disk, permission.
    Environment = 5,
    /// Nothing could be compared.
    RunInvalid = 6,
    /// It is not shown whether a gate is kept; `git bisect run` skips a commit with this code.
    GateUnclear = 125,
    /// Ctrl-C.
    Interrupted = 130,
}

#[derive(Debug, Clone)]
pub struct Error {
    pub exit: Exit,
    /// Says what happened, and where.
    pub message: String,
    /// One thing to do; empty if the message is enough.
    pub hint: String,
}

impl Error {
    pub fn new(exit: Exit, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hint: hint.into() }
    }

    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message, hint)
    }

    pub fn unreachable(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(Exit::Unreachable, message, hint)
    }

    pub fn environment(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(Exit::Environment, message, hint)
    }

    pub fn file(what: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        if error.kind() == ErrorKind::AlreadyExists {
            let hint = "choose another name: nothing is written over";
            return Self::usage(format!("{} already exists", path.display()), hint);
        }
        let hint = match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                "free some disk space, or choose another --out or MDYN_HOME"
            }
            ErrorKind::FileTooLarge => "raise the limit of a file's size (ulimit -f)",
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                "check who owns it, or choose another --out or MDYN_HOME"
            }
            ErrorKind::NotFound => "check the path",
            _ => "",
        };
        Self::environment(format!("cannot {what} {}: {error}", path.display()), hint)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        if !self.hint.is_empty() {
            write!(formatter, "\nhint: {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

pub type Result<T, E = Error> = std::result::Result<T, E>;
