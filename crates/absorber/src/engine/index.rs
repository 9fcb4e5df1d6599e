//! An ordered index: encoded keys to the numbers of records.

use std::collections::BTreeMap;

use super::error::{CANNOT_INDEX_PARALLEL_ARRAYS, Fault, Outcome};
use super::keys::{Key, encode, encode_descending};
use super::path::Path;
use super::raw::{Value, fields, get};
use super::writer::Writer;

/// What an entry takes beside the bytes of its key: its place in the tree, an upper bound.
const ENTRY_BYTES: u64 = 64;

/// One index of a collection.
#[derive(Debug)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// As listIndexes shows it.
    pub shown: Vec<u8>,
    /// `{a: 1, b: -1}`
    pub pattern: Vec<u8>,
    /// The same, read; true: descending.
    pub fields: Vec<(Path, bool)>,
    /// No two records have the same key.
    pub unique: bool,
    /// Records without any of its fields have no entry.
    pub sparse: bool,
    /// Some record has or had an array at one of its fields, and so several entries.
    pub multikey: bool,
    /// Keys, which end with the record's number where they are not unique.
    pub entries: BTreeMap<Key, u64>,
    /// Of the keys, with what the map takes for them.
    pub bytes: u64,
}

/// The keys of one document.
#[derive(Debug, Default)]
pub struct Keys {
    /// Sorted, each once.
    pub keys: Vec<Key>,
    /// An array made several of it.
    multikey: bool,
}

impl Index {
    /// An empty index. `shown` is its checked specification.
    pub fn new(shown: Vec<u8>) -> Self {
        let value = |name: &[u8]| get(&shown, name);
        let pattern = value(b"key").and_then(Value::document).unwrap_or_default().to_vec();
        let descends = |value: Value<'_>| value.number().is_some_and(|it| it.as_f64() < 0.0);
        Self {
            name: value(b"name").map(Value::string).unwrap_or_default().to_owned(),
            fields: fields(&pattern)
                .map(|field| (Path::new(field.name), descends(field.value)))
                .collect(),
            unique: value(b"unique").is_some_and(Value::truth),
            sparse: value(b"sparse").is_some_and(Value::truth),
            multikey: false,
            entries: BTreeMap::new(),
            bytes: 0,
            pattern,
            shown,
        }
    }

    /// The index that every collection has.
    pub fn of_id() -> Self {
        let mut shown = Writer::new(64);
        shown.int("v", 2);
        let at = shown.open(super::raw::kind::DOCUMENT, "key");
        shown.int("_id", 1);
        shown.close(at);
        shown.text("name", "_id_");
        Self { unique: true, ..Self::new(shown.finish()) }
    }

    /// The keys that a document has here.
    pub fn keys(&self, document: &[u8]) -> Outcome<Keys> {
        let mut found = Keys::default();
        for values in self.values(document, &mut found.multikey)? {
            found.keys.push(self.key(&values));
        }
        if self.sparse && self.fields.iter().all(|(path, _)| is_missing(path, document)) {
            found.keys.clear();
        }
        found.keys.sort_unstable();
        found.keys.dedup();
        Ok(found)
    }

    /// The key of one value a field.
    pub fn key(&self, values: &[Value<'_>]) -> Key {
        let mut key = Key::new();
        for (value, (_, descending)) in values.iter().zip(&self.fields) {
            if *descending {
                encode_descending(*value, &mut key);
            } else {
                encode(*value, &mut key);
            }
        }
        key
    }

    /// One value a field, once for each element where one of them holds an array.
    fn values<'a>(&self, document: &'a [u8], multikey: &mut bool) -> Outcome<Vec<Vec<Value<'a>>>> {
        let mut rows: Vec<Vec<Value<'a>>> = vec![Vec::with_capacity(self.fields.len())];
        let mut array: Option<&Path> = None;
        for (path, _) in &self.fields {
            let mut values = Vec::new();
            if path.indexed(document, &mut values) {
                if let Some(other) = array.filter(|other| other.parts[0] != path.parts[0]) {
                    let message = format!(
                        "cannot index parallel arrays [{}] [{}]",
                        path.name(),
                        other.name()
                    );
                    return Err(Fault::new(CANNOT_INDEX_PARALLEL_ARRAYS, message));
                }
                array = Some(path);
                *multikey = true;
            }
            if let [value] = values[..] {
                for row in &mut rows {
                    row.push(value);
                }
                continue;
            }
            let rows_before = std::mem::take(&mut rows);
            for row in &rows_before {
                for value in &values {
                    rows.push(row.iter().copied().chain([*value]).collect());
                }
            }
        }
        Ok(rows)
    }

    /// The first of these keys that another record than `except` has here.
    pub fn taken<'k>(&self, keys: &'k Keys, except: Option<u64>) -> Option<&'k Key> {
        let other = |key: &&Key| self.entries.get(*key).is_some_and(|it| Some(*it) != except);
        if self.unique { keys.keys.iter().find(other) } else { None }
    }

    /// The fault of a key that is taken.
    pub fn duplicate(&self, namespace: &str, document: &[u8], key: &Key) -> Fault {
        let rows = self.values(document, &mut false).unwrap_or_default();
        let row = rows.into_iter().find(|row| self.key(row) == *key).unwrap_or_default();
        let mut values = Writer::new(64);
        for ((path, _), value) in self.fields.iter().zip(row) {
            values.value(&path.text, value);
        }
        Fault::duplicate(namespace, &self.name, &self.pattern, &values.finish())
    }

    /// Bytes that these keys take.
    pub fn bytes_of(&self, keys: &Keys) -> u64 {
        let number = if self.unique { 0 } else { 8 };
        keys.keys.iter().map(|key| key.len() as u64 + number + ENTRY_BYTES).sum()
    }

    /// Enters a record. Its keys are not taken.
    pub fn insert(&mut self, keys: Keys, record: u64) {
        self.bytes += self.bytes_of(&keys);
        self.multikey |= keys.multikey;
        for key in keys.keys {
            self.entries.insert(self.entry(key, record), record);
        }
    }

    /// Removes a record.
    pub fn remove(&mut self, keys: &Keys, record: u64) {
        self.bytes -= self.bytes_of(keys);
        for key in &keys.keys {
            if self.unique {
                self.entries.remove(key);
            } else {
                self.entries.remove(&self.entry(key.clone(), record));
            }
        }
    }

    fn entry(&self, mut key: Key, record: u64) -> Key {
        if !self.unique {
            key.extend_from_slice(&record.to_be_bytes());
        }
        key
    }
}

fn is_missing(path: &Path, document: &[u8]) -> bool {
    !path.any(document, &mut |value| value.is_some())
}
