//! Fields of commands: the common ones, and the refusal of wrong ones.

use wire::raw::{EMPTY, Field, Number, Value, fields, get, kind};

use super::fault::{Fallible, Fault, ILLEGAL_OPERATION, INVALID_LENGTH};
use super::store::Name;

/// `maxWriteBatchSize`.
const BATCH_MAX: usize = 100_000;

/// A command: its body and its document sequences.
#[derive(Clone, Copy)]
pub struct CommandArgs<'a> {
    pub database: &'a str,
    /// Document of the command, checked as BSON.
    pub body: &'a [u8],
    /// Document sequences, checked.
    pub sequences: &'a [(&'a str, Vec<&'a bson::RawDocument>)],
    /// Whether it may belong to a transaction.
    pub is_replicated: bool,
    /// A command stops waiting when its client has gone.
    pub client_is_there: &'a dyn Fn() -> bool,
}

impl<'a> CommandArgs<'a> {
    /// The value of its first field: mostly a collection's name.
    pub fn target(&self) -> Value<'a> {
        fields(self.body).next().map_or(Value::NULL, |field| field.value)
    }

    pub fn collection(&self) -> Fallible<Name<'a>> {
        let wrong = || Fault::bad_value("the collection's name is no string");
        let collection = self.target().text().ok_or_else(wrong)?;
        let name = Name { database: self.database, collection };
        name.check()?;
        Ok(name)
    }

    /// Returns the fields except the first and the common ones. A field that is not in `known` is a
    /// fault.
    pub fn fields(&self, known: &[&[u8]]) -> Fallible<Vec<Field<'a>>> {
        let mut found = Vec::new();
        for field in fields(self.body).skip(1) {
            if known.contains(&field.name) {
                found.push(field);
            } else if !is_common(&field, self.is_replicated)? {
                return Err(Fault::unknown(&field.name()));
            }
        }
        Ok(found)
    }

    /// The documents of a write, from the body or beside it.
    pub fn documents(&self, field: &str) -> Fallible<Vec<&'a [u8]>> {
        let mut documents = Vec::new();
        let beside = self.sequences.iter().find(|(name, _)| *name == field);
        if let Some((_, sequence)) = beside {
            documents.extend(sequence.iter().map(|document| document.as_bytes()));
        } else {
            let value = get(self.body, field.as_bytes()).ok_or_else(|| Fault::missing(field))?;
            documents = documents_of(field, value)?;
        }
        if documents.is_empty() || documents.len() > BATCH_MAX {
            let message = format!(
                "Write batch sizes must be between 1 and {BATCH_MAX}. Got {} operations.",
                documents.len()
            );
            return Err(Fault::new(INVALID_LENGTH, message));
        }
        Ok(documents)
    }
}

/// Whether every command may have this field. Most of them change nothing here.
fn is_common(field: &Field<'_>, is_replicated: bool) -> Fallible<bool> {
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
        b"startTransaction" | b"autocommit" if is_replicated => {}
        b"startTransaction" | b"autocommit" => {
            let message = "Transaction numbers are only allowed on a replica set member or mongos";
            return Err(Fault::new(ILLEGAL_OPERATION, message));
        }
        b"writeConcern" => {
            let w = field.value.document().and_then(|document| get(document, b"w"));
            if w.and_then(Value::whole_number).is_some_and(|w| w > 1) {
                return Err(Fault::bad_value("cannot use 'w' > 1 when a host is not replicated"));
            }
        }
        b"collation" => check_collation(field.value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Strings are compared by their bytes; another order would be a wrong answer.
pub fn check_collation(value: Value<'_>) -> Fallible<()> {
    let locale = value.document().and_then(|document| get(document, b"locale"));
    if locale.is_some_and(|locale| locale.text() != Some("simple")) {
        return Err(Fault::not_here("collations"));
    }
    Ok(())
}

pub fn documents_of<'a>(name: &str, value: Value<'a>) -> Fallible<Vec<&'a [u8]>> {
    let array = value.array().ok_or_else(|| Fault::wrong_type(name, "array"))?;
    let document = |element: Field<'a>| element.value.document();
    let documents = fields(array).map(document).collect::<Option<Vec<_>>>();
    documents.ok_or_else(|| Fault::wrong_type(name, "array of objects"))
}

/// A document, or null for none.
pub fn document<'a>(field: &Field<'a>) -> Fallible<&'a [u8]> {
    match field.value.kind {
        kind::DOCUMENT => Ok(field.value.bytes),
        kind::NULL => Ok(EMPTY),
        _ => Err(Fault::wrong_type(&field.name(), "object")),
    }
}

/// A bool; numbers count as bools.
pub fn flag(field: &Field<'_>) -> Fallible<bool> {
    if field.value.kind == kind::BOOL || field.value.number().is_some() {
        return Ok(field.value.truth());
    }
    Err(Fault::wrong_type(&field.name(), "bool"))
}

/// A whole number that is not negative.
pub fn count(field: &Field<'_>) -> Fallible<u64> {
    let number = signed(field)?;
    u64::try_from(number).map_err(|_| {
        let message = format!("BSON field '{}' must be >= 0, and is {number}", field.name());
        Fault::new(51024, message)
    })
}

pub fn signed(field: &Field<'_>) -> Fallible<i64> {
    field.value.whole_number().ok_or_else(|| Fault::wrong_type(&field.name(), "number"))
}

/// Reads a value that must be an int64, such as the id of a cursor.
pub fn long(name: &str, value: Value<'_>) -> Fallible<i64> {
    match value.number() {
        Some(Number::Long(number)) => Ok(number),
        _ => Err(Fault::wrong_type(name, "long")),
    }
}
