//! One function for each kind of operation: the driver's call as its users write it.

use std::future::Future;

use futures_util::TryStreamExt;
use mongodb::action::Action;
use mongodb::bson::{Bson, Document};
use mongodb::error::Result;
use mongodb::options::{
    Acknowledgment, CollectionOptions, ReadConcern, ReadPreference, SelectionCriteria, WriteConcern,
};
use mongodb::{Collection, Cursor, Database};
use serde::Deserialize;
use serde_json::{json, Value};

use crate::documents::{Input, Pool, Pooled, Template};
use crate::errors::Failure;
use crate::protocol::KeyRule;
use crate::timing::Clock;

type Items = Collection<Document>;

async fn insert_one(items: &Items, document: Document) -> Result<Answer> {
    items.insert_one(document).await?;
    Ok(Answer::right_if(true))
}

async fn insert_many(
    items: &Items,
    documents: Vec<Document>,
    ordered: Option<bool>,
) -> Result<Answer> {
    let batch = documents.len();
    let insert = items.insert_many(documents).optional(ordered, |insert, is| insert.ordered(is));
    Ok(Answer::right_if(insert.await?.inserted_ids.len() == batch))
}

async fn find_one(items: &Items, filter: Document, sum_field: Option<&str>) -> Result<Answer> {
    let found = items.find_one(filter).await?;
    let mut answer = Answer::right_if(found.is_some());
    if let Some(document) = found {
        answer.read(&document, sum_field);
    }
    Ok(answer)
}

