//! Documents made for an operation: templates, pools, and the stamps that both carry.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use mongodb::bson::{oid::ObjectId, spec::BinarySubtype, Binary, Bson, DateTime, Document};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::errors::Failure;
use crate::timing::Clock;

#[derive(Deserialize)]
pub struct Stamp {
    path: Vec<String>,
    from: Source,
    #[serde(default)]
    add: i64,
    #[serde(flatten)]
    form: Form,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Source {
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
        #[serde(default)]
        width: usize,
    },
    ObjectId {
        #[serde(deserialize_with = "hex::deserialize")]
        prefix: [u8; 4],
    },
    Guid,
}

/// The values that stamps take.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct Input {
    pub key: i64,
    /// Between the keys of two items of an insert_many.
    #[serde(skip)]
    pub key_step: i64,
    #[serde(deserialize_with = "hex::deserialize")]
    pub guid: [u8; 16],
    pub lap: u32,
    pub item: u32,
    pub sequence: i64,
    pub producer: i64,
    pub made_ns: i64,
    pub time_ms: i64,
    /// If it is set, `made_ns` and `time_ms` are read when a stamp asks for them.
    #[serde(skip)]
    pub clock: Option<Clock>,
}

impl Input {
    fn value(&self, source: &Source) -> i64 {
        match source {
            Source::Key => self.key + self.key_step * i64::from(self.item),
            Source::Sequence => self.sequence + i64::from(self.item),
            Source::Producer => self.producer,
            Source::MadeNs => self.clock.map_or(self.made_ns, |clock| clock.now_ns() as i64),
            Source::TimeMs => self.clock.map_or(self.time_ms, |_| {
                let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
                since_1970.map_or(0, |time| time.as_millis() as i64)
            }),
        }
    }

    fn guid(&self) -> Vec<u8> {
        let mut guid = self.guid.to_vec();
        for (at, number) in [(0, self.lap), (12, self.item)] {
            for (byte, mask) in guid[at..at + 4].iter_mut().zip(number.to_be_bytes()) {
                *byte ^= mask;
            }
        }
        guid
    }
}

impl Stamp {
    fn bson(&self, input: &Input) -> Bson {
        let value = input.value(&self.from) + self.add;
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
            Form::Guid => {
                Bson::Binary(Binary { subtype: BinarySubtype::Uuid, bytes: input.guid() })
            }
        }
    }
}

/// The value that a stamp replaces. It is never `None` after `check`.
fn slot<'a>(document: &'a mut Document, path: &[String]) -> Option<&'a mut Bson> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(document.get_mut(first)?, |value, step| match value {
        Bson::Document(inner) => inner.get_mut(step),
        Bson::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
        _ => None,
    })
}

fn stamped(document: &Document, stamps: &[Stamp], input: &Input) -> Document {
    let mut copy = document.clone();
    for stamp in stamps {
        if let Some(value) = slot(&mut copy, &stamp.path) {
            *value = stamp.bson(input);
        }
    }
    copy
}

fn check(document: &Document, stamps: &[Stamp]) -> Result<(), String> {
    let mut copy = document.clone();
    match stamps.iter().find(|stamp| slot(&mut copy, &stamp.path).is_none()) {
        Some(stamp) => Err(format!("nothing to stamp at {}", stamp.path.join("."))),
        None => Ok(()),
    }
}

#[derive(Deserialize)]
pub struct TemplateMessage {
    pub document: Map<String, Value>,
    #[serde(default)]
    pub stamps: Vec<Stamp>,
}

#[derive(Deserialize)]
#[serde(try_from = "TemplateMessage")]
pub struct Template {
    pub document: Document,
    stamps: Vec<Stamp>,
}

impl TryFrom<TemplateMessage> for Template {
    type Error = String;

    fn try_from(message: TemplateMessage) -> Result<Template, String> {
        let document = Document::try_from(message.document).map_err(|error| error.to_string())?;
        check(&document, &message.stamps)?;
        Ok(Template { document, stamps: message.stamps })
    }
}

impl Template {
    pub fn make(&self, input: &Input) -> Document {
        stamped(&self.document, &self.stamps, input)
    }
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

/// The documents of a pool as templates.
#[derive(Deserialize)]
pub struct Pooled {
    pool: usize,
    #[serde(default)]
    stamps: Vec<Stamp>,
    #[serde(skip)]
    documents: Pool,
}

impl Pooled {
    pub fn fill(&mut self, pools: &[Pool]) -> Result<(), Failure> {
        let pool = pools.get(self.pool).filter(|pool| !pool.is_empty());
        self.documents = pool.ok_or_else(|| Failure::protocol("no such pool, or empty"))?.clone();
        let mut checks = self.documents.iter().map(|document| check(document, &self.stamps));
        checks.try_for_each(|checked| checked.map_err(Failure::protocol))
    }

    pub fn make(&self, number: usize, input: &Input) -> Document {
        stamped(&self.documents[number % self.documents.len()], &self.stamps, input)
    }

    pub fn make_many(&self, number: usize, batch: u32, input: &Input) -> Vec<Document> {
        let item = |item| self.make(number + item as usize, &Input { item, ..input.clone() });
        (0..batch).map(item).collect()
    }
}
