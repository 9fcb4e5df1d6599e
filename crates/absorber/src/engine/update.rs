//! Updates: `$set`, `$setOnInsert`, `$unset`, `$inc`, and whole new documents.

use std::cmp::Ordering;

use super::error::{
    CONFLICTING_OPERATORS, DOLLAR_PREFIXED, EMPTY_FIELD_NAME, FAILED_TO_PARSE, Fault,
    IMMUTABLE_FIELD, Outcome, TYPE_MISMATCH,
};
use super::increment;
use super::keys::key_of;
use super::path::{Path, is_place};
use super::raw::{DOCUMENT_BYTES_MAX, EMPTY, Value, fields, get, kind};
use super::text::element_text;
use super::update_tree::{Change, Tree, add};
use super::writer::Writer;

/// What an update does to a document.
#[derive(Debug, Clone)]
pub enum Update {
    /// The document, whose `_id` stays.
    Replace(Vec<u8>),
    /// Changes by path.
    Change(Tree),
}

/// Operators of mongod that are not here.
const NOT_HERE: [&[u8]; 11] = [
    b"$push",
    b"$pull",
    b"$pullAll",
    b"$pop",
    b"$addToSet",
    b"$min",
    b"$max",
    b"$mul",
    b"$rename",
    b"$bit",
    b"$currentDate",
];

impl Update {
    /// Reads an update.
    pub fn parse(update: &[u8]) -> Outcome<Self> {
        let Some(first) = fields(update).next() else {
            return Ok(Self::Replace(EMPTY.to_vec()));
        };
        if !first.name.starts_with(b"$") {
            return replacement(update);
        }
        let mut tree = Tree::new();
        for operator in fields(update) {
            let name = operator.name();
            if NOT_HERE.contains(&operator.name) {
                return Err(Fault::not_here(&format!("update operator {name}")));
            }
            if !matches!(operator.name, b"$set" | b"$unset" | b"$inc" | b"$setOnInsert") {
                let message = format!(
                    "Unknown modifier: {name}. Expected a valid update modifier or pipeline-style \
                     update specified as an array"
                );
                return Err(Fault::new(FAILED_TO_PARSE, message));
            }
            let Some(changes) = operator.value.document() else {
                let found = operator.value.kind_name();
                let message = format!(
                    "Modifiers operate on fields but we found type {found} instead. For example: \
                     {{$mod: {{<field>: ...}}}} not {}",
                    element_text(operator.name, operator.value)
                );
                return Err(Fault::new(FAILED_TO_PARSE, message));
            };
            for field in fields(changes) {
                let change = Change::new(operator.name, &field)?;
                let path = checked_path(field.name)?;
                add(&mut tree, &path.parts, change).map_err(|depth| conflict(&path, depth))?;
            }
        }
        Ok(Self::Change(tree))
    }

    /// Whether it is a whole document.
    pub fn is_replacement(&self) -> bool {
        matches!(self, Self::Replace(_))
    }

    /// Whether the document stays as it is, so that it does not count as modified. A replacement
    /// without an `_id` always counts, as mongod compares it as it was sent.
    pub fn keeps(&self, old: &[u8], new: &[u8]) -> bool {
        match self {
            Self::Replace(replacement) => replacement == old,
            Self::Change(_) => new == old,
        }
    }

