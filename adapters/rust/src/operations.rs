//! The dialect of the driver's 3.x: its calls as its users write them, its options, its errors.

use std::io;

use futures_util::TryStreamExt;
use mongodb::action::Action;
use mongodb::bson::Document;
pub use mongodb::error::{Error, Result};
use mongodb::error::{ErrorKind, WriteFailure};
use mongodb::options::{
    CollectionOptions, ReadConcern, ReadPreference, SelectionCriteria, WriteConcern,
};
use mongodb::{Collection, Cursor, Database};
use serde::Deserialize;
use serde_json::{json, Value};

use crate::calls::{Answer, Call};
use crate::errors::Failure;

pub const KINDS: [&str; 15] = [
    "noop",
    "insert_one",
    "insert_many",
    "find_one",
    "find",
    "update_one",
    "delete_one",
    "count",
    "estimated_count",
    "replace_one",
    "find_one_and_update",
    "read_modify_write",
    "aggregate",
    "command",
    "drop",
];

/// The driver refuses unacknowledged writes, and its `run_command` takes no concerns.
pub const EXTRAS: [&str; 5] =
    ["write_concern", "read_concern", "read_preference", "clients", "lazy_insert"];

type Items = Collection<Document>;

async fn insert_one(items: &Items, document: Document) -> Result<Answer> {
    items.insert_one(document).await?;
    Ok(Answer::right_if(true))
}

/// The driver encodes all documents before it sends the first: a lazy sequence saves those that
/// are not encoded.
async fn insert_many(
    items: &Items,
    documents: impl ExactSizeIterator<Item = Document>,
    ordered: Option<bool>,
) -> Result<Answer> {
    let count = documents.len();
    let insert = items.insert_many(documents).optional(ordered, |insert, is| insert.ordered(is));
    Ok(Answer::right_if(insert.await?.inserted_ids.len() == count))
}

async fn find_one(
    items: &Items,
    filter: Document,
    projection: Option<Document>,
    sum_field: Option<&str>,
) -> Result<Answer> {
    let find = items.find_one(filter);
    let found = find.optional(projection, |find, fields| find.projection(fields)).await?;
    Ok(one_document(found, sum_field))
}

async fn find(
    items: &Items,
    filter: Document,
    projection: Option<Document>,
    limit: Option<i64>,
    batch_size: Option<u32>,
    sum_field: Option<&str>,
) -> Result<Answer> {
    let find = items
        .find(filter)
        .optional(projection, |find, fields| find.projection(fields))
        .optional(limit, |find, most| find.limit(most))
        .optional(batch_size, |find, size| find.batch_size(size));
    drained(find.await?, sum_field).await
}

async fn update_one(
    items: &Items,
    filter: Document,
    update: Document,
    upsert: Option<bool>,
) -> Result<Answer> {
    let update = items.update_one(filter, update).optional(upsert, |update, is| update.upsert(is));
    let result = update.await?;
    Ok(Answer::right_if(result.matched_count == 1 || result.upserted_id.is_some()))
}

async fn replace_one(
    items: &Items,
    filter: Document,
    document: Document,
    upsert: Option<bool>,
) -> Result<Answer> {
    let replace =
        items.replace_one(filter, document).optional(upsert, |replace, is| replace.upsert(is));
    let result = replace.await?;
    Ok(Answer::right_if(result.matched_count == 1 || result.upserted_id.is_some()))
}

/// The document as it was before, by the driver's default.
async fn find_one_and_update(
    items: &Items,
    filter: Document,
    update: Document,
    sum_field: Option<&str>,
) -> Result<Answer> {
    Ok(one_document(items.find_one_and_update(filter, update).await?, sum_field))
}

async fn delete_one(items: &Items, filter: Document) -> Result<Answer> {
    Ok(Answer::right_if(items.delete_one(filter).await?.deleted_count == 1))
}

async fn count(items: &Items, filter: Document) -> Result<Answer> {
    let documents = items.count_documents(filter).await?;
    Ok(Answer { documents, ..Answer::right_if(true) })
}

async fn estimated_count(items: &Items) -> Result<Answer> {
    let documents = items.estimated_document_count().await?;
    Ok(Answer { documents, ..Answer::right_if(true) })
}

async fn aggregate(
    items: &Items,
    pipeline: Vec<Document>,
    sum_field: Option<&str>,
) -> Result<Answer> {
    drained(items.aggregate(pipeline).await?, sum_field).await
}

/// The driver turns an answer without `ok: 1` into an error.
async fn command(database: &Database, command: Document) -> Result<Answer> {
    database.run_command(command).await?;
    Ok(Answer::right_if(true))
}

/// The driver takes it for right that there was no such collection.
async fn drop(items: &Items) -> Result<Answer> {
    items.drop().await?;
    Ok(Answer::right_if(true))
}

