//! Fields of commands: what every command takes, and how wrong ones are refused.

use super::error::{Fault, ILLEGAL_OPERATION, Outcome};
use super::raw::{Field, Number, Value, fields, get, kind};
use super::store::Name;

/// A command: its body and what came beside it.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Where it was sent to.
    pub database: &'a str,
    /// Checked.
    pub body: &'a [u8],
    /// Document sequences, checked.
    pub sequences: &'a [(&'a str, Vec<&'a bson::RawDocument>)],
    /// A client that has gone waits for nothing.
    pub client_is_there: &'a dyn Fn() -> bool,
}

impl<'a> Request<'a> {
    /// The value of its first field: mostly a collection's name.
    pub fn target(&self) -> Value<'a> {
        fields(self.body).next().map_or(Value::NULL, |field| field.value)
    }

    /// The collection that its first field names.
    pub fn collection(&self) -> Outcome<Name<'a>> {
        let value = self.target();
        let Some(collection) = value.text() else {
            let message = format!("collection name has invalid type {}", value.kind_name());
            return Err(Fault::bad_value(message));
        };
        let name = Name { database: self.database, collection };
        name.check()?;
        Ok(name)
    }

    /// Its fields but the first and those that every command has. `known`: those it may have;
    /// `name`: what mongod's messages call it.
    pub fn fields(&self, name: &str, known: &[&[u8]]) -> Outcome<Vec<Field<'a>>> {
        let mut found = Vec::new();
        for field in fields(self.body).skip(1) {
            if known.contains(&field.name) {
                found.push(field);
            } else if !is_common(&field)? {
                return Err(Fault::unknown(&format!("{name}.{}", field.name())));
            }
        }
        Ok(found)
    }

    /// The documents of a write, from the body or beside it.
    pub fn documents(&self, command: &str, field: &str) -> Outcome<Vec<&'a [u8]>> {
        let path = format!("{command}.{field}");
        let mut documents = Vec::new();
        let beside = self.sequences.iter().find(|(name, _)| *name == field);
        if let Some((_, sequence)) = beside {
            documents.extend(sequence.iter().map(|document| document.as_bytes()));
        } else {
            let value = get(self.body, field.as_bytes()).ok_or_else(|| Fault::missing(&path))?;
            let array = value.array();
            let array = array.ok_or_else(|| Fault::wrong_type(&path, value, "type 'array'"))?;
            for (index, element) in fields(array).enumerate() {
                let Some(document) = element.value.document() else {
                    let path = format!("{path}.{index}");
                    return Err(Fault::wrong_type(&path, element.value, "type 'object'"));
                };
                documents.push(document);
            }
        }
        if documents.is_empty() || documents.len() > BATCH_MAX {
            let message = format!(
                "Write batch sizes must be between 1 and {BATCH_MAX}. Got {} operations.",
                documents.len()
            );
            return Err(Fault::new(super::error::INVALID_LENGTH, message));
        }
        Ok(documents)
    }
}

/// `maxWriteBatchSize`.
const BATCH_MAX: usize = 100_000;

/// Whether every command may have this field. Most of them change nothing here.
fn is_common(field: &Field<'_>) -> Outcome<bool> {
    match field.name {
        b"lsid"
        | b"txnNumber"
        | b"$clusterTime"
        | b"$db"
        | b"$readPreference"
        | b"readConcern"
        | b"comment"
        | b"maxTimeMS"
        | b"let"
        | b"apiVersion"
        | b"apiStrict"
        | b"apiDeprecationErrors"
        | b"$client"
        | b"stmtId"
        | b"stmtIds" => {}
        b"startTransaction" | b"autocommit" => {
            let message = "Transaction numbers are only allowed on a replica set member or mongos";
            return Err(Fault::new(ILLEGAL_OPERATION, message));
        }
        b"writeConcern" => check_write_concern(field.value)?,
        b"collation" => check_collation(field.value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn check_write_concern(value: Value<'_>) -> Outcome<()> {
    let w = value.document().and_then(|document| get(document, b"w"));
    if w.and_then(Value::whole_number).is_some_and(|w| w > 1) {
        return Err(Fault::bad_value("cannot use 'w' > 1 when a host is not replicated"));
    }
    Ok(())
}

/// Strings are compared by their bytes; another order would be a wrong answer.
pub fn check_collation(value: Value<'_>) -> Outcome<()> {
    let locale = value.document().and_then(|document| get(document, b"locale"));
    if locale.is_some_and(|locale| locale.text() != Some("simple")) {
        return Err(Fault::not_here("collations"));
    }
    Ok(())
}

/// What a message about a field calls it; only made where there is one.
fn wrong(command: &str, field: &Field<'_>, expected: &str) -> Fault {
    Fault::wrong_type(&format!("{command}.{}", field.name()), field.value, expected)
}

/// A document, or null for none.
pub fn document<'a>(command: &str, field: &Field<'a>) -> Outcome<&'a [u8]> {
    match field.value.kind {
        kind::DOCUMENT => Ok(field.value.bytes),
        kind::NULL => Ok(super::raw::EMPTY),
        _ => Err(wrong(command, field, "type 'object'")),
    }
}

/// A bool; numbers are taken for one.
pub fn flag(command: &str, field: &Field<'_>) -> Outcome<bool> {
    if field.value.kind == kind::BOOL || field.value.number().is_some() {
        return Ok(field.value.truth());
    }
    Err(wrong(command, field, "type 'bool'"))
}

/// A whole number that is not negative.
pub fn count(command: &str, field: &Field<'_>) -> Outcome<u64> {
    let number = signed(command, field)?;
    u64::try_from(number).map_err(|_| {
        let name = field.name();
        let message = format!("BSON field '{name}' value must be >= 0, actual value '{number}'");
        Fault::new(51024, message)
    })
}

/// A whole number.
pub fn signed(command: &str, field: &Field<'_>) -> Outcome<i64> {
    let whole = field.value.whole_number();
    whole.ok_or_else(|| wrong(command, field, "types '[long, int, decimal, double']"))
}

/// An int64 as such: ids of cursors.
pub fn long(path: &str, value: Value<'_>) -> Outcome<i64> {
    match value.number() {
        Some(Number::Long(number)) => Ok(number),
        _ => Err(Fault::wrong_type(path, value, "type 'long'")),
    }
}
