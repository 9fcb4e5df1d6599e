//! Makes the documents of a pool from the shapes of their fields.

use bson::oid::ObjectId;
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, DateTime, Document, doc};

use super::fields::{Distribution, Fill, Length};
use crate::plan::Stamp;
use crate::replay::random::{Random, guid_of};
use crate::replay::stamp::{Input, value_of};

/// Largest document: `MongoDB`'s 16 MiB, less what a message needs around it.
pub const DOCUMENT_BYTES_MAX: u64 = (16 << 20) - 64;

/// A field, checked and ready to be made.
#[derive(Debug, Clone)]
pub enum FieldShape {
    /// Always this; also what a stamp replaces.
    Constant(Bson),
    /// One of these, by weight.
    OneOf(Vec<Bson>, Vec<u32>),
    Int(i32, i32),
    Long(i64, i64),
    Double(f64, f64),
    /// Random datetime, in ms.
    Date(i64, i64),
    Bool,
    ObjectId,
    /// Random version 4 UUID.
    Guid,
    String(Length, Fill),
    /// Binary subtype 0.
    Bytes(Length, Fill),
    Document(Vec<(String, FieldShape)>),
    Array(Box<FieldShape>, Length),
    Point,
    KeyOf(KeyReference),
}

/// The value that another collection has in a field made of the key.
#[derive(Debug, Clone)]
pub struct KeyReference {
    pub stamp: Stamp,
    /// Documents that are loaded there.
    pub keys: u64,
    /// Seed of its guids.
    pub seed: u64,
}

impl FieldShape {
    /// How many fields within have `length: fill`.
    pub fn fills(&self) -> usize {
        match self {
            Self::String(length, _) | Self::Bytes(length, _) => {
                usize::from(*length == Length::Fill)
            }
            Self::Document(fields) => fields.iter().map(|(_, shape)| shape.fills()).sum(),
            Self::Array(of, _) => of.fills(),
            _ => 0,
        }
    }

    /// Whether two values of it may differ in their bytes. A `fill` has those that its document
    /// lacks.
    fn varies(&self) -> bool {
        let drawn = |length: &Length| matches!(length, Length::Drawn(_));
        match self {
            Self::OneOf(values, _) => {
                let bytes = |value: &Bson| size(&bson::doc! { "": value.clone() });
                values.iter().any(|value| bytes(value) != bytes(&values[0]))
            }
            Self::String(length, _) | Self::Bytes(length, _) => drawn(length),
            Self::Document(fields) => fields.iter().any(|(_, shape)| shape.varies()),
            Self::Array(of, length) => drawn(length) || of.varies(),
            _ => false,
        }
    }

    /// Values within, at most.
    pub fn values(&self) -> f64 {
        match self {
            Self::Document(fields) => fields.iter().map(|(_, shape)| shape.values()).sum(),
            Self::Array(of, length) => of.values().max(1.0) * length.largest(),
            _ => 1.0,
        }
    }
}

/// All fields of a document and what is stamped into them.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    pub fields: Vec<(String, FieldShape)>,
    pub stamps: Vec<Stamp>,
    /// BSON size of every document, made up by the `fill` field.
    pub size_bytes: Option<u64>,
}

/// A document that cannot have the size asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeError {
    /// Size with an empty fill field (or without one).
    pub bytes: u64,
    /// Size asked for.
    pub wanted: u64,
}

impl Layout {
    pub fn make(&self, random: &Random, number: u64) -> Result<Document, SizeError> {
        let make = |fill| {
            let rest = random.stream(2 * number);
            // A separate stream: the length of the filling must not move any other value.
            let filling = random.stream(2 * number + 1);
            let mut maker = Maker { rest, filling, fill };
            maker.fields(&self.fields)
        };
        let document = make(0);
        let Some(wanted) = self.size_bytes else { return Ok(document) };
        let bytes = size(&document);
        if bytes == wanted {
            return Ok(document);
        }
        if bytes > wanted || self.fills() == 0 {
            return Err(SizeError { bytes, wanted });
        }
        let document = make(wanted - bytes);
        match size(&document) {
            bytes if bytes == wanted => Ok(document),
            bytes => Err(SizeError { bytes, wanted }),
        }
    }

    /// Whether the size of one document is that of all.
    pub fn has_one_size(&self) -> bool {
        !self.fields.iter().any(|(_, shape)| shape.varies())
    }

    /// How many fields have `length: fill`.
    pub fn fills(&self) -> usize {
        self.fields.iter().map(|(_, shape)| shape.fills()).sum()
    }
}

pub fn size(document: &Document) -> u64 {
    crate::replay::stamp::encode(document).len() as u64
}

/// One value of a shape, for templates.
pub fn one_value(shape: &FieldShape, seed: u64, label: &str) -> Bson {
    let rest = Random::new(seed, label, &[]);
    Maker { filling: rest.clone(), rest, fill: 0 }.value(shape)
}

struct Maker {
    rest: Random,
    filling: Random,
    fill: u64,
}

