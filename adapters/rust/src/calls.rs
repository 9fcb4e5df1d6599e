//! The operations of a phase: what each is given, made from the schedule, and who is called.

use std::sync::Arc;

use mongodb::bson::{Bson, Document};
use serde::Deserialize;
use serde_json::Value;

use crate::documents::{stages, Pool, Template};
use crate::errors::Failure;
use crate::operations::{self, Bound, Database};
use crate::workers::Job;

/// A call of the driver with all that it is given: fresh copies, made before its time begins.
pub enum Call {
    InsertOne(Document),
    InsertMany(Vec<Document>),
    InsertLazily(Batch),
    /// Filter and projection.
    FindOne(Document, Option<Document>),
    /// Filter, projection, limit.
    Find(Document, Option<Document>, Option<i64>),
    /// Filter and update.
    UpdateOne(Document, Document),
    /// Filter and replacement.
    ReplaceOne(Document, Document),
    /// Filter and update.
    FindOneAndUpdate(Document, Document),
    DeleteOne(Document),
    Count(Document),
    EstimatedCount,
    Aggregate(Vec<Document>),
    Command(Document),
    Drop,
}

/// A call, and the one that follows on it in the same operation.
pub struct Calls {
    first: Call,
    then: Option<Box<Call>>,
}

pub struct Answer {
    pub right: bool,
    pub documents: u64,
    pub sum: i64,
}

impl Answer {
    pub fn right_if(right: bool) -> Answer {
        Answer { right, documents: 0, sum: 0 }
    }

    /// Of a call whose answer is a number.
    pub fn number(documents: u64) -> Answer {
        Answer { right: true, documents, sum: 0 }
    }

    /// Of a call that finds one document.
    pub fn one(found: Option<Document>, sum_field: Option<&str>) -> Answer {
        let mut answer = Answer::right_if(found.is_some());
        found.iter().for_each(|document| answer.read(document, sum_field));
        answer
    }

    pub fn read(&mut self, document: &Document, sum_field: Option<&str>) {
        self.documents += 1;
        self.sum += match sum_field.and_then(|field| document.get(field)) {
            Some(Bson::Int32(value)) => i64::from(*value),
            Some(Bson::Int64(value)) => *value,
            _ => 0,
        };
    }
}

/// What `prepare` says of the documents that an operation is given.
#[derive(Deserialize)]
struct Given {
    name: String,
    kind: String,
    shape: Option<String>,
    documents: Option<Template>,
    filter: Option<Template>,
    projection: Option<Template>,
    update: Option<Template>,
    pipeline: Option<Template>,
    command: Option<Template>,
    #[serde(default)]
    lazy: bool,
    sum_field: Option<String>,
}

type Make = Box<dyn Fn(&Job) -> Call + Send + Sync>;

fn one(template: Template, call: impl Fn(Document) -> Call + Send + Sync + 'static) -> Make {
    Box::new(move |job: &Job| call(template.make(&job.input)))
}

fn two(filter: Template, update: Template, call: fn(Document, Document) -> Call) -> Make {
    Box::new(move |job: &Job| call(filter.make(&job.input), update.make(&job.input)))
}

/// Each document of a batch is made when it is asked for.
type Batch = Box<dyn ExactSizeIterator<Item = Document> + Send>;

fn batch(template: Template, call: fn(Batch) -> Call) -> Make {
    let template = Arc::new(template);
    Box::new(move |job: &Job| {
        let (template, first, input) = (Arc::clone(&template), job.document, job.input);
        let item = move |item: u32| template.nth(first + item as usize, &input.item(item));
        call(Box::new((0..job.count).map(item)))
    })
}

