//! The async API of 3.x: the driver's calls as its users write them.

use std::future::IntoFuture;
use std::mem;
use std::time::Duration;

use futures_util::TryStreamExt;
use mongodb::action::Action;
use mongodb::bson::{doc, Bson, Document, RawDocument, RawDocumentBuf};
/// The failure of a batch.
pub use mongodb::error::ErrorKind::InsertMany as BatchFailed;
use mongodb::error::Result;
use mongodb::options::{ClientOptions, CursorType};
use mongodb::results::UpdateResult;
pub use mongodb::{Client, Collection, Cursor, Database};

use crate::call::{Answer, Given, Kind, Options, Pending};

/// Between two messages of one batch, with the reading of the clock and the sample.
pub const CONSUMER_NS: Option<u64> = Some(200);

pub async fn parse(uri: &str) -> Result<ClientOptions> {
    ClientOptions::parse(uri).await
}

pub async fn ping(database: &Database) -> Result<Document> {
    database.run_command(doc! { "ping": 1 }).await
}

pub fn call<'a>(
    (database, items): &'a (Database, Collection<Document>),
    kind: Kind,
    options: &'a Options,
    given: &'a mut Given,
) -> Pending<'a> {
    let call = Call { database, items, options, given };
    match kind {
        Kind::InsertOne => call.insert_one(),
        Kind::InsertMany => call.insert_many(),
        Kind::FindOne => call.find_one(),
        Kind::Find => call.find(),
        Kind::UpdateOne => call.update_one(),
        Kind::ReplaceOne => call.replace_one(),
        Kind::FindOneAndUpdate => call.find_one_and_update(),
        Kind::DeleteOne => call.delete_one(),
        Kind::Count => call.count(),
        Kind::EstimatedCount => call.estimated_count(),
        Kind::Aggregate => call.aggregate(),
        Kind::Command => call.command(),
        Kind::Drop => call.drop(),
        Kind::Noop | Kind::ReadModifyWrite => unreachable!("made of others by the harness"),
    }
}

/// Its methods start the driver's action, and their futures only await it: each time an answer
/// comes they run, and less of their code has to be loaded.
struct Call<'a> {
    database: &'a Database,
    items: &'a Collection<Document>,
    options: &'a Options,
    given: &'a mut Given,
}

impl<'a> Call<'a> {
    fn insert_one(self) -> Pending<'a> {
        let inserted = self.items.insert_one(self.given.body()).into_future();
        Box::pin(async move { inserted.await.map(|_| Answer::right_if(true)) })
    }

    fn insert_many(self) -> Pending<'a> {
        // The driver encodes all documents before it sends the first: a lazy sequence saves those
        // that are not encoded.
        let documents = self.given.batch();
        let count = documents.len();
        let insert = self.items.insert_many(documents);
        let insert = insert.optional(self.options.ordered, |insert, is| insert.ordered(is));
        let inserted = insert.into_future();
        Box::pin(async move { Ok(Answer::right_if(inserted.await?.inserted_ids.len() == count)) })
    }

    fn find_one(self) -> Pending<'a> {
        // Not by `optional`, which moves the action once more: 1.3 KB.
        let mut find = self.items.find_one(self.given.filter());
        if let Some(fields) = self.given.projection() {
            find = find.projection(fields);
        }
        let found = find.into_future();
        Box::pin(async move { Ok(Answer::one(found.await?, &self.options.sum_field)) })
    }

    fn find(self) -> Pending<'a> {
        let found = self
            .items
            .find(self.given.filter())
            .optional(self.given.projection(), |find, fields| find.projection(fields))
            .optional(self.given.limit, |find, most| find.limit(most))
            .optional(self.options.batch_size, |find, size| find.batch_size(size))
            .into_future();
        Box::pin(async move { all(found.await?, self.options).await })
    }

    fn update_one(self) -> Pending<'a> {
        let update = self.items.update_one(self.given.filter(), self.given.body());
        let update = update.optional(self.options.upsert, |update, is| update.upsert(is));
        let updated = update.into_future();
        Box::pin(async move { updated.await.map(matched) })
    }

    fn replace_one(self) -> Pending<'a> {
        let replace = self.items.replace_one(self.given.filter(), self.given.body());
        let replace = replace.optional(self.options.upsert, |replace, is| replace.upsert(is));
        let replaced = replace.into_future();
        Box::pin(async move { replaced.await.map(matched) })
    }

    fn find_one_and_update(self) -> Pending<'a> {
        let update = self.items.find_one_and_update(self.given.filter(), self.given.body());
        let found = update.into_future();
        Box::pin(async move { Ok(Answer::one(found.await?, &self.options.sum_field)) })
    }

    fn delete_one(self) -> Pending<'a> {
        let deleted = self.items.delete_one(self.given.filter()).into_future();
        Box::pin(async move { Ok(Answer::right_if(deleted.await?.deleted_count == 1)) })
    }

    fn count(self) -> Pending<'a> {
        let counted = self.items.count_documents(self.given.filter()).into_future();
        Box::pin(async move { counted.await.map(Answer::counted) })
    }

    fn estimated_count(self) -> Pending<'a> {
        let counted = self.items.estimated_document_count().into_future();
        Box::pin(async move { counted.await.map(Answer::counted) })
    }

    fn aggregate(self) -> Pending<'a> {
        let found = self.items.aggregate(mem::take(&mut self.given.documents)).into_future();
        Box::pin(async move { all(found.await?, self.options).await })
    }

    fn command(self) -> Pending<'a> {
        // The driver turns an answer without `ok: 1` into an error.
        let answered = self.database.run_command(self.given.body()).into_future();
        Box::pin(async move { answered.await.map(|_| Answer::right_if(true)) })
    }

    fn drop(self) -> Pending<'a> {
        let dropped = self.items.drop().into_future();
        Box::pin(async move { dropped.await.map(|()| Answer::right_if(true)) })
    }
}

fn matched(done: UpdateResult) -> Answer {
    Answer::right_if(done.matched_count == 1 || done.upserted_id.is_some())
}

async fn all(mut cursor: Cursor<Document>, options: &Options) -> Result<Answer> {
    let mut answer = Answer::right_if(true);
    while let Some(document) = cursor.try_next().await? {
        answer.read(&document, &options.sum_field);
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
