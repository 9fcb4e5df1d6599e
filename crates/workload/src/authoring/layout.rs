//! Turns the YAML of fields into shapes and stamps, and says what does not go together.

use super::checking::Check;
use super::document::{DOCUMENT_BYTES_MAX, FieldShape, KeyReference, Layout};
use super::field_stamps::{OBJECT_ID_PREFIX, only, stamp};
use super::fields::{Distribution, FieldKeys, FieldType, FieldYaml, Fill, Length};
use super::located::{At, Location, NamedEntries};
use super::problem::did_you_mean;
use super::values;
use crate::plan::{Stamp, StampForm, StampSource};
use crate::replay::stamp::{Input, value_of};
use bson::Bson;

/// Values of one array: more do not fit 16 MiB, and memory should not be filled to find out.
const ARRAY_VALUES_MAX: f64 = 1_000_000.0;

/// 2020-01-01 and 2026-01-01 in ms since 1970: the range of random dates.
const DATES_MS: (f64, f64) = (1_577_836_800_000.0, 1_767_225_600_000.0);

pub fn layout(check: &mut Check<'_>, fields: &NamedEntries<At<FieldYaml>>) -> Layout {
    let mut stamps = Vec::new();
    let fields = shapes(check, fields, &mut Vec::new(), &mut stamps);
    Layout { fields, stamps, size_bytes: None }
}

/// The `_id` of collections that name none.
pub fn default_id() -> (FieldShape, Stamp) {
    let stamp = Stamp {
        path: vec!["_id".to_owned()],
        form: StampForm::ObjectId,
        from: StampSource::Key,
        add: 0,
        prefix: Some(OBJECT_ID_PREFIX.to_owned()),
        width: None,
    };
    let value = value_of(&stamp, &Input::default()).expect("a valid prefix");
    (FieldShape::Constant(value), stamp)
}

/// Checks fields that lie at `path`.
pub fn shapes(
    check: &mut Check<'_>,
    fields: &NamedEntries<At<FieldYaml>>,
    path: &mut Vec<String>,
    stamps: &mut Vec<Stamp>,
) -> Vec<(String, FieldShape)> {
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
    field: &At<FieldYaml>,
    path: &mut Vec<String>,
    stamps: &mut Vec<Stamp>,
) -> Option<FieldShape> {
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
        return Some(FieldShape::Constant(placeholder));
    }
    if let Some(constant) = &keys.constant {
        only(check, keys, place, "constant", &["type", "constant"]);
        let value = values::constant(check, constant);
        return Some(FieldShape::Constant(coerce(check, value, keys, constant.place)));
    }
    if let Some(values) = &keys.one_of {
        only(check, keys, place, "one_of", &["type", "one_of", "weights"]);
        return one_of(check, keys, values);
    }
    if let Some(of) = &keys.key_of {
        only(check, keys, place, "key_of", &["key_of", "by"]);
        return reference(check, keys, of).map(FieldShape::KeyOf);
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
) -> Option<FieldShape> {
    let allowed: &[&str] = match kind {
        FieldType::Int | FieldType::Long | FieldType::Double | FieldType::Date => {
            &["type", "min", "max"]
        }
        FieldType::String | FieldType::Bytes => &["type", "length", "fill"],
        FieldType::Document => &["type", "fields"],
        FieldType::Array => &["type", "of", "length"],
        FieldType::Bool
        | FieldType::ObjectId
        | FieldType::Guid
        | FieldType::GuidString
        | FieldType::Point => &["type"],
    };
    only(check, keys, place, &format!("type {}", kind.name()), allowed);
    Some(match kind {
        FieldType::Int => {
            let limits = (f64::from(i32::MIN), f64::from(i32::MAX));
            let (low, high) = bounds(check, keys, (0.0, 999_999.0), limits);
            FieldShape::Int(low as i32, high as i32)
        }
        FieldType::Long => {
            let (low, high) = bounds(check, keys, (0.0, 999_999_999.0), (-9e15, 9e15));
            FieldShape::Long(low as i64, high as i64)
        }
        FieldType::Double => {
            let (low, high) = bounds(check, keys, (0.0, 1.0), (-1e300, 1e300));
            FieldShape::Double(low, high)
        }
        FieldType::Date => {
            let (low, high) = bounds(check, keys, DATES_MS, (-6e13, 2.5e14));
            FieldShape::Date(low as i64, high as i64)
        }
        FieldType::Bool => FieldShape::Bool,
        FieldType::ObjectId => FieldShape::ObjectId,
        FieldType::Guid => FieldShape::Guid,
        FieldType::Point => FieldShape::Point,
        FieldType::GuidString => {
            check.wrong(place, "a guid_string can only be made of the key", "add `value: key`");
            return None;
        }
        FieldType::String => FieldShape::String(length(check, keys, 16), fill(keys)),
        FieldType::Bytes => FieldShape::Bytes(length(check, keys, 16), fill(keys)),
        FieldType::Document => {
            let Some(fields) = &keys.fields else {
                check.wrong(place, "a nested document needs `fields:`", "add `fields: {a: int}`");
                return None;
            };
            FieldShape::Document(shapes(check, &fields.value, path, stamps))
        }
        FieldType::Array => return array(check, keys, place, path),
    })
}

fn array(
    check: &mut Check<'_>,
    keys: &FieldKeys,
    place: Location,
    path: &mut Vec<String>,
) -> Option<FieldShape> {
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
    let array = FieldShape::Array(Box::new(element), length(check, keys, 0));
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

/// The loaded keys of another collection, as a field of it has them.
fn reference(check: &mut Check<'_>, keys: &FieldKeys, of: &At<String>) -> Option<KeyReference> {
    let loaded = check.loaded;
    let known = &loaded.file.collections;
    let Some(other) = known.get(&of.value) else {
        let message = format!("there is no collection `{}`", of.value);
        check.wrong_maybe(of.place, message, did_you_mean(&of.value, known.names()));
        return None;
    };
    let documents = other.value.documents.as_ref().map_or(0, |documents| documents.value);
    let (Some(document), true) = (&other.value.document, documents > 0) else {
        let message = format!("`{}` loads no documents that could be referred to", of.value);
        check.wrong(of.place, message, "give it a `document:` and some `documents:`");
        return None;
    };
    let by = keys.by.as_ref().map_or("_id", |by| by.value.as_str());
    let seed = check.seed;
    let Some(field) = document.value.get(by) else {
        if by == "_id" {
            return Some(KeyReference { stamp: default_id().1, keys: documents, seed });
        }
        let place = keys.by.as_ref().map_or(of.place, |by| by.place);
        let message = format!("`{}` has no field `{by}`", of.value);
        check.wrong_maybe(place, message, did_you_mean(by, document.value.names()));
        return None;
    };
    let inner = &field.value.0;
    match &inner.value {
        Some(value) if value.value == StampSource::Key => {
            let stamp = stamp(check, inner, value, field.place)?;
            Some(KeyReference { stamp, keys: documents, seed })
        }
        _ => {
            let message = format!("`{by}` of `{}` is not made of the key", of.value);
            check.wrong(of.place, message, "refer to a field with `value: key`");
            None
        }
    }
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
    values: &At<Vec<At<super::tree::YamlTree>>>,
) -> Option<FieldShape> {
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
    Some(FieldShape::OneOf(made, weights))
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
