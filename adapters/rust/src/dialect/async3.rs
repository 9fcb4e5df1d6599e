//! The async API of 3.x: the driver's calls as its users write them.

use std::mem;
use std::time::Duration;

use futures_util::TryStreamExt;
use mongodb::action::Action;
use mongodb::bson::{doc, Bson, Document, RawDocument, RawDocumentBuf};
/// The failure of a batch.
pub use mongodb::error::ErrorKind::InsertMany as BatchFailed;
use mongodb::error::Result;
use mongodb::options::{ClientOptions, CursorType};
pub use mongodb::{Client, Collection, Cursor, Database};

use crate::call::{Answer, Given, Kind, Options};

/// Between two messages of one batch, with the reading of the clock and the sample.
pub const CONSUMER_NS: Option<u64> = Some(200);

pub async fn parse(uri: &str) -> Result<ClientOptions> {
    ClientOptions::parse(uri).await
}

pub async fn ping(database: &Database) -> Result<Document> {
    database.run_command(doc! { "ping": 1 }).await
}

pub async fn call(
    (database, items): &(Database, Collection<Document>),
    kind: Kind,
    options: &Options,
    given: &mut Given,
) -> Result<Answer> {
    let Options { ordered, upsert, batch_size, sum_field, .. } = options;
    let mut answer = Answer::right_if(true);
    match kind {
        Kind::InsertOne => {
            items.insert_one(given.body()).await?;
        }
        Kind::InsertMany => {
            // The driver encodes all documents before it sends the first: a lazy sequence saves
            // those that are not encoded.
            let documents = given.batch();
            let count = documents.len();
            let insert = items.insert_many(documents);
            let insert = insert.optional(*ordered, |insert, is| insert.ordered(is));
            answer.right = insert.await?.inserted_ids.len() == count;
        }
        Kind::FindOne => {
            // Not by `optional`, which moves the action once more: 1.3 KB.
            let mut find = items.find_one(given.filter());
            if let Some(fields) = given.projection() {
                find = find.projection(fields);
            }
            answer = Answer::one(find.await?, sum_field);
        }
        Kind::Find => {
            let mut cursor = items
                .find(given.filter())
                .optional(given.projection(), |find, fields| find.projection(fields))
                .optional(given.limit, |find, most| find.limit(most))
                .optional(*batch_size, |find, size| find.batch_size(size))
                .await?;
            while let Some(document) = cursor.try_next().await? {
                answer.read(&document, sum_field);
            }
        }
        Kind::UpdateOne => {
            let update = items.update_one(given.filter(), given.body());
            let update = update.optional(*upsert, |update, is| update.upsert(is));
            let done = update.await?;
            answer.right = done.matched_count == 1 || done.upserted_id.is_some();
        }
        Kind::ReplaceOne => {
            let replace = items.replace_one(given.filter(), given.body());
            let replace = replace.optional(*upsert, |replace, is| replace.upsert(is));
            let done = replace.await?;
            answer.right = done.matched_count == 1 || done.upserted_id.is_some();
        }
        Kind::FindOneAndUpdate => {
            let found = items.find_one_and_update(given.filter(), given.body()).await?;
            answer = Answer::one(found, sum_field);
        }
        Kind::DeleteOne => {
            answer.right = items.delete_one(given.filter()).await?.deleted_count == 1
        }
        Kind::Count => answer.documents = items.count_documents(given.filter()).await?,
        Kind::EstimatedCount => answer.documents = items.estimated_document_count().await?,
        Kind::Aggregate => {
            let mut cursor = items.aggregate(mem::take(&mut given.documents)).await?;
            while let Some(document) = cursor.try_next().await? {
                answer.read(&document, sum_field);
            }
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

/// For this time the server holds a getMore that has nothing to return.
const AWAIT: Duration = Duration::from_millis(100);

pub type Messages = Collection<RawDocumentBuf>;

/// Without a sort: a scan returns a capped collection in natural order.
pub async fn tail(messages: &Messages) -> Result<Cursor<RawDocumentBuf>> {
    messages.find(doc! {}).cursor_type(CursorType::TailableAwait).max_await_time(AWAIT).await
}

/// Not `Stream::next`, which since 3.5 allocates a future for each message.
pub async fn next(cursor: &mut Cursor<RawDocumentBuf>) -> Result<Option<&RawDocument>> {
    Ok(cursor.advance().await?.then(|| cursor.current()))
}

pub async fn is_there(messages: &Messages, id: &Bson) -> Result<bool> {
    Ok(messages.find_one(doc! { "_id": id }).await?.is_some())
}
