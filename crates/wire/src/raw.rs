//! BSON as bytes: the table of its types, and the reading of whole documents after one check.
//! [`super::walk`] follows documents that arrive in pieces.
//!
//! Rejected: `bson::RawDocument`, which checks lengths and UTF-8 again at every step of every
//! reading. Here [`check`] is the only check, and nothing after it can fail.

use std::borrow::Cow;
use std::collections::HashSet;

/// Types of values, as the BSON specification numbers them.
pub mod kind {
    pub const DOUBLE: u8 = 1;
    pub const STRING: u8 = 2;
    pub const DOCUMENT: u8 = 3;
    pub const ARRAY: u8 = 4;
    pub const BINARY: u8 = 5;
    pub const UNDEFINED: u8 = 6;
    pub const OBJECT_ID: u8 = 7;
    pub const BOOL: u8 = 8;
    pub const DATE: u8 = 9;
    pub const NULL: u8 = 10;
    pub const REGEX: u8 = 11;
    pub const POINTER: u8 = 12;
    pub const CODE: u8 = 13;
    pub const SYMBOL: u8 = 14;
    pub const SCOPED_CODE: u8 = 15;
    pub const INT: u8 = 16;
    pub const TIMESTAMP: u8 = 17;
    pub const LONG: u8 = 18;
    pub const DECIMAL: u8 = 19;
    pub const MAX_KEY: u8 = 127;
    pub const MIN_KEY: u8 = 255;
}

pub const DOCUMENT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bounds the recursion of everything that walks through a document.
const DEPTH_MAX: usize = 200;
pub const EMPTY: &[u8] = &[5, 0, 0, 0, 0];

/// Length and terminator of an empty document.
const DOCUMENT_BYTES_MIN: usize = EMPTY.len();

/// How many bytes the value of a field takes: the only table of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    Fixed(usize),
    /// A length of four bytes comes first. It counts `before` bytes that are already read, is at
    /// least `least`, and leaves out `after` bytes.
    Counted {
        before: usize,
        least: usize,
        after: usize,
    },
    /// A regular expression: two strings that end with a zero byte.
    Pattern,
    Unknown,
}

impl Size {
    #[inline]
    pub const fn of(kind: u8) -> Self {
        match kind {
            kind::DOUBLE | kind::DATE | kind::TIMESTAMP | kind::LONG => Self::Fixed(8),
            kind::STRING | kind::CODE | kind::SYMBOL => Self::counted(0, 1, 0),
            kind::DOCUMENT | kind::ARRAY | kind::SCOPED_CODE => {
                Self::counted(4, DOCUMENT_BYTES_MIN, 0)
            }
            kind::BINARY => Self::counted(0, 0, 1), // its subtype
            kind::UNDEFINED | kind::NULL | kind::MAX_KEY | kind::MIN_KEY => Self::Fixed(0),
            kind::OBJECT_ID => Self::Fixed(12),
            kind::BOOL => Self::Fixed(1),
            kind::REGEX => Self::Pattern,
            kind::POINTER => Self::counted(0, 1, 12), // a string and an ObjectId
            kind::INT => Self::Fixed(4),
            kind::DECIMAL => Self::Fixed(16),
            _ => Self::Unknown,
        }
    }

    const fn counted(before: usize, least: usize, after: usize) -> Self {
        Self::Counted { before, least, after }
    }

    /// Number of bytes after a length field with these four bytes; None if the length is
    /// impossible.
    #[inline]
    pub fn behind(self, length: [u8; 4]) -> Option<usize> {
        let Self::Counted { before, least, after } = self else { return None };
        let length = u32::from_le_bytes(length) as usize;
        (length >= least).then(|| length - before + after)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value<'a> {
    /// One of [`kind`].
    pub kind: u8,
    /// The bytes after the name.
    pub bytes: &'a [u8],
}

#[derive(Debug, Clone, Copy)]
pub struct Field<'a> {
    /// Name without its zero byte; an index if the document is an array.
    pub name: &'a [u8],
    pub value: Value<'a>,
    /// Bytes of kind, name and value.
    pub whole: &'a [u8],
}

impl<'a> Field<'a> {
    pub fn name(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.name)
    }
}

#[derive(Debug, Clone)]
pub struct Fields<'a>(&'a [u8]);

/// Walks through a checked document or array.
pub fn fields(document: &[u8]) -> Fields<'_> {
    Fields(document.get(4..document.len() - 1).unwrap_or_default())
}

pub fn get<'a>(document: &'a [u8], name: &[u8]) -> Option<Value<'a>> {
    fields(document).find(|field| field.name == name).map(|field| field.value)
}

