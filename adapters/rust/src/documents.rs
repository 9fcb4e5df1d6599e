//! Documents made for an operation: templates, and the stamps that they carry.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use mongodb::bson::{oid::ObjectId, Binary, Bson, DateTime, Document, Uuid};
use serde::Deserialize;

use crate::errors::Failure;
use crate::timing::Clock;

#[derive(Clone, Deserialize)]
pub struct Stamp {
    path: Vec<String>,
    #[serde(default)]
    from: Source,
    #[serde(default)]
    add: i64,
    #[serde(flatten)]
    form: Form,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Source {
    #[default]
    Key,
    Sequence,
    Producer,
    MadeNs,
    TimeMs,
}

#[derive(Clone, Deserialize)]
#[serde(tag = "as", rename_all = "lowercase")]
enum Form {
    Int32,
    Int64,
    Double,
    Date,
    String {
        #[serde(default)]
        prefix: String,
        #[serde(default)]
        width: usize,
    },
    ObjectId {
        #[serde(deserialize_with = "hex::deserialize")]
        prefix: [u8; 4],
    },
    Guid,
    #[serde(rename = "guid_string")]
    GuidString,
}

/// The values that stamps take.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct Input {
    /// Those of the record: `shift` moves them on.
    pub key: i64,
    #[serde(deserialize_with = "hex::deserialize")]
    pub guid: [u8; 16],
    pub shift: u64,
    pub sequence: i64,
    pub producer: i64,
    pub made_ns: i64,
    pub time_ms: i64,
    /// The shift between two items of a batch.
    #[serde(skip)]
    pub item_step: u64,
    /// If it is set, `made_ns` and `time_ms` are read when a stamp asks for them.
    #[serde(skip)]
    pub clock: Option<Clock>,
}

impl Input {
    pub fn item(&self, item: u32) -> Input {
        let shift = self.shift + u64::from(item) * self.item_step;
        Input { shift, sequence: self.sequence + i64::from(item), ..*self }
    }

    fn value(&self, source: Source) -> i64 {
        match source {
            Source::Key => self.key + self.shift as i64,
            Source::Sequence => self.sequence,
            Source::Producer => self.producer,
            Source::MadeNs => self.clock.map_or(self.made_ns, |clock| clock.now_ns() as i64),
            Source::TimeMs => self.clock.map_or(self.time_ms, |_| {
                let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
                since_1970.map_or(0, |time| time.as_millis() as i64)
            }),
        }
    }

    /// The low half of the shift goes into the first four bytes, the high one into the last four.
    fn guid(&self) -> Uuid {
        let mask = u128::from(self.shift as u32) | (u128::from(self.shift >> 32) << 96);
        Uuid::from_bytes((u128::from_le_bytes(self.guid) ^ mask).to_le_bytes())
    }
}

impl Stamp {
    fn bson(&self, input: &Input) -> Bson {
        let value = input.value(self.from) + self.add;
        match &self.form {
            Form::Int32 => Bson::Int32(value as i32),
            Form::Int64 => Bson::Int64(value),
            Form::Double => Bson::Double(value as f64),
            Form::Date => Bson::DateTime(DateTime::from_millis(value)),
            Form::String { prefix, width } => Bson::String(format!("{prefix}{value:0width$}")),
            Form::ObjectId { prefix } => {
                let mut bytes = [0; 12];
                bytes[..4].copy_from_slice(prefix);
                bytes[4..].copy_from_slice(&value.to_be_bytes());
                Bson::ObjectId(ObjectId::from_bytes(bytes))
            }
            Form::Guid => Bson::Binary(Binary::from_uuid(input.guid())),
            Form::GuidString => Bson::String(input.guid().to_string()),
        }
    }
}

/// The value that a stamp replaces.
fn slot<'a>(document: &'a mut Document, path: &[String]) -> Option<&'a mut Bson> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(document.get_mut(first)?, |value, step| match value {
        Bson::Document(inner) => inner.get_mut(step),
        Bson::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
        _ => None,
    })
}

pub fn stamped(document: &Document, stamps: &[Stamp], input: &Input) -> Document {
    let mut copy = document.clone();
    for stamp in stamps {
        if let Some(value) = slot(&mut copy, &stamp.path) {
            *value = stamp.bson(input);
        }
    }
    copy
}

pub type Pool = Arc<Vec<Document>>;

pub fn read_pool(path: &Path) -> Result<Pool, Failure> {
    let wrong = |what: String| Failure::internal(format!("{}: {what}", path.display()));
    let bytes = fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let mut rest = bytes.as_slice();
    let mut documents = Vec::new();
    while !rest.is_empty() {
        let document = Document::from_reader(&mut rest);
        documents.push(document.map_err(|error| wrong(error.to_string()))?);
    }
    Ok(Arc::new(documents))
}

/// One document of a pool, or (`documents` of an operation) any of them, with its stamps.
#[derive(Clone, Deserialize)]
pub struct Template {
    pool: usize,
    #[serde(default)]
    document: usize,
    #[serde(default)]
    stamps: Vec<Stamp>,
    #[serde(skip)]
    documents: Pool,
}

impl Template {
    pub fn fill(&mut self, pools: &[Pool]) -> Result<(), Failure> {
        let pool = pools.get(self.pool).filter(|pool| self.document < pool.len());
        self.documents = pool.ok_or_else(|| Failure::internal("no such pool document"))?.clone();
        Ok(())
    }

    pub fn make(&self, input: &Input) -> Document {
        stamped(&self.documents[self.document], &self.stamps, input)
    }

    pub fn nth(&self, number: usize, input: &Input) -> Document {
        stamped(&self.documents[number % self.documents.len()], &self.stamps, input)
    }
}

/// The stages of `{"pipeline": […]}`.
pub fn stages(mut pipeline: Document) -> Vec<Document> {
    let Some(Bson::Array(stages)) = pipeline.remove("pipeline") else { return Vec::new() };
    let documents = stages.into_iter().filter_map(|stage| match stage {
        Bson::Document(stage) => Some(stage),
        _ => None,
    });
    documents.collect()
}
