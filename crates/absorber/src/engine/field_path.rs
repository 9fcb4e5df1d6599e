//! Dotted paths. As in MongoDB's queries and indexes they reach documents within documents, and
//! every element of an array on the way.

use wire::raw::{Value, fields, get, kind};

use super::fault::{Fallible, Fault, OVERFLOW};

/// mongod's limit of a document's depth.
const PARTS_MAX: usize = 200;

/// `a.b.0`, split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath {
    pub text: Vec<u8>,
    pub parts: Vec<Vec<u8>>,
}

impl FieldPath {
    pub fn new(text: &[u8]) -> Self {
        let parts = text.split(|byte| *byte == b'.').map(<[u8]>::to_vec).collect();
        Self { text: text.to_vec(), parts }
    }

    /// Splits a path of bounded depth: each part becomes a level of a document.
    pub fn bounded(text: &[u8]) -> Fallible<Self> {
        let path = Self::new(text);
        if path.parts.len() > PARTS_MAX {
            let message = format!("a path of {} parts; {PARTS_MAX} are allowed", path.parts.len());
            return Err(Fault::new(OVERFLOW, message));
        }
        Ok(path)
    }

    pub fn name(&self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }

    /// Shows every value that a query on this path compares, None for a missing one, until `found`
    /// returns true.
    pub fn any<'a>(
        &self,
        document: &'a [u8],
        found: &mut dyn FnMut(Option<Value<'a>>) -> bool,
    ) -> bool {
        any_within(document, &self.parts, found)
    }

    /// The one value at this path, null for a missing one; None: an array is on the way.
    pub fn single<'a>(&self, document: &'a [u8]) -> Option<Value<'a>> {
        let mut value = Value { kind: kind::DOCUMENT, bytes: document };
        for part in &self.parts {
            let inner = value.document().and_then(|document| get(document, part));
            value = inner.unwrap_or(Value::NULL);
            if value.kind == kind::ARRAY {
                return None;
            }
        }
        Some(value)
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
