//! Documents as a driver's natural types make them (`alters` in hello).

use bson::{Bson, Document};

use adapter::protocol::Alters;

/// The document as a driver sends it that declares these alterations.
pub fn altered(document: Document, alters: &[Alters]) -> Document {
    document.into_iter().map(|(name, value)| (name, value_of(value, alters))).collect()
}

fn value_of(value: Bson, alters: &[Alters]) -> Bson {
    let int32 = f64::from(i32::MIN)..=f64::from(i32::MAX);
    match value {
        Bson::Int64(long) if alters.contains(&Alters::Int64) => {
            i32::try_from(long).map_or(Bson::Int64(long), Bson::Int32)
        }
        Bson::Double(double)
            if alters.contains(&Alters::Double)
                && double.fract() == 0.0
                && int32.contains(&double) =>
        {
            Bson::Int32(double as i32)
        }
        Bson::Document(inner) => Bson::Document(altered(inner, alters)),
        Bson::Array(items) => {
            Bson::Array(items.into_iter().map(|it| value_of(it, alters)).collect())
        }
        other => other,
    }
}

/// Bytes to compare documents by: without the order of fields, if a driver does not keep it.
pub fn comparable(document: &Document, alters: &[Alters]) -> Vec<u8> {
    let document =
        if alters.contains(&Alters::FieldOrder) { sorted(document) } else { document.clone() };
    document.to_vec().expect("it was read from BSON")
}

fn sorted(document: &Document) -> Document {
    let mut fields: Vec<(String, Bson)> =
        document.iter().map(|(name, value)| (name.clone(), sorted_value(value))).collect();
    fields.sort_by(|(one, _), (other, _)| one.cmp(other));
    fields.into_iter().collect()
}

fn sorted_value(value: &Bson) -> Bson {
    match value {
        Bson::Document(inner) => Bson::Document(sorted(inner)),
        Bson::Array(items) => Bson::Array(items.iter().map(sorted_value).collect()),
        other => other.clone(),
    }
}

/// Bytes of hex digits.
pub fn unhex(hex: &str) -> Result<Vec<u8>, String> {
    let byte = |at: usize| hex.get(at..at + 2).and_then(|it| u8::from_str_radix(it, 16).ok());
    let bytes: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
    bytes.ok_or_else(|| "no hex digits".to_owned())
}

pub fn document(hex: &str) -> Result<Document, String> {
    Document::from_reader(&unhex(hex)?[..]).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    #[test]
    fn only_what_is_declared_is_altered() {
        let whole = doc! {
            "b": [1_i64, 2.0, 0.5],
            "a": { "big": 1_i64 << 31, "least": i64::from(i32::MIN), "half": 1.5 },
        };
        assert_eq!(altered(whole.clone(), &[]), whole);
        let longs = altered(whole.clone(), &[Alters::Int64]);
        let expected = doc! {
            "b": [1, 2.0, 0.5],
            "a": { "big": 1_i64 << 31, "least": i32::MIN, "half": 1.5 },
        };
        assert_eq!(longs, expected);
        let both = altered(whole.clone(), &[Alters::Int64, Alters::Double]);
        assert_eq!(both.get("b"), Some(&bson::bson!([1, 2, 0.5])));
        let other = doc! { "a": whole.get("a").unwrap(), "b": whole.get("b").unwrap() };
        assert_ne!(comparable(&whole, &[]), comparable(&other, &[]));
        let order = [Alters::FieldOrder];
        assert_eq!(comparable(&whole, &order), comparable(&other, &order));
    }
}
