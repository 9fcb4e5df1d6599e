//! Reads a reply: whether more replies follow without a request and, if marks are asked for, its
//! first message and the number of documents from there.

use std::sync::Arc;

use wire::raw::kind;
use wire::walk::{Go, Visitor, Walk};
use wire::{Header, OpCode, WireError};

use super::exchange::MessageMark;
use super::framing::MessageContent;
use super::mark::{MarkFields, Numbers};

/// OP_MSG from a server: more replies follow without a request (exhaust).
const MORE_TO_COME: u32 = 1 << 1;
/// Flags of an OP_MSG and the kind of its first section.
const MSG_HEAD_BYTES: usize = 5;
/// Flags, cursor, starting point and number of documents of an OP_REPLY.
const REPLY_HEAD_BYTES: usize = 20;

#[derive(Debug, Default)]
pub(super) struct ReplyBody {
    opcode: Option<OpCode>,
    flags: [u8; 4],
    have: usize,
    batch: Option<Box<ReplyBatch>>,
}

/// Messages in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Carried {
    /// Mark of the first document that has one.
    pub mark: MessageMark,
    /// Number of documents from that one on.
    pub documents: u32,
}

impl ReplyBody {
    pub fn new(marks: Option<&Arc<MarkFields>>) -> Self {
        let batch = marks.map(|fields| Box::new(ReplyBatch::new(fields.clone())));
        Self { batch, ..Self::default() }
    }

    pub fn more_to_come(&self) -> bool {
        self.opcode == Some(OpCode::Msg) && u32::from_le_bytes(self.flags) & MORE_TO_COME != 0
    }

    pub fn carried(&self) -> Option<Carried> {
        self.batch.as_ref()?.carried()
    }
}

impl MessageContent for ReplyBody {
    fn begin(&mut self, header: &Header) -> Result<(), WireError> {
        if !matches!(header.opcode, OpCode::Reply | OpCode::Msg | OpCode::Compressed) {
            return Err(WireError::OpCode(header.opcode.into()));
        }
        (self.opcode, self.flags, self.have) = (Some(header.opcode), [0; 4], 0);
        if let Some(batch) = &mut self.batch {
            batch.begin(header.opcode);
        }
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let count = (self.flags.len() - self.have).min(bytes.len());
        self.flags[self.have..self.have + count].copy_from_slice(&bytes[..count]);
        self.have += count;
        if let Some(batch) = &mut self.batch {
            batch.bytes(bytes);
        }
    }

    fn end(&mut self) {}
}

/// The documents of a cursor: `cursor.firstBatch` or `nextBatch` of an answer, or those of an
/// OP_REPLY.
#[derive(Debug)]
struct ReplyBatch {
    head: [u8; REPLY_HEAD_BYTES],
    have: usize,
    /// Length of the head; 0 if the reply is not read.
    head_bytes: usize,
    /// Documents of an OP_REPLY that have not begun yet.
    left: u32,
    walk: Walk,
    seen: BatchReader,
}

#[derive(Debug)]
struct BatchReader {
    numbers: Numbers,
    /// Whether it is an OP_REPLY, whose documents may be messages themselves.
    legacy: bool,
    /// Documents in the array, from the first marked one on.
    documents: u32,
}

impl ReplyBatch {
    fn new(fields: Arc<MarkFields>) -> Self {
        Self {
            head: [0; REPLY_HEAD_BYTES],
            have: 0,
            head_bytes: 0,
            left: 0,
            walk: Walk::default(),
            seen: BatchReader { numbers: Numbers::new(fields), legacy: false, documents: 0 },
        }
    }

    fn begin(&mut self, opcode: OpCode) {
        self.head_bytes = match opcode {
            OpCode::Msg => MSG_HEAD_BYTES,
            OpCode::Reply => REPLY_HEAD_BYTES,
            _ => 0,
        };
        (self.have, self.left) = (0, 0);
        self.walk.stop();
        self.seen.numbers.clear();
        (self.seen.legacy, self.seen.documents) = (opcode == OpCode::Reply, 0);
    }

    fn bytes(&mut self, mut bytes: &[u8]) {
        if self.have < self.head_bytes {
            let count = (self.head_bytes - self.have).min(bytes.len());
            self.head[self.have..self.have + count].copy_from_slice(&bytes[..count]);
            self.have += count;
            bytes = &bytes[count..];
            if self.have == self.head_bytes {
                self.left = if self.seen.legacy {
                    u32::from_le_bytes(*self.head.last_chunk().expect("20 bytes"))
                } else {
                    // Servers put everything into the body.
                    u32::from(self.head[MSG_HEAD_BYTES - 1] == 0)
                };
                self.next();
            }
        }
        while !bytes.is_empty() && !self.walk.is_done() {
            bytes = self.walk.bytes(bytes, &mut self.seen);
            if self.walk.is_done() && self.seen.documents == 0 {
                if self.seen.legacy && self.seen.numbers.mark().is_some() {
                    self.seen.documents = self.left + 1;
                } else {
                    self.next();
                }
            }
        }
    }

    fn next(&mut self) {
        if self.left > 0 {
            self.left -= 1;
            self.seen.numbers.clear();
            self.walk.begin();
        }
    }

