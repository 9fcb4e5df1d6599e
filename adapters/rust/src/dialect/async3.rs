//! The async API of 3.x: the driver's calls as its users write them, its options, its errors.

use std::io;
use std::mem;
use std::time::Duration;

use futures_util::TryStreamExt;
use mongodb::action::Action;
pub use mongodb::bson;
use mongodb::bson::{doc, Bson, Document, RawBson, RawDocument, RawDocumentBuf};
pub use mongodb::error::{Error, Result};
use mongodb::error::{ErrorKind, WriteFailure};
use mongodb::options::{CollectionOptions, CursorType};
use mongodb::results::UpdateResult;
/// A client, and the database that `open` names.
pub use mongodb::Database as Client;
use mongodb::{Collection, Cursor};
use serde_json::json;
/// Workers and calls are tasks; those of a blocking API would be threads.
pub use tokio::spawn;

use super::client::variant;
use crate::harness::operations::{Answer, Given, Kind, Operation};
use crate::harness::protocol::{cut, ErrorEntry, Failure};

pub const KINDS: &str = "noop insert_one insert_many find_one find update_one delete_one count \
    estimated_count replace_one find_one_and_update read_modify_write aggregate command drop";

/// The driver refuses unacknowledged writes, and its `run_command` takes no concerns.
pub const EXTRAS: &str = "write_concern read_concern read_preference unordered clients lazy_insert";

/// Of an operation's calls with one client.
pub struct Target {
    database: Client,
    items: Collection<Document>,
}

impl Target {
    pub fn new(client: &Client, operation: &Operation) -> std::result::Result<Target, Failure> {
        let Operation { write_concern, read_concern, read_preference, .. } = operation;
        let options: CollectionOptions = serde_json::from_value(json!({
            "writeConcern": write_concern,
            "readConcern": read_concern.as_ref().map(|level| json!({ "level": level })),
            "selectionCriteria": read_preference.as_ref().map(|mode| json!({ "mode": mode })),
        }))
        .map_err(|error| Failure::new("unsupported", error))?;
        let items = client.collection_with_options(&operation.collection, options);
        Ok(Target { database: client.clone(), items })
    }

    pub async fn call(
        &self,
        kind: Kind,
        operation: &Operation,
        given: &mut Given,
    ) -> Result<Answer> {
        let Target { database, items } = self;
        let Operation { ordered, upsert, batch_size, sum_field, .. } = operation;
        let mut answer = Answer::right_if(true);
        match kind {
            Kind::InsertOne => {
                items.insert_one(given.body()).await?;
            }
            Kind::InsertMany => {
                let documents = mem::take(&mut given.documents).into_iter();
                answer.right = match given.lazy.take() {
                    Some(batch) => insert_many(items, batch, *ordered).await?,
                    None => insert_many(items, documents, *ordered).await?,
                }
            }
            Kind::FindOne => {
                let find = items.find_one(given.filter());
                let find =
                    find.optional(given.projection.take(), |find, fields| find.projection(*fields));
                answer = Answer::one(find.await?, sum_field);
            }
            Kind::Find => {
                let find = items
                    .find(given.filter())
                    .optional(given.projection.take(), |find, fields| find.projection(*fields))
                    .optional(given.limit, |find, most| find.limit(most))
                    .optional(*batch_size, |find, size| find.batch_size(size));
                answer = drained(find.await?, sum_field).await?;
            }
            Kind::UpdateOne => {
                let update = items.update_one(given.filter(), given.body());
                let update = update.optional(*upsert, |update, is| update.upsert(is));
                answer.right = one_written(&update.await?);
            }
            Kind::ReplaceOne => {
                let replace = items.replace_one(given.filter(), given.body());
                let replace = replace.optional(*upsert, |replace, is| replace.upsert(is));
                answer.right = one_written(&replace.await?);
            }
            Kind::FindOneAndUpdate => {
                answer = Answer::one(
                    items.find_one_and_update(given.filter(), given.body()).await?,
                    sum_field,
                );
            }
            Kind::DeleteOne => {
                answer.right = items.delete_one(given.filter()).await?.deleted_count == 1
            }
            Kind::Count => answer.documents = items.count_documents(given.filter()).await?,
            Kind::EstimatedCount => answer.documents = items.estimated_document_count().await?,
            Kind::Aggregate => {
                answer = drained(items.aggregate(mem::take(&mut given.documents)).await?, sum_field)
                    .await?
            }
            Kind::Command => {
                // The driver turns an answer without `ok: 1` into an error.
                database.run_command(given.body()).await?;
            }
            Kind::Drop => items.drop().await?,
            Kind::Noop | Kind::ReadModifyWrite => unreachable!("made of others by the harness"),
        }
        Ok(answer)
    }
}

