//! Documents made for an operation: templates and their stamps.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::files::Job;
use super::timing::now_ns;
use crate::call::Failure;
use mongodb::bson::{oid::ObjectId, Binary, Bson, DateTime, Document, Uuid};

#[derive(Deserialize)]
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

#[derive(Deserialize)]
#[serde(tag = "as", rename_all = "lowercase")]
enum Form {
    Int32,
    Int64,
    Double,
    Date,
    String {
        #[serde(default)]
        prefix: String,
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
    /// The record's values; `shift` changes them.
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
    /// `made_ns` and `time_ms` are read when a stamp asks for them.
    #[serde(skip)]
    pub live: bool,
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
            Source::MadeNs if self.live => now_ns() as i64,
            Source::MadeNs => self.made_ns,
            Source::TimeMs if self.live => DateTime::now().timestamp_millis(),
            Source::TimeMs => self.time_ms,
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

pub type Pool = Vec<Document>;

pub fn read_pool(path: &Path) -> Result<Pool, Failure> {
    let bytes = fs::read(path).map_err(Failure::of_file(path))?;
    let mut rest = bytes.as_slice();
    let mut documents = Vec::new();
    while !rest.is_empty() {
        documents.push(Document::from_reader(&mut rest).map_err(Failure::of_file(path))?);
    }
    Ok(documents)
}

/// Documents of a pool, or always the same one, with their stamps.
#[derive(Deserialize)]
pub struct Template {
    pool: usize,
    document: Option<usize>,
    #[serde(default)]
    stamps: Vec<Stamp>,
}

impl Template {
    /// A document of the pool that has no stamps.
    pub fn fixed<'a>(&self, pools: &'a [Pool]) -> &'a Document {
        &pools[self.pool][self.document.unwrap_or_default()]
    }

    /// Makes the document of an item of a batch; all other calls have item 0.
    pub fn make(&self, pools: &[Pool], job: &Job, item: u32) -> Document {
        let (pool, input) = (&pools[self.pool], job.input.item(item));
        let number = self.document.unwrap_or(job.document + item as usize);
        stamped(&pool[number % pool.len()], &self.stamps, &input)
    }
}
