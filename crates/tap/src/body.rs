//! Follows the body of a request as its bytes pass, in pieces of any size: the command's name, the
//! names of its fields, the number of its documents.
//!
//! Only names are kept: values are skipped by their lengths. Holding messages back until they are
//! whole was rejected (a batch of 48 MB for each of a thousand connections). Reading their first
//! bytes only was rejected too (`lsid` and `writeConcern` stand behind the documents).
//!
//! An unreadable body ends no connection: the server is its judge. The message's length still tells
//! the begin of the next one.

use std::sync::Arc;

use wire::OpCode;
use wire::raw::{Size, kind};
use wire::walk::{Go, NAME_BYTES_MAX, Visitor, Walk};

use super::exchange::Mark;
use super::mark::{MarkFields, Numbers};

/// Bytes of one message's names that are kept; the rest is left out.
const NAMES_BYTES_MAX: usize = 4096;
const CHECKSUM_PRESENT: u32 = 1;
const MORE_TO_COME: u32 = 1 << 1;

/// The part of the body that is read next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    MsgFlags,
    SectionKind,
    SequenceLength,
    SequenceName,
    SequenceDocument,
    /// Four bytes without meaning here, before a namespace.
    LegacyHead,
    Namespace,
    /// numberToSkip and numberToReturn of OP_QUERY.
    QueryNumbers,
    InsertDocument,
    /// The document that is the command.
    Command,
    /// The rest, which is not read.
    Rest,
}

/// The end of a step's bytes.
enum Wants {
    Bytes(usize),
    Zero,
    Document,
    Nothing,
}

impl Step {
    fn wants(self) -> Wants {
        match self {
            Self::SectionKind => Wants::Bytes(1),
            Self::MsgFlags
            | Self::SequenceLength
            | Self::SequenceDocument
            | Self::LegacyHead
            | Self::InsertDocument => Wants::Bytes(4),
            Self::QueryNumbers => Wants::Bytes(8),
            Self::SequenceName | Self::Namespace => Wants::Zero,
            Self::Command => Wants::Document,
            Self::Rest => Wants::Nothing,
        }
    }
}

/// The body under way.
#[derive(Debug)]
pub(super) struct Body {
    opcode: OpCode,
    step: Step,
    /// Body bytes not looked at yet.
    left: usize,
    /// Bytes of a document to skip before `step`.
    skip: usize,
    fixed: [u8; 8],
    have: usize,
    name: Vec<u8>,
    /// Bytes of the name under way, also beyond those kept.
    name_bytes: usize,
    /// Bytes of a checksum at the end.
    tail: usize,
    sequence_left: usize,
    /// OP_QUERY on `DATABASE.$cmd`.
    is_command: bool,
    /// Through the command, or through the first document beside it.
    walk: Walk,
    pub command: Command,
    /// Of a legacy opcode without a command.
    pub namespace: Vec<u8>,
    /// OP_MSG that wants no answer.
    pub more_to_come: bool,
    /// It could not be followed to its end.
    pub unreadable: bool,
}

#[derive(Debug, Default)]
pub(super) struct Command {
    /// Drivers may wrap the command into `$query`, to give a read preference.
    may_wrap: bool,
    /// Documents around its fields: 1 inside of `$query`.
    depth: usize,
    has_name: bool,
    /// First field of the body.
    pub name: Vec<u8>,
    /// Its other fields and the sequences, each ended by a zero byte.
    pub names: Vec<u8>,
    /// Documents of an insert, statements of an update or delete.
    pub documents: u32,
    /// Of the first document, where marks are asked for.
    numbers: Option<Numbers>,
}

impl Body {
    pub fn new(marks: Option<&Arc<MarkFields>>) -> Self {
        let numbers = marks.map(|fields| Numbers::new(fields.clone()));
        Self {
            opcode: OpCode::Msg,
            step: Step::Rest,
            left: 0,
            skip: 0,
            fixed: [0; 8],
            have: 0,
            name: Vec::new(),
            name_bytes: 0,
            tail: 0,
            sequence_left: 0,
            is_command: false,
            walk: Walk::default(),
            command: Command { numbers, ..Command::default() },
            namespace: Vec::new(),
            more_to_come: false,
            unreadable: false,
        }
    }

