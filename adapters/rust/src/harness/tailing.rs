//! Tails a capped collection: what a message is, and how to continue after a cursor that failed.

use std::time::Duration;

use mongodb::bson::{Bson, RawDocument, RawDocumentBuf};

use crate::call::{ErrorEntry, Failure};
use crate::dialect::{is_there, next, tail, Cursor, Messages};

/// Pause between the failure of a cursor and the next one.
const REOPEN: Duration = Duration::from_millis(10);

/// A document; one without a sequence is not a message.
#[derive(Default)]
pub struct Found {
    pub producer: i64,
    pub sequence: Option<i64>,
    pub made_ns: i64,
    pub marked: bool,
}

pub struct Tailing {
    messages: Messages,
    marker_field: String,
    cursor: Option<Cursor<RawDocumentBuf>>,
    /// `_id` of the last document that was read; None if that has been overwritten.
    last: Option<Bson>,
    pub opened: u64,
    pub positions_lost: u64,
}

fn id_of(document: impl AsRef<RawDocument>) -> Option<Bson> {
    document.as_ref().get("_id").ok().flatten().and_then(|id| Bson::try_from(id).ok())
}

impl Tailing {
    /// Opens a cursor and moves it past the sentinel.
    pub async fn open(messages: Messages, marker_field: String) -> Result<Tailing, Failure> {
        let mut cursor = tail(&messages).await?;
        let first = next(&mut cursor).await?;
        let sentinel = first.filter(|document| matches!(document.get("sentinel"), Ok(Some(_))));
        let no_sentinel =
            || Failure::new("internal", format!("no sentinel in {}", messages.name()));
        let last = id_of(sentinel.ok_or_else(no_sentinel)?);
        let cursor = Some(cursor);
        Ok(Tailing { messages, marker_field, cursor, last, opened: 1, positions_lost: 0 })
    }

    /// Waits for the next document; after a failure, on another cursor. The future must not be
    /// dropped before it ends: some versions of the driver would lose the batch on its way.
    pub async fn next(&mut self) -> Result<Found, ErrorEntry> {
        let found = self.read().await;
        if found.is_err() {
            self.cursor = None;
        }
        found
    }

    /// Reads field by field. Rejected: a struct deserialised by serde, with which a message takes
    /// half as long again.
    async fn read(&mut self) -> Result<Found, ErrorEntry> {
        if self.cursor.is_none() {
            tokio::time::sleep(REOPEN).await;
            self.cursor = Some(self.reopen().await?);
        }
        let Some(cursor) = &mut self.cursor else { return Err(cursor_ended()) };
        let document = next(cursor).await?.ok_or_else(cursor_ended)?;
        let (mut found, mut id) = (Found::default(), None);
        for element in document.iter_elements() {
            let element = element.map_err(broken)?;
            let value = element.value().map_err(broken)?;
            let integer = || value.as_i64().or_else(|| value.as_i32().map(i64::from));
            match element.key() {
                "_id" => id = Bson::try_from(value).ok(),
                "producer" => found.producer = integer().unwrap_or_default(),
                "sequence" => found.sequence = integer(),
                "made_ns" => found.made_ns = integer().unwrap_or_default(),
                name => found.marked |= name == self.marker_field,
            }
        }
        self.last = id;
        Ok(found)
    }

    /// Continues after the last document, or with the oldest one if that has been overwritten.
    async fn reopen(&mut self) -> Result<Cursor<RawDocumentBuf>, ErrorEntry> {
        loop {
            let there = is_known(&self.messages, &self.last).await?;
            let mut cursor = tail(&self.messages).await?;
            self.opened += 1;
            // It is looked for once more. If it was overwritten before the cursor was opened, it
            // would be awaited forever. If it was overwritten since, it no longer shows what of the
            // batch is new.
            if there && !is_known(&self.messages, &self.last).await? {
                continue;
            }
            if there {
                let last = self.last.as_ref();
                while id_of(next(&mut cursor).await?.ok_or_else(cursor_ended)?).as_ref() != last {}
            } else if self.last.take().is_some() {
                self.positions_lost += 1;
            }
            return Ok(cursor);
        }
    }
}

fn cursor_ended() -> ErrorEntry {
    ErrorEntry::own("CursorEnded", "the server has ended the cursor".to_owned())
}

async fn is_known(messages: &Messages, last: &Option<Bson>) -> Result<bool, ErrorEntry> {
    let Some(id) = last else { return Ok(false) };
    Ok(is_there(messages, id).await?)
}

fn broken(error: impl ToString) -> ErrorEntry {
    ErrorEntry::own("MalformedMessage", error.to_string())
}
