//! Tails a capped collection: what a message is, and how to go on behind a cursor that failed.

use std::time::Duration;

use mongodb::bson::{raw, RawBson, RawDocument};

use crate::errors::ErrorEntry;
use crate::operations::{is_there, tail, Messages, Tail};

/// Between the failure of a cursor and the next one.
const REOPEN: Duration = Duration::from_millis(10);

pub struct Message {
    pub producer: i64,
    pub sequence: i64,
    pub made_ns: i64,
}

pub enum Found {
    Message(Message),
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

struct Content {
    id: Option<RawBson>,
    sentinel: bool,
    /// None for the sentinel and for documents that are not the workload's.
    found: Option<Found>,
}

/// Reads field by field. Rejected: a struct deserialised by serde, with which a message takes half
/// as long again.
fn content(document: &RawDocument, marker_field: &str) -> raw::Result<Content> {
    let (mut id, mut sentinel, mut marker) = (None, false, false);
    let (mut producer, mut sequence, mut made_ns) = (None, None, None);
    for element in document.iter_elements() {
        let element = element?;
        let integer = || {
            let value = element.value()?;
            Ok(value.as_i64().or_else(|| value.as_i32().map(i64::from)))
        };
        match element.key() {
            "_id" => id = Some(element.value()?.to_raw_bson()),
            "producer" => producer = integer()?,
            "sequence" => sequence = integer()?,
            "made_ns" => made_ns = integer()?,
            "sentinel" => sentinel = true,
            name => marker |= name == marker_field,
        }
    }
    let found = match (producer, sequence, made_ns) {
        _ if marker => Some(Found::Marker),
        (Some(producer), Some(sequence), Some(made_ns)) => {
            Some(Found::Message(Message { producer, sequence, made_ns }))
        }
        _ => None,
    };
    Ok(Content { id, sentinel, found })
}

impl Tailing {
    /// Opens a cursor and moves it past the sentinel.
    pub async fn open(messages: Messages, marker_field: String) -> Result<Tailing, String> {
        let mut cursor = tail(&messages).await.map_err(|error| error.kind.to_string())?;
        let there = cursor.advance().await.map_err(|error| error.kind.to_string())?;
        let content = if there { Some(content(cursor.current(), &marker_field)) } else { None };
        let content = content.transpose().map_err(|error| error.to_string())?;
        let sentinel = content.filter(|content| content.sentinel);
        let sentinel = sentinel.ok_or_else(|| format!("no sentinel in {}", messages.name()))?;
        let last = sentinel.id;
        Ok(Tailing {
            messages,
            marker_field,
            cursor: Some(cursor),
            last,
            opened: 1,
            positions_lost: 0,
        })
    }

    /// Waits for the next message. The future must not be dropped before it ends: some versions of
    /// the driver would lose the batch that is on its way.
    pub async fn next(&mut self) -> Found {
        loop {
            let Some(cursor) = &mut self.cursor else {
                tokio::time::sleep(REOPEN).await;
                match self.reopen().await {
                    Ok(()) => continue,
                    Err(entry) => return Found::Failed(entry),
                }
            };
            let failed = match cursor.advance().await {
                Ok(true) => match content(cursor.current(), &self.marker_field) {
                    Ok(content) => {
                        self.last = content.id;
                        match content.found {
                            Some(found) => return found,
                            None => continue,
                        }
                    }
                    Err(error) => ErrorEntry::own("InvalidResponse", error),
                },
                Ok(false) => ended(),
                Err(error) => ErrorEntry::of(&error),
            };
            self.cursor = None;
            return Found::Failed(failed);
        }
    }

    /// Continues after the last document, or with the oldest one if that has been overwritten.
    async fn reopen(&mut self) -> Result<(), ErrorEntry> {
        let of = |error| ErrorEntry::of(&error);
        loop {
            let kept = match &self.last {
                Some(last) => is_there(&self.messages, last).await.map_err(of)?,
                None => false,
            };
            let mut cursor = tail(&self.messages).await.map_err(of)?;
            self.opened += 1;
            match &self.last {
                // It is looked for once more. Overwritten before the cursor was opened, it would be
                // awaited forever. Overwritten since, it no longer tells what of the batch is new.
                Some(last) if kept => {
                    if !is_there(&self.messages, last).await.map_err(of)? {
                        continue;
                    }
                    while cursor.advance().await.map_err(of)? {
                        let here = cursor.current().get("_id").ok().flatten();
                        if here.is_some_and(|id| id.to_raw_bson() == *last) {
                            self.cursor = Some(cursor);
                            return Ok(());
                        }
                    }
                    return Err(ended());
                }
                Some(_) => self.positions_lost += 1,
                None => {}
            }
            self.last = None;
            self.cursor = Some(cursor);
            return Ok(());
        }
    }
}

fn ended() -> ErrorEntry {
    ErrorEntry::own("CursorEnded", "the server has ended the cursor")
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::rawdoc;

    #[test]
    fn documents_are_messages_sentinel_marker_or_somebody_elses() {
        let read = |document: &RawDocument| content(document, "marker").expect("well-formed");
        let message = rawdoc! { "_id": 7, "producer": 3, "sequence": 4_i64, "made_ns": 5_i64 };
        let found = read(&message);
        assert_eq!(found.id, Some(RawBson::Int32(7)));
        let Some(Found::Message(message)) = found.found else { panic!("no message") };
        assert_eq!((message.producer, message.sequence, message.made_ns), (3, 4, 5));
        let sentinel = read(&rawdoc! { "_id": 1, "sentinel": true });
        assert!(sentinel.sentinel && sentinel.found.is_none());
        let marker = read(&rawdoc! { "producer": 3, "marker": true });
        assert!(matches!(marker.found, Some(Found::Marker)));
        assert!(read(&rawdoc! { "_id": 1, "producer": 3 }).found.is_none());
    }
}
