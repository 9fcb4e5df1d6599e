//! Values as byte strings that compare as BSON compares values. Types follow the order that MongoDB
//! documents ("Comparison/Sort Order"), and numbers of all types their value. So an index is an
//! ordered map, and comparing is `memcmp`.
//!
//! No encoding is the beginning of another. So keys of several fields are their encodings in a row,
//! and a range of values is a range of prefixes.

use smallvec::SmallVec;
use wire::raw::{Number, Value, fields, kind};

/// An encoded key; short ones (numbers, ObjectIds) need no allocation.
pub type Key = SmallVec<[u8; 24]>;

/// Place of a kind in MongoDB's order, and first byte of its encoding. 0 is left for ends.
pub fn rank(kind: u8) -> u8 {
    match kind {
        kind::MIN_KEY => 1,
        kind::UNDEFINED => 2,
        kind::NULL => 7,
        kind::INT | kind::LONG | kind::DOUBLE | kind::DECIMAL => 12,
        kind::STRING | kind::SYMBOL => 17,
        kind::DOCUMENT => 22,
        kind::ARRAY => 27,
        kind::BINARY => 32,
        kind::OBJECT_ID => 37,
        kind::BOOL => 42,
        kind::DATE => 47,
        kind::TIMESTAMP => 49,
        kind::REGEX => 52,
        kind::POINTER => 57,
        kind::CODE => 62,
        kind::SCOPED_CODE => 67,
        _ => 129, // MaxKey
    }
}

pub fn encode(value: Value<'_>, key: &mut Key) {
    key.push(rank(value.kind));
    match value.kind {
        kind::INT | kind::LONG | kind::DOUBLE | kind::DECIMAL => encode_number(value, key),
        kind::STRING | kind::SYMBOL | kind::CODE => encode_text(value.string_bytes(), key),
        // A regular expression: two zero-ended texts.
        kind::OBJECT_ID | kind::BOOL | kind::REGEX => key.extend_from_slice(value.bytes),
        kind::DATE => {
            let millis = i64::from_le_bytes(*value.bytes.first_chunk().expect("8 bytes, checked"));
            key.extend_from_slice(&ordered(millis));
        }
        kind::TIMESTAMP => key.extend(value.bytes.iter().rev().copied()),
        kind::DOCUMENT => {
            for field in fields(value.bytes) {
                // mongod compares the kinds of two fields first, then their names.
                key.push(rank(field.value.kind));
                encode_text(field.name, key);
                encode(field.value, key);
            }
            key.push(0);
        }
        kind::ARRAY => {
            for field in fields(value.bytes) {
                encode(field.value, key);
            }
            key.push(0);
        }
        kind::BINARY => {
            key.extend(value.bytes[..4].iter().rev().copied()); // shorter ones first
            key.extend_from_slice(&value.bytes[4..]);
        }
        kind::POINTER | kind::SCOPED_CODE => encode_text(value.bytes, key),
        _ => {}
    }
}

pub fn key_of(value: Value<'_>) -> Key {
    let mut key = Key::new();
    encode(value, &mut key);
    key
}

/// The smallest string above every one that begins with `prefix`; None: there is none.
pub fn after_prefix(prefix: &[u8]) -> Option<Key> {
    let mut key = Key::from_slice(prefix);
    while let Some(last) = key.pop() {
        if last < u8::MAX {
            key.push(last + 1);
            return Some(key);
        }
    }
    None
}

fn ordered(number: i64) -> [u8; 8] {
    (number.cast_unsigned() ^ (1 << 63)).to_be_bytes()
}

/// Zero bytes within are marked, so that the two at the end are its end.
fn encode_text(text: &[u8], key: &mut Key) {
    for part in text.split_inclusive(|byte| *byte == 0) {
        key.extend_from_slice(part);
        if part.last() == Some(&0) {
            key.push(u8::MAX);
        }
    }
    key.extend_from_slice(&[0, 0]);
}

