//! Answers of type `error`, and the errors that `ended` counts.

use serde::Serialize;

use crate::operations::{code_and_name, Error};

/// Characters of a message that are told: that of a batch holds all of its write errors.
pub const MESSAGE_MAX: usize = 4096;

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
        let message = error.kind.to_string().chars().take(MESSAGE_MAX).collect();
        ErrorEntry { code, name, count: 1, message }
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
