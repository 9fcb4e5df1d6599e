//! The sync API of 2.x: the driver's calls as its users write them. The functions never wait for
//! another task: they block their thread.

use std::mem;

use mongodb::bson::{doc, Document};
/// The failure of a batch.
pub use mongodb::error::ErrorKind::BulkWrite as BatchFailed;
use mongodb::error::Result;
use mongodb::options::{
    ClientOptions, FindOneAndUpdateOptions, FindOneOptions, FindOptions, InsertManyOptions,
    ReplaceOptions, UpdateOptions,
};
pub use mongodb::sync::{Client, ClientSession, Collection, Database};

use super::calls::matched;
use super::client::Target;
#[cfg(feature = "transactions")]
use super::transactions::{attempted, Attempts};
use crate::call::{Answer, Finds, Given, Kind, Options};

/// No consumer: a cursor that waits for a message does not return its thread.
pub const CONSUMER_NS: Option<u64> = None;

pub async fn parse(uri: &str) -> Result<ClientOptions> {
    ClientOptions::parse(uri)
}

pub async fn ping(database: &Database) -> Result<Document> {
    database.run_command(doc! { "ping": 1 }, None)
}

#[cfg(feature = "transactions")]
pub async fn transaction(target: &Target, mut attempts: Attempts<'_>) -> Result<Answer> {
    let mut session = target.client.start_session(None)?;
    let calls = |session: &mut ClientSession| attempted(session, &mut attempts);
    session.with_transaction(calls, target.concerns.clone())
}

pub fn called(
    Target { database, items, .. }: &Target,
    kind: Kind,
    options: &Options,
    given: &mut Given,
    session: Option<&mut ClientSession>,
) -> Result<Answer> {
    let Options { ordered, upsert, batch_size, sum_field, .. } = options;
    let mut answer = Answer::right_if(true);
    match kind {
        Kind::InsertOne => {
            match session {
                Some(within) => items.insert_one_with_session(given.body(), None, within)?,
                None => items.insert_one(given.body(), None)?,
            };
        }
        Kind::InsertMany => {
            let documents = given.batch();
            let count = documents.len();
            let options = InsertManyOptions::builder().ordered(*ordered).build();
            answer.right = items.insert_many(documents, options)?.inserted_ids.len() == count;
        }
        Kind::FindOne => {
            let Finds { sort, hint, collation, max_time, .. } = given.finds();
            let options = FindOneOptions::builder()
                .projection(given.projection())
                .sort(sort)
                .hint(hint)
                .collation(collation)
                .max_time(max_time)
                .build();
            let found = match session {
                Some(within) => items.find_one_with_session(given.filter(), options, within)?,
                None => items.find_one(given.filter(), options)?,
            };
            answer = Answer::one(found, sum_field);
        }
        Kind::Find => {
            let Finds { sort, skip, hint, collation, max_time } = given.finds();
            let options = FindOptions::builder()
                .projection(given.projection())
                .limit(given.limit)
                .batch_size(*batch_size)
                .sort(sort)
                .skip(skip)
                .hint(hint)
                .collation(collation)
                .max_time(max_time)
                .build();
            let cursor = items.find(given.filter(), options)?;
            for document in cursor {
                answer.read(&document?, sum_field);
            }
        }
        Kind::UpdateOne => {
            let options = UpdateOptions::builder().upsert(*upsert).build();
            let (filter, update) = (given.filter(), given.body());
            answer = matched(match session {
                Some(within) => items.update_one_with_session(filter, update, options, within)?,
                None => items.update_one(filter, update, options)?,
            });
        }
        Kind::ReplaceOne => {
            let options = ReplaceOptions::builder().upsert(*upsert).build();
            let (filter, document) = (given.filter(), given.body());
            answer = matched(match session {
                Some(within) => {
                    items.replace_one_with_session(filter, document, options, within)?
                }
                None => items.replace_one(filter, document, options)?,
            });
        }
        Kind::FindOneAndUpdate => {
            let Finds { sort, collation, max_time, .. } = given.finds();
            let options = FindOneAndUpdateOptions::builder()
                .sort(sort)
                .collation(collation)
                .max_time(max_time)
                .build();
            let (filter, update) = (given.filter(), given.body());
            let found = match session {
                Some(within) => {
                    items.find_one_and_update_with_session(filter, update, options, within)?
                }
                None => items.find_one_and_update(filter, update, options)?,
            };
            answer = Answer::one(found, sum_field);
        }
        Kind::DeleteOne => {
            let done = match session {
                Some(within) => items.delete_one_with_session(given.filter(), None, within)?,
                None => items.delete_one(given.filter(), None)?,
            };
            answer.right = done.deleted_count == 1;
        }
        Kind::UpdateMany => {
            let done = items.update_many(given.filter(), given.body(), None)?;
            answer = Answer::counted(done.matched_count);
        }
        Kind::DeleteMany => {
            answer = Answer::counted(items.delete_many(given.filter(), None)?.deleted_count);
        }
        Kind::Distinct => {
            let values = items.distinct(&options.field, given.filter(), None)?;
            answer = Answer::values(&values, sum_field);
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
        Kind::Noop | Kind::ReadModifyWrite | Kind::Transaction => {
            unreachable!("made of others by the harness")
        }
    }
    Ok(answer)
}
