//! An ordered index: encoded keys to the numbers of records.

use std::collections::BTreeMap;

use wire::raw::{Value, fields};

use super::fault::{Fallible, Fault};
use super::field_path::FieldPath;
use super::key_encoding::{Key, encode};
use super::writer::Writer;

/// Upper bound of an entry's bytes beside its key: its place in the tree.
const ENTRY_BYTES: u64 = 64;

/// One index of a collection. All its fields ascend, even if descending ones were asked for: no
/// count depends on it, and a descending walk begins at the end. A document has one entry: arrays
/// are refused.
#[derive(Debug)]
pub struct OrderedIndex {
    pub name: String,
    /// `{a: 1, b: -1}`
    pub pattern: Vec<u8>,
    /// At least one.
    pub fields: Vec<FieldPath>,
    /// No two records have the same key.
    pub unique: bool,
    /// Keys, which end with the record's number where they are not unique.
    pub entries: BTreeMap<Key, u64>,
    /// Size of keys and entries, bytes.
    pub bytes: u64,
}

impl OrderedIndex {
    pub fn new(name: &str, pattern: &[u8], unique: bool) -> Self {
        Self {
            name: name.to_owned(),
            pattern: pattern.to_vec(),
            fields: fields(pattern).map(|field| FieldPath::new(field.name)).collect(),
            unique,
            entries: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// The index that every collection has.
    pub fn of_id() -> Self {
        let mut pattern = Writer::new(16);
        pattern.int("_id", 1);
        Self::new("_id_", &pattern.finish(), true)
    }

    pub fn key(&self, document: &[u8]) -> Fallible<Key> {
        let mut key = Key::new();
        self.values(document, &mut |value| encode(value, &mut key))?;
        Ok(key)
    }

    /// The value of each field, null for a missing one.
    fn values<'a>(&self, document: &'a [u8], each: &mut dyn FnMut(Value<'a>)) -> Fallible<()> {
        for path in &self.fields {
            each(path.single(document).ok_or_else(|| {
                Fault::not_here(&format!("index over the array at '{}'", path.name()))
            })?);
        }
        Ok(())
    }

    /// Whether another record than `except` has this key.
    pub fn is_taken(&self, key: &Key, except: Option<u64>) -> bool {
        self.unique && self.entries.get(key).is_some_and(|it| Some(*it) != except)
    }

    /// The fault of a document whose key is taken.
    pub fn duplicate(&self, namespace: &str, document: &[u8]) -> Fault {
        let mut shown = Writer::new(64);
        let mut names = self.fields.iter();
        let _ = self.values(document, &mut |value| {
            let name = names.next().map_or(&[][..], |path| &path.text[..]);
            shown.value(name, value);
        });
        Fault::duplicate(namespace, &self.name, &self.pattern, &shown.finish())
    }

    pub fn bytes_of(&self, key: &Key) -> u64 {
        key.len() as u64 + if self.unique { 0 } else { 8 } + ENTRY_BYTES
    }

    /// Enters a record. Its key is not taken.
    pub fn insert(&mut self, key: Key, record: u64) {
        self.bytes += self.bytes_of(&key);
        self.entries.insert(self.entry(key, record), record);
    }

    pub fn remove(&mut self, key: Key, record: u64) {
        self.bytes -= self.bytes_of(&key);
        self.entries.remove(&self.entry(key, record));
    }

    fn entry(&self, mut key: Key, record: u64) -> Key {
        if !self.unique {
            key.extend_from_slice(&record.to_be_bytes());
        }
        key
    }
}
