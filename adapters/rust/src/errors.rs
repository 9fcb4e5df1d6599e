//! Answers of type `error`, and the errors that `ended` counts.

use std::io;

use mongodb::error::{Error, ErrorKind, WriteFailure};
use serde::Serialize;

/// An answer of type `error`.
#[derive(Debug)]
pub struct Failure {
    pub code: &'static str,
    pub message: String,
}

impl Failure {
    pub fn protocol(message: impl ToString) -> Failure {
        Failure { code: "protocol", message: message.to_string() }
    }

    pub fn unsupported(message: impl ToString) -> Failure {
        Failure { code: "unsupported", message: message.to_string() }
    }

    pub fn internal(message: impl ToString) -> Failure {
        Failure { code: "internal", message: message.to_string() }
    }
}

#[derive(Serialize)]
pub struct ErrorEntry {
    code: i32,
    name: String,
    count: u64,
    message: String,
}

impl ErrorEntry {
    /// An error that the server or the driver reports.
    pub fn of(error: &Error) -> ErrorEntry {
        let (code, name) = code_and_name(error);
        ErrorEntry { code, name, count: 1, message: error.kind.to_string() }
    }

    /// An error that only this adapter detects.
    pub fn own(name: &str, message: impl ToString) -> ErrorEntry {
        ErrorEntry { code: 0, name: name.to_owned(), count: 1, message: message.to_string() }
    }
}

pub fn count_error(entries: &mut Vec<ErrorEntry>, found: ErrorEntry) {
    match entries.iter_mut().find(|entry| (entry.code, &entry.name) == (found.code, &found.name)) {
        Some(entry) => entry.count += found.count,
        None => entries.push(found),
    }
}

/// The server's code, or 0, and its name, or that of the driver's variant.
fn code_and_name(error: &Error) -> (i32, String) {
    let (code, name) = match &*error.kind {
        ErrorKind::Command(error) => (error.code, Some(error.code_name.clone())),
        ErrorKind::Write(WriteFailure::WriteError(error)) => (error.code, error.code_name.clone()),
        ErrorKind::Write(WriteFailure::WriteConcernError(error)) => {
            (error.code, Some(error.code_name.clone()))
        }
        ErrorKind::InsertMany(error) => match (&error.write_errors, &error.write_concern_error) {
            (Some(errors), _) if !errors.is_empty() => {
                (errors[0].code, errors[0].code_name.clone())
            }
            (_, Some(error)) => (error.code, Some(error.code_name.clone())),
            _ => (0, None),
        },
        _ => (0, None),
    };
    let variant = || {
        let kind = format!("{:?}", error.kind);
        kind.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default().to_owned()
    };
    (code, name.filter(|name| !name.is_empty()).unwrap_or_else(variant))
}

/// Whether the error is a timeout: of the socket, of server selection, or one of the server's
/// (MaxTimeMSExpired, NetworkTimeout, ExceededTimeLimit).
pub fn is_timeout(error: &Error) -> bool {
    match &*error.kind {
        ErrorKind::Io(error) => error.kind() == io::ErrorKind::TimedOut,
        ErrorKind::ServerSelection { .. } => true,
        _ => matches!(code_and_name(error).0, 50 | 89 | 262),
    }
}
