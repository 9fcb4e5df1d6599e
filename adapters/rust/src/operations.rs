//! The dialect of the driver's 3.x: its calls as its users write them, its options, its errors.

use std::io;
use std::time::Duration;

use futures_util::TryStreamExt;
use mongodb::action::Action;
use mongodb::bson::{doc, Bson, Document, RawBson, RawDocumentBuf};
pub use mongodb::error::{Error, Result};
use mongodb::error::{ErrorKind, WriteFailure};
use mongodb::options::{
    CollectionOptions, CursorType, ReadConcern, ReadPreference, SelectionCriteria, WriteConcern,
};
use mongodb::results::UpdateResult;
pub use mongodb::{Client, Database};
use mongodb::{Collection, Cursor};
use serde::Deserialize;
use serde_json::{json, Value};

use crate::calls::{Answer, Call};
use crate::errors::Failure;

pub const KINDS: &str = "noop insert_one insert_many find_one find update_one delete_one count \
    estimated_count replace_one find_one_and_update read_modify_write aggregate command drop";

/// The driver refuses unacknowledged writes, and its `run_command` takes no concerns.
pub const EXTRAS: &str = "write_concern read_concern read_preference unordered clients lazy_insert";

type Items = Collection<Document>;

/// What `prepare` says of the call.
#[derive(Deserialize)]
struct Options {
    #[serde(default)]
    collection: String,
    ordered: Option<bool>,
    upsert: Option<bool>,
    batch_size: Option<u32>,
    sum_field: Option<String>,
    write_concern: Option<WriteConcern>,
    read_concern: Option<String>,
    read_preference: Option<String>,
}

/// An operation on one client: the driver's objects and options for all of its calls.
pub struct Bound {
    database: Database,
    items: Items,
    options: Options,
}

impl Bound {
    pub fn new(database: &Database, message: &Value) -> std::result::Result<Bound, Failure> {
        let options = Options::deserialize(message).map_err(Failure::unsupported)?;
        let preference = options.read_preference.as_ref().map(|mode| json!({ "mode": mode }));
        let preference = preference.map(serde_json::from_value::<ReadPreference>).transpose();
        let preference = preference.map_err(Failure::unsupported)?;
        let mut target = CollectionOptions::default();
        target.selection_criteria = preference.map(SelectionCriteria::ReadPreference);
        target.read_concern = options.read_concern.as_ref().map(ReadConcern::custom);
        target.write_concern = options.write_concern.clone();
        let items = database.collection_with_options(&options.collection, target);
        Ok(Bound { database: database.clone(), items, options })
    }

    pub async fn call(&self, call: Call) -> Result<Answer> {
        let Bound { database, items, options } = self;
        let sum_field = options.sum_field.as_deref();
        match call {
            Call::InsertOne(document) => {
                items.insert_one(document).await?;
                Ok(Answer::right_if(true))
            }
            Call::InsertMany(documents) => {
                insert_many(items, documents.into_iter(), options.ordered).await
            }
            Call::InsertLazily(documents) => insert_many(items, documents, options.ordered).await,
            Call::FindOne(filter, projection) => {
                let find = items.find_one(filter);
                let find = find.optional(projection, |find, fields| find.projection(fields));
                Ok(Answer::one(find.await?, sum_field))
            }
            Call::Find(filter, projection, limit) => {
                let find = items
                    .find(filter)
                    .optional(projection, |find, fields| find.projection(fields))
                    .optional(limit, |find, most| find.limit(most))
                    .optional(options.batch_size, |find, size| find.batch_size(size));
                drained(find.await?, sum_field).await
            }
            Call::UpdateOne(filter, update) => {
                let update = items.update_one(filter, update);
                Ok(one_written(update.optional(options.upsert, |u, is| u.upsert(is)).await?))
            }
            Call::ReplaceOne(filter, document) => {
                let replace = items.replace_one(filter, document);
                Ok(one_written(replace.optional(options.upsert, |r, is| r.upsert(is)).await?))
            }
            Call::FindOneAndUpdate(filter, update) => {
                Ok(Answer::one(items.find_one_and_update(filter, update).await?, sum_field))
            }
            Call::DeleteOne(filter) => {
                Ok(Answer::right_if(items.delete_one(filter).await?.deleted_count == 1))
            }
            Call::Count(filter) => Ok(Answer::number(items.count_documents(filter).await?)),
            Call::EstimatedCount => Ok(Answer::number(items.estimated_document_count().await?)),
            Call::Aggregate(pipeline) => drained(items.aggregate(pipeline).await?, sum_field).await,
            Call::Command(command) => {
                // The driver turns an answer without `ok: 1` into an error.
                database.run_command(command).await?;
                Ok(Answer::right_if(true))
            }
            Call::Drop => {
                items.drop().await?;
                Ok(Answer::right_if(true))
            }
        }
    }
}

