//! Tails a capped collection: what a message is, and how to go on behind a cursor that failed.

use std::time::Duration;

use super::protocol::{ErrorEntry, Failure};
use crate::dialect::bson::{RawBson, RawDocument};
use crate::dialect::{is_there, next, tail, Error, Messages, Tail};

/// Between the failure of a cursor and the next one.
const REOPEN: Duration = Duration::from_millis(10);

pub enum Found {
    Message {
        producer: i64,
        sequence: i64,
        made_ns: i64,
    },
    Marker,
    /// The cursor failed. The next call opens another one.
    Failed(ErrorEntry),
}

pub struct Tailing {
    messages: Messages,
    marker_field: String,
    cursor: Option<Tail>,
    /// `_id` of the last document that was read; None if that has been overwritten.
    last: Option<RawBson>,
    pub opened: u64,
    pub positions_lost: u64,
}

fn id_of(document: &RawDocument) -> Option<RawBson> {
    document.get("_id").ok().flatten().map(|id| id.to_raw_bson())
}

/// `_id`, and what else there is; None for documents that are not the workload's. Reads field by
/// field. Rejected: a struct deserialised by serde, with which a message takes half as long again.
fn read(document: &RawDocument, marker: &str) -> Result<(Option<RawBson>, Option<Found>), Error> {
    let (mut id, mut marked) = (None, false);
    let (mut producer, mut sequence, mut made_ns) = (None, None, None);
    for element in document.iter_elements() {
        let element = element?;
        let integer = || {
            let value = element.value()?;
            Ok::<_, Error>(value.as_i64().or_else(|| value.as_i32().map(i64::from)))
        };
        match element.key() {
            "_id" => id = Some(element.value()?.to_raw_bson()),
            "producer" => producer = integer()?,
            "sequence" => sequence = integer()?,
            "made_ns" => made_ns = integer()?,
            name => marked |= name == marker,
        }
    }
    let found = match (producer, sequence, made_ns) {
        _ if marked => Some(Found::Marker),
        (Some(producer), Some(sequence), Some(made_ns)) => {
            Some(Found::Message { producer, sequence, made_ns })
        }
        _ => None,
    };
    Ok((id, found))
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

    /// Waits for the next message. The future must not be dropped before it ends: some versions of
    /// the driver would lose the batch that is on its way.
    pub async fn next(&mut self) -> Found {
        loop {
            match self.read_one().await {
                Ok(Some(found)) => return found,
                Ok(None) => {}
                Err(entry) => {
                    self.cursor = None;
                    return Found::Failed(entry);
                }
            }
        }
    }

    async fn read_one(&mut self) -> Result<Option<Found>, ErrorEntry> {
        let Some(cursor) = &mut self.cursor else {
            tokio::time::sleep(REOPEN).await;
            self.reopen().await?;
            return Ok(None);
        };
        let document = next(cursor).await?.ok_or_else(cursor_ended)?;
        let (id, found) = read(document, &self.marker_field)?;
        self.last = id;
        Ok(found)
    }

    /// Continues after the last document, or with the oldest one if that has been overwritten.
    async fn reopen(&mut self) -> Result<(), ErrorEntry> {
        loop {
            let there = is_there(&self.messages, &self.last).await?;
            let mut cursor = tail(&self.messages).await?;
            self.opened += 1;
            // It is looked for once more. Overwritten before the cursor was opened, it would be
            // awaited forever. Overwritten since, it no longer tells what of the batch is new.
            if there && !is_there(&self.messages, &self.last).await? {
                continue;
            }
            if there {
                let last = self.last.as_ref();
                while id_of(next(&mut cursor).await?.ok_or_else(cursor_ended)?).as_ref() != last {}
            } else if self.last.take().is_some() {
                self.positions_lost += 1;
            }
            self.cursor = Some(cursor);
            return Ok(());
        }
    }
}

fn cursor_ended() -> ErrorEntry {
    ErrorEntry::own("CursorEnded", "the server has ended the cursor".to_owned())
}
