//! The operations of a phase: what their calls are given, and how they are called.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use mongodb::bson::{from_document, Bson, Document};
use mongodb::options::Hint;
use serde::Deserialize;

use super::documents::{Pool, Template};
use super::files::Job;
use crate::call::{Answer, Failure, Finds, Given, Kind, Options};
use crate::dialect::{self, Opened, Part, Pending, Target};

/// An operation of `prepare`, with all work done that no single call has to repeat.
#[derive(Deserialize)]
pub struct Operation {
    pub name: String,
    pub kind: Kind,
    shape: Option<String>,
    filter: Option<Template>,
    projection: Option<Template>,
    /// No kind has two of these.
    #[serde(alias = "documents", alias = "update", alias = "pipeline", alias = "command")]
    body: Option<Template>,
    #[serde(default)]
    lazy: bool,
    sort: Option<Template>,
    hint: Option<Template>,
    collation: Option<Template>,
    skip: Option<u64>,
    max_time_ms: Option<u64>,
    #[serde(flatten)]
    options: Options,
    #[serde(skip)]
    finds: Option<Box<Finds>>,
    #[serde(skip)]
    pools: Arc<Vec<Pool>>,
    /// Targets, one for each client; a noop has none.
    #[serde(skip)]
    targets: Vec<Target>,
}

impl Operation {
    pub fn bind(
        mut self,
        clients: &[Opened],
        pools: &Arc<Vec<Pool>>,
    ) -> Result<Arc<Self>, Failure> {
        if let Some(shape) = &self.shape {
            return Err(Failure::new("unsupported", format!("shape {shape}")));
        }
        self.pools = Arc::clone(pools);
        self.finds = self.finds()?;
        if self.kind != Kind::Noop {
            let targets = clients.iter().map(|client| dialect::bind(client, &self.options));
            self.targets = targets.collect::<Result<_, _>>()?;
        }
        Ok(Arc::new(self))
    }

    /// The options of its finds, which are the same for all of them.
    fn finds(&self) -> Result<Option<Box<Finds>>, Failure> {
        let fixed = |option: &Option<Template>| Some(option.as_ref()?.fixed(&self.pools).clone());
        let finds = Finds {
            sort: fixed(&self.sort),
            skip: self.skip,
            hint: fixed(&self.hint).map(Hint::Keys),
            collation: fixed(&self.collation).map(from_document).transpose()?,
            max_time: self.max_time_ms.map(Duration::from_millis),
        };
        let Finds { sort, skip, hint, collation, max_time } = &finds;
        let asked = sort.is_some() || skip.is_some() || hint.is_some() || collation.is_some();
        Ok((asked || max_time.is_some()).then(|| Box::new(finds)))
    }

    /// Makes what an operation is given, before its time begins.
    pub fn make(self: &Arc<Self>, job: &Job) -> Given {
        let make = |template: &Option<Template>| Some(template.as_ref()?.make(&self.pools, job, 0));
        let mut given = Given {
            filter: make(&self.filter),
            projection: make(&self.projection).map(Box::new),
            finds: self.finds.clone(),
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

    /// The rest of `given` is dropped after the call's time. `all` operations may be parts of a
    /// transaction.
    pub fn call<'a>(
        &'a self,
        all: &'a [Arc<Operation>],
        client: usize,
        given: &'a mut Given,
    ) -> Pending<'a> {
        match self.targets.get(client) {
            #[cfg(feature = "transactions")]
            Some(target) if self.kind == Kind::Transaction => {
                let Given { parts, attempts, .. } = given;
                let parts = parts.iter_mut().map(|(number, given)| {
                    let Operation { targets, kind, options, .. } = &*all[*number];
                    Part { target: &targets[client], kind: *kind, options, given }
                });
                dialect::transaction(target, parts.collect(), attempts)
            }
            None => Box::pin(ready(Ok(self.noop(given)))),
            Some(target) if given.then.is_some() => Box::pin(self.read_modify_write(target, given)),
            Some(target) => dialect::call(target, self.kind, &self.options, given),
        }
    }

    fn noop(&self, given: &Given) -> Answer {
        let mut answer = Answer::right_if(true);
        let made = given.documents.iter();
        made.for_each(|document| answer.read(document, &self.options.sum_field));
        answer
    }

    async fn read_modify_write(
        &self,
        target: &Target,
        given: &mut Given,
    ) -> mongodb::error::Result<Answer> {
        let mut answer = dialect::call(target, Kind::FindOne, &self.options, given).await?;
        if let (true, Some(then)) = (answer.right, &mut given.then) {
            let update = dialect::call(target, Kind::UpdateOne, &self.options, then);
            answer.right = update.await?.right;
        }
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
