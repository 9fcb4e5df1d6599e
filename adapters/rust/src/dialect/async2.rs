//! The async API of 2.x, on tokio: the driver's calls as its users write them.

use std::mem;
use std::time::Duration;

use futures_util::TryStreamExt;
use mongodb::bson::{doc, Bson, Document, RawDocumentBuf};
/// The failure of a batch.
pub use mongodb::error::ErrorKind::BulkWrite as BatchFailed;
use mongodb::error::Result;
use mongodb::options::{
    ClientOptions, CursorType, FindOneOptions, FindOptions, InsertManyOptions, ReplaceOptions,
    UpdateOptions,
};
pub use mongodb::{Client, Collection, Cursor, Database};

use crate::call::{Answer, Given, Kind, Options};

/// Between two messages of one batch, with the reading of the clock and the sample.
pub const CONSUMER_NS: Option<u64> = Some(500);

pub async fn parse(uri: &str) -> Result<ClientOptions> {
    ClientOptions::parse(uri).await
}

pub async fn ping(database: &Database) -> Result<Document> {
    database.run_command(doc! { "ping": 1 }, None).await
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
            items.insert_one(given.body(), None).await?;
        }
        Kind::InsertMany => {
            let documents = given.batch();
            let count = documents.len();
            let options = InsertManyOptions::builder().ordered(*ordered).build();
            answer.right = items.insert_many(documents, options).await?.inserted_ids.len() == count;
        }
        Kind::FindOne => {
            let options = FindOneOptions::builder().projection(given.projection()).build();
            answer = Answer::one(items.find_one(given.filter(), options).await?, sum_field);
        }
        Kind::Find => {
            let options = FindOptions::builder()
                .projection(given.projection())
                .limit(given.limit)
                .batch_size(*batch_size)
                .build();
            let mut cursor = items.find(given.filter(), options).await?;
            while let Some(document) = cursor.try_next().await? {
                answer.read(&document, sum_field);
            }
        }
        Kind::UpdateOne => {
            let options = UpdateOptions::builder().upsert(*upsert).build();
            let done = items.update_one(given.filter(), given.body(), options).await?;
            answer.right = done.matched_count == 1 || done.upserted_id.is_some();
        }
        Kind::ReplaceOne => {
            let options = ReplaceOptions::builder().upsert(*upsert).build();
            let done = items.replace_one(given.filter(), given.body(), options).await?;
            answer.right = done.matched_count == 1 || done.upserted_id.is_some();
        }
        Kind::FindOneAndUpdate => {
            let found = items.find_one_and_update(given.filter(), given.body(), None).await?;
            answer = Answer::one(found, sum_field);
        }
        Kind::DeleteOne => {
            answer.right = items.delete_one(given.filter(), None).await?.deleted_count == 1
        }
        Kind::Count => answer.documents = items.count_documents(given.filter(), None).await?,
        Kind::EstimatedCount => answer.documents = items.estimated_document_count(None).await?,
        Kind::Aggregate => {
            let mut cursor = items.aggregate(mem::take(&mut given.documents), None).await?;
            while let Some(document) = cursor.try_next().await? {
                answer.read(&document, sum_field);
            }
        }
        Kind::Command => {
            database.run_command(given.body(), None).await?;
        }
        Kind::Drop => items.drop(None).await?,
        Kind::Noop | Kind::ReadModifyWrite => unreachable!("made of others by the harness"),
    }
    Ok(answer)
}

/// For this time the server holds a getMore that has nothing to return.
const AWAIT: Duration = Duration::from_millis(100);

pub type Messages = Collection<RawDocumentBuf>;

/// Without a sort: a scan returns a capped collection in natural order.
pub async fn tail(messages: &Messages) -> Result<Cursor<RawDocumentBuf>> {
    let options = FindOptions::builder();
    let options = options.cursor_type(CursorType::TailableAwait).max_await_time(AWAIT);
    messages.find(doc! {}, options.build()).await
}

/// `Cursor::advance`, which copies nothing, is not there before 2.2.
pub async fn next(cursor: &mut Cursor<RawDocumentBuf>) -> Result<Option<RawDocumentBuf>> {
    cursor.try_next().await
}

pub async fn is_there(messages: &Messages, id: &Bson) -> Result<bool> {
    Ok(messages.find_one(doc! { "_id": id }, None).await?.is_some())
}
