//! The async API of 3.x: the driver's calls as its users write them.

use std::future::IntoFuture;
use std::mem;
use std::time::Duration;

use mongodb::action::Action;
use mongodb::bson::{doc, Bson, Document, RawDocument, RawDocumentBuf};
/// The failure of a batch.
pub use mongodb::error::ErrorKind::InsertMany as BatchFailed;
use mongodb::error::Result;
use mongodb::options::{ClientOptions, CursorType};
pub use mongodb::{Client, ClientSession, Collection, Cursor, Database};

use super::calls::{all, matched, Call, Pending};
use super::client::Target;
use super::transactions::{attempt, Attempts};
use crate::call::Answer;

/// CPU time between two messages of one batch, with the reading of the clock and the sample.
pub const CONSUMER_NS: Option<u64> = Some(200);

pub async fn parse(uri: &str) -> Result<ClientOptions> {
    ClientOptions::parse(uri).await
}

pub async fn ping(database: &Database) -> Result<Document> {
    database.run_command(doc! { "ping": 1 }).await
}

/// Gives an action those of its options, or the session, that there are. `optional` would move it
/// once more: 1.3 KB.
macro_rules! given {
    ($action:ident, $($option:ident: $value:expr),*) => {
        $(if let Some(value) = $value {
            $action = $action.$option(value);
        })*
    };
}

/// The methods start the driver's action, and their futures only await it. When an answer comes, a
/// future runs from the top, so less code has to be loaded.
impl<'a> Call<'a> {
    pub fn insert_one(self) -> Pending<'a> {
        let mut insert = self.items.insert_one(self.given.body());
        given!(insert, session: self.session);
        let inserted = insert.into_future();
        Box::pin(async move { inserted.await.map(|_| Answer::right_if(true)) })
    }

    pub fn insert_many(self) -> Pending<'a> {
        // The driver encodes all documents before it sends the first: a lazy sequence saves those
        // that are not encoded.
        let documents = self.given.batch();
        let count = documents.len();
        let insert = self.items.insert_many(documents);
        let insert = insert.optional(self.options.ordered, |insert, is| insert.ordered(is));
        let inserted = insert.into_future();
        Box::pin(async move { Ok(Answer::right_if(inserted.await?.inserted_ids.len() == count)) })
    }

    pub fn find_one(self) -> Pending<'a> {
        let mut find = self.items.find_one(self.given.filter());
        given!(find, projection: self.given.projection(), session: self.session);
        if let Some(asked) = self.given.finds.take() {
            given!(find, sort: asked.sort, hint: asked.hint, collation: asked.collation,
                max_time: asked.max_time);
        }
        let found = find.into_future();
        Box::pin(async move { Ok(Answer::one(found.await?, &self.options.sum_field)) })
    }

    pub fn find(self) -> Pending<'a> {
        let mut find = self.items.find(self.given.filter());
        given!(find, projection: self.given.projection(), limit: self.given.limit,
            batch_size: self.options.batch_size);
        if let Some(asked) = self.given.finds.take() {
            given!(find, sort: asked.sort, skip: asked.skip, hint: asked.hint,
                collation: asked.collation, max_time: asked.max_time);
        }
        let found = find.into_future();
        Box::pin(async move { all(found.await?, self.options).await })
    }

    pub fn update_one(self) -> Pending<'a> {
        let mut update = self.items.update_one(self.given.filter(), self.given.body());
        given!(update, upsert: self.options.upsert, session: self.session);
        let updated = update.into_future();
        Box::pin(async move { updated.await.map(matched) })
    }

    pub fn replace_one(self) -> Pending<'a> {
        let mut replace = self.items.replace_one(self.given.filter(), self.given.body());
        given!(replace, upsert: self.options.upsert, session: self.session);
        let replaced = replace.into_future();
        Box::pin(async move { replaced.await.map(matched) })
    }

    pub fn find_one_and_update(self) -> Pending<'a> {
        let mut update = self.items.find_one_and_update(self.given.filter(), self.given.body());
        given!(update, session: self.session);
        if let Some(asked) = self.given.finds.take() {
            given!(update, sort: asked.sort, collation: asked.collation,
                max_time: asked.max_time);
        }
        let found = update.into_future();
        Box::pin(async move { Ok(Answer::one(found.await?, &self.options.sum_field)) })
    }

    pub fn delete_one(self) -> Pending<'a> {
        let mut delete = self.items.delete_one(self.given.filter());
        given!(delete, session: self.session);
        let deleted = delete.into_future();
        Box::pin(async move { Ok(Answer::right_if(deleted.await?.deleted_count == 1)) })
    }

    pub fn update_many(self) -> Pending<'a> {
        let updated = self.items.update_many(self.given.filter(), self.given.body()).into_future();
        Box::pin(async move { Ok(Answer::counted(updated.await?.matched_count)) })
    }

    pub fn delete_many(self) -> Pending<'a> {
        let deleted = self.items.delete_many(self.given.filter()).into_future();
        Box::pin(async move { Ok(Answer::counted(deleted.await?.deleted_count)) })
    }

    pub fn distinct(self) -> Pending<'a> {
        let found = self.items.distinct(&self.options.field, self.given.filter()).into_future();
        Box::pin(async move { Ok(Answer::values(&found.await?, &self.options.sum_field)) })
    }

    pub fn count(self) -> Pending<'a> {
        let counted = self.items.count_documents(self.given.filter()).into_future();
        Box::pin(async move { counted.await.map(Answer::counted) })
    }

    pub fn estimated_count(self) -> Pending<'a> {
        let counted = self.items.estimated_document_count().into_future();
        Box::pin(async move { counted.await.map(Answer::counted) })
    }

    pub fn aggregate(self) -> Pending<'a> {
        let found = self.items.aggregate(mem::take(&mut self.given.documents)).into_future();
        Box::pin(async move { all(found.await?, self.options).await })
    }

    pub fn command(self) -> Pending<'a> {
        // The driver turns an answer without `ok: 1` into an error.
        let answered = self.database.run_command(self.given.body()).into_future();
        Box::pin(async move { answered.await.map(|_| Answer::right_if(true)) })
    }

    pub fn drop(self) -> Pending<'a> {
        let dropped = self.items.drop().into_future();
        Box::pin(async move { dropped.await.map(|()| Answer::right_if(true)) })
    }
}

pub async fn transaction(target: &Target, attempts: Attempts<'_>) -> Result<Answer> {
    let mut session = target.client.start_session().await?;
    let transaction = session.start_transaction().with_options(target.concerns.clone());
    transaction.and_run(attempts, |session, own| Box::pin(attempt(session, own))).await
}

/// How long the server keeps a getMore that has nothing to return.
const AWAIT: Duration = Duration::from_millis(100);

pub type Messages = Collection<RawDocumentBuf>;

/// Not sorted: a scan returns a capped collection in natural order.
pub async fn tail(messages: &Messages) -> Result<Cursor<RawDocumentBuf>> {
    messages.find(doc! {}).cursor_type(CursorType::TailableAwait).max_await_time(AWAIT).await
}

/// `Stream::next` would allocate a future for each message since 3.5.
pub async fn next(cursor: &mut Cursor<RawDocumentBuf>) -> Result<Option<&RawDocument>> {
    Ok(cursor.advance().await?.then(|| cursor.current()))
}

pub async fn is_there(messages: &Messages, id: &Bson) -> Result<bool> {
    Ok(messages.find_one(doc! { "_id": id }).await?.is_some())
}
