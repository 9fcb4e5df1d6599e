//! Turns the YAML of a field with `value:` into its stamp.

use super::bounds::WIDTH_MAX;
use super::checking::Check;
use super::fields::{FieldKeys, FieldType};
use super::located::{At, Location};
use crate::plan::{Stamp, StampForm, StampSource};

/// Seconds of 2026-01-01 in hex: `ObjectIds` made of keys look as if they were made then.
pub const OBJECT_ID_PREFIX: &str = "6955b900";

/// Digits of a stamped string that names no width: those of 2^53.
const WIDTH: u32 = 16;

/// Makes the stamp of a field with `value:`; its path is still empty.
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
            format!("`width` belongs to a string, and is {WIDTH_MAX} at most"),
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
pub fn only(
    check: &mut Check<'_>,
    keys: &FieldKeys,
    place: Location,
    what: &str,
    allowed: &[&str],
) {
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
        ("key_of", keys.key_of.as_ref().map(|key| key.place)),
        ("by", keys.by.as_ref().map(|key| key.place)),
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
