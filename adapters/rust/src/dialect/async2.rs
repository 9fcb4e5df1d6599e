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
use mongodb::results::UpdateResult;
pub use mongodb::{Client, Collection, Cursor, Database};

use crate::call::{Answer, Given, Kind, Options, Pending};

/// Between two messages of one batch, with the reading of the clock and the sample.
pub const CONSUMER_NS: Option<u64> = Some(500);

pub async fn parse(uri: &str) -> Result<ClientOptions> {
    ClientOptions::parse(uri).await
}

pub async fn ping(database: &Database) -> Result<Document> {
    database.run_command(doc! { "ping": 1 }, None).await
}

pub fn call<'a>(
    (database, items): &'a (Database, Collection<Document>),
    kind: Kind,
    options: &'a Options,
    given: &'a mut Given,
) -> Pending<'a> {
    let call = Call { database, items, options, given };
    match kind {
        Kind::InsertOne => Box::pin(call.insert_one()),
        Kind::InsertMany => Box::pin(call.insert_many()),
        Kind::FindOne => Box::pin(call.find_one()),
        Kind::Find => Box::pin(call.find()),
        Kind::UpdateOne => Box::pin(call.update_one()),
        Kind::ReplaceOne => Box::pin(call.replace_one()),
        Kind::FindOneAndUpdate => Box::pin(call.find_one_and_update()),
        Kind::DeleteOne => Box::pin(call.delete_one()),
        Kind::Count => Box::pin(call.count()),
        Kind::EstimatedCount => Box::pin(call.estimated_count()),
        Kind::Aggregate => Box::pin(call.aggregate()),
        Kind::Command => Box::pin(call.command()),
        Kind::Drop => Box::pin(call.drop()),
        Kind::Noop | Kind::ReadModifyWrite => unreachable!("made of others by the harness"),
    }
}

struct Call<'a> {
    database: &'a Database,
    items: &'a Collection<Document>,
    options: &'a Options,
    given: &'a mut Given,
}

impl Call<'_> {
    async fn insert_one(self) -> Result<Answer> {
        self.items.insert_one(self.given.body(), None).await?;
        Ok(Answer::right_if(true))
    }

    async fn insert_many(self) -> Result<Answer> {
        let documents = self.given.batch();
        let count = documents.len();
        let options = InsertManyOptions::builder().ordered(self.options.ordered).build();
        let done = self.items.insert_many(documents, options).await?;
        Ok(Answer::right_if(done.inserted_ids.len() == count))
    }

    async fn find_one(self) -> Result<Answer> {
        let options = FindOneOptions::builder().projection(self.given.projection()).build();
        let found = self.items.find_one(self.given.filter(), options).await?;
        Ok(Answer::one(found, &self.options.sum_field))
    }

    async fn find(self) -> Result<Answer> {
        let options = FindOptions::builder()
            .projection(self.given.projection())
            .limit(self.given.limit)
            .batch_size(self.options.batch_size)
            .build();
        all(self.items.find(self.given.filter(), options).await?, self.options).await
    }

    async fn update_one(self) -> Result<Answer> {
        let options = UpdateOptions::builder().upsert(self.options.upsert).build();
        let (filter, update) = (self.given.filter(), self.given.body());
        let done = self.items.update_one(filter, update, options).await?;
        Ok(matched(done))
    }

    async fn replace_one(self) -> Result<Answer> {
        let options = ReplaceOptions::builder().upsert(self.options.upsert).build();
        let (filter, document) = (self.given.filter(), self.given.body());
        let done = self.items.replace_one(filter, document, options).await?;
        Ok(matched(done))
    }

    async fn find_one_and_update(self) -> Result<Answer> {
        let (filter, update) = (self.given.filter(), self.given.body());
        let found = self.items.find_one_and_update(filter, update, None).await?;
        Ok(Answer::one(found, &self.options.sum_field))
    }

    async fn delete_one(self) -> Result<Answer> {
        let done = self.items.delete_one(self.given.filter(), None).await?;
        Ok(Answer::right_if(done.deleted_count == 1))
    }

    async fn count(self) -> Result<Answer> {
        Ok(Answer::counted(self.items.count_documents(self.given.filter(), None).await?))
    }

    async fn estimated_count(self) -> Result<Answer> {
        Ok(Answer::counted(self.items.estimated_document_count(None).await?))
    }

    async fn aggregate(self) -> Result<Answer> {
        let stages = mem::take(&mut self.given.documents);
        all(self.items.aggregate(stages, None).await?, self.options).await
    }

    async fn command(self) -> Result<Answer> {
        self.database.run_command(self.given.body(), None).await?;
        Ok(Answer::right_if(true))
    }

    async fn drop(self) -> Result<Answer> {
        self.items.drop(None).await?;
        Ok(Answer::right_if(true))
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
