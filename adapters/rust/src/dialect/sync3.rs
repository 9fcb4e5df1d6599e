//! The sync API of 3.x: the driver's calls as its users write them. The functions never wait for
//! another task: they block their thread.

use std::mem;

use mongodb::action::Action;
use mongodb::bson::{doc, Document};
/// The failure of a batch.
pub use mongodb::error::ErrorKind::InsertMany as BatchFailed;
use mongodb::error::Result;
use mongodb::options::ClientOptions;
pub use mongodb::sync::{Client, Collection, Database};

use super::calls::matched;
use crate::call::{Answer, Given, Kind, Options};

/// No consumer: a cursor that waits for a message does not return its thread.
pub const CONSUMER_NS: Option<u64> = None;

pub async fn parse(uri: &str) -> Result<ClientOptions> {
    ClientOptions::parse(uri).run()
}

pub async fn ping(database: &Database) -> Result<Document> {
    database.run_command(doc! { "ping": 1 }).run()
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
            items.insert_one(given.body()).run()?;
        }
        Kind::InsertMany => {
            let documents = given.batch();
            let count = documents.len();
            let insert = items.insert_many(documents);
            let insert = insert.optional(*ordered, |insert, is| insert.ordered(is));
            answer.right = insert.run()?.inserted_ids.len() == count;
        }
        Kind::FindOne => {
            let find = items.find_one(given.filter());
            let find = find.optional(given.projection(), |find, fields| find.projection(fields));
            answer = Answer::one(find.run()?, sum_field);
        }
        Kind::Find => {
            let cursor = items
                .find(given.filter())
                .optional(given.projection(), |find, fields| find.projection(fields))
                .optional(given.limit, |find, most| find.limit(most))
                .optional(*batch_size, |find, size| find.batch_size(size))
                .run()?;
            for document in cursor {
                answer.read(&document?, sum_field);
            }
        }
        Kind::UpdateOne => {
            let update = items.update_one(given.filter(), given.body());
            let update = update.optional(*upsert, |update, is| update.upsert(is));
            let done = update.run()?;
            answer = matched(done);
        }
        Kind::ReplaceOne => {
            let replace = items.replace_one(given.filter(), given.body());
            let replace = replace.optional(*upsert, |replace, is| replace.upsert(is));
            let done = replace.run()?;
            answer = matched(done);
        }
        Kind::FindOneAndUpdate => {
            let found = items.find_one_and_update(given.filter(), given.body()).run()?;
            answer = Answer::one(found, sum_field);
        }
        Kind::DeleteOne => {
            answer.right = items.delete_one(given.filter()).run()?.deleted_count == 1
        }
        Kind::Count => answer = Answer::counted(items.count_documents(given.filter()).run()?),
        Kind::EstimatedCount => answer = Answer::counted(items.estimated_document_count().run()?),
        Kind::Aggregate => {
            for document in items.aggregate(mem::take(&mut given.documents)).run()? {
                answer.read(&document?, sum_field);
            }
        }
        Kind::Command => {
            database.run_command(given.body()).run()?;
        }
        Kind::Drop => items.drop().run()?,
        Kind::Noop | Kind::ReadModifyWrite => unreachable!("made of others by the harness"),
    }
    Ok(answer)
}