fn one_document(found: Option<Document>, sum_field: Option<&str>) -> Answer {
    let mut answer = Answer::right_if(found.is_some());
    found.iter().for_each(|document| answer.read(document, sum_field));
    answer
}

async fn drained(mut cursor: Cursor<Document>, sum_field: Option<&str>) -> Result<Answer> {
    let mut answer = Answer::right_if(true);
    while let Some(document) = cursor.try_next().await? {
        answer.read(&document, sum_field);
    }
    Ok(answer)
}

/// What `prepare` says of the call.
#[derive(Deserialize)]
struct Options {
    #[serde(default)]
    collection: String,
    ordered: Option<bool>,
    upsert: Option<bool>,
    batch_size: Option<u32>,
    sum_field: Option<String>,
    write_concern: Option<WriteConcern>,
    read_concern: Option<String>,
    read_preference: Option<String>,
}

/// An operation on one client: the driver's objects and options for all of its calls.
pub struct Bound {
    database: Database,
    items: Items,
    options: Options,
}

impl Bound {
    pub fn new(database: &Database, message: &Value) -> std::result::Result<Bound, Failure> {
        let options = Options::deserialize(message).map_err(Failure::unsupported)?;
        let preference = options.read_preference.as_ref().map(|mode| json!({ "mode": mode }));
        let preference = preference.map(serde_json::from_value::<ReadPreference>).transpose();
        let preference = preference.map_err(Failure::unsupported)?;
        let mut target = CollectionOptions::default();
        target.selection_criteria = preference.map(SelectionCriteria::ReadPreference);
        target.read_concern = options.read_concern.as_ref().map(ReadConcern::custom);
        target.write_concern = options.write_concern.clone();
        let items = database.collection_with_options(&options.collection, target);
        Ok(Bound { database: database.clone(), items, options })
    }

    pub async fn call(&self, call: Call) -> Result<Answer> {
        let Bound { database, items, options } = self;
        let sum = options.sum_field.as_deref();
        match call {
            Call::InsertOne(document) => insert_one(items, document).await,
            Call::InsertMany(documents) => {
                insert_many(items, documents.into_iter(), options.ordered).await
            }
            Call::InsertLazily(documents) => insert_many(items, documents, options.ordered).await,
            Call::FindOne(filter, projection) => find_one(items, filter, projection, sum).await,
            Call::Find(filter, projection, limit) => {
                find(items, filter, projection, limit, options.batch_size, sum).await
            }
            Call::UpdateOne(filter, update) => {
                update_one(items, filter, update, options.upsert).await
            }
            Call::ReplaceOne(filter, document) => {
                replace_one(items, filter, document, options.upsert).await
            }
            Call::FindOneAndUpdate(filter, update) => {
                find_one_and_update(items, filter, update, sum).await
            }
            Call::DeleteOne(filter) => delete_one(items, filter).await,
            Call::Count(filter) => count(items, filter).await,
            Call::EstimatedCount => estimated_count(items).await,
            Call::Aggregate(pipeline) => aggregate(items, pipeline, sum).await,
            Call::Command(document) => command(database, document).await,
            Call::Drop => drop(items).await,
        }
    }
}

/// The server's code, or 0, and its name, or that of the driver's variant. Of a batch: those of
/// its first write error.
pub fn code_and_name(error: &Error) -> (i32, String) {
    let (code, name) = match &*error.kind {
        ErrorKind::Command(error) => (error.code, Some(error.code_name.clone())),
        ErrorKind::Write(WriteFailure::WriteError(error)) => (error.code, error.code_name.clone()),
        ErrorKind::Write(WriteFailure::WriteConcernError(error)) => {
            (error.code, Some(error.code_name.clone()))
        }
        ErrorKind::InsertMany(error) => match (&error.write_errors, &error.write_concern_error) {
            (Some(errors), _) if !errors.is_empty() => {
                (errors[0].code, errors[0].code_name.clone())
            }
            (_, Some(error)) => (error.code, Some(error.code_name.clone())),
            _ => (0, None),
        },
        _ => (0, None),
    };
    let variant = || {
        let kind = format!("{:?}", error.kind);
        kind.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default().to_owned()
    };
    (code, name.filter(|name| !name.is_empty()).unwrap_or_else(variant))
}

/// Whether the error is a timeout: of the socket, of server selection, or one of the server's
/// (MaxTimeMSExpired, ExceededTimeLimit).
pub fn is_timeout(error: &Error) -> bool {
    match &*error.kind {
        ErrorKind::Io(error) => error.kind() == io::ErrorKind::TimedOut,
        ErrorKind::ServerSelection { .. } => true,
        _ => matches!(code_and_name(error).0, 50 | 262),
    }
}
