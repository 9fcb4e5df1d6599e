//! The operations of a plan: their templates, their documents, and how many of them.

use bson::Document;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::mention::Mention;
use crate::operation_kind::OperationKind;
use crate::replay::stamp::Stamp;

/// One operation template.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Operation {
    /// Name in results; unique in its phase.
    pub name: String,
    /// Kind of operation.
    pub kind: OperationKind,
    /// Collection in the experiment's database.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub collection: String,
    /// Documents to insert or to replace with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<WrittenDocuments>,
    /// Documents of one insert_many, limit of a find, parts of a bulk_write or a transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Count>,
    /// Parts of a bulk_write, which are drawn, or of a transaction, which all come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<OperationPart>,
    /// insert_many, bulk_write: stop at the first error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordered: Option<bool>,
    /// insert_many: documents are made while the driver takes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lazy: Option<bool>,
    /// Filter of finds, updates, deletes and counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Template>,
    /// Fields of finds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projection: Option<Template>,
    /// Order of the documents of finds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<Template>,
    /// Documents of a find that are passed over first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<u32>,
    /// Fields of the index that finds use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<Template>,
    /// How finds compare strings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collation: Option<Template>,
    /// Longest time of finds on the server, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_time_ms: Option<u64>,
    /// distinct: the field whose values are answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Update document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<Template>,
    /// `{"pipeline": […]}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Template>,
    /// Command document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Template>,
    /// Name of the class that the driver's documents are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// A right answer other than the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expectable>,
    /// Share of the inserted documents that are there already, of `expect: duplicate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<f64>,
    /// Insert where nothing matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upsert: Option<bool>,
    /// Cursor batch size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<u32>,
    /// Integer field whose values are added up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum_field: Option<String>,
    /// `{"w": 0}`, `{"w": "majority", "j": true}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_concern: Option<Value>,
    /// Level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_concern: Option<String>,
    /// Mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_preference: Option<String>,
}

impl Operation {
    /// An operation with nothing else set.
    pub fn new(name: &str, kind: OperationKind, collection: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            collection: collection.to_owned(),
            documents: None,
            count: None,
            parts: Vec::new(),
            ordered: None,
            lazy: None,
            filter: None,
            projection: None,
            sort: None,
            skip: None,
            hint: None,
            collation: None,
            max_time_ms: None,
            field: None,
            update: None,
            pipeline: None,
            command: None,
            shape: None,
            expect: None,
            duplicates: None,
            upsert: None,
            batch_size: None,
            sum_field: None,
            write_concern: None,
            read_concern: None,
            read_preference: None,
        }
    }

    /// Returns the templates, each once.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let all = [
            &self.filter,
            &self.projection,
            &self.sort,
            &self.hint,
            &self.collation,
            &self.update,
            &self.pipeline,
            &self.command,
        ];
        all.into_iter().flatten()
    }

    /// Returns all stamps of templates and documents.
    pub fn stamps(&self) -> impl Iterator<Item = &Stamp> {
        let documents = self.documents.iter().flat_map(|documents| &documents.stamps);
        self.templates().flat_map(|template| &template.stamps).chain(documents)
    }
}

/// A right answer of an operation other than the usual one (SPEC section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Expectable {
    /// No document is found, matched or deleted.
    Missing,
    /// Documents of an insert may be there already.
    Duplicate,
}

/// How many documents, or parts, one operation has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Count {
    /// Always so many.
    Fixed {
        /// Count.
        count: u32,
    },
    /// Drawn for each operation, every number alike.
    Drawn {
        /// Smallest.
        low: u32,
        /// Largest.
        high: u32,
    },
    /// Batches until a worker's share of all documents is inserted; the last one may be short.
    Rest {
        /// Documents of a full batch.
        batch: u32,
        /// Documents of all workers together.
        documents: u64,
    },
}

impl Count {
    /// The largest of one operation.
    pub fn most(self) -> u32 {
        match self {
            Self::Fixed { count } => count,
            Self::Drawn { high, .. } => high,
            Self::Rest { batch, .. } => batch,
        }
    }

    /// Operations until so many workers have inserted all documents; None: these are not counted.
    pub fn batches(self, workers: u64) -> Option<u64> {
        let Self::Rest { batch, documents } = self else { return None };
        let (share, larger) = (documents / workers, documents % workers);
        let batches = |documents: u64| documents.div_ceil(u64::from(batch));
        Some(larger * batches(share + 1) + (workers - larger) * batches(share))
    }
}

/// One operation that a bulk_write may consist of, or that a transaction has at this place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationPart {
    /// Index into the phase's operations.
    pub operation: u8,
    /// How often, relative to the others; in a transaction, 1.
    pub weight: u32,
}

/// Pool and stamps of the documents an operation writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WrittenDocuments {
    /// Index into the `pools` of `prepare`.
    pub pool: u32,
    /// Stamps of every copy.
    pub stamps: Vec<Stamp>,
}

/// A document and the values put into it per operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Template {
    /// In JSON: canonical Extended JSON.
    #[serde(with = "crate::extended_json")]
    #[schemars(with = "Value")]
    pub document: Document,
    /// Stamps of every copy.
    pub stamps: Vec<Stamp>,
    /// Collections that a pipeline or a command names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<Mention>,
}