async fn find(
    items: &Items,
    filter: Document,
    limit: Option<i64>,
    batch_size: Option<u32>,
    sum_field: Option<&str>,
) -> Result<Answer> {
    let find = items
        .find(filter)
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

async fn delete_one(items: &Items, filter: Document) -> Result<Answer> {
    Ok(Answer::right_if(items.delete_one(filter).await?.deleted_count == 1))
}

async fn count(items: &Items, filter: Document) -> Result<Answer> {
    let documents = items.count_documents(filter).await?;
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
async fn command(
    database: &Database,
    command: Document,
    read_preference: Option<SelectionCriteria>,
) -> Result<Answer> {
    let run = database.run_command(command);
    run.optional(read_preference, |run, criteria| run.selection_criteria(criteria)).await?;
    Ok(Answer::right_if(true))
}

async fn drained(mut cursor: Cursor<Document>, sum_field: Option<&str>) -> Result<Answer> {
    let mut answer = Answer::right_if(true);
    while let Some(document) = cursor.try_next().await? {
        answer.read(&document, sum_field);
    }
    Ok(answer)
}

pub struct Answer {
    pub right: bool,
    pub documents: u64,
    pub sum: i64,
}

impl Answer {
    fn right_if(right: bool) -> Answer {
        Answer { right, documents: 0, sum: 0 }
    }

    fn read(&mut self, document: &Document, sum_field: Option<&str>) {
        self.documents += 1;
        self.sum += match sum_field.and_then(|field| document.get(field)) {
            Some(Bson::Int32(value)) => i64::from(*value),
            Some(Bson::Int64(value)) => *value,
            _ => 0,
        };
    }
}

/// The arguments of one call: each kind uses some of them.
#[derive(Default)]
pub struct Arguments {
    filter: Document,
    document: Document,
    /// A batch, or the stages of a pipeline.
    documents: Vec<Document>,
}

pub struct Timed {
    pub start_ns: u64,
    pub end_ns: u64,
    pub answer: Result<Answer>,
}

/// A future does nothing before it is awaited: the making of its arguments is not timed.
async fn timed(clock: Clock, call: impl Future<Output = Result<Answer>>) -> Timed {
    let start_ns = clock.now_ns();
    let answer = call.await;
    let end_ns = clock.now_ns();
    Timed { start_ns, end_ns, answer }
}

/// The parameters of each kind, as `prepare` names them. A no-op with documents makes one and
/// counts it: the core measures the time of making with it.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Call {
    Noop { documents: Option<Pooled> },
    InsertOne { documents: Pooled },
    InsertMany { documents: Pooled, batch: u32, ordered: Option<bool> },
    FindOne { filter: Template },
    Find { filter: Template, limit: Option<i64>, batch_size: Option<u32> },
    UpdateOne { filter: Template, update: Template, upsert: Option<bool> },
    ReplaceOne { filter: Template, documents: Pooled, upsert: Option<bool> },
    DeleteOne { filter: Template },
    Count { filter: Template },
    Aggregate { pipeline: Template },
    Command { command: Template },
}

pub const KINDS: &str = "noop insert_one insert_many find_one find update_one replace_one \
    delete_one count aggregate command";

#[derive(Deserialize)]
pub struct Operation {
    pub name: String,
    #[serde(default)]
    pub key: KeyRule,
    #[serde(flatten)]
    call: Call,
    sum_field: Option<String>,
    #[serde(default)]
    collection: String,
    write_concern: Option<WriteConcern>,
    read_concern: Option<String>,
    read_preference: Option<String>,
    #[serde(skip)]
    target: Option<Target>,
}

/// The driver's objects for the calls; a noop has none.
struct Target {
    database: Database,
    items: Items,
    read_preference: Option<SelectionCriteria>,
}

impl Operation {
    /// Does all work that no single call has to repeat.
    pub fn prepare(
        message: Value,
        database: Option<&Database>,
        pools: &[Pool],
    ) -> std::result::Result<Operation, Failure> {
        let kind = message["kind"].as_str().unwrap_or_default();
        if !KINDS.split(' ').any(|known| known == kind) {
            return Err(Failure::unsupported(format!("operation {kind}")));
        }
        let mut operation = Operation::deserialize(message).map_err(Failure::protocol)?;
        match &mut operation.call {
            Call::Noop { documents } => {
                documents.as_mut().map_or(Ok(()), |documents| documents.fill(pools))?;
                return Ok(operation);
            }
            Call::InsertOne { documents }
            | Call::InsertMany { documents, .. }
            | Call::ReplaceOne { documents, .. } => documents.fill(pools)?,
            Call::Aggregate { pipeline } if stages(pipeline.document.clone()).is_none() => {
                return Err(Failure::protocol("a pipeline is a list of documents"));
            }
            Call::Command { .. } if operation.write_concern.is_some() => {
                return Err(Failure::unsupported("a command's write concern, but in its template"));
            }
            Call::Command { .. } if operation.read_concern.is_some() => {
                return Err(Failure::unsupported("a command's read concern, but in its template"));
            }
            _ => {}
        }
        let database = database.ok_or_else(|| Failure::protocol("a driver's call before open"))?;
        operation.target = Some(operation.target(database)?);
        Ok(operation)
    }

    fn target(&self, database: &Database) -> std::result::Result<Target, Failure> {
        if let Some(WriteConcern { w: Some(Acknowledgment::Nodes(0)), .. }) = self.write_concern {
            return Err(Failure::unsupported("the driver has no unacknowledged writes"));
        }
        let preference = self.read_preference.as_ref().map(|mode| json!({ "mode": mode }));
        let preference = preference.map(serde_json::from_value::<ReadPreference>).transpose();
        let preference = preference.map_err(Failure::protocol)?;
        let mut options = CollectionOptions::default();
        options.selection_criteria = preference.map(SelectionCriteria::ReadPreference);
        options.read_concern = self.read_concern.as_ref().map(ReadConcern::custom);
        options.write_concern = self.write_concern.clone();
        Ok(Target {
            database: database.clone(),
            read_preference: options.selection_criteria.clone(),
            items: database.collection_with_options(&self.collection, options),
        })
    }

    /// The number of documents that one call inserts.
    pub fn inserts(&self) -> i64 {
        match &self.call {
            Call::InsertOne { .. } => 1,
            Call::InsertMany { batch, .. } => i64::from(*batch),
            _ => 0,
        }
    }

    /// Makes the arguments of a call, before its time begins.
    pub fn make(&self, number: usize, input: &Input) -> Arguments {
        let mut arguments = Arguments::default();
        match &self.call {
            Call::Noop { documents: None } => {}
            Call::Noop { documents: Some(documents) } | Call::InsertOne { documents } => {
                arguments.document = documents.make(number, input);
            }
            Call::InsertMany { documents, batch, .. } => {
                arguments.documents = documents.make_many(number, *batch, input);
            }
            Call::FindOne { filter }
            | Call::Find { filter, .. }
            | Call::DeleteOne { filter }
            | Call::Count { filter } => arguments.filter = filter.make(input),
            Call::UpdateOne { filter, update, .. } => {
                (arguments.filter, arguments.document) = (filter.make(input), update.make(input));
            }
            Call::ReplaceOne { filter, documents, .. } => {
                arguments.filter = filter.make(input);
                arguments.document = documents.make(number, input);
            }
            Call::Aggregate { pipeline } => {
                arguments.documents = stages(pipeline.make(input)).unwrap_or_default();
            }
            Call::Command { command } => arguments.document = command.make(input),
        }
        arguments
    }

    pub async fn call(&self, clock: Clock, with: Arguments) -> Timed {
        let Some(Target { database, items, read_preference }) = &self.target else {
            let documents = u64::from(matches!(self.call, Call::Noop { documents: Some(_) }));
            return timed(clock, async { Ok(Answer { right: true, documents, sum: 0 }) }).await;
        };
        let Arguments { filter, document, documents } = with;
        let sum = self.sum_field.as_deref();
        match &self.call {
            Call::Noop { .. } => unreachable!("it has no target"),
            Call::InsertOne { .. } => timed(clock, insert_one(items, document)).await,
            Call::InsertMany { ordered, .. } => {
                timed(clock, insert_many(items, documents, *ordered)).await
            }
            Call::FindOne { .. } => timed(clock, find_one(items, filter, sum)).await,
            Call::Find { limit, batch_size, .. } => {
                timed(clock, find(items, filter, *limit, *batch_size, sum)).await
            }
            Call::UpdateOne { upsert, .. } => {
                timed(clock, update_one(items, filter, document, *upsert)).await
            }
            Call::ReplaceOne { upsert, .. } => {
                timed(clock, replace_one(items, filter, document, *upsert)).await
            }
            Call::DeleteOne { .. } => timed(clock, delete_one(items, filter)).await,
            Call::Count { .. } => timed(clock, count(items, filter)).await,
            Call::Aggregate { .. } => timed(clock, aggregate(items, documents, sum)).await,
            Call::Command { .. } => {
                let criteria = read_preference.clone();
                timed(clock, command(database, document, criteria)).await
            }
        }
    }
}

/// The stages of `{"pipeline": […]}`. `prepare` refuses a template for which it is `None`.
fn stages(mut template: Document) -> Option<Vec<Document>> {
    let Some(Bson::Array(stages)) = template.remove("pipeline") else { return None };
    let documents = stages.into_iter().map(|stage| match stage {
        Bson::Document(stage) => Some(stage),
        _ => None,
    });
    documents.collect()
}
