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

use super::calls::{all, matched, Call, Pending};
use crate::call::Answer;

/// CPU time between two messages of one batch, with the reading of the clock and the sample.
pub const CONSUMER_NS: Option<u64> = Some(500);

pub async fn parse(uri: &str) -> Result<ClientOptions> {
    ClientOptions::parse(uri).await
}

pub async fn ping(database: &Database) -> Result<Document> {
    database.run_command(doc! { "ping": 1 }, None).await
}

impl<'a> Call<'a> {
    pub fn insert_one(self) -> Pending<'a> {
        Box::pin(async move {
            self.items.insert_one(self.given.body(), None).await?;
            Ok(Answer::right_if(true))
        })
    }

    pub fn insert_many(self) -> Pending<'a> {
        Box::pin(async move {
            let documents = self.given.batch();
            let count = documents.len();
            let options = InsertManyOptions::builder().ordered(self.options.ordered).build();
            let done = self.items.insert_many(documents, options).await?;
            Ok(Answer::right_if(done.inserted_ids.len() == count))
        })
    }

    pub fn find_one(self) -> Pending<'a> {
        Box::pin(async move {
            let options = FindOneOptions::builder().projection(self.given.projection()).build();
            let found = self.items.find_one(self.given.filter(), options).await?;
            Ok(Answer::one(found, &self.options.sum_field))
        })
    }

    pub fn find(self) -> Pending<'a> {
        Box::pin(async move {
            let options = FindOptions::builder()
                .projection(self.given.projection())
                .limit(self.given.limit)
                .batch_size(self.options.batch_size)
                .build();
            all(self.items.find(self.given.filter(), options).await?, self.options).await
        })
    }

    pub fn update_one(self) -> Pending<'a> {
        Box::pin(async move {
            let options = UpdateOptions::builder().upsert(self.options.upsert).build();
            let (filter, update) = (self.given.filter(), self.given.body());
            let done = self.items.update_one(filter, update, options).await?;
            Ok(matched(done))
        })
    }

    pub fn replace_one(self) -> Pending<'a> {
        Box::pin(async move {
            let options = ReplaceOptions::builder().upsert(self.options.upsert).build();
            let (filter, document) = (self.given.filter(), self.given.body());
            let done = self.items.replace_one(filter, document, options).await?;
            Ok(matched(done))
        })
    }

    pub fn find_one_and_update(self) -> Pending<'a> {
        Box::pin(async move {
            let (filter, update) = (self.given.filter(), self.given.body());
            let found = self.items.find_one_and_update(filter, update, None).await?;
            Ok(Answer::one(found, &self.options.sum_field))
        })
    }

    pub fn delete_one(self) -> Pending<'a> {
        Box::pin(async move {
            let done = self.items.delete_one(self.given.filter(), None).await?;
            Ok(Answer::right_if(done.deleted_count == 1))
        })
    }

    pub fn count(self) -> Pending<'a> {
        Box::pin(async move {
            Ok(Answer::counted(self.items.count_documents(self.given.filter(), None).await?))
        })
    }

    pub fn estimated_count(self) -> Pending<'a> {
        Box::pin(
            async move { Ok(Answer::counted(self.items.estimated_document_count(None).await?)) },
        )
    }

    pub fn aggregate(self) -> Pending<'a> {
        Box::pin(async move {
            let stages = mem::take(&mut self.given.documents);
            all(self.items.aggregate(stages, None).await?, self.options).await
        })
    }

    pub fn command(self) -> Pending<'a> {
        Box::pin(async move {
            self.database.run_command(self.given.body(), None).await?;
            Ok(Answer::right_if(true))
        })
    }

    pub fn drop(self) -> Pending<'a> {
        Box::pin(async move {
            self.items.drop(None).await?;
            Ok(Answer::right_if(true))
        })
    }
}

/// How long the server keeps a getMore that has nothing to return.
const AWAIT: Duration = Duration::from_millis(100);

pub type Messages = Collection<RawDocumentBuf>;

/// Not sorted: a scan returns a capped collection in natural order.
pub async fn tail(messages: &Messages) -> Result<Cursor<RawDocumentBuf>> {
    let options = FindOptions::builder();
    let options = options.cursor_type(CursorType::TailableAwait).max_await_time(AWAIT);
    messages.find(doc! {}, options.build()).await
}

/// `Cursor::advance`, which copies nothing, begins with 2.2.
pub async fn next(cursor: &mut Cursor<RawDocumentBuf>) -> Result<Option<RawDocumentBuf>> {
    cursor.try_next().await
}

pub async fn is_there(messages: &Messages, id: &Bson) -> Result<bool> {
    Ok(messages.find_one(doc! { "_id": id }, None).await?.is_some())
}