/// The driver encodes all documents before it sends the first: a lazy sequence saves those that
/// are not encoded.
async fn insert_many(
    items: &Items,
    documents: impl ExactSizeIterator<Item = Document>,
    ordered: Option<bool>,
) -> Result<Answer> {
    let count = documents.len();
    let insert = items.insert_many(documents).optional(ordered, |insert, is| insert.ordered(is));
    Ok(Answer::right_if(insert.await?.inserted_ids.len() == count))
}

fn one_written(result: UpdateResult) -> Answer {
    Answer::right_if(result.matched_count == 1 || result.upserted_id.is_some())
}

async fn drained(mut cursor: Cursor<Document>, sum_field: Option<&str>) -> Result<Answer> {
    let mut answer = Answer::right_if(true);
    while let Some(document) = cursor.try_next().await? {
        answer.read(&document, sum_field);
    }
    Ok(answer)
}

pub async fn ping(database: &Database) -> Result<Document> {
    database.run_command(doc! { "ping": 1 }).await
}

pub async fn close(client: Client) {
    client.shutdown().immediate(true).await;
}

/// For this time the server holds a getMore that has nothing to return.
const AWAIT: Duration = Duration::from_millis(100);

pub type Messages = Collection<RawDocumentBuf>;
pub type Tail = Cursor<RawDocumentBuf>;

/// Without a sort: a scan returns a capped collection in natural order.
pub async fn tail(messages: &Messages) -> Result<Tail> {
    messages.find(doc! {}).cursor_type(CursorType::TailableAwait).max_await_time(AWAIT).await
}

pub async fn is_there(messages: &Messages, id: &RawBson) -> Result<bool> {
    let id = Bson::try_from(id.clone()).map_err(Error::custom)?;
    Ok(messages.find_one(doc! { "_id": id }).await?.is_some())
}

/// The server's code, or 0, and its name, or that of the driver's variant. Of a batch: those of
/// its first write error.
pub fn code_and_name(error: &Error) -> (i32, String) {
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
/// (MaxTimeMSExpired, ExceededTimeLimit).
pub fn is_timeout(error: &Error) -> bool {
    match &*error.kind {
        ErrorKind::Io(error) => error.kind() == io::ErrorKind::TimedOut,
        ErrorKind::ServerSelection { .. } => true,
        _ => matches!(code_and_name(error).0, 50 | 262),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde::de::DeserializeOwned;

    use super::*;

    /// An error as the driver reads it from an answer.
    fn error<T: DeserializeOwned>(kind: impl Fn(T) -> ErrorKind, answer: Value) -> Error {
        Error::from(kind(serde_json::from_value(answer).expect("an error")))
    }

    #[test]
    fn errors_have_the_servers_code_and_name_or_the_variants() {
        let named = json!({ "code": 50, "codeName": "MaxTimeMSExpired", "errmsg": "late" });
        let command = error(ErrorKind::Command, named);
        assert_eq!(code_and_name(&command), (50, "MaxTimeMSExpired".to_owned()));
        let unnamed = json!({ "code": 12, "errmsg": "no name" });
        assert_eq!(code_and_name(&error(ErrorKind::Command, unnamed)), (12, "Command".to_owned()));
        let answer = json!({ "code": 11000, "errmsg": "duplicate" });
        let write = |answer| ErrorKind::Write(WriteFailure::WriteError(answer));
        assert_eq!(code_and_name(&error(write, answer)), (11000, "Write".to_owned()));
    }

    #[test]
    fn a_batch_fails_with_its_first_write_error() {
        let concern = json!({ "code": 64, "codeName": "WriteConcernFailed", "errmsg": "late" });
        let both = json!({
            "writeErrors": [{ "index": 1, "code": 11000 }, { "index": 2, "code": 121 }],
            "writeConcernError": concern,
        });
        let batch = error(ErrorKind::InsertMany, both);
        assert_eq!(code_and_name(&batch), (11000, "InsertMany".to_owned()));
        let alone = json!({ "writeErrors": null, "writeConcernError": concern });
        let batch = error(ErrorKind::InsertMany, alone);
        assert_eq!(code_and_name(&batch), (64, "WriteConcernFailed".to_owned()));
    }

    #[test]
    fn timeouts_are_the_sockets_and_the_servers() {
        let io = |kind: io::ErrorKind| Error::from(ErrorKind::Io(Arc::new(kind.into())));
        assert!(is_timeout(&io(io::ErrorKind::TimedOut)));
        assert!(!is_timeout(&io(io::ErrorKind::ConnectionReset)));
        for (code, timeout) in [(50, true), (262, true), (11000, false)] {
            let answer = json!({ "code": code, "errmsg": "" });
            assert_eq!(is_timeout(&error(ErrorKind::Command, answer)), timeout, "{code}");
        }
    }
}
