//! The sync API of 2.x: the driver's calls as its users write them. The functions never wait for
//! another task: they block their thread.

use std::mem;

use mongodb::bson::{doc, Document};
/// The failure of a batch.
pub use mongodb::error::ErrorKind::BulkWrite as BatchFailed;
use mongodb::error::Result;
use mongodb::options::{
    ClientOptions, FindOneOptions, FindOptions, InsertManyOptions, ReplaceOptions, UpdateOptions,
};
pub use mongodb::sync::{Client, Collection, Database};

use super::calls::matched;
use crate::call::{Answer, Given, Kind, Options};

/// No consumer: a cursor that waits for a message does not return its thread.
pub const CONSUMER_NS: Option<u64> = None;

pub async fn parse(uri: &str) -> Result<ClientOptions> {
    ClientOptions::parse(uri)
}

pub async fn ping(database: &Database) -> Result<Document> {
    database.run_command(doc! { "ping": 1 }, None)
}

pub fn called(
    (database, items): &(Database, Collection<Document>),
    kind: Kind,
    options: &Options,
    given: &mut Given,
) -> Result<Answer> {
    let Options { ordered, upsert, batch_size, sum_field, .. } = options;
    let mut answer = Answer::right_if(true);
    match kind {
        Kind::InsertOne => {
            items.insert_one(given.body(), None)?;
        }
        Kind::InsertMany => {
            let documents = given.batch();
            let count = documents.len();
            let options = InsertManyOptions::builder().ordered(*ordered).build();
            answer.right = items.insert_many(documents, options)?.inserted_ids.len() == count;
        }
        Kind::FindOne => {
            let options = FindOneOptions::builder().projection(given.projection()).build();
            answer = Answer::one(items.find_one(given.filter(), options)?, sum_field);
        }
        Kind::Find => {
            let options = FindOptions::builder()
                .projection(given.projection())
                .limit(given.limit)
                .batch_size(*batch_size)
                .build();
            let cursor = items.find(given.filter(), options)?;
            for document in cursor {
                answer.read(&document?, sum_field);
            }
        }
        Kind::UpdateOne => {
            let options = UpdateOptions::builder().upsert(*upsert).build();
            let done = items.update_one(given.filter(), given.body(), options)?;
            answer = matched(done);
        }
        Kind::ReplaceOne => {
            let options = ReplaceOptions::builder().upsert(*upsert).build();
            let done = items.replace_one(given.filter(), given.body(), options)?;
            answer = matched(done);
        }
        Kind::FindOneAndUpdate => {
            let found = items.find_one_and_update(given.filter(), given.body(), None)?;
            answer = Answer::one(found, sum_field);
        }
        Kind::DeleteOne => {
            answer.right = items.delete_one(given.filter(), None)?.deleted_count == 1
        }
        Kind::Count => answer = Answer::counted(items.count_documents(given.filter(), None)?),
        Kind::EstimatedCount => answer = Answer::counted(items.estimated_document_count(None)?),
        Kind::Aggregate => {
            let cursor = items.aggregate(mem::take(&mut given.documents), None)?;
            for document in cursor {
                answer.read(&document?, sum_field);
            }
        }
        Kind::Command => {
            database.run_command(given.body(), None)?;
        }
        Kind::Drop => items.drop(None)?,
        Kind::Noop | Kind::ReadModifyWrite => unreachable!("made of others by the harness"),
    }
    Ok(answer)
}
