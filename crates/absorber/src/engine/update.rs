//! Updates: `$set`, `$unset`, `$inc`, and whole new documents.

use std::cmp::Ordering;

use wire::raw::{DOCUMENT_BYTES_MAX, EMPTY, Field, Number, Value, fields, get, kind};

use super::fault::{
    CONFLICTING_OPERATORS, DOLLAR_PREFIXED, EMPTY_FIELD_NAME, FAILED_TO_PARSE, Fallible, Fault,
    IMMUTABLE_FIELD, INVALID_ID, PATH_NOT_VIABLE, TYPE_MISMATCH,
};
use super::field_path::{FieldPath, is_place};
use super::key_encoding::key_of;
use super::writer::Writer;

#[derive(Debug, Clone)]
pub enum Update {
    /// The document, whose `_id` stays.
    Replace(Vec<u8>),
    /// Changes by path, as a tree: one walk through a document applies them all.
    Change(ChangeTree),
}

/// Names in the order in which new ones are appended to a document.
type ChangeTree = Vec<(Vec<u8>, FieldChange)>;

#[derive(Debug, Clone)]
pub enum FieldChange {
    Set(Owned),
    Increment(Owned),
    Unset,
    /// Changes within it.
    Below(ChangeTree),
}

#[derive(Debug, Clone)]
pub struct Owned {
    kind: u8,
    bytes: Vec<u8>,
}

impl Owned {
    fn of(value: Value<'_>) -> Self {
        Self { kind: value.kind, bytes: value.bytes.to_vec() }
    }

    fn value(&self) -> Value<'_> {
        Value { kind: self.kind, bytes: &self.bytes }
    }
}

impl Update {
    pub fn parse(update: &[u8]) -> Fallible<Self> {
        let is_operator = |field: &Field<'_>| field.name.starts_with(b"$");
        if !fields(update).next().is_some_and(|first| is_operator(&first)) {
            return match fields(update).find(is_operator) {
                None => Ok(Self::Replace(update.to_vec())),
                Some(field) => Err(dollar(&field.name())),
            };
        }
        let mut tree = ChangeTree::new();
        for operator in fields(update) {
            if !matches!(operator.name, b"$set" | b"$unset" | b"$inc") {
                let what = format!("update operator {}", operator.name());
                return Err(Fault { code: FAILED_TO_PARSE, ..Fault::not_here(&what) });
            }
            let Some(changes) = operator.value.document() else {
                let message = format!("{} needs a document of fields", operator.name());
                return Err(Fault::new(FAILED_TO_PARSE, message));
            };
            for field in fields(changes) {
                let change = change(operator.name, &field)?;
                let path = checked_path(field.name)?;
                add(&mut tree, &path, 0, change)?;
            }
        }
        Ok(Self::Change(tree))
    }

    pub fn is_replacement(&self) -> bool {
        matches!(self, Self::Replace(_))
    }

    /// Whether the document stays as it is, so that it does not count as modified. A replacement
    /// without an `_id` always counts: mongod compares it as it was sent.
    pub fn keeps(&self, old: &[u8], new: &[u8]) -> bool {
        match self {
            Self::Replace(replacement) => replacement == old,
            Self::Change(_) => new == old,
        }
    }

    /// The updated document, `_id` first.
    pub fn apply(&self, document: &[u8]) -> Fallible<Vec<u8>> {
        let id = get(document, b"_id");
        let changed = match self {
            Self::Replace(replacement) => replace(replacement, id)?,
            Self::Change(tree) => {
                let mut writer = Writer::new(document.len() + 64);
                apply(document, tree, &mut writer)?;
                let changed = writer.finish();
                if id.is_some_and(|old| get(&changed, b"_id").is_none_or(|new| differ(old, new))) {
                    return Err(immutable());
                }
                changed
            }
        };
        if changed.len() > DOCUMENT_BYTES_MAX {
            let message =
                format!("Resulting document after update is larger than {DOCUMENT_BYTES_MAX}");
            return Err(Fault::new(17419, message));
        }
        Ok(changed)
    }