impl<'a> Fields<'a> {
    /// Bytes of the fields that are still to come.
    pub fn bytes(&self) -> &'a [u8] {
        self.0
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        let (&kind, rest) = self.0.split_first()?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        let (name, rest) = rest.split_at(end);
        let (bytes, after) = rest[1..].split_at_checked(length(kind, &rest[1..])?)?;
        let whole = &self.0[..self.0.len() - after.len()];
        self.0 = after;
        Some(Field { name, value: Value { kind, bytes }, whole })
    }
}

/// Bytes of a value of this kind at the beginning of `rest`.
#[inline]
fn length(kind: u8, rest: &[u8]) -> Option<usize> {
    let size = Size::of(kind);
    Some(match size {
        Size::Fixed(bytes) => bytes,
        Size::Counted { .. } => 4 + size.behind(*rest.first_chunk()?)?,
        Size::Pattern => {
            let pattern = rest.iter().position(|byte| *byte == 0)? + 1;
            pattern + rest[pattern..].iter().position(|byte| *byte == 0)? + 1
        }
        Size::Unknown => return None,
    })
}

/// Checks that a whole document is valid BSON.
pub fn check(document: &[u8]) -> Result<(), String> {
    check_at(document, 0)
}

fn check_at(document: &[u8], depth: usize) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err(format!("it nests documents deeper than {DEPTH_MAX} levels"));
    }
    let said = document.first_chunk().map_or(-1, |bytes| i32::from_le_bytes(*bytes));
    if document.len() < 5 || usize::try_from(said) != Ok(document.len()) {
        return Err("a length in it is wrong".to_owned());
    }
    if document.last() != Some(&0) {
        return Err("it lacks the zero byte at its end".to_owned());
    }
    let mut walk = fields(document);
    for field in &mut walk {
        let Value { kind, bytes } = field.value;
        let text = |bytes: &[u8]| bytes.len() > 4 && bytes.last() == Some(&0);
        let good = match kind {
            kind::STRING | kind::CODE | kind::SYMBOL => text(bytes),
            kind::POINTER => text(&bytes[..bytes.len() - 12]),
            kind::BOOL => bytes[0] <= 1,
            kind::BINARY if bytes[4] == 2 => bytes.len() >= 9,
            kind::DOCUMENT | kind::ARRAY => {
                check_at(bytes, depth + 1)?;
                true
            }
            kind::SCOPED_CODE => {
                // The value is its own length, a string, a document.
                let inner = bytes.get(4..).unwrap_or_default();
                let end = length(kind::CODE, inner).filter(|end| *end < inner.len());
                let end = end.ok_or("the length of its code is wrong")?;
                check_at(&inner[end..], depth + 1)?;
                text(&inner[..end])
            }
            _ => true,
        };
        if !good {
            return Err(format!("the value of the field `{}` is malformed", field.name()));
        }
    }
    if walk.0.is_empty() { Ok(()) } else { Err("a field in it is malformed".to_owned()) }
}

/// The path of a field whose name a checked document, or one within it, has twice.
pub fn twice(document: &[u8]) -> Option<String> {
    let mut names = HashSet::new();
    for field in fields(document) {
        if !names.insert(field.name) {
            return Some(field.name().into_owned());
        }
        let within = field.value.document().and_then(twice);
        let within = within.or_else(|| {
            // The names of an array's fields are not read.
            let mut documents = fields(field.value.array()?);
            documents.find_map(|it| Some(format!("{}.{}", it.name(), twice(it.value.document()?)?)))
        });
        if let Some(path) = within {
            return Some(format!("{}.{path}", field.name()));
        }
    }
    None
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    Int(i32),
    Long(i64),
    Double(f64),
    Decimal(bson::Decimal128),
}

impl<'a> Value<'a> {
    /// Value in place of a missing one.
    pub const NULL: Value<'static> = Value { kind: kind::NULL, bytes: &[] };