/// The largest double that is not above the number, and the rest: a whole number beyond 2^53 has no
/// exact double. NaN is below all others. A decimal is taken as the nearest double (see the
/// list of differences).
fn encode_number(value: Value<'_>, key: &mut Key) {
    let (double, above) = match value.number().expect("one of the kinds of numbers") {
        Number::Int(number) => (f64::from(number), 0),
        Number::Double(number) => (number, 0),
        Number::Decimal(number) => (Number::Decimal(number).as_f64(), 0),
        Number::Long(number) => {
            let near = number as f64;
            let floor = if near as i128 > i128::from(number) { near.next_down() } else { near };
            (floor, (i128::from(number) - floor as i128) as u16)
        }
    };
    let bits = if double.is_nan() {
        0
    } else {
        let bits = (double + 0.0).to_bits(); // -0.0 becomes 0.0
        if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
    };
    key.extend_from_slice(&bits.to_be_bytes());
    key.extend_from_slice(&above.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use bson::{Bson, RawDocumentBuf, doc};
    use wire::raw;

    use super::*;

    fn key(value: impl Into<Bson>) -> Key {
        let document = RawDocumentBuf::try_from(&doc! { "": value.into() }).unwrap();
        key_of(raw::get(document.as_bytes(), b"").unwrap())
    }

    #[test]
    fn mongods_order_of_types_and_values() {
        let object_id = bson::oid::ObjectId::from_bytes;
        let ordered: Vec<Bson> = vec![
            Bson::MinKey,
            Bson::Undefined,
            Bson::Null,
            f64::NAN.into(),
            f64::NEG_INFINITY.into(),
            i64::MIN.into(),
            (-1.5).into(),
            (-1).into(),
            0.into(),
            0.5.into(),
            1.into(),
            (9_007_199_254_740_993_i64).into(),
            (9_007_199_254_740_994.0).into(),
            (i64::MAX - 1).into(),
            i64::MAX.into(),
            9_223_372_036_854_775_808.0.into(),
            f64::INFINITY.into(),
            "".into(),
            "a".into(),
            "a\0".into(),
            "a\0b".into(),
            "ab".into(),
            doc! {}.into(),
            doc! { "a": 1 }.into(),
            doc! { "a": 1, "b": 1 }.into(),
            doc! { "b": 0 }.into(),
            doc! { "a": "x" }.into(),
            Bson::Array(vec![]),
            Bson::Array(vec![1.into()]),
            Bson::Array(vec![1.into(), 2.into()]),
            Bson::Array(vec![2.into()]),
            object_id([0; 12]).into(),
            object_id([1; 12]).into(),
            false.into(),
            true.into(),
            bson::DateTime::from_millis(-5).into(),
            bson::DateTime::from_millis(5).into(),
            Bson::Timestamp(bson::Timestamp { time: 1, increment: 9 }),
            Bson::Timestamp(bson::Timestamp { time: 2, increment: 1 }),
            Bson::MaxKey,
        ];
        let keys: Vec<Key> = ordered.iter().cloned().map(key).collect();
        for (pair, values) in keys.windows(2).zip(ordered.windows(2)) {
            assert!(pair[0] < pair[1], "{values:?}");
            assert!(!pair[1].starts_with(&pair[0]), "a prefix: {values:?}");
        }
    }

    #[test]
    fn numbers_are_equal_across_their_types() {
        let decimal: bson::Decimal128 = "5".parse().unwrap();
        for other in [key(5_i64), key(5.0), key(Bson::Decimal128(decimal))] {
            assert_eq!(key(5), other);
        }
        assert_eq!(key(0.0), key(-0.0));
        assert_eq!(key(1_i64 << 60), key((1_i64 << 60) as f64));
        assert_ne!(key((1_i64 << 60) + 1), key((1_i64 << 60) as f64));
        assert_eq!(key("x"), key(Bson::Symbol("x".into())));
    }

    #[test]
    fn the_end_of_a_prefix() {
        assert_eq!(after_prefix(&[1, 2]).unwrap().as_slice(), [1, 3]);
        assert_eq!(after_prefix(&[1, 255]).unwrap().as_slice(), [2]);
        assert_eq!(after_prefix(&[255]), None);
    }
}
