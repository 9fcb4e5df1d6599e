//! The mark of a message: two whole numbers that the application writes into its documents, its
//! producer's and its own. They are read only where `--mark` names their fields.
//!
//! For an insert, the first document is read; for a cursor's reply, the first that has both
//! numbers, and the documents after it are counted. Reading all of them was rejected, because a
//! record has one size.

use std::str::FromStr;
use std::sync::Arc;

use wire::raw::kind;
use wire::walk::{Go, NAME_BYTES_MAX, Visitor};

use super::exchange::MessageMark;

/// Doubles are exact whole numbers up to this.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// The help of `--mark`.
pub const HELP: &str = "\
Note which message an exchange carries: the names of two top-level fields with whole numbers, \
PRODUCER,SEQUENCE. Of an insert those of its first document are noted, of a cursor's answer those \
of the first document that has them, and the number of documents from there on";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkFields {
    producer: String,
    sequence: String,
}

impl FromStr for MarkFields {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let good = |name: &str| !name.is_empty() && name.len() < NAME_BYTES_MAX;
        match text.split_once(',') {
            Some((producer, sequence))
                if producer != sequence
                    && [producer, sequence].into_iter().all(good)
                    && !text.contains(['.', '\0'])
                    && !sequence.contains(',') =>
            {
                Ok(Self { producer: producer.to_owned(), sequence: sequence.to_owned() })
            }
            _ => Err("two names of top-level fields, such as producer,sequence".to_owned()),
        }
    }
}

impl std::fmt::Display for MarkFields {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{},{}", self.producer, self.sequence)
    }
}

/// The two numbers of the document under way.
#[derive(Debug)]
pub(super) struct Numbers {
    fields: Arc<MarkFields>,
    /// Whether the next value is the sequence, and not the producer.
    next_is_sequence: bool,
    producer: Option<u32>,
    sequence: Option<u64>,
}

impl Numbers {
    pub fn new(fields: Arc<MarkFields>) -> Self {
        Self { fields, next_is_sequence: false, producer: None, sequence: None }
    }

    pub fn clear(&mut self) {
        (self.producer, self.sequence) = (None, None);
    }

    pub fn mark(&self) -> Option<MessageMark> {
        Some(MessageMark { producer: self.producer?, sequence: self.sequence? })
    }
}

/// A whole number of any type; None if it is negative, or a double that is not whole.
fn whole(kind: u8, bytes: [u8; 8]) -> Option<u64> {
    match kind {
        kind::INT => {
            let number = i32::from_le_bytes(*bytes.first_chunk().expect("eight bytes"));
            u64::try_from(number).ok()
        }
        kind::LONG => u64::try_from(i64::from_le_bytes(bytes)).ok(),
        _ => {
            let number = f64::from_le_bytes(bytes);
            let good = (0.0..=WHOLE_MAX).contains(&number) && number.fract() == 0.0;
            good.then_some(number as u64)
        }
    }
}

impl Visitor for Numbers {
    fn field(&mut self, _: usize, kind: u8, name: &[u8]) -> Go {
        if !matches!(kind, kind::DOUBLE | kind::INT | kind::LONG) {
            return Go::Over;
        }
        self.next_is_sequence = name == self.fields.sequence.as_bytes();
        let wanted = self.next_is_sequence || name == self.fields.producer.as_bytes();
        if wanted { Go::Read } else { Go::Over }
    }

    fn value(&mut self, kind: u8, bytes: [u8; 8]) {
        let number = whole(kind, bytes);
        if self.next_is_sequence {
            self.sequence = number;
        } else {
            self.producer = number.and_then(|number| u32::try_from(number).ok());
        }
    }

    fn end(&mut self, _: usize) {}
}

#[cfg(test)]
mod tests {
    use bson::{RawBson, RawDocumentBuf, rawdoc};

    use wire::{HEADER_BYTES, Header};

    use super::super::framing::{Follower, Passed};
    use super::super::request_body::RequestBody;
    use super::*;

    fn message(opcode: i32, body: &[u8]) -> Vec<u8> {
        let length = HEADER_BYTES + body.len();
        let header = Header { length, request_id: 7, response_to: 0, opcode: opcode.into() };
        [&header.to_bytes()[..], body].concat()
    }

    fn msg(body: &RawDocumentBuf, sequence: &[RawDocumentBuf]) -> Vec<u8> {
        let documents: Vec<u8> = sequence.iter().flat_map(|it| it.as_bytes().to_vec()).collect();
        let length = (documents.len() + 4 + 10) as u32;
        let sequence = [&[1][..], &length.to_le_bytes(), b"documents\0", &documents].concat();
        let sequence = if documents.is_empty() { Vec::new() } else { sequence };
        message(2013, &[&[0; 5][..], body.as_bytes(), &sequence].concat())
    }

    fn legacy(opcode: i32, namespace: &str, rest: &[u8]) -> Vec<u8> {
        message(opcode, &[&[0; 4][..], namespace.as_bytes(), &[0], rest].concat())
    }