impl Maker {
    fn fields(&mut self, fields: &[(String, FieldShape)]) -> Document {
        fields.iter().map(|(name, shape)| (name.clone(), self.value(shape))).collect()
    }

    fn value(&mut self, shape: &FieldShape) -> Bson {
        match shape {
            FieldShape::Constant(value) => value.clone(),
            FieldShape::OneOf(values, weights) => values[self.rest.weighted(weights)].clone(),
            FieldShape::Int(low, high) => {
                Bson::Int32(self.between((*low).into(), (*high).into()) as i32)
            }
            FieldShape::Long(low, high) => Bson::Int64(self.between(*low, *high)),
            FieldShape::Double(low, high) => Bson::Double(low + self.rest.unit() * (high - low)),
            FieldShape::Date(low, high) => {
                Bson::DateTime(DateTime::from_millis(self.between(*low, *high)))
            }
            FieldShape::Bool => Bson::Boolean(self.rest.bits() & 1 == 1),
            FieldShape::ObjectId => {
                let mut bytes = [0; 12];
                self.rest.fill(&mut bytes);
                Bson::ObjectId(ObjectId::from_bytes(bytes))
            }
            FieldShape::Guid => {
                let (seed, key) = (self.rest.bits(), self.rest.bits());
                let bytes = guid_of(seed, key).to_vec();
                Bson::Binary(Binary { subtype: BinarySubtype::Uuid, bytes })
            }
            FieldShape::String(length, fill) => {
                let length = self.length(length) as usize;
                Bson::String(text(self.content(*fill, length, true)))
            }
            FieldShape::Bytes(length, fill) => {
                let length = self.length(length) as usize;
                let bytes = self.content(*fill, length, false);
                Bson::Binary(Binary { subtype: BinarySubtype::Generic, bytes })
            }
            FieldShape::Document(fields) => Bson::Document(self.fields(fields)),
            FieldShape::Array(of, length) => {
                let length = self.length(length);
                Bson::Array((0..length).map(|_| self.value(of)).collect())
            }
            FieldShape::Point => {
                let (east, north) = (360.0 * self.rest.unit() - 180.0, self.rest.unit());
                let place = vec![Bson::Double(east), Bson::Double(180.0 * north - 90.0)];
                Bson::Document(doc! { "type": "Point", "coordinates": place })
            }
            FieldShape::KeyOf(KeyReference { stamp, keys, seed }) => {
                let key = self.rest.below(*keys);
                let input = Input { key, guid: guid_of(*seed, key), ..Input::default() };
                value_of(stamp, &input).unwrap_or(Bson::Null)
            }
        }
    }

    fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = (i128::from(high) - i128::from(low) + 1).min(i128::from(u64::MAX)) as u64;
        (i128::from(low) + i128::from(self.rest.below(span))) as i64
    }

    fn length(&mut self, length: &Length) -> u64 {
        match length {
            Length::Fixed(length) => *length,
            Length::Fill => self.fill,
            Length::Drawn(Distribution::Uniform([low, high])) => {
                low + self.rest.below(high - low + 1)
            }
            Length::Drawn(Distribution::Normal([mean, deviation])) => {
                let drawn = self.rest.normal().clamp(-4.0, 4.0);
                (mean + deviation * drawn).round().max(0.0) as u64
            }
            Length::Drawn(Distribution::Weights(weights)) => {
                let (lengths, weights): (Vec<u64>, Vec<u32>) = weights.iter().unzip();
                lengths[self.rest.weighted(&weights)]
            }
        }
    }

    fn content(&mut self, fill: Fill, length: usize, letters: bool) -> Vec<u8> {
        match fill {
            Fill::Zero => vec![if letters { b'x' } else { 0 }; length],
            Fill::Text => self.words(length),
            Fill::Random => {
                let mut bytes = vec![0; length];
                self.filling.fill(&mut bytes);
                if letters {
                    for byte in &mut bytes {
                        *byte = LETTERS[usize::from(*byte & 63)];
                    }
                }
                bytes
            }
        }
    }

    fn words(&mut self, length: usize) -> Vec<u8> {
        let mut text = Vec::with_capacity(length + 16);
        while text.len() < length {
            let word = WORDS[self.filling.below(WORDS.len() as u64) as usize];
            text.extend_from_slice(word.as_bytes());
            text.push(b' ');
        }
        text.truncate(length);
        text
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("made of ASCII letters only")
}

/// 64 signs, so that six bits choose one without bias.
const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

/// Common words: text made of them compresses as prose does, to about a third.
const WORDS: [&str; 64] = [
    "the", "of", "and", "to", "in", "that", "was", "his", "he", "it", "with", "is", "for", "as",
    "had", "you", "not", "be", "her", "on", "at", "by", "which", "have", "or", "from", "this",
    "him", "but", "all", "she", "they", "were", "my", "are", "me", "one", "their", "so", "an",
    "said", "them", "we", "who", "would", "been", "will", "no", "when", "there", "if", "more",
    "out", "up", "into", "do", "any", "your", "what", "has", "man", "could", "other", "harbour",
];
