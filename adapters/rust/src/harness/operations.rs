//! The operations of a phase: what a call is given, and what its answer adds to totals.

use std::mem;
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

/// What a call is given: fresh copies, made before its time begins.
#[derive(Default)]
pub struct Given {
    pub filter: Document,
    pub projection: Option<Document>,
    /// A document to write, an update, or a command.
    pub body: Document,
    /// A batch, or the stages of a pipeline.
    pub documents: Vec<Document>,
    pub lazy: Option<Batch>,
    pub limit: Option<i64>,
    /// Of the call that follows in the same operation.
    then: Option<Box<Given>>,
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

    fn document(&self, template: &Option<Template>, job: &Job, item: u32) -> Document {
        let template = template.as_ref();
        template.map_or_else(Document::new, |template| template.make(&self.pools, job, item))
    }

    /// Makes what an operation is given, before its time begins.
    pub fn make(self: &Arc<Self>, job: &Job) -> Given {
        let mut given = Given {
            filter: self.document(&self.filter, job, 0),
            projection: self.projection.is_some().then(|| self.document(&self.projection, job, 0)),
            limit: (job.count > 0).then_some(i64::from(job.count)),
            ..Given::default()
        };
        match self.kind {
            Kind::Noop if self.body.is_none() => {}
            Kind::InsertMany if self.lazy => {
                let (operation, job) = (Arc::clone(self), *job);
                let items = 0..job.count;
                let items = items.map(move |item| operation.document(&operation.body, &job, item));
                given.lazy = Some(Box::new(items));
            }
            Kind::Noop | Kind::InsertMany => {
                let items = (0..job.count).map(|item| self.document(&self.body, job, item));
                given.documents = items.collect();
            }
            Kind::Aggregate => given.documents = stages(self.document(&self.body, job, 0)),
            Kind::ReadModifyWrite => {
                let filter = self.document(&self.filter, job, 0);
                let body = self.document(&self.body, job, 0);
                given.then = Some(Box::new(Given { filter, body, ..Given::default() }));
            }
            _ => given.body = self.document(&self.body, job, 0),
        }
        given
    }

    pub async fn call(&self, client: usize, mut given: Given) -> dialect::Result<Answer> {
        let mut answer = Answer::right_if(true);
        let Some(target) = self.targets.get(client) else {
            given.documents.iter().for_each(|document| answer.read(document, &self.sum_field));
            return Ok(answer);
        };
        let Some(then) = mem::take(&mut given.then) else {
            return target.call(self.kind, self, given).await;
        };
        answer = target.call(Kind::FindOne, self, given).await?;
        answer.right = answer.right && target.call(Kind::UpdateOne, self, *then).await?.right;
        Ok(answer)
    }
}

/// The stages of `{"pipeline": […]}`.
fn stages(mut pipeline: Document) -> Vec<Document> {
    let Some(Bson::Array(stages)) = pipeline.remove("pipeline") else { return Vec::new() };
    let document = |stage| if let Bson::Document(stage) = stage { Some(stage) } else { None };
    stages.into_iter().filter_map(document).collect()
}
