//! Turns the YAML of fields into shapes and stamps, and says what does not go together.

use super::checking::Check;
use super::document::{DOCUMENT_BYTES_MAX, Layout, Shape};
use super::fields::{Distribution, Field, FieldKeys, FieldType, Fill, Length};
use super::located::{At, Location, Named};
use crate::plan::{Stamp, StampForm, StampSource};
use crate::replay::stamp::{Input, value_of};
use super::values;
use bson::Bson;

/// Seconds of 2026-01-01 in hex: `ObjectIds` made of keys look as if they were made then.
pub const OBJECT_ID_PREFIX: &str = "6955b900";

/// Values of one array: more do not fit 16 MiB, and memory should not be filled to find out.
const ARRAY_VALUES_MAX: f64 = 1_000_000.0;

/// Digits of a stamped string, at most.
const WIDTH_MAX: u32 = 1000;
/// Digits of a stamped string that names no width: those of 2^53.
const WIDTH: u32 = 16;

/// 2020-01-01 and 2026-01-01 in ms since 1970: the range of random dates.
const DATES_MS: (f64, f64) = (1_577_836_800_000.0, 1_767_225_600_000.0);

pub fn layout(check: &mut Check<'_>, fields: &Named<At<Field>>) -> Layout {
    let mut stamps = Vec::new();
    let fields = shapes(check, fields, &mut Vec::new(), &mut stamps);
    Layout { fields, stamps, size_bytes: None }
}

/// The `_id` of collections that name none.
pub fn default_id() -> (Shape, Stamp) {
    let stamp = Stamp {
        path: vec!["_id".to_owned()],
        form: StampForm::ObjectId,
        from: StampSource::Key,
        add: 0,
        prefix: Some(OBJECT_ID_PREFIX.to_owned()),
        width: None,
    };
    let value = value_of(&stamp, &Input::default()).expect("a valid prefix");
    (Shape::Constant(value), stamp)
}

/// Checks fields that lie at `path`.
pub fn shapes(
    check: &mut Check<'_>,
    fields: &Named<At<Field>>,
    path: &mut Vec<String>,
    stamps: &mut Vec<Stamp>,
) -> Vec<(String, Shape)> {
    let mut shapes = Vec::new();
    for (name, field) in &fields.0 {
        if name.value.is_empty() || name.value.contains('\0') {
            check.wrong(name.place, "a field needs a name without zero bytes", "give it one");
        }
        path.push(name.value.clone());
        if let Some(shape) = shape(check, field, path, stamps) {
            shapes.push((name.value.clone(), shape));
        }
        path.pop();
    }
    shapes
}

fn shape(
    check: &mut Check<'_>,
    field: &At<Field>,
    path: &mut Vec<String>,
    stamps: &mut Vec<Stamp>,
) -> Option<Shape> {
    let keys = &field.value.0;
    let place = field.place;
    if let Some(value) = &keys.value {
        let mut stamp = stamp(check, keys, value, place)?;
        stamp.path.clone_from(path);
        let input = Input::default();
        let placeholder = match value_of(&stamp, &input) {
            Ok(placeholder) => placeholder,
            Err(error) => {
                check.wrong(place, error.to_string(), "change the keys of this field");
                return None;
            }
        };
        stamps.push(stamp);
        return Some(Shape::Constant(placeholder));
    }
    if let Some(constant) = &keys.constant {
        only(check, keys, place, "constant", &["type", "constant"]);
        let value = values::constant(check, constant);
        return Some(Shape::Constant(coerce(check, value, keys, constant.place)));
    }
    if let Some(values) = &keys.one_of {
        only(check, keys, place, "one_of", &["type", "one_of", "weights"]);
        return one_of(check, keys, values);
    }
    let Some(kind) = &keys.kind else {
        check.wrong(place, "this field has no type", "add `type: long`, `constant:` or `one_of:`");
        return None;
    };
    random(check, keys, kind.value, place, path, stamps)
}

