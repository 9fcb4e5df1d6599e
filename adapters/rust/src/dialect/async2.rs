//! The async API of 2.x, on tokio: the driver's calls as its users write them.

use std::mem;
use std::time::Duration;

use futures_util::TryStreamExt;
use mongodb::bson::{doc, Bson, Document, RawDocumentBuf};
/// The failure of a batch.
pub use mongodb::error::ErrorKind::BulkWrite as BatchFailed;
use mongodb::error::Result;
use mongodb::options::{
    ClientOptions, CursorType, FindOneAndUpdateOptions, FindOneOptions, FindOptions,
    InsertManyOptions, ReplaceOptions, UpdateOptions,
};
pub use mongodb::{Client, ClientSession, Collection, Cursor, Database};

use super::calls::{all, matched, Call, Pending};
#[cfg(feature = "transactions")]
use super::client::Target;
#[cfg(feature = "transactions")]
use super::transactions::{attempt, Attempts};
use crate::call::{Answer, Finds};

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
            let (items, document) = (self.items, self.given.body());
            match self.session {
                Some(within) => items.insert_one_with_session(document, None, within).await?,
                None => items.insert_one(document, None).await?,
            };
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
            let Finds { sort, hint, collation, max_time, .. } = self.given.finds();
            let options = FindOneOptions::builder()
                .projection(self.given.projection())
                .sort(sort)
                .hint(hint)
                .collation(collation)
                .max_time(max_time)
                .build();
            let (items, filter) = (self.items, self.given.filter());
            let found = match self.session {
                Some(within) => items.find_one_with_session(filter, options, within).await?,
                None => items.find_one(filter, options).await?,
            };
            Ok(Answer::one(found, &self.options.sum_field))
        })
    }

    pub fn find(self) -> Pending<'a> {
        Box::pin(async move {
            let Finds { sort, skip, hint, collation, max_time } = self.given.finds();
            let options = FindOptions::builder()
                .projection(self.given.projection())
                .limit(self.given.limit)
                .batch_size(self.options.batch_size)
                .sort(sort)
                .skip(skip)
                .hint(hint)
                .collation(collation)
                .max_time(max_time)
                .build();
            all(self.items.find(self.given.filter(), options).await?, self.options).await
        })
    }

    pub fn update_one(self) -> Pending<'a> {
        Box::pin(async move {
            let options = UpdateOptions::builder().upsert(self.options.upsert).build();
            let (items, filter, update) = (self.items, self.given.filter(), self.given.body());
            let done = match self.session {
                Some(within) => {
                    items.update_one_with_session(filter, update, options, within).await?
                }
                None => items.update_one(filter, update, options).await?,
            };
            Ok(matched(done))
        })
    }

    pub fn replace_one(self) -> Pending<'a> {
        Box::pin(async move {
            let options = ReplaceOptions::builder().upsert(self.options.upsert).build();
            let (items, filter, document) = (self.items, self.given.filter(), self.given.body());
            let done = match self.session {
                Some(within) => {
                    items.replace_one_with_session(filter, document, options, within).await?
                }
                None => items.replace_one(filter, document, options).await?,
            };
            Ok(matched(done))
        })
    }

    pub fn find_one_and_update(self) -> Pending<'a> {
        Box::pin(async move {
            let Finds { sort, collation, max_time, .. } = self.given.finds();
            let options = FindOneAndUpdateOptions::builder()
                .sort(sort)
                .collation(collation)
                .max_time(max_time)
                .build();
            let (items, filter, update) = (self.items, self.given.filter(), self.given.body());
            let found = match self.session {
                Some(within) => {
                    items.find_one_and_update_with_session(filter, update, options, within).await?
                }
                None => items.find_one_and_update(filter, update, options).await?,
            };
            Ok(Answer::one(found, &self.options.sum_field))
        })
    }

    pub fn delete_one(self) -> Pending<'a> {
        Box::pin(async move {
            let (items, filter) = (self.items, self.given.filter());
            let done = match self.session {
                Some(within) => items.delete_one_with_session(filter, None, within).await?,
                None => items.delete_one(filter, None).await?,
            };
            Ok(Answer::right_if(done.deleted_count == 1))
        })
    }

    pub fn update_many(self) -> Pending<'a> {
        Box::pin(async move {
            let (filter, update) = (self.given.filter(), self.given.body());
            let done = self.items.update_many(filter, update, None).await?;
            Ok(Answer::counted(done.matched_count))
        })
    }

    pub fn delete_many(self) -> Pending<'a> {
        Box::pin(async move {
            let done = self.items.delete_many(self.given.filter(), None).await?;
            Ok(Answer::counted(done.deleted_count))
        })
    }

    pub fn distinct(self) -> Pending<'a> {
        Box::pin(async move {
            let filter = self.given.filter();
            let values = self.items.distinct(&self.options.field, filter, None).await?;
            Ok(Answer::values(&values, &self.options.sum_field))
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

#[cfg(feature = "transactions")]
pub async fn transaction(target: &Target, attempts: Attempts<'_>) -> Result<Answer> {
    let mut session = target.client.start_session(None).await?;
    let concerns = target.concerns.clone();
    session
        .with_transaction(attempts, |session, own| Box::pin(attempt(session, own)), concerns)
        .await
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
