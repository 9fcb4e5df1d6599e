//! The sync API of 3.x: the driver's calls as its users write them. The functions never wait for
//! another task: they block their thread.

use std::mem;

use mongodb::action::Action;
use mongodb::bson::{doc, Document};
/// The failure of a batch.
pub use mongodb::error::ErrorKind::InsertMany as BatchFailed;
use mongodb::error::Result;
use mongodb::options::ClientOptions;
pub use mongodb::sync::{Client, ClientSession, Collection, Database};

use super::calls::matched;
use super::client::Target;
use super::transactions::{attempted, Attempts};
use crate::call::{Answer, Finds, Given, Kind, Options};

/// No consumer: a cursor that waits for a message does not return its thread.
pub const CONSUMER_NS: Option<u64> = None;

pub async fn parse(uri: &str) -> Result<ClientOptions> {
    ClientOptions::parse(uri).run()
}

pub async fn ping(database: &Database) -> Result<Document> {
    database.run_command(doc! { "ping": 1 }).run()
}

pub async fn transaction(target: &Target, mut attempts: Attempts<'_>) -> Result<Answer> {
    let mut session = target.client.start_session().run()?;
    let transaction = session.start_transaction().with_options(target.concerns.clone());
    transaction.and_run(|session| attempted(session, &mut attempts))
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
            let insert = items.insert_one(given.body());
            insert.optional(session, |insert, within| insert.session(within)).run()?;
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
            let find = find
                .optional(given.projection(), |find, fields| find.projection(fields))
                .optional(session, |find, within| find.session(within));
            let Finds { sort, hint, collation, max_time, .. } = given.finds();
            let find = find
                .optional(sort, |find, order| find.sort(order))
                .optional(hint, |find, index| find.hint(index))
                .optional(collation, |find, order| find.collation(order))
                .optional(max_time, |find, most| find.max_time(most));
            answer = Answer::one(find.run()?, sum_field);
        }
        Kind::Find => {
            let Finds { sort, skip, hint, collation, max_time } = given.finds();
            let cursor = items
                .find(given.filter())
                .optional(given.projection(), |find, fields| find.projection(fields))
                .optional(given.limit, |find, most| find.limit(most))
                .optional(*batch_size, |find, size| find.batch_size(size))
                .optional(sort, |find, order| find.sort(order))
                .optional(skip, |find, first| find.skip(first))
                .optional(hint, |find, index| find.hint(index))
                .optional(collation, |find, order| find.collation(order))
                .optional(max_time, |find, most| find.max_time(most))
                .run()?;
            for document in cursor {
                answer.read(&document?, sum_field);
            }
        }
        Kind::UpdateOne => {
            let update = items.update_one(given.filter(), given.body());
            let update = update.optional(*upsert, |update, is| update.upsert(is));
            let done = update.optional(session, |update, within| update.session(within)).run()?;
            answer = matched(done);
        }
        Kind::ReplaceOne => {
            let replace = items.replace_one(given.filter(), given.body());
            let replace = replace.optional(*upsert, |replace, is| replace.upsert(is));
            let done =
                replace.optional(session, |replace, within| replace.session(within)).run()?;
            answer = matched(done);
        }
        Kind::FindOneAndUpdate => {
            let Finds { sort, collation, max_time, .. } = given.finds();
            let update = items
                .find_one_and_update(given.filter(), given.body())
                .optional(sort, |update, order| update.sort(order))
                .optional(collation, |update, order| update.collation(order))
                .optional(max_time, |update, most| update.max_time(most))
                .optional(session, |update, within| update.session(within));
            answer = Answer::one(update.run()?, sum_field);
        }
        Kind::DeleteOne => {
            let delete = items.delete_one(given.filter());
            let done = delete.optional(session, |delete, within| delete.session(within)).run()?;
            answer.right = done.deleted_count == 1;
        }
        Kind::UpdateMany => {
            let done = items.update_many(given.filter(), given.body()).run()?;
            answer = Answer::counted(done.matched_count);
        }
        Kind::DeleteMany => {
            answer = Answer::counted(items.delete_many(given.filter()).run()?.deleted_count);
        }
        Kind::Distinct => {
            let values = items.distinct(&options.field, given.filter()).run()?;
            answer = Answer::values(&values, sum_field);
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
        Kind::Noop | Kind::ReadModifyWrite | Kind::Transaction => {
            unreachable!("made of others by the harness")
        }
    }
    Ok(answer)
}
