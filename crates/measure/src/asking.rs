//! The core's own questions to a server: each has a time by which it is answered, and every refusal
//! is an error for people.

use std::pin::pin;
use std::time::Duration;

use mongodb::error::{Error as DriverError, ErrorKind, WriteFailure};
use tokio::time::timeout;

use base::error::{Error, Exit, Result};
use base::say;
use server::connection_string::socket_timeout;
use server::mask_uri;

/// Limit where the URI has none. The server may be busy with a checkpoint.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// A URI may give the measured drivers less than the core needs.
const ANSWER_LIMIT_MIN: Duration = Duration::from_secs(5);
/// Work that grows with the data has so many times the limit.
const WORK_TIMES: u32 = 10;
/// An answer that takes so long is told.
const TOLD_AFTER: Duration = Duration::from_secs(10);

const UNAUTHORIZED: i32 = 13;

/// A server that is asked, and its time for an answer. The driver itself waits without end for the
/// rest of an answer that has begun.
#[derive(Debug, Clone)]
pub struct Asking {
    /// For people.
    server: String,
    limit: Duration,
}

impl Asking {
    pub fn of(uri: &str) -> Self {
        let limit = socket_timeout(uri).map_or(ANSWER_LIMIT, |it| it.max(ANSWER_LIMIT_MIN));
        Self { server: mask_uri(uri), limit }
    }

    /// Asks what a server answers out of its memory.
    ///
    /// # Errors
    /// No answer in time; the server's refusal.
    pub async fn ask<T>(
        &self,
        command: &str,
        question: impl IntoFuture<Output = Result<T, DriverError>>,
    ) -> Result<T> {
        self.within(self.limit, command, question).await?.map_err(|error| refused(&error))
    }

    /// Asks for what takes longer the more data there is.
    ///
    /// # Errors
    /// See [`Asking::ask`].
    pub async fn work<T>(
        &self,
        command: &str,
        question: impl IntoFuture<Output = Result<T, DriverError>>,
    ) -> Result<T> {
        self.steps(command, question).await?.map_err(|error| refused(&error))
    }

    /// Several commands that are one piece of work, with their errors.
    ///
    /// # Errors
    /// No answer in time.
    pub async fn steps<T>(&self, command: &str, steps: impl IntoFuture<Output = T>) -> Result<T> {
        self.within(self.limit * WORK_TIMES, command, steps).await
    }

    async fn within<T>(
        &self,
        limit: Duration,
        command: &str,
        question: impl IntoFuture<Output = T>,
    ) -> Result<T> {
        let Self { server, .. } = self;
        let (told, rest) = (TOLD_AFTER.min(limit), limit.saturating_sub(TOLD_AFTER));
        let mut question = pin!(question.into_future());
        if let Ok(answer) = timeout(told, &mut question).await {
            return Ok(answer);
        }
        if !rest.is_zero() {
            let (told, limit) = (told.as_secs(), limit.as_secs());
            say!("{server} has not answered `{command}` for {told} s; it has {limit} s");
        }
        timeout(rest, question).await.map_err(|_| {
            Error::unreachable(
                format!("{server} did not answer `{command}` within {} s", limit.as_secs()),
                "see what the server is doing; socketTimeoutMS=… in the URI gives it more time",
            )
        })
    }
}

pub fn refused(error: &DriverError) -> Error {
    if let ErrorKind::Command(refused) = error.kind.as_ref()
        && refused.code == UNAUTHORIZED
    {
        // "not authorized on admin to execute command { serverStatus: 1, …"
        let command = refused.message.split("command { ").nth(1);
        let command = command.and_then(|it| it.split(':').next()).unwrap_or("a command");
        return Error::new(
            Exit::Unreachable,
            format!("the user in the URI may not do what an experiment needs: {command}"),
            "these roles are enough: readWriteAnyDatabase, clusterMonitor",
        );
    }
    // The driver's own words for these quote its types and the user's documents.
    let written = match error.kind.as_ref() {
        ErrorKind::InsertMany(refused) => refused
            .write_errors
            .as_ref()
            .and_then(|all| all.first().map(|first| (first.code, first.message.as_str()))),
        ErrorKind::Write(WriteFailure::WriteError(refused)) => {
            Some((refused.code, refused.message.as_str()))
        }
        _ => None,
    };
    if let Some((code, why)) = written {
        return Error::new(
            Exit::Unreachable,
            format!("the server refused a document that was to be loaded (error {code}): {why}"),
            "change the collection's `document` or `file` so that the server takes it",
        );
    }
    Error::new(
        Exit::Unreachable,
        format!("the server refused or lost an administrative command: {}", error.kind),
        "read the server's log, and check the rights of the user in the URI",
    )
}

pub fn is_unauthorized(error: &DriverError) -> bool {
    matches!(error.kind.as_ref(), ErrorKind::Command(command) if command.code == UNAUTHORIZED)
}