fn random(
    check: &mut Check<'_>,
    keys: &FieldKeys,
    kind: FieldType,
    place: Location,
    path: &mut Vec<String>,
    stamps: &mut Vec<Stamp>,
) -> Option<Shape> {
    let allowed: &[&str] = match kind {
        FieldType::Int | FieldType::Long | FieldType::Double | FieldType::Date => {
            &["type", "min", "max"]
        }
        FieldType::String | FieldType::Bytes => &["type", "length", "fill"],
        FieldType::Document => &["type", "fields"],
        FieldType::Array => &["type", "of", "length"],
        FieldType::Bool | FieldType::ObjectId | FieldType::Guid | FieldType::GuidString => {
            &["type"]
        }
    };
    only(check, keys, place, &format!("type {}", kind.name()), allowed);
    Some(match kind {
        FieldType::Int => {
            let limits = (f64::from(i32::MIN), f64::from(i32::MAX));
            let (low, high) = bounds(check, keys, (0.0, 999_999.0), limits);
            Shape::Int(low as i32, high as i32)
        }
        FieldType::Long => {
            let (low, high) = bounds(check, keys, (0.0, 999_999_999.0), (-9e15, 9e15));
            Shape::Long(low as i64, high as i64)
        }
        FieldType::Double => {
            let (low, high) = bounds(check, keys, (0.0, 1.0), (-1e300, 1e300));
            Shape::Double(low, high)
        }
        FieldType::Date => {
            let (low, high) = bounds(check, keys, DATES_MS, (-6e13, 2.5e14));
            Shape::Date(low as i64, high as i64)
        }
        FieldType::Bool => Shape::Bool,
        FieldType::ObjectId => Shape::ObjectId,
        FieldType::Guid => Shape::Guid,
        FieldType::GuidString => {
            check.wrong(place, "a guid_string can only be made of the key", "add `value: key`");
            return None;
        }
        FieldType::String => Shape::String(length(check, keys, 16), fill(keys)),
        FieldType::Bytes => Shape::Bytes(length(check, keys, 16), fill(keys)),
        FieldType::Document => {
            let Some(fields) = &keys.fields else {
                check.wrong(place, "a nested document needs `fields:`", "add `fields: {a: int}`");
                return None;
            };
            Shape::Document(shapes(check, &fields.value, path, stamps))
        }
        FieldType::Array => return array(check, keys, place, path),
    })
}

fn array(
    check: &mut Check<'_>,
    keys: &FieldKeys,
    place: Location,
    path: &mut Vec<String>,
) -> Option<Shape> {
    let (Some(of), Some(wanted)) = (&keys.of, &keys.length) else {
        let hint = "write `{type: array, of: int, length: 5}`";
        check.wrong(place, "an array needs `of:` and `length:`", hint);
        return None;
    };
    let mut stamps = Vec::new();
    let element = shape(check, of, path, &mut stamps)?;
    if !stamps.is_empty() {
        let hint = "put the field with `value:` beside the array";
        check.wrong(of.place, "the elements of an array cannot have `value:`", hint);
    }
    if wanted.value == Length::Fill || element.fills() > 0 {
        let hint = "give `length: fill` to one string or bytes field outside arrays";
        check.wrong(wanted.place, "an array cannot fill up a document", hint);
        return None;
    }
    let array = Shape::Array(Box::new(element), length(check, keys, 0));
    if array.values() > ARRAY_VALUES_MAX {
        let message = format!("the array would have up to {} values", array.values());
        check.wrong(
            wanted.place,
            message,
            format!("make it {ARRAY_VALUES_MAX} at most, those of nested arrays counted"),
        );
        return None;
    }
    Some(array)
}

fn fill(keys: &FieldKeys) -> Fill {
    keys.fill.as_ref().map_or(Fill::Random, |fill| fill.value)
}

fn length(check: &mut Check<'_>, keys: &FieldKeys, default: u64) -> Length {
    let Some(length) = &keys.length else { return Length::Fixed(default) };
    let problem = match &length.value {
        Length::Fixed(_) | Length::Fill => None,
        Length::Drawn(Distribution::Uniform([low, high])) => {
            (low > high).then_some("the first length is above the second")
        }
        Length::Drawn(Distribution::Normal([mean, deviation])) => {
            let wrong = !(*mean >= 0.0 && *deviation >= 0.0);
            wrong.then_some("mean and deviation must be 0 or more")
        }
        Length::Drawn(Distribution::Weights(weights)) => {
            let none = weights.values().all(|weight| *weight == 0);
            none.then_some("all weights are 0")
        }
    };
    let largest = length.value.largest();
    if let Some(problem) = problem {
        check.wrong(
            length.place,
            problem,
            "correct it: `mongodyno schema workload` has every form of `length`",
        );
        return Length::Fixed(default);
    }
    if largest > DOCUMENT_BYTES_MAX as f64 {
        let message = format!("the length {largest} is above the limit of a document");
        check.wrong(
            length.place,
            message,
            "make it shorter: a MongoDB document has 16 MiB at most",
        );
        return Length::Fixed(default);
    }
    length.value.clone()
}

