//! A call: what a dialect is given, what it returns, how it fails. Dialect and harness share these
//! types, which name neither of the two, and nothing of the driver except its BSON and options.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use mongodb::bson::{Bson, Document};
use mongodb::options::{Collation, Hint};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Noop,
    InsertOne,
    InsertMany,
    FindOne,
    Find,
    UpdateOne,
    UpdateMany,
    DeleteOne,
    DeleteMany,
    Count,
    Distinct,
    EstimatedCount,
    ReplaceOne,
    FindOneAndUpdate,
    ReadModifyWrite,
    Transaction,
    Aggregate,
    Command,
    Drop,
}

/// What all calls of an operation share.
#[derive(Deserialize)]
pub struct Options {
    #[serde(default)]
    pub collection: String,
    pub ordered: Option<bool>,
    pub upsert: Option<bool>,
    pub batch_size: Option<u32>,
    pub sum_field: Option<String>,
    /// Field of a distinct.
    #[serde(default)]
    pub field: String,
    pub write_concern: Option<Value>,
    pub read_concern: Option<String>,
    pub read_preference: Option<String>,
}

pub type Lazy = Box<dyn Iterator<Item = Document> + Send>;

/// Documents that exist, or that are made when the driver asks for them.
pub enum Batch {
    Made(std::vec::IntoIter<Document>),
    Lazy(Lazy),
}

impl Iterator for Batch {
    type Item = Document;

    fn next(&mut self) -> Option<Document> {
        match self {
            Batch::Made(documents) => documents.next(),
            Batch::Lazy(documents) => documents.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Batch::Made(documents) => documents.size_hint(),
            Batch::Lazy(documents) => documents.size_hint(),
        }
    }
}

impl ExactSizeIterator for Batch {}

/// Options of a find, as the driver takes them.
#[derive(Clone, Default)]
pub struct Finds {
    pub sort: Option<Document>,
    pub skip: Option<u64>,
    pub hint: Option<Hint>,
    pub collation: Option<Collation>,
    pub max_time: Option<Duration>,
}

/// The arguments of a call: fresh copies, made before its time begins. No empty document is made:
/// its hasher costs as much as a reading of the clock.
#[derive(Default)]
pub struct Given {
    pub filter: Option<Document>,
    /// Rarely present: in a box it costs the others less.
    pub projection: Option<Box<Document>>,
    pub body: Option<Document>,
    /// A batch, or the stages of a pipeline.
    pub documents: Vec<Document>,
    pub lazy: Option<Lazy>,
    pub limit: Option<i64>,
    pub finds: Option<Box<Finds>>,
    /// Filter of the call that follows in the same operation.
    pub then: Option<Box<Given>>,
    /// Operations of a transaction by their numbers, and what each of its attempts is given.
    pub parts: Vec<(usize, Given)>,
    /// Attempts of a transaction that have begun.
    pub attempts: u64,
}

impl Given {
    pub fn filter(&mut self) -> Document {
        self.filter.take().unwrap_or_default()
    }

    pub fn projection(&mut self) -> Option<Document> {
        self.projection.take().map(|fields| *fields)
    }

    /// The async API of 3.x asks whether there are any.
    #[cfg(any(feature = "v2", feature = "sync"))]
    pub fn finds(&mut self) -> Finds {
        self.finds.take().map(|finds| *finds).unwrap_or_default()
    }

    /// The same documents once more.
    pub fn again(&self) -> Given {
        let Given { filter, projection, body, finds, .. } = self;
        Given {
            filter: filter.clone(),
            projection: projection.clone(),
            body: body.clone(),
            finds: finds.clone(),
            ..Given::default()
        }
    }

    /// A document to write, an update, or a command.
    pub fn body(&mut self) -> Document {
        self.body.take().unwrap_or_default()
    }

    pub fn batch(&mut self) -> Batch {
        let made = std::mem::take(&mut self.documents);
        self.lazy.take().map_or_else(|| Batch::Made(made.into_iter()), Batch::Lazy)
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

    pub fn counted(documents: u64) -> Answer {
        Answer { documents, ..Answer::right_if(true) }
    }

    /// Answer of a call that finds one document.
    pub fn one(found: Option<Document>, sum_field: &Option<String>) -> Answer {
        let mut answer = Answer::right_if(found.is_some());
        found.iter().for_each(|document| answer.read(document, sum_field));
        answer
    }

    pub fn read(&mut self, document: &Document, sum_field: &Option<String>) {
        self.add(sum_field.as_ref().and_then(|field| document.get(field)));
    }

    /// Answer of a call that returns values.
    pub fn values(values: &[Bson], sum_field: &Option<String>) -> Answer {
        let mut answer = Answer::right_if(true);
        values.iter().for_each(|value| answer.add(sum_field.as_ref().map(|_| value)));
        answer
    }

    fn add(&mut self, value: Option<&Bson>) {
        self.documents += 1;
        self.sum += match value {
            Some(Bson::Int32(value)) => i64::from(*value),
            Some(Bson::Int64(value)) => *value,
            _ => 0,
        };
    }
}

/// An answer of type `error`.
pub struct Failure {
    pub code: &'static str,
    pub message: String,
}

impl Failure {
    pub fn new(code: &'static str, message: impl ToString) -> Failure {
        Failure { code, message: message.to_string() }
    }

    pub fn of_file<E: Error>(path: &Path) -> impl Fn(E) -> Failure + '_ {
        move |error| Failure::new("internal", format!("{}: {error}", path.display()))
    }
}

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::new("internal", error)
    }
}

/// The text of an error, cut: that of a batch has all of its write errors.
pub fn cut(message: &str) -> String {
    message.chars().take(4096).collect()
}

/// A kind of failure of operations, and how often it occurred.
#[derive(Serialize)]
pub struct ErrorEntry {
    pub code: i32,
    pub name: String,
    pub count: u64,
    pub message: String,
    /// Outcome of a sample.
    #[serde(skip)]
    pub outcome: u8,
}

impl ErrorEntry {
    /// A wrong answer, which the adapter itself detects.
    pub fn own(name: &str, message: String) -> ErrorEntry {
        ErrorEntry { code: 0, name: name.to_owned(), count: 1, message, outcome: 1 }
    }
}