    /// The document that an upsert inserts: the filter's equal values, then the update. `_id` comes
    /// first, a new one if none was given.
    pub fn upsert(&self, equal: &[(&FieldPath, Value<'_>)]) -> Fallible<Vec<u8>> {
        let mut base = EMPTY.to_vec();
        for (path, value) in equal {
            if !self.is_replacement() || path.text == b"_id" {
                let mut tree = ChangeTree::new();
                add(
                    &mut tree,
                    &FieldPath::bounded(&path.text)?,
                    0,
                    FieldChange::Set(Owned::of(*value)),
                )?;
                base = Self::Change(tree).apply(&base)?;
            }
        }
        with_id_first(&self.apply(&base)?)
    }
}

/// The document with its `_id` at its beginning, as in mongod, and a new one where it has none.
pub fn with_id_first(document: &[u8]) -> Fallible<Vec<u8>> {
    let id = get(document, b"_id");
    check_id(id)?;
    if fields(document).next().is_some_and(|field| field.name == b"_id") {
        return Ok(document.to_vec());
    }
    let new = bson::oid::ObjectId::new().bytes();
    let id = id.unwrap_or(Value { kind: kind::OBJECT_ID, bytes: &new });
    Ok(with_id(document, Some(id)))
}

/// Refuses impossible values of `_id`.
pub fn check_id(id: Option<Value<'_>>) -> Fallible<()> {
    let wrong = |id: Value<'_>| matches!(id.kind, kind::ARRAY | kind::REGEX | kind::UNDEFINED);
    if id.is_some_and(wrong) {
        let message = "The '_id' value cannot be an array, a regular expression or undefined";
        return Err(Fault::new(INVALID_ID, message));
    }
    Ok(())
}

fn with_id(document: &[u8], id: Option<Value<'_>>) -> Vec<u8> {
    let mut writer = Writer::new(document.len() + 32);
    if let Some(id) = id {
        writer.value("_id", id);
    }
    for field in fields(document).filter(|field| field.name != b"_id") {
        writer.copy(&field);
    }
    writer.finish()
}

fn replace(replacement: &[u8], id: Option<Value<'_>>) -> Fallible<Vec<u8>> {
    let new = get(replacement, b"_id");
    if id.zip(new).is_some_and(|(old, new)| differ(old, new)) {
        return Err(immutable());
    }
    Ok(with_id(replacement, id.or(new)))
}

fn differ(old: Value<'_>, new: Value<'_>) -> bool {
    new != old && key_of(new) != key_of(old)
}

fn immutable() -> Fault {
    let message = "the update would modify the immutable field '_id'";
    Fault::new(IMMUTABLE_FIELD, message)
}

fn dollar(name: &str) -> Fault {
    let message = format!("The dollar ($) prefixed field '{name}' is not valid for storage.");
    Fault::new(DOLLAR_PREFIXED, message)
}

fn change(operator: &[u8], field: &Field<'_>) -> Fallible<FieldChange> {
    Ok(match operator {
        b"$set" => FieldChange::Set(Owned::of(field.value)),
        b"$unset" => FieldChange::Unset,
        _ if field.value.kind == kind::DECIMAL => {
            return Err(Fault::not_here("sums of decimals"));
        }
        _ if field.value.number().is_some() => FieldChange::Increment(Owned::of(field.value)),
        _ => {
            let message = format!("Cannot increment '{}' by what is no number", field.name());
            return Err(Fault::new(TYPE_MISMATCH, message));
        }
    })
}

fn checked_path(name: &[u8]) -> Fallible<FieldPath> {
    let path = FieldPath::bounded(name)?;
    if path.parts.iter().any(Vec::is_empty) {
        let message = format!("The update path '{}' contains an empty field name", path.name());
        return Err(Fault::new(EMPTY_FIELD_NAME, message));
    }
    if path.parts.iter().skip(1).any(|part| part.starts_with(b"$")) {
        return Err(Fault::not_here("positional updates"));
    }
    if name.starts_with(b"$") {
        return Err(dollar(&path.name()));
    }
    Ok(path)
}

/// Adds a change of `path`, whose first `depth` parts lead to the tree.
fn add(tree: &mut ChangeTree, path: &FieldPath, depth: usize, change: FieldChange) -> Fallible<()> {
    let (first, ends) = (&path.parts[depth], depth + 1 == path.parts.len());
    match tree.binary_search_by(|(name, _)| name_order(name, first)) {
        Ok(at) => match &mut tree[at].1 {
            FieldChange::Below(inner) if !ends => add(inner, path, depth + 1, change),
            _ => {
                let message =
                    format!("Updating the path '{}' would create a conflict", path.name());
                Err(Fault::new(CONFLICTING_OPERATORS, message))
            }
        },
        Err(at) => {
            let change = if ends {
                change
            } else {
                let mut inner = ChangeTree::new();
                add(&mut inner, path, depth + 1, change)?;
                FieldChange::Below(inner)
            };
            tree.insert(at, (first.clone(), change));
            Ok(())
        }
    }
}

/// The order in which new fields are appended: numbers by their size, before names by their bytes.
fn name_order(one: &[u8], other: &[u8]) -> Ordering {
    match (is_place(one), is_place(other)) {
        (true, true) => one.len().cmp(&other.len()).then_with(|| one.cmp(other)),
        _ => one.cmp(other),
    }
}

/// The changed fields of a document, then the new ones.
fn apply(document: &[u8], tree: &ChangeTree, writer: &mut Writer) -> Fallible<()> {
    let mut seen = vec![false; tree.len()];
    for field in fields(document) {
        match tree.iter().position(|(name, _)| name == field.name) {
            None => writer.copy(&field),
            Some(at) => {
                seen[at] = true;
                present(&field, &tree[at].1, writer)?;
            }
        }
    }
    for ((name, change), _) in tree.iter().zip(seen).filter(|(_, seen)| !seen) {
        absent(name, change, writer)?;
    }
    Ok(())
}

fn present(field: &Field<'_>, change: &FieldChange, writer: &mut Writer) -> Fallible<()> {
    let value = field.value;
    match change {
        FieldChange::Set(new) => writer.value(field.name, new.value()),
        FieldChange::Unset => {}
        FieldChange::Increment(by) => {
            let sum = sum(value, by.value()).map_err(|fault| Fault {
                message: format!("Cannot apply $inc to '{}': {}", field.name(), fault.message),
                ..fault
            })?;
            writer.value(field.name, sum.value());
        }
        FieldChange::Below(_) if value.kind == kind::ARRAY => {
            return Err(Fault::not_here("updates within arrays"));
        }
        FieldChange::Below(tree) if value.kind == kind::DOCUMENT => {
            let at = writer.open(kind::DOCUMENT, field.name);
            apply(value.bytes, tree, writer)?;
            writer.close(at);
        }
        FieldChange::Below(_) if creates(change) => {
            let message = format!("Cannot create a field in '{}', no document", field.name());
            return Err(Fault::new(PATH_NOT_VIABLE, message));
        }
        FieldChange::Below(_) => writer.copy(field),
    }
    Ok(())
}

fn absent(name: &[u8], change: &FieldChange, writer: &mut Writer) -> Fallible<()> {
    match change {
        FieldChange::Set(new) | FieldChange::Increment(new) => writer.value(name, new.value()),
        FieldChange::Below(tree) if creates(change) => {
            let at = writer.open(kind::DOCUMENT, name);
            apply(EMPTY, tree, writer)?;
            writer.close(at);
        }
        FieldChange::Below(_) | FieldChange::Unset => {}
    }
    Ok(())
}

/// Whether a change makes a missing field.
fn creates(change: &FieldChange) -> bool {
    match change {
        FieldChange::Set(_) | FieldChange::Increment(_) => true,
        FieldChange::Unset => false,
        FieldChange::Below(tree) => tree.iter().any(|(_, change)| creates(change)),
    }
}

/// The sum as mongod adds: it has the wider type of the two.
fn sum(old: Value<'_>, by: Value<'_>) -> Fallible<Owned> {
    let wrong = || Fault::new(TYPE_MISMATCH, "a value of non-numeric type");
    let (old, by) = (old.number().ok_or_else(wrong)?, by.number().ok_or_else(wrong)?);
    let whole = |number| match number {
        Number::Int(number) => Some(i64::from(number)),
        Number::Long(number) => Some(number),
        _ => None,
    };
    if matches!(old, Number::Decimal(_)) {
        return Err(Fault::not_here("sums of decimals"));
    }
    let (Some(one), Some(other)) = (whole(old), whole(by)) else {
        let sum = old.as_f64() + by.as_f64();
        return Ok(Owned { kind: kind::DOUBLE, bytes: sum.to_le_bytes().to_vec() });
    };
    let sum = one.checked_add(other);
    let sum = sum.ok_or_else(|| Fault::bad_value("the sum does not fit into 64 bits"))?;
    let both_int = matches!((old, by), (Number::Int(_), Number::Int(_)));
    Ok(match i32::try_from(sum) {
        Ok(sum) if both_int => Owned { kind: kind::INT, bytes: sum.to_le_bytes().to_vec() },
        _ => Owned { kind: kind::LONG, bytes: sum.to_le_bytes().to_vec() },
    })
}
