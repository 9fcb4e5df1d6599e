//! Reads the lines of an adapter: answers of the contract, or what is wrong with them.

use serde_json::Value;

use crate::failure::Failure;
use crate::protocol::AdapterAnswer;
use base::secrets::{mask_json, mask_text};
use base::strings::cut;

/// Beginning of a line that is no message, as errors quote it.
pub(crate) const QUOTED_CHARACTERS: usize = 120;
/// Integers of the contract are below 2 to this.
const INTEGER_BITS: u32 = 53;

/// Parses a line. An `error` becomes a [`Failure::Refused`]. Credentials are masked in everything
/// that is repeated.
pub(crate) fn parse(request: &'static str, line: &str) -> Result<AdapterAnswer, Failure> {
    let answer = serde_json::from_str(line).and_then(|value| {
        if within(&value) {
            return serde_json::from_value(value);
        }
        Err(serde::de::Error::custom("an integer is not below 2^53"))
    });
    match answer {
        Ok(AdapterAnswer::Error { code, message }) => {
            Err(Failure::Refused { request, code, message: mask_text(&message) })
        }
        Ok(AdapterAnswer::Ended(mut ended)) => {
            ended.errors.iter_mut().for_each(|it| it.message = mask_text(&it.message));
            Ok(AdapterAnswer::Ended(ended))
        }
        Ok(AdapterAnswer::Opened(mut opened)) => {
            mask_json(&mut opened.resolved);
            Ok(AdapterAnswer::Opened(opened))
        }
        Ok(answer) => Ok(answer),
        Err(error) => {
            let line = format!("{} ({error})", cut(&mask_text(line), QUOTED_CHARACTERS));
            Err(Failure::Garbage { request, line })
        }
    }
}

/// Whether all integers are those of the contract: sums of them fit into 64 bits.
fn within(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            number.as_i128().is_none_or(|it| it.unsigned_abs() < 1 << INTEGER_BITS)
        }
        Value::Array(values) => values.iter().all(within),
        Value::Object(fields) => fields.values().all(within),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// Whether a line without a frame is an answer of version 1.
pub(crate) fn is_old_answer(line: &str) -> bool {
    let line: Value = serde_json::from_str(line).unwrap_or_default();
    ["hello", "error"].iter().any(|name| line["type"] == *name)
}
