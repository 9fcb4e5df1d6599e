//! How an adapter goes wrong.

use crate::protocol::PROTOCOL;

/// A fault of an adapter: data of the result, not an error of mongodyno.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error("the adapter could not be started: {0}")]
    Start(String),
    #[error("the adapter ended ({status}) instead of answering `{request}`{said}")]
    Crashed {
        status: String,
        request: &'static str,
        /// The last lines of its stderr.
        said: String,
    },
    /// A result, not a fault: the arm had a limit.
    #[error("the client died of memory during `{request}`")]
    OutOfMemory {
        request: &'static str,
        /// The line by which its runtime gave up; None where it was killed.
        said: Option<String>,
    },
    #[error("the adapter did not answer `{request}` within {seconds} s and was killed{said}")]
    Hung {
        request: &'static str,
        seconds: u64,
        /// The last lines of its stderr.
        said: String,
    },
    /// Another version of the contract.
    #[error(
        "the adapter speaks protocol {protocol}, this mongodyno speaks {}; update the adapter, or \
         take the mongodyno it came with",
        PROTOCOL
    )]
    OldProtocol { protocol: u32 },
    #[error("the adapter answered `{request}` with something that is no message: {line}")]
    Garbage {
        request: &'static str,
        /// The beginning of its line.
        line: String,
    },
    /// The adapter answered with an error of the contract.
    #[error("the adapter refused `{request}` ({code}): {message}")]
    Refused {
        request: &'static str,
        /// Code of SPEC section 2.
        code: String,
        /// Message in the adapter's words.
        message: String,
    },
    /// The adapter answered with another message than the contract says.
    #[error("the adapter answered `{request}` with `{answer}`")]
    Unexpected { request: &'static str, answer: &'static str },
    #[error(
        "the adapter's clock read {now_ns} ns outside of the core's readings {low_ns} to {high_ns}"
    )]
    Clock {
        now_ns: u64,
        /// Before the request.
        low_ns: u64,
        /// After the answer.
        high_ns: u64,
    },
}
