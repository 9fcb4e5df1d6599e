//! Dotted paths and what they find: documents within documents, and every element of an array on
//! the way, as MongoDB's queries and indexes read them.

use super::error::{Fault, OVERFLOW, Outcome};
use super::raw::{Value, fields, get, kind};

/// As deep as mongod lets documents be.
const PARTS_MAX: usize = 200;

/// `a.b.0`, split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// As it was written.
    pub text: Vec<u8>,
    /// Between the dots.
    pub parts: Vec<Vec<u8>>,
}

impl Path {
    /// Splits.
    pub fn new(text: &[u8]) -> Self {
        let parts = text.split(|byte| *byte == b'.').map(<[u8]>::to_vec).collect();
        Self { text: text.to_vec(), parts }
    }

    /// Splits a path whose every part something is made of, so that it must not be endless.
    pub fn bounded(text: &[u8]) -> Outcome<Self> {
        let path = Self::new(text);
        if path.parts.len() > PARTS_MAX {
            let message = format!("a path of {} parts; {PARTS_MAX} are allowed", path.parts.len());
            return Err(Fault::new(OVERFLOW, message));
        }
        Ok(path)
    }

    /// For messages.
    pub fn name(&self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }

    /// Shows every value that a query on this path compares, None for a missing one, until one is
    /// answered with true.
    pub fn any<'a>(
        &self,
        document: &'a [u8],
        found: &mut dyn FnMut(Option<Value<'a>>) -> bool,
    ) -> bool {
        any_within(document, &self.parts, found)
    }

    /// The values that an index holds for this path: at least one, null for what is missing. True
    /// where an array was on the way, so that there may be several.
    pub fn indexed<'a>(&self, document: &'a [u8], values: &mut Vec<Value<'a>>) -> bool {
        indexed_within(document, &self.parts, values)
    }
}

/// Whether a name can be a place in an array.
pub fn is_place(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(u8::is_ascii_digit) && (name.len() == 1 || name[0] != b'0')
}

fn any_within<'a>(
    document: &'a [u8],
    parts: &[Vec<u8>],
    found: &mut dyn FnMut(Option<Value<'a>>) -> bool,
) -> bool {
    let Some((first, rest)) = parts.split_first() else { return false };
    match get(document, first) {
        None => found(None),
        Some(value) => any_of(value, rest, found),
    }
}

fn any_of<'a>(
    value: Value<'a>,
    rest: &[Vec<u8>],
    found: &mut dyn FnMut(Option<Value<'a>>) -> bool,
) -> bool {
    let Some(next) = rest.first() else {
        return found(Some(value))
            || value
                .array()
                .is_some_and(|array| fields(array).any(|element| found(Some(element.value))));
    };
    match value.kind {
        kind::DOCUMENT => any_within(value.bytes, rest, found),
        kind::ARRAY => {
            let element = get(value.bytes, next).filter(|_| is_place(next));
            let placed = element.is_some_and(|element| match &rest[1..] {
                // An array that was named by its place is compared as a whole.
                [] => found(Some(element)),
                rest => any_of(element, rest, found),
            });
            // Elements that are no documents have no such field, and are no missing one either.
            let mut documents = fields(value.bytes).filter_map(|element| element.value.document());
            placed || documents.any(|document| any_within(document, rest, found))
        }
        _ => found(None),
    }
}

fn indexed_within<'a>(document: &'a [u8], parts: &[Vec<u8>], values: &mut Vec<Value<'a>>) -> bool {
    let value = parts.first().and_then(|first| get(document, first));
    let Some(value) = value else {
        values.push(Value::NULL);
        return false;
    };
    indexed_of(value, &parts[1..], values)
}

fn indexed_of<'a>(value: Value<'a>, rest: &[Vec<u8>], values: &mut Vec<Value<'a>>) -> bool {
    match (value.kind, rest.first()) {
        (kind::ARRAY, None) => {
            let before = values.len();
            values.extend(fields(value.bytes).map(|element| element.value));
            if values.len() == before {
                values.push(Value { kind: kind::UNDEFINED, bytes: &[] });
            }
            true
        }
        (_, None) => {
            values.push(value);
            false
        }
        (kind::DOCUMENT, Some(_)) => indexed_within(value.bytes, rest, values),
        (kind::ARRAY, Some(next)) => {
            let before = values.len();
            if let Some(element) = get(value.bytes, next).filter(|_| is_place(next)) {
                indexed_of(element, &rest[1..], values);
            } else {
                for element in fields(value.bytes) {
                    match element.value.document() {
                        Some(document) => {
                            indexed_within(document, rest, values);
                        }
                        None => values.push(Value::NULL),
                    }
                }
            }
            if values.len() == before {
                values.push(Value::NULL);
            }
            true
        }
        _ => {
            values.push(Value::NULL);
            false
        }
    }
}
