//! How a call begins: the same in all generations of the API.

use std::future::Future;
use std::pin::Pin;

use mongodb::error::Result;
use mongodb::results::UpdateResult;

use super::api::{self, ClientSession};
use super::client::Target;
use crate::call::{Answer, Given, Kind, Options};

/// A call that has begun, in a box: each kind has its own future. Rejected: one async function for
/// all kinds. Between two operations the driver pushes the harness out of the CPU's caches, and
/// loading that function again caused 4 % more misses of the first cache, by callgrind.
pub type Pending<'a> = Pin<Box<dyn Future<Output = Result<Answer>> + Send + 'a>>;

pub fn matched(done: UpdateResult) -> Answer {
    Answer::right_if(done.matched_count == 1 || done.upserted_id.is_some())
}

/// A part of a transaction.
pub struct Part<'a> {
    pub target: &'a Target,
    pub kind: Kind,
    pub options: &'a Options,
    pub given: &'a mut Given,
}

pub fn call<'a>(
    target: &'a Target,
    kind: Kind,
    options: &'a Options,
    given: &'a mut Given,
) -> Pending<'a> {
    begin(target, kind, options, given, None)
}

#[cfg(feature = "sync")]
pub fn begin<'a>(
    target: &'a Target,
    kind: Kind,
    options: &'a Options,
    given: &'a mut Given,
    session: Option<&'a mut ClientSession>,
) -> Pending<'a> {
    Box::pin(std::future::ready(api::called(target, kind, options, given, session)))
}

#[cfg(not(feature = "sync"))]
pub fn begin<'a>(
    Target { database, items, .. }: &'a Target,
    kind: Kind,
    options: &'a Options,
    given: &'a mut Given,
    session: Option<&'a mut ClientSession>,
) -> Pending<'a> {
    let call = Call { database, items, options, given, session };
    match kind {
        Kind::InsertOne => call.insert_one(),
        Kind::InsertMany => call.insert_many(),
        Kind::FindOne => call.find_one(),
        Kind::Find => call.find(),
        Kind::UpdateOne => call.update_one(),
        Kind::UpdateMany => call.update_many(),
        Kind::ReplaceOne => call.replace_one(),
        Kind::FindOneAndUpdate => call.find_one_and_update(),
        Kind::DeleteOne => call.delete_one(),
        Kind::DeleteMany => call.delete_many(),
        Kind::Count => call.count(),
        Kind::EstimatedCount => call.estimated_count(),
        Kind::Distinct => call.distinct(),
        Kind::Aggregate => call.aggregate(),
        Kind::Command => call.command(),
        Kind::Drop => call.drop(),
        Kind::Noop | Kind::ReadModifyWrite | Kind::Transaction => {
            unreachable!("made of others by the harness")
        }
    }
}

/// Each API has a method for each kind.
#[cfg(not(feature = "sync"))]
pub struct Call<'a> {
    pub database: &'a api::Database,
    pub items: &'a api::Collection<mongodb::bson::Document>,
    pub options: &'a Options,
    pub given: &'a mut Given,
    /// Session of a part of a transaction.
    pub session: Option<&'a mut ClientSession>,
}

/// The answer that consists of a cursor's documents.
#[cfg(not(feature = "sync"))]
pub async fn all(
    mut cursor: api::Cursor<mongodb::bson::Document>,
    options: &Options,
) -> Result<Answer> {
    use futures_util::TryStreamExt;

    let mut answer = Answer::right_if(true);
    while let Some(document) = cursor.try_next().await? {
        answer.read(&document, &options.sum_field);
    }
    Ok(answer)
}