fn bounds(
    check: &mut Check<'_>,
    keys: &FieldKeys,
    default: (f64, f64),
    limits: (f64, f64),
) -> (f64, f64) {
    let low = keys.min.as_ref().map_or(default.0, |min| min.value);
    let high = keys.max.as_ref().map_or(default.1.max(low), |max| max.value);
    for bound in [&keys.min, &keys.max].into_iter().flatten() {
        if !(bound.value >= limits.0 && bound.value <= limits.1) {
            let message = format!("{} does not fit this type", bound.value);
            check.wrong(
                bound.place,
                message,
                format!("choose a number from {} to {}", limits.0, limits.1),
            );
            return default;
        }
    }
    if low > high {
        let place = keys.max.as_ref().or(keys.min.as_ref()).map(|bound| bound.place);
        let message = format!("min ({low}) is above max ({high})");
        check.wrong(place.unwrap_or(Location::UNKNOWN), message, "exchange the two numbers");
        return default;
    }
    (low, high)
}

fn one_of(
    check: &mut Check<'_>,
    keys: &FieldKeys,
    values: &At<Vec<At<super::tree::Tree>>>,
) -> Option<Shape> {
    if values.value.is_empty() {
        check.wrong(values.place, "`one_of` has no values", "write `one_of: [open, closed]`");
        return None;
    }
    let mut made = Vec::new();
    for value in &values.value {
        let constant = values::constant(check, value);
        made.push(coerce(check, constant, keys, value.place));
    }
    let mut weights = vec![1; made.len()];
    if let Some(given) = &keys.weights {
        if given.value.len() != made.len() || given.value.iter().all(|weight| *weight == 0) {
            let message =
                format!("there are {} weights for {} values", given.value.len(), made.len());
            check.wrong(given.place, message, "give each value one weight, and not all of them 0");
        } else {
            weights.clone_from(&given.value);
        }
    }
    Some(Shape::OneOf(made, weights))
}

/// Makes a constant the type that was asked for: `{type: long, constant: 5}`.
fn coerce(check: &mut Check<'_>, value: Bson, keys: &FieldKeys, place: Location) -> Bson {
    let Some(kind) = keys.kind.as_ref().map(|kind| kind.value) else { return value };
    let coerced = match (kind, &value) {
        (FieldType::Long, Bson::Int32(number)) => Some(Bson::Int64((*number).into())),
        (FieldType::Double, Bson::Int32(number)) => Some(Bson::Double((*number).into())),
        (FieldType::Double, Bson::Int64(number)) => Some(Bson::Double(*number as f64)),
        (FieldType::Int, Bson::Int32(_))
        | (FieldType::Long, Bson::Int64(_))
        | (FieldType::Double, Bson::Double(_))
        | (FieldType::String, Bson::String(_))
        | (FieldType::Bool, Bson::Boolean(_))
        | (FieldType::Date, Bson::DateTime(_))
        | (FieldType::ObjectId, Bson::ObjectId(_))
        | (FieldType::Document, Bson::Document(_))
        | (FieldType::Array, Bson::Array(_))
        | (FieldType::Bytes | FieldType::Guid, Bson::Binary(_)) => return value,
        _ => None,
    };
    coerced.unwrap_or_else(|| {
        check.wrong(
            place,
            format!("this value is not of the type {}", kind.name()),
            "leave out `type`",
        );
        value
    })
}

