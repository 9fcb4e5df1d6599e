//! The operations of a phase: what a call is given, and what its answer adds to totals.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::documents::{Pool, Template};
use super::files::Job;
use super::protocol::Failure;
use crate::dialect::{self, bson::Bson, bson::Document, Client, Target};

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Noop,
    InsertOne,
    InsertMany,
    FindOne,
    Find,
    UpdateOne,
    DeleteOne,
    Count,
    EstimatedCount,
    ReplaceOne,
    FindOneAndUpdate,
    ReadModifyWrite,
    Aggregate,
    Command,
    Drop,
}

/// An operation of `prepare`, with all work done that no single call has to repeat.
#[derive(Deserialize)]
pub struct Operation {
    pub name: String,
    kind: Kind,
    shape: Option<String>,
    filter: Option<Template>,
    projection: Option<Template>,
    /// No kind has two of these.
    #[serde(alias = "documents", alias = "update", alias = "pipeline", alias = "command")]
    body: Option<Template>,
    #[serde(default)]
    lazy: bool,
    #[serde(default)]
    pub collection: String,
    pub ordered: Option<bool>,
    pub upsert: Option<bool>,
    pub batch_size: Option<u32>,
    pub sum_field: Option<String>,
    pub write_concern: Option<Value>,
    pub read_concern: Option<String>,
    pub read_preference: Option<String>,
    #[serde(skip)]
    pools: Arc<Vec<Pool>>,
    /// One for each client; a noop has none.
    #[serde(skip)]
    targets: Vec<Target>,
}

/// Each document is made when the driver asks for it.
pub type Batch = Box<dyn ExactSizeIterator<Item = Document> + Send>;

/// The arguments of a call: fresh copies, made before its time begins. An empty document is not
/// made in vain: its hasher costs as much as a reading of the clock.
#[derive(Default)]
pub struct Given {
    filter: Option<Document>,
    /// It is seldom there: in a box it costs the others less.
    pub projection: Option<Box<Document>>,
    body: Option<Document>,
    /// A batch, or the stages of a pipeline.
    pub documents: Vec<Document>,
    pub lazy: Option<Batch>,
    pub limit: Option<i64>,
    /// Of the call that follows in the same operation.
    then: Option<Box<Given>>,
}

impl Given {
    pub fn filter(&mut self) -> Document {
        self.filter.take().unwrap_or_default()
    }

    /// A document to write, an update, or a command.
    pub fn body(&mut self) -> Document {
        self.body.take().unwrap_or_default()
    }
}

#[derive(Default)]
pub struct Answer {
    pub right: bool,
    pub documents: u64,
    pub sum: i64,
}

impl Answer {
    pub fn right_if(right: bool) -> Answer {
        Answer { right, ..Answer::default() }
    }

    /// Of a call that finds one document.
    pub fn one(found: Option<Document>, sum_field: &Option<String>) -> Answer {
        let mut answer = Answer::right_if(found.is_some());
        found.iter().for_each(|document| answer.read(document, sum_field));
        answer
    }

    pub fn read(&mut self, document: &Document, sum_field: &Option<String>) {
        self.documents += 1;
        self.sum += match sum_field.as_ref().and_then(|field| document.get(field)) {
            Some(Bson::Int32(value)) => i64::from(*value),
            Some(Bson::Int64(value)) => *value,
            _ => 0,
        };
    }
}

impl Operation {
    pub fn bind(
        mut self,
        clients: &[Client],
        pools: &Arc<Vec<Pool>>,
    ) -> Result<Arc<Self>, Failure> {
        if let Some(shape) = &self.shape {
            return Err(Failure::new("unsupported", format!("shape {shape}")));
        }
        self.pools = Arc::clone(pools);
        if self.kind != Kind::Noop {
            let targets = clients.iter().map(|client| Target::new(client, &self));
            self.targets = targets.collect::<Result<_, _>>()?;
        }
        Ok(Arc::new(self))
    }

    /// Makes what an operation is given, before its time begins.
    pub fn make(self: &Arc<Self>, job: &Job) -> Given {
        let make = |template: &Option<Template>| Some(template.as_ref()?.make(&self.pools, job, 0));
        let mut given = Given {
            filter: make(&self.filter),
            projection: make(&self.projection).map(Box::new),
            limit: (job.count > 0).then_some(i64::from(job.count)),
            ..Given::default()
        };
        match (self.kind, &self.body) {
            (Kind::InsertMany, _) if self.lazy => {
                let (operation, job) = (Arc::clone(self), *job);
                given.lazy = Some(Box::new((0..job.count).map(move |item| {
                    let body = operation.body.as_ref();
                    body.map_or_else(Document::new, |body| body.make(&operation.pools, &job, item))
                })));
            }
            (Kind::Noop | Kind::InsertMany, Some(body)) => {
                let items = (0..job.count).map(|item| body.make(&self.pools, job, item));
                given.documents = items.collect();
            }
            (Kind::Aggregate, body) => given.documents = stages(make(body)),
            (Kind::ReadModifyWrite, body) => {
                let (filter, body) = (make(&self.filter), make(body));
                given.then = Some(Box::new(Given { filter, body, ..Given::default() }));
            }
            (_, body) => given.body = make(body),
        }
        given
    }

    /// The rest of `given` is dropped after the call's time.
    pub async fn call(&self, client: usize, given: &mut Given) -> dialect::Result<Answer> {
        let mut answer = Answer::right_if(true);
        let Some(target) = self.targets.get(client) else {
            given.documents.iter().for_each(|document| answer.read(document, &self.sum_field));
            return Ok(answer);
        };
        let Some(mut then) = given.then.take() else {
            return target.call(self.kind, self, given).await;
        };
        answer = target.call(Kind::FindOne, self, given).await?;
        answer.right = answer.right && target.call(Kind::UpdateOne, self, &mut then).await?.right;
        Ok(answer)
    }
}

/// The stages of `{"pipeline": […]}`.
fn stages(pipeline: Option<Document>) -> Vec<Document> {
    let stages = pipeline.and_then(|mut pipeline| pipeline.remove("pipeline"));
    let Some(Bson::Array(stages)) = stages else { return Vec::new() };
    let document = |stage| if let Bson::Document(stage) = stage { Some(stage) } else { None };
    stages.into_iter().filter_map(document).collect()
}