impl Given {
    fn make(&self, kind: &str) -> Result<Make, Failure> {
        let need = |template: &Option<Template>| {
            let template = template.clone();
            template.ok_or_else(|| Failure::internal(format!("{}: no template", self.name)))
        };
        let projection = self.projection.clone();
        let make: Make = match kind {
            "noop" if self.documents.is_none() => Box::new(|_: &Job| Call::InsertMany(Vec::new())),
            "insert_many" if self.lazy => batch(need(&self.documents)?, Call::InsertLazily),
            "noop" | "insert_many" => {
                batch(need(&self.documents)?, |batch| Call::InsertMany(batch.collect()))
            }
            "insert_one" => {
                let documents = need(&self.documents)?;
                Box::new(move |job: &Job| Call::InsertOne(documents.nth(job.document, &job.input)))
            }
            "replace_one" => {
                let (filter, documents) = (need(&self.filter)?, need(&self.documents)?);
                Box::new(move |job: &Job| {
                    let replacement = documents.nth(job.document, &job.input);
                    Call::ReplaceOne(filter.make(&job.input), replacement)
                })
            }
            "find_one" => {
                let filter = need(&self.filter)?;
                Box::new(move |job: &Job| {
                    let projection = projection.as_ref().map(|fields| fields.make(&job.input));
                    Call::FindOne(filter.make(&job.input), projection)
                })
            }
            "find" => {
                let filter = need(&self.filter)?;
                Box::new(move |job: &Job| {
                    let projection = projection.as_ref().map(|fields| fields.make(&job.input));
                    let limit = (job.count > 0).then_some(i64::from(job.count));
                    Call::Find(filter.make(&job.input), projection, limit)
                })
            }
            "update_one" => two(need(&self.filter)?, need(&self.update)?, Call::UpdateOne),
            "find_one_and_update" => {
                two(need(&self.filter)?, need(&self.update)?, Call::FindOneAndUpdate)
            }
            "delete_one" => one(need(&self.filter)?, Call::DeleteOne),
            "count" => one(need(&self.filter)?, Call::Count),
            "estimated_count" => Box::new(|_: &Job| Call::EstimatedCount),
            "aggregate" => one(need(&self.pipeline)?, |pipeline| Call::Aggregate(stages(pipeline))),
            "command" => one(need(&self.command)?, Call::Command),
            "drop" => Box::new(|_: &Job| Call::Drop),
            _ => return Err(Failure::unsupported(format!("operation {kind}"))),
        };
        Ok(make)
    }
}

/// An operation of `prepare`, with all work done that no single call has to repeat.
pub struct Operation {
    pub name: String,
    make: Make,
    then: Option<Make>,
    /// One for each client; a noop has none.
    bound: Vec<Bound>,
    sum_field: Option<String>,
}

impl Operation {
    pub fn prepare(
        message: &Value,
        clients: &[Database],
        pools: &[Pool],
    ) -> Result<Operation, Failure> {
        let mut given = Given::deserialize(message).map_err(Failure::internal)?;
        if let Some(shape) = &given.shape {
            return Err(Failure::unsupported(format!("shape {shape}")));
        }
        let Given { documents, filter, projection, update, pipeline, command, .. } = &mut given;
        let templates = [documents, filter, projection, update, pipeline, command];
        templates.into_iter().flatten().try_for_each(|template| template.fill(pools))?;
        let (make, then) = match given.kind.as_str() {
            "read_modify_write" => (given.make("find_one")?, Some(given.make("update_one")?)),
            kind => (given.make(kind)?, None),
        };
        let clients: &[Database] = if given.kind == "noop" { &[] } else { clients };
        let bound = clients.iter().map(|database| Bound::new(database, message));
        let bound = bound.collect::<Result<_, _>>()?;
        Ok(Operation { name: given.name, make, then, bound, sum_field: given.sum_field })
    }

    /// Makes what an operation is given, before its time begins.
    pub fn make(&self, job: &Job) -> Calls {
        let then = self.then.as_ref().map(|make| Box::new(make(job)));
        Calls { first: (self.make)(job), then }
    }

    pub async fn call(&self, client: usize, calls: Calls) -> operations::Result<Answer> {
        let Some(bound) = self.bound.get(client) else { return Ok(self.noop(calls.first)) };
        let mut answer = bound.call(calls.first).await?;
        if let (true, Some(then)) = (answer.right, calls.then) {
            answer.right = bound.call(*then).await?.right;
        }
        Ok(answer)
    }

    /// What it has made is read as an answer is.
    fn noop(&self, call: Call) -> Answer {
        let mut answer = Answer::right_if(true);
        if let Call::InsertMany(documents) = call {
            documents.iter().for_each(|made| answer.read(made, self.sum_field.as_deref()));
        }
        answer
    }
}
