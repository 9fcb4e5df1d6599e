//! Writes BSON, front to back.

use bson::RawDocumentBuf;

use wire::raw::{Field, Value, fields, kind};

#[derive(Debug)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    pub fn new(capacity: usize) -> Self {
        let mut bytes = Vec::with_capacity(capacity);
        bytes.extend_from_slice(&[0; 4]);
        Self(bytes)
    }

    /// Adds the last field of a successful command's answer.
    pub fn ok(mut self) -> Self {
        self.double("ok", 1.0);
        self
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.close(0);
        self.0
    }

    /// Ends the document, and returns it as a type of the crate bson.
    pub fn into_document(self) -> RawDocumentBuf {
        RawDocumentBuf::from_bytes(self.finish()).expect("written with its length")
    }

    fn name(&mut self, kind: u8, name: &[u8]) {
        self.0.push(kind);
        self.0.extend_from_slice(name);
        self.0.push(0);
    }

    /// Begins a document or array within; [`Self::close`] takes the returned place.
    pub fn open(&mut self, kind: u8, name: impl AsRef<[u8]>) -> usize {
        self.name(kind, name.as_ref());
        let at = self.0.len();
        self.0.extend_from_slice(&[0; 4]);
        at
    }

    /// Begins an element of an array that is a document or an array.
    pub fn open_element(&mut self, kind: u8, index: usize) -> usize {
        self.0.push(kind);
        self.index(index);
        self.0.extend_from_slice(&[0; 4]);
        self.0.len() - 4
    }

    pub fn close(&mut self, at: usize) {
        self.0.push(0);
        let length = i32::try_from(self.0.len() - at).expect("far below 2 GB");
        self.0[at..at + 4].copy_from_slice(&length.to_le_bytes());
    }

    pub fn value(&mut self, name: impl AsRef<[u8]>, value: Value<'_>) {
        self.name(value.kind, name.as_ref());
        self.0.extend_from_slice(value.bytes);
    }

    pub fn element(&mut self, index: usize, value: Value<'_>) {
        self.0.push(value.kind);
        self.index(index);
        self.0.extend_from_slice(value.bytes);
    }

    /// Writes a number as a name, without an allocation: batches name thousands of elements.
    fn index(&mut self, mut number: usize) {
        let from = self.0.len();
        loop {
            self.0.push(b'0' + (number % 10) as u8);
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.0[from..].reverse();
        self.0.push(0);
    }

    /// Copies a field as it is.
    pub fn copy(&mut self, field: &Field<'_>) {
        self.0.extend_from_slice(field.whole);
    }

    pub fn copy_all(&mut self, document: &[u8]) {
        self.0.extend_from_slice(fields(document).bytes());
    }

    pub fn int(&mut self, name: &str, number: i32) {
        self.value(name, Value { kind: kind::INT, bytes: &number.to_le_bytes() });
    }

    pub fn long(&mut self, name: &str, number: i64) {
        self.value(name, Value { kind: kind::LONG, bytes: &number.to_le_bytes() });
    }

    /// An int32 where it fits, as mongod does with counts.
    pub fn count(&mut self, name: &str, number: u64) {
        match i32::try_from(number) {
            Ok(number) => self.int(name, number),
            Err(_) => self.long(name, number.cast_signed()),
        }
    }

    pub fn double(&mut self, name: &str, number: f64) {
        self.value(name, Value { kind: kind::DOUBLE, bytes: &number.to_le_bytes() });
    }

    pub fn bool(&mut self, name: &str, it: bool) {
        self.value(name, Value { kind: kind::BOOL, bytes: &[it.into()] });
    }

    pub fn text(&mut self, name: &str, text: &str) {
        self.name(kind::STRING, name.as_bytes());
        let length = i32::try_from(text.len() + 1).expect("far below 2 GB");
        self.0.extend_from_slice(&length.to_le_bytes());
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
    }

    pub fn document(&mut self, name: &str, document: &[u8]) {
        self.value(name, Value { kind: kind::DOCUMENT, bytes: document });
    }
}

#[cfg(test)]
mod tests {
    use wire::raw::get;

    use super::*;

    #[test]
    fn what_is_written_is_read_by_the_crate() {
        let mut writer = Writer::new(64);
        writer.int("i", -5);
        writer.text("s", "x");
        let at = writer.open(kind::ARRAY, "a");
        for index in 0..12 {
            writer.element(index, Value::NULL);
        }
        writer.close(at);
        writer.double("ok", 1.0);
        let document = writer.into_document();
        assert_eq!(document.get_i32("i").ok(), Some(-5));
        assert_eq!(document.get_array("a").unwrap().into_iter().count(), 12);
        assert_eq!(get(document.as_bytes(), b"ok").unwrap().whole_number(), Some(1));
    }
}
