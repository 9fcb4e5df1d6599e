//! `$inc` as mongod adds: the sum has the wider type of the two.

use super::error::Fault;
use super::raw::{Number, Value, kind};

/// A number, encoded.
pub struct Sum {
    kind: u8,
    bytes: [u8; 8],
    length: usize,
}

impl Sum {
    fn new(kind: u8, number: &[u8]) -> Self {
        let mut bytes = [0; 8];
        bytes[..number.len()].copy_from_slice(number);
        Self { kind, bytes, length: number.len() }
    }

    /// As it is stored.
    pub fn value(&self) -> Value<'_> {
        Value { kind: self.kind, bytes: &self.bytes[..self.length] }
    }
}

/// The sum; Err(None) where the old value is no number.
pub fn add(old: Value<'_>, by: Value<'_>) -> Result<Sum, Option<Fault>> {
    let old = old.number().ok_or(None)?;
    let by = by.number().ok_or(None)?;
    let whole = |number| match number {
        Number::Int(number) => Some(i64::from(number)),
        Number::Long(number) => Some(number),
        _ => None,
    };
    if matches!(old, Number::Decimal(_)) || matches!(by, Number::Decimal(_)) {
        return Err(Some(Fault::not_here("sums of decimals")));
    }
    let (Some(one), Some(other)) = (whole(old), whole(by)) else {
        return Ok(Sum::new(kind::DOUBLE, &(old.as_f64() + by.as_f64()).to_le_bytes()));
    };
    let Some(sum) = one.checked_add(other) else {
        let message = format!(
            "Failed to apply $inc operations to current value ((NumberLong){one}): the sum does \
             not fit into 64 bits"
        );
        return Err(Some(Fault::bad_value(message)));
    };
    let both_int = matches!((old, by), (Number::Int(_), Number::Int(_)));
    Ok(match i32::try_from(sum) {
        Ok(sum) if both_int => Sum::new(kind::INT, &sum.to_le_bytes()),
        _ => Sum::new(kind::LONG, &sum.to_le_bytes()),
    })
}

/// A number so many times, as `$sum` adds it up; None where it does not fit.
pub fn times(number: Value<'_>, count: u64) -> Option<Sum> {
    let (whole, int) = match number.number()? {
        Number::Int(number) => (i64::from(number), true),
        Number::Long(number) => (number, false),
        other => {
            let product = other.as_f64() * count as f64;
            return Some(Sum::new(kind::DOUBLE, &product.to_le_bytes()));
        }
    };
    let product = whole.checked_mul(i64::try_from(count).ok()?)?;
    Some(match i32::try_from(product) {
        Ok(product) if int => Sum::new(kind::INT, &product.to_le_bytes()),
        _ => Sum::new(kind::LONG, &product.to_le_bytes()),
    })
}