    fn query(namespace: &str, document: &RawDocumentBuf) -> Vec<u8> {
        legacy(2004, namespace, &[&[0; 8][..], document.as_bytes()].concat())
    }

    /// The marks of a stream's messages, read in pieces.
    fn marks(stream: &[u8], piece: usize) -> Vec<Option<(u32, u64)>> {
        let fields = Arc::new("producer,sequence".parse().expect("two names"));
        let mut follower = Follower::new(RequestBody::new(Some(&fields)));
        let mut all = Vec::new();
        for bytes in stream.chunks(piece) {
            let passed = follower.follow(bytes, Passed::default(), |_, body| {
                assert!(!body.unreadable);
                all.push(body.mark().map(|it| (it.producer, it.sequence)));
            });
            passed.expect("messages");
        }
        all
    }

    fn one(producer: impl Into<RawBson>, sequence: impl Into<RawBson>) -> RawDocumentBuf {
        let text = |text: &str| text.try_into().expect("no zero byte");
        let pattern = bson::Regex { pattern: text("a.*"), options: text("i") };
        rawdoc! {
            "_id": 5, "nested": { "producer": 99, "sequence": 99 }, "text": "producer",
            "sequence": sequence.into(), "pattern": pattern,
            "producer": producer.into(), "made_ns": 12_i64,
        }
    }

    #[test]
    fn inserts_of_every_age_are_marked_by_their_first_document() {
        let (first, second) = (one(3, 70_000_000_000_i64), one(4, 1));
        let insert = rawdoc! { "insert": "c", "ordered": true, "$db": "d" };
        let array = |document: &RawDocumentBuf| {
            rawdoc! { "insert": "c", "documents": [document.clone(), one(9, 9)], "ordered": true }
        };
        let pair = [first.clone(), second.clone()];
        let both = [first.as_bytes(), second.as_bytes()].concat();
        let wrapped = rawdoc! { "$query": array(&first), "$readPreference": { "mode": "x" } };
        let update = rawdoc! { "update": "c", "updates": [first.clone()] };
        let found = Some((3, 70_000_000_000));
        let cases = [
            (msg(&insert, &pair), found),
            (msg(&rawdoc! { "update": "c" }, &pair), None),
            (msg(&array(&first), &[]), found),
            (msg(&update, &[]), None),
            (legacy(2002, "d.c", &both), found),
            (query("d.$cmd", &array(&first)), found),
            (query("d.$cmd", &wrapped), found),
            (query("d.c", &first), None),
            (msg(&insert, &[rawdoc! {}, second.clone()]), None),
            (msg(&insert, &[rawdoc! { "producer": 1 }, rawdoc! { "sequence": 1 }]), None),
            (msg(&insert, &[second]), Some((4, 1))),
        ];
        let stream: Vec<u8> = cases.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let expected: Vec<_> = cases.into_iter().map(|(_, mark)| mark).collect();
        for piece in [1, 2, 3, 7, 61, 1000, stream.len()] {
            assert_eq!(marks(&stream, piece), expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn whole_numbers_of_any_type_are_alike_and_others_are_none() {
        let insert = rawdoc! { "insert": "c", "$db": "d" };
        let of = |document: RawDocumentBuf| marks(&msg(&insert, &[document]), 1000)[0];
        for document in [one(7, 8), one(7_i64, 8_i64), one(7.0, 8.0), one(7, 8.0)] {
            assert_eq!(of(document), Some((7, 8)));
        }
        assert_eq!(of(one(0, 0)), Some((0, 0)));
        for document in [
            one(-1, 8),
            one(7, -8_i64),
            one(7.5, 8),
            one(7, f64::NAN),
            one("7", 8),
            one(1_i64 << 32, 8),
            one(7, RawBson::Null),
        ] {
            assert_eq!(of(document.clone()), None, "{document:?}");
        }
    }

    #[test]
    fn a_document_that_lies_about_its_inside_marks_nothing_of_the_next() {
        let mut broken = rawdoc! { "text": "four" };
        let mut bytes = broken.clone().into_bytes();
        bytes[10] = 40; // the string's length, far into the next document
        broken = RawDocumentBuf::from_bytes(bytes).expect("its own length is right");
        let insert = rawdoc! { "insert": "c", "$db": "d" };
        assert_eq!(marks(&msg(&insert, &[broken, one(1, 2)]), 1000), [None]);
    }

    #[test]
    fn two_names_are_wanted() {
        let fields: MarkFields = "from,number".parse().expect("two names");
        assert_eq!(fields.to_string(), "from,number");
        let long = format!("a,{}", "b".repeat(NAME_BYTES_MAX));
        for wrong in ["", "a", "a,", ",b", "a,a", "a,b,c", "a.b,c", &long] {
            assert!(wrong.parse::<MarkFields>().is_err(), "{wrong}");
        }
    }
}