/// The stamp of a field with `value:`, its path still empty.
pub fn stamp(
    check: &mut Check<'_>,
    keys: &FieldKeys,
    value: &At<StampSource>,
    place: Location,
) -> Option<Stamp> {
    only(check, keys, place, "value", &["type", "value", "add", "prefix", "width"]);
    let default = match value.value {
        StampSource::Key | StampSource::Sequence | StampSource::MadeNs => FieldType::Long,
        StampSource::Producer => FieldType::Int,
        StampSource::TimeMs => FieldType::Date,
    };
    let kind = keys.kind.as_ref().map_or(default, |kind| kind.value);
    let kind_place = keys.kind.as_ref().map_or(place, |kind| kind.place);
    let is_key = value.value == StampSource::Key;
    let form = match kind {
        FieldType::Int => StampForm::Int32,
        FieldType::Long => StampForm::Int64,
        FieldType::Double => StampForm::Double,
        FieldType::Date => StampForm::Date,
        FieldType::String => StampForm::String,
        FieldType::ObjectId if is_key => StampForm::ObjectId,
        FieldType::Guid if is_key => StampForm::Guid,
        FieldType::GuidString if is_key => StampForm::GuidString,
        other => {
            let message = format!("the type {} cannot take this value", other.name());
            let hint = "choose int, long, double, date or string; objectid, guid and guid_string \
                        take `value: key` alone";
            check.wrong(kind_place, message, hint);
            return None;
        }
    };
    if form == StampForm::Int32 && matches!(value.value, StampSource::MadeNs | StampSource::TimeMs)
    {
        check.wrong(kind_place, "a time does not fit an int", "write `type: long`");
        return None;
    }
    let prefix = prefix(check, keys, form);
    if let Some(width) = &keys.width
        && (form != StampForm::String || width.value > WIDTH_MAX)
    {
        check.wrong(
            width.place,
            "`width` belongs to a string, and is 1000 at most",
            "leave it out, or make it smaller",
        );
    }
    // Without a width a document's length would change with its number.
    let width = keys.width.as_ref().map_or(WIDTH, |width| width.value.clamp(1, WIDTH_MAX));
    let width = Some(width).filter(|_| form == StampForm::String);
    let add = keys.add.as_ref().map_or(0, |add| add.value);
    Some(Stamp { path: Vec::new(), form, from: value.value, add, prefix, width })
}

fn prefix(check: &mut Check<'_>, keys: &FieldKeys, form: StampForm) -> Option<String> {
    let Some(prefix) = &keys.prefix else {
        return (form == StampForm::ObjectId).then(|| OBJECT_ID_PREFIX.to_owned());
    };
    let hex = prefix.value.len() == 8 && prefix.value.bytes().all(|b| b.is_ascii_hexdigit());
    match form {
        StampForm::String => Some(prefix.value.clone()),
        StampForm::ObjectId if hex => Some(prefix.value.clone()),
        StampForm::ObjectId => {
            let message = format!("`{}` is not 8 hex digits", prefix.value);
            check.wrong(
                prefix.place,
                message,
                format!("write 8 hex digits, such as \"{OBJECT_ID_PREFIX}\""),
            );
            Some(OBJECT_ID_PREFIX.to_owned())
        }
        _ => {
            check.wrong(
                prefix.place,
                "`prefix` belongs to a string or an objectid",
                "leave it out",
            );
            None
        }
    }
}

/// Complains of keys that have no meaning beside the others of this field.
fn only(check: &mut Check<'_>, keys: &FieldKeys, place: Location, what: &str, allowed: &[&str]) {
    let given = [
        ("type", keys.kind.as_ref().map(|key| key.place)),
        ("value", keys.value.as_ref().map(|key| key.place)),
        ("add", keys.add.as_ref().map(|key| key.place)),
        ("prefix", keys.prefix.as_ref().map(|key| key.place)),
        ("width", keys.width.as_ref().map(|key| key.place)),
        ("min", keys.min.as_ref().map(|key| key.place)),
        ("max", keys.max.as_ref().map(|key| key.place)),
        ("length", keys.length.as_ref().map(|key| key.place)),
        ("fill", keys.fill.as_ref().map(|key| key.place)),
        ("of", keys.of.as_ref().map(|key| key.place)),
        ("fields", keys.fields.as_ref().map(|key| key.place)),
        ("constant", keys.constant.as_ref().map(|key| key.place)),
        ("one_of", keys.one_of.as_ref().map(|key| key.place)),
        ("weights", keys.weights.as_ref().map(|key| key.place)),
    ];
    for (name, found) in given {
        if let Some(found) = found.filter(|_| !allowed.contains(&name)) {
            let found = if found == Location::UNKNOWN { place } else { found };
            let message = format!("`{name}` has no meaning beside {what}");
            check.wrong(
                found,
                message,
                format!("leave it out; allowed here are {}", allowed.join(", ")),
            );
        }
    }
}