/// The driver encodes all documents before it sends the first: a lazy sequence saves those that
/// are not encoded.
async fn insert_many(
    items: &Collection<Document>,
    documents: impl ExactSizeIterator<Item = Document>,
    ordered: Option<bool>,
) -> Result<bool> {
    let count = documents.len();
    let insert = items.insert_many(documents).optional(ordered, |insert, is| insert.ordered(is));
    Ok(insert.await?.inserted_ids.len() == count)
}

fn one_written(result: &UpdateResult) -> bool {
    result.matched_count == 1 || result.upserted_id.is_some()
}

async fn drained(mut cursor: Cursor<Document>, sum_field: &Option<String>) -> Result<Answer> {
    let mut answer = Answer::right_if(true);
    while let Some(document) = cursor.try_next().await? {
        answer.read(&document, sum_field);
    }
    Ok(answer)
}

pub async fn ping(client: &Client) -> Result<Document> {
    client.run_command(doc! { "ping": 1 }).await
}

pub async fn close(client: mongodb::Client) {
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

/// Not `Stream::next`, which since 3.5 allocates a future for each message.
pub async fn next(cursor: &mut Tail) -> Result<Option<&RawDocument>> {
    Ok(cursor.advance().await?.then(|| cursor.current()))
}

pub async fn is_there(messages: &Messages, id: &Option<RawBson>) -> Result<bool> {
    let Some(id) = id else { return Ok(false) };
    let id = Bson::try_from(id.clone()).map_err(Error::custom)?;
    Ok(messages.find_one(doc! { "_id": id }).await?.is_some())
}

/// The server's code and name, of a batch those of its first write error; else 0 and the driver's
/// variant.
impl From<Error> for ErrorEntry {
    fn from(error: Error) -> ErrorEntry {
        let (code, name) = match &*error.kind {
            ErrorKind::Command(error) => (error.code, Some(&error.code_name)),
            ErrorKind::Write(WriteFailure::WriteError(error)) => {
                (error.code, error.code_name.as_ref())
            }
            ErrorKind::Write(WriteFailure::WriteConcernError(error)) => {
                (error.code, Some(&error.code_name))
            }
            ErrorKind::InsertMany(batch) => {
                match (batch.write_errors.iter().flatten().next(), &batch.write_concern_error) {
                    (Some(error), _) => (error.code, error.code_name.as_ref()),
                    (None, Some(error)) => (error.code, Some(&error.code_name)),
                    (None, None) => (0, None),
                }
            }
            _ => (0, None),
        };
        let timeout = match &*error.kind {
            ErrorKind::Io(error) => error.kind() == io::ErrorKind::TimedOut,
            ErrorKind::ServerSelection { .. } => true,
            _ => matches!(code, 50 | 262), // MaxTimeMSExpired, ExceededTimeLimit
        };
        let name = name.filter(|name| !name.is_empty()).cloned();
        ErrorEntry {
            code,
            name: name.unwrap_or_else(|| variant(&error.kind)),
            count: 1,
            message: cut(&error.kind.to_string()),
            outcome: if timeout { 3 } else { 2 },
        }
    }
}
