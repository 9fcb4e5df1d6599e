//! Sorting.

use super::error::{Fault, Outcome};
use super::keys::{Key, encode, encode_descending};
use super::path::Path;
use super::raw::{fields, kind};
use super::text::field_text;

/// The order that a query asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// None asked for: that of the index used, or of insertion.
    Any,
    /// `{$natural: 1}` or `-1`: that of insertion.
    Natural {
        /// Newest first.
        reverse: bool,
    },
    /// By fields; true: descending.
    By(Vec<(Path, bool)>),
}

impl Order {
    /// Reads a sort.
    pub fn parse(sort: &[u8]) -> Outcome<Self> {
        let mut by = Vec::new();
        for field in fields(sort) {
            if field.value.kind == kind::DOCUMENT {
                return Err(Fault::not_here("sorts but 1 and -1"));
            }
            let Some(number) = field.value.number() else {
                let shown = field_text(field.value);
                let message =
                    format!("Illegal key in $sort specification: {}: {shown}", field.name());
                return Err(Fault::new(15974, message));
            };
            let direction = number.as_f64();
            if !matches!(direction, 1.0 | -1.0) {
                let message = "$sort key ordering must be 1 (for ascending) or -1 (for descending)";
                return Err(Fault::new(15975, message));
            }
            if field.name == b"$natural" {
                return Ok(Self::Natural { reverse: direction < 0.0 });
            }
            by.push((Path::new(field.name), direction < 0.0));
        }
        Ok(if by.is_empty() { Self::Any } else { Self::By(by) })
    }
}

/// Where a document stands. An array stands where its smallest element would, or descending its
/// largest.
pub fn sort_key(by: &[(Path, bool)], document: &[u8]) -> Key {
    let mut key = Key::new();
    let mut values = Vec::new();
    for (path, descending) in by {
        values.clear();
        path.indexed(document, &mut values);
        let keys = values.iter().map(|value| {
            let mut key = Key::new();
            if *descending {
                encode_descending(*value, &mut key);
            } else {
                encode(*value, &mut key);
            }
            key
        });
        if let Some(first) = keys.min() {
            key.extend_from_slice(&first);
        }
    }
    key
}