    /// The document as the update leaves it, `_id` first; `inserts`: it is a new one.
    pub fn apply(&self, document: &[u8], inserts: bool) -> Outcome<Vec<u8>> {
        let id = get(document, b"_id");
        let changed = match self {
            Self::Replace(replacement) => replace(replacement, id)?,
            Self::Change(tree) => {
                let mut writer = Writer::new(document.len() + 64);
                Applied { document, inserts }.document(document, tree, &mut writer)?;
                let changed = writer.finish();
                keep_id(id, get(&changed, b"_id"))?;
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

    /// The document that an upsert inserts: what the filter says is equal, then the update; `_id`
    /// first, a new one where nobody gave one.
    pub fn upsert(&self, equal: &[(&Path, Value<'_>)]) -> Outcome<Vec<u8>> {
        let mut base = EMPTY.to_vec();
        for (path, value) in equal {
            if self.is_replacement() && path.text != b"_id" {
                continue;
            }
            let path = &Path::bounded(&path.text)?;
            let mut tree = Tree::new();
            let change = Change::Set { kind: value.kind, bytes: value.bytes.to_vec() };
            add(&mut tree, &path.parts, change).map_err(|depth| conflict(path, depth))?;
            base = Self::Change(tree).apply(&base, true)?;
        }
        with_id_first(&self.apply(&base, true)?)
    }
}

/// The document with its `_id` at its beginning, where mongod puts it, and with a new one where it
/// has none.
pub fn with_id_first(document: &[u8]) -> Outcome<Vec<u8>> {
    let id = get(document, b"_id");
    check_id(id)?;
    if fields(document).next().is_some_and(|field| field.name == b"_id") {
        return Ok(document.to_vec());
    }
    let mut writer = Writer::new(document.len() + 32);
    let new = bson::oid::ObjectId::new().bytes();
    writer.value("_id", id.unwrap_or(Value { kind: kind::OBJECT_ID, bytes: &new }));
    for field in fields(document).filter(|field| field.name != b"_id") {
        writer.copy(&field);
    }
    Ok(writer.finish())
}

/// Refuses what cannot be an `_id`.
pub fn check_id(id: Option<Value<'_>>) -> Outcome<()> {
    let Some(id) = id else { return Ok(()) };
    if matches!(id.kind, kind::ARRAY | kind::REGEX | kind::UNDEFINED) {
        let message = format!("The '_id' value cannot be of type {}", id.kind_name());
        return Err(Fault::new(super::error::INVALID_ID, message));
    }
    Ok(())
}

fn replacement(update: &[u8]) -> Outcome<Update> {
    if let Some(dollar) = fields(update).find(|field| field.name.starts_with(b"$")) {
        let name = dollar.name();
        let message = format!(
            "The dollar ($) prefixed field '{name}' in '{name}' is not allowed in the context of \
             an update's replacement document. Consider using an aggregation pipeline with \
             $replaceWith."
        );
        return Err(Fault::new(DOLLAR_PREFIXED, message));
    }
    Ok(Update::Replace(update.to_vec()))
}

fn replace(replacement: &[u8], id: Option<Value<'_>>) -> Outcome<Vec<u8>> {
    if let (Some(old), Some(new)) = (id, get(replacement, b"_id"))
        && key_of(old) != key_of(new)
    {
        let element = element_text(b"_id", new);
        let message = format!(
            "After applying the update, the (immutable) field '_id' was found to have been \
             altered to {}",
            element.trim_matches(['{', '}'])
        );
        return Err(Fault::new(IMMUTABLE_FIELD, message));
    }
    let mut writer = Writer::new(replacement.len() + 32);
    if let Some(id) = id.or(get(replacement, b"_id")) {
        writer.value("_id", id);
    }
    for field in fields(replacement).filter(|field| field.name != b"_id") {
        writer.copy(&field);
    }
    Ok(writer.finish())
}

/// A document's `_id` stays as it is, whichever change touches it.
fn keep_id(old: Option<Value<'_>>, new: Option<Value<'_>>) -> Outcome<()> {
    let Some(old) = old else { return Ok(()) };
    if new.is_some_and(|new| new == old || key_of(new) == key_of(old)) {
        return Ok(());
    }
    let message = "Performing an update on the path '_id' would modify the immutable field '_id'";
    Err(Fault::new(IMMUTABLE_FIELD, message))
}

fn checked_path(name: &[u8]) -> Outcome<Path> {
    let path = Path::bounded(name)?;
    if name.is_empty() {
        return Err(Fault::new(EMPTY_FIELD_NAME, "An empty update path is not valid."));
    }
    if path.parts.iter().any(Vec::is_empty) {
        let message = format!(
            "The update path '{}' contains an empty field name, which is not allowed.",
            path.name()
        );
        return Err(Fault::new(EMPTY_FIELD_NAME, message));
    }
    if path.parts.iter().skip(1).any(|part| part.starts_with(b"$")) {
        return Err(Fault::not_here("positional updates"));
    }
    if name.starts_with(b"$") {
        let name = path.name();
        let message =
            format!("The dollar ($) prefixed field '{name}' in '{name}' is not valid for storage.");
        return Err(Fault::new(DOLLAR_PREFIXED, message));
    }
    Ok(path)
}

/// Two changes of one path, or of a path and a part of it: met after so many parts.
fn conflict(path: &Path, depth: usize) -> Fault {
    let parts = path.parts[..depth].iter().map(|part| String::from_utf8_lossy(part));
    let at = parts.collect::<Vec<_>>().join(".");
    let message = format!("Updating the path '{}' would create a conflict at '{at}'", path.name());
    Fault::new(CONFLICTING_OPERATORS, message)
}

/// Changes being applied to a document.
struct Applied<'a> {
    /// The whole of it, for messages.
    document: &'a [u8],
    inserts: bool,
}

impl Applied<'_> {
    /// The fields of a document, changed; then those it did not have.
    fn document(&self, document: &[u8], tree: &Tree, writer: &mut Writer) -> Outcome<()> {
        let mut seen = vec![false; tree.len()];
        for field in fields(document) {
            match tree.iter().position(|(name, _)| name == field.name) {
                None => writer.copy(&field),
                Some(at) => {
                    seen[at] = true;
                    self.present(field.name, field.value, &tree[at].1, false, writer)?;
                }
            }
        }
        for ((name, change), seen) in tree.iter().zip(seen) {
            if !seen {
                self.absent(name, change, writer)?;
            }
        }
        Ok(())
    }

    /// A field that is there.
    fn present(
        &self,
        name: &[u8],
        value: Value<'_>,
        change: &Change,
        in_array: bool,
        writer: &mut Writer,
    ) -> Outcome<()> {
        match change {
            Change::Set { kind, bytes } => {
                writer.value(name, Value { kind: *kind, bytes });
            }
            Change::SetOnInsert { kind, bytes } if self.inserts => {
                writer.value(name, Value { kind: *kind, bytes });
            }
            Change::SetOnInsert { .. } => writer.value(name, value),
            Change::Unset => {
                if in_array {
                    writer.value(name, Value::NULL); // places of the others stay
                }
            }
            Change::Increment { kind, bytes } => {
                let by = Value { kind: *kind, bytes };
                let sum = increment::add(value, by).map_err(|fault| match fault {
                    Some(fault) => fault,
                    None => self.not_a_number(name, value),
                })?;
                writer.value(name, sum.value());
            }
            Change::Below(tree) if value.kind == kind::DOCUMENT => {
                let at = writer.open(kind::DOCUMENT, name);
                self.document(value.bytes, tree, writer)?;
                writer.close(at);
            }
            Change::Below(tree) if value.kind == kind::ARRAY => {
                let at = writer.open(kind::ARRAY, name);
                self.array(name, value, tree, writer)?;
                writer.close(at);
            }
            Change::Below(tree) => {
                if let Some(inner) = tree.iter().find(|(_, change)| self.creates(change)) {
                    return Err(cannot_create(&inner.0, name, value));
                }
                writer.value(name, value);
            }
        }
        Ok(())
    }

    /// A field that is not there.
    fn absent(&self, name: &[u8], change: &Change, writer: &mut Writer) -> Outcome<()> {
        match change {
            Change::Set { kind, bytes } | Change::Increment { kind, bytes } => {
                writer.value(name, Value { kind: *kind, bytes });
            }
            Change::SetOnInsert { kind, bytes } if self.inserts => {
                writer.value(name, Value { kind: *kind, bytes });
            }
            Change::SetOnInsert { .. } | Change::Unset => {}
            Change::Below(tree) => {
                if self.creates(change) {
                    let at = writer.open(kind::DOCUMENT, name);
                    self.document(EMPTY, tree, writer)?;
                    writer.close(at);
                }
            }
        }
        Ok(())
    }

    /// Elements by their places; gaps that arise are filled with null.
    fn array(
        &self,
        name: &[u8],
        array: Value<'_>,
        tree: &Tree,
        writer: &mut Writer,
    ) -> Outcome<()> {
        for (place, change) in tree {
            if !is_place(place) && self.creates(change) {
                return Err(cannot_create(place, name, array));
            }
        }
        let mut length = 0;
        for field in fields(array.bytes) {
            match tree.iter().find(|(place, _)| place == field.name) {
                None => writer.copy(&field),
                Some((_, change)) => {
                    self.present(field.name, field.value, change, true, writer)?;
                }
            }
            length += 1;
        }
        for (place, change) in tree {
            let number: usize = std::str::from_utf8(place)
                .ok()
                .and_then(|text| text.parse().ok())
                .filter(|number| *number >= length)
                .unwrap_or(usize::MAX);
            if number == usize::MAX || !self.creates(change) {
                continue;
            }
            // Several arrays may grow; no document larger than this comes of it anyway.
            if number - length > PADDING_MAX || writer.0.len() > DOCUMENT_BYTES_MAX {
                let message = format!("can't backfill more than {PADDING_MAX} elements");
                return Err(Fault::bad_value(message));
            }
            for gap in length..number {
                writer.element(gap, Value::NULL);
            }
            self.absent(place, change, writer)?;
            length = number + 1;
        }
        Ok(())
    }

    /// Whether a change makes a field where there is none.
    fn creates(&self, change: &Change) -> bool {
        match change {
            Change::Set { .. } | Change::Increment { .. } => true,
            Change::SetOnInsert { .. } => self.inserts,
            Change::Unset => false,
            Change::Below(tree) => tree.iter().any(|(_, change)| self.creates(change)),
        }
    }

    fn not_a_number(&self, name: &[u8], value: Value<'_>) -> Fault {
        let id = get(self.document, b"_id").unwrap_or(Value::NULL);
        let message = format!(
            "Cannot apply $inc to a value of non-numeric type. {} has the field '{}' of \
             non-numeric type {}",
            element_text(b"_id", id),
            String::from_utf8_lossy(name),
            value.kind_name()
        );
        Fault::new(TYPE_MISMATCH, message)
    }
}

/// As far beyond its end as mongod lets an array grow at once.
const PADDING_MAX: usize = 1_500_000;

fn cannot_create(inner: &[u8], name: &[u8], value: Value<'_>) -> Fault {
    let message = format!(
        "Cannot create field '{}' in element {}",
        String::from_utf8_lossy(inner),
        element_text(name, value)
    );
    Fault::new(super::error::PATH_NOT_VIABLE, message)
}

/// The order in which new fields are appended: places by number, before names, by their bytes.
pub fn name_order(one: &[u8], other: &[u8]) -> Ordering {
    match (is_place(one), is_place(other)) {
        (true, true) => one.len().cmp(&other.len()).then_with(|| one.cmp(other)),
        _ => one.cmp(other),
    }
}
