use wire::raw::fields;

use super::fault::{Fallible, Fault};
use super::field_path::FieldPath;
use super::key_encoding::{Key, encode};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SortOrder {
    /// No order asked for: that of the index used, or of insertion.
    Any,
    /// `{$natural: 1}` or `-1`: that of insertion.
    Natural { reverse: bool },
    /// By fields; true: descending.
    By(Vec<(FieldPath, bool)>),
}

impl SortOrder {
    pub fn parse(sort: &[u8]) -> Fallible<Self> {
        let mut by = Vec::new();
        for field in fields(sort) {
            let descending = match field.value.number().map(wire::raw::Number::as_f64) {
                Some(1.0) => false,
                Some(-1.0) => true,
                _ => return Err(Fault::not_here("sorts but 1 and -1")),
            };
            if field.name == b"$natural" {
                return Ok(Self::Natural { reverse: descending });
            }
            by.push((FieldPath::new(field.name), descending));
        }
        Ok(if by.is_empty() { Self::Any } else { Self::By(by) })
    }
}

/// A document's place in the order.
pub fn sort_key(by: &[(FieldPath, bool)], document: &[u8]) -> Fallible<Key> {
    let mut key = Key::new();
    for (path, descending) in by {
        let from = key.len();
        let value = path.single(document);
        encode(value.ok_or_else(|| Fault::not_here("sorts by arrays"))?, &mut key);
        if *descending {
            key[from..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
    Ok(key)
}