    /// The text of a string; empty if it is not UTF-8.
    pub fn text(self) -> Option<&'a str> {
        (self.kind == kind::STRING).then(|| self.string())
    }

    /// The text of anything that is stored like a string.
    pub fn string(self) -> &'a str {
        std::str::from_utf8(self.string_bytes()).unwrap_or_default()
    }

    /// The bytes of the text of anything that is stored like a string.
    pub fn string_bytes(self) -> &'a [u8] {
        self.bytes.get(4..self.bytes.len() - 1).unwrap_or_default()
    }

    pub fn document(self) -> Option<&'a [u8]> {
        (self.kind == kind::DOCUMENT).then_some(self.bytes)
    }

    pub fn array(self) -> Option<&'a [u8]> {
        (self.kind == kind::ARRAY).then_some(self.bytes)
    }

    pub fn number(self) -> Option<Number> {
        let long = || i64::from_le_bytes(*self.bytes.first_chunk().expect("8 bytes, checked"));
        Some(match self.kind {
            kind::INT => Number::Int(i32::from_le_bytes(
                *self.bytes.first_chunk().expect("4 bytes, checked"),
            )),
            kind::LONG => Number::Long(long()),
            kind::DOUBLE => Number::Double(f64::from_bits(long().cast_unsigned())),
            kind::DECIMAL => {
                let bytes = *self.bytes.first_chunk().expect("16 bytes, checked");
                Number::Decimal(bson::Decimal128::from_bytes(bytes))
            }
            _ => return None,
        })
    }

    /// The number with its fraction cut off.
    pub fn whole_number(self) -> Option<i64> {
        Some(match self.number()? {
            Number::Int(number) => number.into(),
            Number::Long(number) => number,
            Number::Double(number) => number as i64,
            Number::Decimal(number) => decimal_to_f64(number) as i64,
        })
    }

    /// The value as a condition: false, zero, null and undefined are false.
    pub fn truth(self) -> bool {
        match self.kind {
            kind::BOOL => self.bytes[0] != 0,
            kind::NULL | kind::UNDEFINED => false,
            _ => self.number().is_none_or(|number| number.as_f64() != 0.0),
        }
    }
}

impl Number {
    /// The nearest double.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(number) => number.into(),
            Self::Long(number) => number as f64,
            Self::Double(number) => number,
            Self::Decimal(number) => decimal_to_f64(number),
        }
    }
}

fn decimal_to_f64(number: bson::Decimal128) -> f64 {
    // The text has the forms that Rust reads: digits, E+n, NaN, Infinity.
    number.to_string().parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use bson::raw::cstr;

    use super::*;

    #[test]
    fn what_the_crate_writes_is_accepted_and_every_cut_is_not() {
        let document = bson::rawdoc! {
            "d": 1.5, "s": "text", "o": { "a": [1, "x", true] }, "n": null, "i": 7, "l": 8_i64,
            "at": bson::DateTime::from_millis(5), "id": bson::oid::ObjectId::new(),
        };
        let bytes = document.as_bytes();
        assert_eq!(check(bytes), Ok(()));
        assert_eq!(fields(bytes).count(), 8);
        for end in 0..bytes.len() {
            let mut cut = bytes[..end].to_vec();
            assert!(check(&cut).is_err(), "{end} bytes");
            // A length that fits does not make it whole.
            if end >= 5 {
                cut[..4].copy_from_slice(&i32::try_from(end).unwrap().to_le_bytes());
                cut[end - 1] = 0;
                let _ = check(&cut).map(|()| fields(&cut).count());
            }
        }
    }

    #[test]
    fn every_changed_byte_is_survived() {
        let document = bson::rawdoc! {
            "b": bson::Binary { subtype: bson::spec::BinarySubtype::Generic, bytes: vec![1, 2] },
            "r": bson::Regex { pattern: cstr!("a").into(), options: cstr!("").into() },
            "s": "text", "o": { "a": [1, "x"] },
        };
        for at in 0..document.as_bytes().len() {
            for byte in [0, 1, 2, 3, 4, 5, 11, 12, 13, 15, 19, 127, 255] {
                let mut bytes = document.as_bytes().to_vec();
                bytes[at] = byte;
                if check(&bytes).is_ok() {
                    assert!(fields(&bytes).count() <= 4);
                }
            }
        }
    }

    #[test]
    fn a_name_that_is_there_twice_is_found_at_any_depth() {
        let mut inner = bson::RawDocumentBuf::new();
        for name in [cstr!("b"), cstr!("c"), cstr!("b")] {
            inner.append(name, 1);
        }
        assert_eq!(twice(inner.as_bytes()).as_deref(), Some("b"));
        let outer = bson::rawdoc! { "x": { "b": 1, "c": { "b": 2 } }, "a": [1, inner] };
        assert_eq!(twice(outer.as_bytes()).as_deref(), Some("a.1.b"));
        assert_eq!(twice(bson::rawdoc! { "a": 1, "b": { "a": 1 } }.as_bytes()), None);
    }

    #[test]
    fn nesting_is_bounded() {
        let mut document = bson::RawDocumentBuf::new();
        for _ in 0..=DEPTH_MAX {
            document = bson::rawdoc! { "a": document };
        }
        assert!(check(document.as_bytes()).unwrap_err().contains("nests"));
    }
}