    fn carried(&self) -> Option<Carried> {
        let documents = self.seen.documents;
        let mark = self.seen.numbers.mark().filter(|_| documents > 0)?;
        Some(Carried { mark, documents })
    }
}

impl Visitor for BatchReader {
    fn field(&mut self, depth: usize, kind: u8, name: &[u8]) -> Go {
        match (depth, kind) {
            (0, kind::DOCUMENT) if name == b"cursor" => Go::Into,
            (0, _) if self.legacy => self.numbers.field(0, kind, name),
            (1, kind::ARRAY) if name == b"firstBatch" || name == b"nextBatch" => Go::Into,
            (2, kind::DOCUMENT) if self.documents == 0 => {
                self.numbers.clear();
                Go::Into
            }
            (2, kind::DOCUMENT) => {
                self.documents = self.documents.saturating_add(1);
                Go::Over
            }
            // After the two numbers the rest of a document does not matter.
            (3, _) if self.numbers.mark().is_none() => self.numbers.field(0, kind, name),
            _ => Go::Over,
        }
    }

    fn value(&mut self, kind: u8, bytes: [u8; 8]) {
        self.numbers.value(kind, bytes);
    }

    fn end(&mut self, depth: usize) {
        if depth == 3 && self.numbers.mark().is_some() {
            self.documents = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use bson::{RawDocumentBuf, rawdoc};

    use wire::reply_messages;

    use super::super::framing::{Follower, Passed};
    use super::*;

    type BatchReader = Option<(u32, u64, u32)>;

    fn follow(stream: &[u8], piece: usize, marks: bool) -> Vec<BatchReader> {
        let fields = Arc::new("producer,sequence".parse().expect("two names"));
        let mut follower = Follower::new(ReplyBody::new(marks.then_some(&fields)));
        let mut all = Vec::new();
        for bytes in stream.chunks(piece) {
            let passed = follower.follow(bytes, Passed::default(), |_, reply| {
                let carried = reply.carried();
                all.push(carried.map(|it| (it.mark.producer, it.mark.sequence, it.documents)));
            });
            passed.expect("replies");
        }
        all
    }

    fn msg(body: &RawDocumentBuf) -> Vec<u8> {
        let mut bytes = Vec::new();
        reply_messages::msg(&mut bytes, 1, 2, body);
        bytes
    }

    fn legacy(documents: &[RawDocumentBuf]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let documents = documents.iter().map(AsRef::as_ref);
        reply_messages::legacy(&mut bytes, 1, 2, reply_messages::AWAIT_CAPABLE, 77, 0, documents);
        bytes
    }

    /// Replies, with their expected contents.
    fn corpus() -> Vec<(Vec<u8>, BatchReader)> {
        let message = |producer: i32, sequence: i64| {
            rawdoc! {
                "_id": 1, "producer": producer, "sequence": sequence, "made_ns": 5_i64,
                "cursor": "no cursor",
            }
        };
        let sentinel = rawdoc! { "_id": 0, "sentinel": true, "producer": 5 };
        let marker = rawdoc! { "_id": 9, "sequence": 9, "end": true };
        let batch = |name: &str, documents: &[RawDocumentBuf]| {
            let mut array = bson::RawArrayBuf::new();
            for document in documents {
                array.push(document.clone());
            }
            let mut cursor = rawdoc! { "id": 77_i64, "ns": "d.c" };
            cursor.append(bson::raw::CString::try_from(name).expect("a name"), array);
            rawdoc! { "cursor": cursor, "ok": 1.0 }
        };
        let all = [sentinel.clone(), message(1, 2), message(3, 4), marker.clone()];
        let many: Vec<RawDocumentBuf> = (0..1200).map(|number| message(2, number)).collect();
        vec![
            (msg(&batch("firstBatch", &all)), Some((1, 2, 3))),
            (msg(&batch("nextBatch", &many)), Some((2, 0, 1200))),
            (msg(&batch("nextBatch", &[])), None),
            (msg(&batch("nextBatch", &[sentinel.clone(), marker.clone()])), None),
            (msg(&batch("lastBatch", &all)), None),
            (msg(&rawdoc! { "ok": 1.0, "n": 1, "producer": 1, "sequence": 1 }), None),
            (legacy(&all), Some((1, 2, 3))),
            (legacy(&all[1..3]), Some((1, 2, 2))),
            (legacy(&many[7..]), Some((2, 7, 1193))),
            (legacy(&[]), None),
            (legacy(&[sentinel, marker]), None),
            (legacy(&[batch("nextBatch", &all)]), Some((1, 2, 3))),
            (legacy(&[rawdoc! { "ismaster": true, "ok": 1.0 }]), None),
            (msg(&batch("nextBatch", &all[1..])), Some((1, 2, 3))),
        ]
    }

    #[test]
    fn the_first_message_and_those_behind_it_are_counted_in_pieces_of_any_size() {
        let corpus = corpus();
        let stream: Vec<u8> = corpus.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let expected: Vec<BatchReader> = corpus.into_iter().map(|(_, seen)| seen).collect();
        for piece in [1, 2, 3, 7, 16, 61, 1000, stream.len()] {
            assert_eq!(follow(&stream, piece, true), expected, "in pieces of {piece}");
        }
        let nobody_asked = follow(&stream, 61, false);
        assert_eq!(nobody_asked, vec![None; expected.len()]);
    }
}
