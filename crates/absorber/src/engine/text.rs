//! Values as mongod's messages show them.

use std::fmt::Write as _;

use base::words::hex;

use super::raw::{Field, Number, Value, fields, kind};

/// A value: `1`, `"x"`, `{ a: 1 }`, `ObjectId('…')`.
pub fn field_text(value: Value<'_>) -> String {
    let mut text = String::new();
    write_value(&mut text, value);
    text
}

/// A field within braces that touch it, as messages about updates show an element: `{a: 1}`.
pub fn element_text(name: &[u8], value: Value<'_>) -> String {
    format!("{{{}: {}}}", String::from_utf8_lossy(name), field_text(value))
}

fn write_value(text: &mut String, value: Value<'_>) {
    // Writing into a String cannot fail.
    let _ = match value.kind {
        kind::INT | kind::LONG | kind::DOUBLE | kind::DECIMAL => match value.number() {
            Some(Number::Int(number)) => write!(text, "{number}"),
            Some(Number::Long(number)) => write!(text, "{number}"),
            Some(Number::Double(number)) => write!(text, "{}", double_text(number)),
            Some(Number::Decimal(number)) => write!(text, "{number}"),
            None => Ok(()),
        },
        kind::STRING => write!(text, "\"{}\"", value.string()),
        kind::DOCUMENT => write_list(text, value, "{ ", " }", true),
        kind::ARRAY => write_list(text, value, "[ ", " ]", false),
        kind::OBJECT_ID => write!(text, "ObjectId('{}')", hex(value.bytes)),
        kind::BOOL => write!(text, "{}", value.truth()),
        kind::NULL => write!(text, "null"),
        kind::UNDEFINED => write!(text, "undefined"),
        kind::DATE => {
            let millis = value.bytes.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes));
            write!(text, "new Date({millis})")
        }
        kind::BINARY if value.bytes[4] == 4 && value.bytes.len() == 21 => {
            write!(text, "UUID(\"{}\")", uuid_text(&value.bytes[5..]))
        }
        kind::BINARY => {
            write!(text, "BinData({}, {})", value.bytes[4], hex(&value.bytes[5..]).to_uppercase())
        }
        kind::TIMESTAMP => {
            let number = |at: usize| {
                value.bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
            };
            write!(text, "Timestamp({}, {})", number(4), number(0))
        }
        kind::REGEX => {
            let mut parts = value.bytes.split(|byte| *byte == 0).map(String::from_utf8_lossy);
            let mut next = || parts.next().unwrap_or_default();
            write!(text, "/{}/{}", next(), next())
        }
        kind::MIN_KEY => write!(text, "MinKey"),
        kind::MAX_KEY => write!(text, "MaxKey"),
        _ => write!(text, "{}", value.kind_name()),
    };
}

fn write_list(
    text: &mut String,
    value: Value<'_>,
    open: &str,
    close: &str,
    named: bool,
) -> std::fmt::Result {
    let mut separator = open;
    for Field { name, value, .. } in fields(value.bytes) {
        text.push_str(separator);
        if named {
            write!(text, "{}: ", String::from_utf8_lossy(name))?;
        }
        write_value(text, value);
        separator = ", ";
    }
    // Without fields mongod writes `{}` and `[]`.
    text.push_str(if separator == open { open.trim_end() } else { "" });
    text.push_str(if separator == open { close.trim_start() } else { close });
    Ok(())
}

/// mongod shows a whole double with one decimal.
fn double_text(number: f64) -> String {
    if number.is_nan() {
        "nan".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "inf" } else { "-inf" }.to_owned()
    } else if number.fract() == 0.0 && number.abs() < 1e15 {
        format!("{number:.1}")
    } else {
        format!("{number}")
    }
}

/// Sixteen bytes with dashes.
pub fn uuid_text(bytes: &[u8]) -> String {
    let text = hex(bytes);
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32];
    parts.map(|part| text.get(part).unwrap_or_default()).join("-")
}
