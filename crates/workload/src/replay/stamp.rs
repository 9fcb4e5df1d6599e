//! The core's own implementation of SPEC section 6: values put into documents.

use bson::oid::ObjectId;
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, DateTime, Document};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::steps::guid;

/// Replaces the value at `path` (SPEC section 6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stamp {
    /// Field names, array elements by decimal index.
    pub path: Vec<String>,
    /// BSON type and form.
    #[serde(rename = "as")]
    pub form: StampForm,
    /// Source of the value.
    pub from: StampSource,
    /// Added to the value.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub add: i64,
    /// `string`: text before the number; `objectid`: 8 hex digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// `string`: zero-padded to so many digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_zero(value: &i64) -> bool {
    *value == 0
}

/// BSON form of a stamped value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum StampForm {
    Int32,
    Int64,
    Double,
    Date,
    String,
    ObjectId,
    Guid,
    #[serde(rename = "guid_string")]
    GuidString,
}

/// Source of a stamped value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum StampSource {
    Key,
    Sequence,
    Producer,
    MadeNs,
    TimeMs,
}

/// The values that stamps are made from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Input {
    /// The document's key, final.
    pub key: u64,
    /// The record's guid, in JSON 32 hex digits.
    #[serde(deserialize_with = "guid_of_hex", serialize_with = "hex_of_guid")]
    #[schemars(with = "String")]
    pub guid: [u8; 16],
    /// The guid moves on by it.
    pub shift: u64,
    /// Number of the operation in its worker, and the item's number added to it.
    pub sequence: u64,
    /// Number of the worker.
    pub producer: u64,
    /// Monotonic clock.
    pub made_ns: u64,
    /// Wall clock.
    pub time_ms: u64,
}

fn guid_of_hex<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 16], D::Error> {
    let text = String::deserialize(deserializer)?;
    let number = u128::from_str_radix(&text, 16).ok().filter(|_| text.len() == 32);
    number.map(u128::to_be_bytes).ok_or_else(|| D::Error::custom("a guid has 32 hex digits"))
}

fn hex_of_guid<S: Serializer>(guid: &[u8; 16], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format!("{:032x}", u128::from_be_bytes(*guid)))
}

/// A stamp that does not fit its document; only a template made by hand can have one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StampError {
    /// No value to replace.
    #[error("the document has no value at `{0}`")]
    NoSuchPath(String),
    /// An integer form too small for its value.
    #[error("{0} does not fit {1}")]
    TooLarge(i128, &'static str),
    /// An `ObjectId`'s prefix.
    #[error("the prefix `{0}` is not 8 hex digits")]
    Prefix(String),
    /// A key that no document has.
    #[error("no document was inserted with the key {0}")]
    NotInserted(u64),
    /// SPEC section 6: drivers of flat BSON overwrite bytes in their place.
    #[error("the stamps make {1} bytes of {0}")]
    Length(usize, usize),
}

/// The BSON of a template with its stamps put in.
pub fn render(template: &Document, stamps: &[Stamp], input: &Input) -> Result<Vec<u8>, StampError> {
    let before = encode(template).len();
    let mut document = template.clone();
    apply(&mut document, stamps, input)?;
    let bytes = encode(&document);
    let same = bytes.len() == before;
    if same { Ok(bytes) } else { Err(StampError::Length(before, bytes.len())) }
}

pub fn apply(document: &mut Document, stamps: &[Stamp], input: &Input) -> Result<(), StampError> {
    for stamp in stamps {
        let value = value_of(stamp, input)?;
        let missing = || StampError::NoSuchPath(stamp.path.join("."));
        *find(document, &stamp.path).ok_or_else(missing)? = value;
    }
    Ok(())
}

///
/// # Panics
/// On a field name with a zero byte, which neither YAML, JSON nor BSON lets through to here.
pub fn encode(document: &Document) -> Vec<u8> {
    document.to_vec().expect("field names hold no zero byte: parsed from YAML, JSON or BSON")
}

/// The value at a path.
pub(crate) fn find<'a>(document: &'a mut Document, path: &[String]) -> Option<&'a mut Bson> {
    let (first, rest) = path.split_first()?;
    let mut value = document.get_mut(first)?;
    for name in rest {
        value = match value {
            Bson::Document(inner) => inner.get_mut(name)?,
            Bson::Array(items) => items.get_mut(name.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(value)
}

/// The value a stamp puts in.
pub fn value_of(stamp: &Stamp, input: &Input) -> Result<Bson, StampError> {
    let from = match stamp.from {
        StampSource::Key => input.key,
        StampSource::Sequence => input.sequence,
        StampSource::Producer => input.producer,
        StampSource::MadeNs => input.made_ns,
        StampSource::TimeMs => input.time_ms,
    };
    let value = i128::from(from) + i128::from(stamp.add);
    let long = i64::try_from(value).map_err(|_| StampError::TooLarge(value, "a long"));
    Ok(match stamp.form {
        StampForm::Int32 => {
            Bson::Int32(i32::try_from(value).map_err(|_| StampError::TooLarge(value, "an int"))?)
        }
        StampForm::Int64 => Bson::Int64(long?),
        StampForm::Double => Bson::Double(value as f64),
        StampForm::Date => Bson::DateTime(DateTime::from_millis(long?)),
        StampForm::String => {
            let prefix = stamp.prefix.as_deref().unwrap_or("");
            let width = stamp.width.unwrap_or(0) as usize;
            Bson::String(format!("{prefix}{value:0width$}"))
        }
        StampForm::ObjectId => Bson::ObjectId(object_id(stamp, value as u64)?),
        StampForm::Guid => {
            let bytes = guid(input.guid, input.shift).to_vec();
            Bson::Binary(Binary { subtype: BinarySubtype::Uuid, bytes })
        }
        StampForm::GuidString => Bson::String(guid_text(guid(input.guid, input.shift))),
    })
}

fn object_id(stamp: &Stamp, value: u64) -> Result<ObjectId, StampError> {
    let prefix = stamp.prefix.as_deref().unwrap_or("00000000");
    let wrong = || StampError::Prefix(prefix.to_owned());
    let number = u32::from_str_radix(prefix, 16).ok().filter(|_| prefix.len() == 8);
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&number.ok_or_else(wrong)?.to_be_bytes());
    bytes[4..].copy_from_slice(&value.to_be_bytes());
    Ok(ObjectId::from_bytes(bytes))
}

/// 8, 4, 4, 4 and 12 hex digits.
fn guid_text(guid: [u8; 16]) -> String {
    let mut text = format!("{:032x}", u128::from_be_bytes(guid));
    for at in [20, 16, 12, 8] {
        text.insert(at, '-');
    }
    text
}
