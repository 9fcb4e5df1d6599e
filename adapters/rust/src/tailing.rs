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

fn id_of(document: &RawDocument) -> Option<RawBson> {
    document.get("_id").ok().flatten().map(|id| id.to_raw_bson())
}

/// `_id`, and what else there is; None for documents that are not the workload's. Reads field by
/// field. Rejected: a struct deserialised by serde, with which a message takes half as long again.
fn read(document: &RawDocument, marker: &str) -> raw::Result<(Option<RawBson>, Option<Found>)> {
    let (mut id, mut marked) = (None, false);
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
            name => marked |= name == marker,
        }
    }
    let found = match (producer, sequence, made_ns) {
        _ if marked => Some(Found::Marker),
        (Some(producer), Some(sequence), Some(made_ns)) => {
            Some(Found::Message(Message { producer, sequence, made_ns }))
        }
        _ => None,
    };
    Ok((id, found))
}

impl Tailing {
    /// Opens a cursor and moves it past the sentinel.
    pub async fn open(messages: Messages, marker_field: String) -> Result<Tailing, String> {
        let mut cursor = tail(&messages).await.map_err(|error| error.kind.to_string())?;
        let there = cursor.advance().await.map_err(|error| error.kind.to_string())?;
        if !there || !matches!(cursor.current().get("sentinel"), Ok(Some(_))) {
            return Err(format!("no sentinel in {}", messages.name()));
        }
        let last = id_of(cursor.current());
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
                Ok(true) => match read(cursor.current(), &self.marker_field) {
                    Ok((id, found)) => {
                        self.last = id;
                        match found {
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
                        if id_of(cursor.current()).as_ref() == Some(last) {
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
    fn documents_are_messages_the_marker_or_somebody_elses() {
        let found = |document: &RawDocument| read(document, "marker").expect("well-formed");
        let message = rawdoc! { "_id": 7, "producer": 3, "sequence": 4_i64, "made_ns": 5_i64 };
        let (id, Some(Found::Message(message))) = found(&message) else { panic!("no message") };
        assert_eq!(id, Some(RawBson::Int32(7)));
        assert_eq!((message.producer, message.sequence, message.made_ns), (3, 4, 5));
        let marker = found(&rawdoc! { "producer": 3, "marker": true });
        assert!(matches!(marker.1, Some(Found::Marker)));
        assert!(found(&rawdoc! { "_id": 1, "sentinel": true }).1.is_none());
    }
}