    /// A message begins; its body has `length` bytes.
    pub fn begin(&mut self, opcode: OpCode, length: usize) {
        self.opcode = opcode;
        self.step = match opcode {
            OpCode::Msg => Step::MsgFlags,
            OpCode::Query | OpCode::Insert | OpCode::Update | OpCode::Delete | OpCode::GetMore => {
                Step::LegacyHead
            }
            _ => Step::Rest,
        };
        self.left = length;
        (self.skip, self.have, self.tail, self.name_bytes) = (0, 0, 0, 0);
        self.name.clear();
        self.namespace.clear();
        self.walk.stop();
        self.command.begin(opcode);
        (self.is_command, self.more_to_come, self.unreadable) = (false, false, false);
    }

    /// The mark of an insert's first document; None: it has none, or nobody asked.
    pub fn mark(&self) -> Option<Mark> {
        let inserts = self.opcode == OpCode::Insert || self.command.name == b"insert";
        self.command.numbers.as_ref().filter(|_| inserts && !self.unreadable)?.mark()
    }

    /// The next bytes of the body, never more than it has.
    pub fn bytes(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.skip > 0 {
                let count = self.skip.min(bytes.len());
                self.skip -= count;
                self.look(&bytes[..count]);
                bytes = self.pass(bytes, count);
                continue;
            }
            match self.step.wants() {
                Wants::Nothing => {
                    self.left -= bytes.len();
                    return;
                }
                Wants::Bytes(wanted) => {
                    let count = (wanted - self.have).min(bytes.len());
                    self.fixed[self.have..self.have + count].copy_from_slice(&bytes[..count]);
                    self.have += count;
                    bytes = self.pass(bytes, count);
                    if self.have == wanted {
                        self.have = 0;
                        self.fixed();
                    }
                }
                Wants::Zero => {
                    let zero = bytes.iter().position(|byte| *byte == 0);
                    let text = &bytes[..zero.unwrap_or(bytes.len())];
                    let room = NAME_BYTES_MAX.saturating_sub(self.name.len());
                    self.name.extend_from_slice(&text[..text.len().min(room)]);
                    self.name_bytes += text.len();
                    bytes = self.pass(bytes, text.len() + usize::from(zero.is_some()));
                    if zero.is_some() {
                        self.named();
                        self.name.clear();
                        self.name_bytes = 0;
                    }
                }
                Wants::Document => {
                    let rest = self.walk.bytes(bytes, &mut self.command).len();
                    bytes = self.pass(bytes, bytes.len() - rest);
                    if self.walk.has_failed() {
                        self.give_up();
                    } else if self.walk.is_done() && self.opcode == OpCode::Msg {
                        self.section();
                    } else if self.walk.is_done() {
                        self.step = Step::Rest;
                    }
                }
            }
        }
    }

    pub fn end(&mut self) {
        let whole = match self.step {
            Step::Rest => true,
            Step::InsertDocument => self.have == 0,
            _ => false,
        };
        let nameless = (self.opcode == OpCode::Msg || self.is_command) && !self.command.has_name;
        self.unreadable |= !whole || nameless;
    }

    fn pass<'a>(&mut self, bytes: &'a [u8], count: usize) -> &'a [u8] {
        self.left -= count;
        &bytes[count..]
    }

    fn give_up(&mut self) {
        self.unreadable = true;
        self.step = Step::Rest;
    }

    fn number(&self) -> u32 {
        u32::from_le_bytes(*self.fixed.first_chunk().expect("eight bytes"))
    }

    /// After the length of a document to write: the document is skipped.
    fn document(&mut self) -> bool {
        let length = *self.fixed.first_chunk().expect("eight bytes");
        let behind = Size::of(kind::DOCUMENT).behind(length);
        let Some(behind) = behind.filter(|behind| *behind <= self.left) else {
            self.give_up();
            return false;
        };
        self.skip = behind;
        self.command.documents = self.command.documents.saturating_add(1);
        if self.command.documents == 1 && self.command.numbers.is_some() {
            self.walk.begin();
            self.look(&length);
        }
        true
    }

    /// Bytes of a document to write: the first one may carry a mark.
    fn look(&mut self, bytes: &[u8]) {
        let Some(numbers) = &mut self.command.numbers else { return };
        self.walk.bytes(bytes, numbers);
        if self.skip == 0 || numbers.mark().is_some() {
            self.walk.stop();
        }
    }

    /// The bytes of a step of fixed length are there.
    fn fixed(&mut self) {
        match self.step {
            Step::MsgFlags => {
                let flags = self.number();
                self.more_to_come = flags & MORE_TO_COME != 0;
                self.tail = if flags & CHECKSUM_PRESENT == 0 { 0 } else { 4 };
                self.section();
            }
            Step::SectionKind => match self.fixed[0] {
                0 => self.begin_command(),
                1 => self.step = Step::SequenceLength,
                _ => self.give_up(),
            },
            Step::SequenceLength => match (self.number() as usize).checked_sub(4) {
                Some(inner) if inner <= self.left => {
                    self.sequence_left = inner;
                    self.step = Step::SequenceName;
                }
                _ => self.give_up(),
            },
            Step::SequenceDocument => {
                let length = self.number() as usize;
                if length <= self.sequence_left && self.document() {
                    self.sequence_left -= length;
                    self.sequence();
                } else {
                    self.give_up();
                }
            }
            Step::LegacyHead => self.step = Step::Namespace,
            Step::QueryNumbers if self.is_command => self.begin_command(),
            Step::QueryNumbers => self.step = Step::Rest,
            Step::InsertDocument => {
                self.document();
            }
            _ => unreachable!("steps of no fixed length"),
        }
    }

    /// The zero byte of a step that ends with one is there.
    fn named(&mut self) {
        if self.step == Step::SequenceName {
            let Some(rest) = self.sequence_left.checked_sub(self.name_bytes + 1) else {
                return self.give_up();
            };
            self.sequence_left = rest;
            self.command.keep(&self.name);
            self.sequence();
            return;
        }
        self.is_command = self.name.ends_with(b".$cmd");
        if !self.is_command {
            self.namespace.extend_from_slice(&self.name);
        }
        self.step = match self.opcode {
            OpCode::Query => Step::QueryNumbers,
            OpCode::Insert => Step::InsertDocument,
            _ => Step::Rest,
        };
    }

    fn begin_command(&mut self) {
        self.walk.begin();
        self.step = Step::Command;
    }

    fn section(&mut self) {
        self.step = if self.left > self.tail { Step::SectionKind } else { Step::Rest };
    }

    fn sequence(&mut self) {
        if self.sequence_left > 0 {
            self.step = Step::SequenceDocument;
        } else if self.left - self.skip > self.tail {
            self.step = Step::SectionKind;
        } else {
            self.step = Step::Rest;
        }
    }
}

