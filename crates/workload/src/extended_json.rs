//! A plan is JSON; BSON's own serde form of it loses the types of numbers.

use bson::{Bson, Document};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

pub fn serialize<S: Serializer>(document: &Document, to: S) -> Result<S::Ok, S::Error> {
    Bson::Document(document.clone()).into_canonical_extjson().serialize(to)
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Document, D::Error> {
    match Bson::try_from(Value::deserialize(from)?) {
        Ok(Bson::Document(document)) => Ok(document),
        Ok(_) => Err(D::Error::custom("no document")),
        Err(error) => Err(D::Error::custom(error)),
    }
}