impl Command {
    fn begin(&mut self, opcode: OpCode) {
        (self.may_wrap, self.depth) = (opcode == OpCode::Query, 0);
        self.has_name = false;
        self.name.clear();
        self.names.clear();
        self.documents = u32::from(matches!(opcode, OpCode::Update | OpCode::Delete));
        if let Some(numbers) = &mut self.numbers {
            numbers.clear();
        }
    }

    fn keep(&mut self, name: &[u8]) {
        if self.names.len() + name.len() < NAMES_BYTES_MAX {
            self.names.extend_from_slice(name);
            self.names.push(0);
        }
    }

    /// Whether an array holds the documents or statements of a write.
    fn counts(&self, name: &[u8]) -> bool {
        matches!(
            (&self.name[..], name),
            (b"insert", b"documents") | (b"update", b"updates") | (b"delete", b"deletes")
        )
    }

    /// A document of such an array: the first one may carry a mark.
    fn document(&mut self) -> Go {
        self.documents = self.documents.saturating_add(1);
        if self.documents == 1 && self.numbers.is_some() { Go::Into } else { Go::Over }
    }
}

impl Visitor for Command {
    fn field(&mut self, depth: usize, kind: u8, name: &[u8]) -> Go {
        match depth - self.depth {
            0 if depth == 0
                && kind == kind::DOCUMENT
                && self.may_wrap
                && !self.has_name
                && (name == b"$query" || name == b"query") =>
            {
                self.depth = 1;
                Go::Into
            }
            0 if !self.has_name => {
                self.has_name = true;
                self.name.extend_from_slice(name);
                Go::Over
            }
            0 => {
                self.keep(name);
                if kind == kind::ARRAY && self.counts(name) { Go::Into } else { Go::Over }
            }
            1 if kind == kind::DOCUMENT => self.document(),
            2 => self.numbers.as_mut().map_or(Go::Over, |numbers| numbers.field(kind, name)),
            // The server refuses anything else in such an array.
            _ => Go::Over,
        }
    }

    fn value(&mut self, kind: u8, bytes: [u8; 8]) {
        if let Some(numbers) = &mut self.numbers {
            numbers.value(kind, bytes);
        }
    }

    fn end(&mut self, depth: usize) {
        if depth == self.depth {
            self.depth = 0; // fields beside `$query` are the command's as well
        }
    }
}
