//! Follows the body of a request as its bytes pass, in pieces of any size: the command's name, the
//! names of its fields, the number of its documents.
//!
//! Only names are kept: values are skipped by their lengths. Holding messages back until they are
//! complete was rejected (a batch of 48 MB for each of a thousand connections). Reading their first
//! bytes only was rejected too (`lsid` and `writeConcern` come after the documents).
//!
//! An unreadable body ends no connection: the server judges it. The message's length still says
//! where the next one begins.

use std::sync::Arc;

use wire::raw::{Size, kind};
use wire::walk::{Go, NAME_BYTES_MAX, Visitor, Walk};
use wire::{HEADER_BYTES, Header, OpCode, WireError};

use super::exchange::MessageMark;
use super::framing::MessageContent;
use super::mark::{MarkFields, Numbers};

/// Bytes of one message's names that are kept; the rest is left out.
const NAMES_BYTES_MAX: usize = 4096;
const CHECKSUM_PRESENT: u32 = 1;
const MORE_TO_COME: u32 = 1 << 1;

/// The part of the body that is read next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyStep {
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
    /// Everything after, which is not read.
    Rest,
}

/// Condition that ends a step.
enum Wants {
    Bytes(usize),
    Zero,
    Document,
    Nothing,
}

impl BodyStep {
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
pub(super) struct RequestBody {
    opcode: OpCode,
    step: BodyStep,
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
    pub command: CommandOutline,
    /// Namespace of a legacy opcode without a command.
    pub namespace: Vec<u8>,
    /// Whether it is an OP_MSG that wants no answer.
    pub more_to_come: bool,
    /// Whether it could not be followed to its end.
    pub unreadable: bool,
}

#[derive(Debug, Default)]
pub(super) struct CommandOutline {
    /// Drivers may wrap the command into `$query`, to give a read preference.
    may_wrap: bool,
    /// Documents around its fields: 1 inside of `$query`.
    depth: usize,
    has_name: bool,
    /// First field of the body.
    pub name: Vec<u8>,
    /// Other fields and the sequences, each ended by a zero byte.
    pub names: Vec<u8>,
    /// Documents of an insert, statements of an update or delete.
    pub documents: u32,
    /// Numbers of the first document, if marks are asked for.
    numbers: Option<Numbers>,
}

impl RequestBody {
    pub fn new(marks: Option<&Arc<MarkFields>>) -> Self {
        let numbers = marks.map(|fields| Numbers::new(fields.clone()));
        Self {
            opcode: OpCode::Msg,
            step: BodyStep::Rest,
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
            command: CommandOutline { numbers, ..CommandOutline::default() },
            namespace: Vec::new(),
            more_to_come: false,
            unreadable: false,
        }
    }

    /// Mark of an insert's first document, if it has one and marks are asked for.
    pub fn mark(&self) -> Option<MessageMark> {
        let inserts = self.opcode == OpCode::Insert || self.command.name == b"insert";
        self.command.numbers.as_ref().filter(|_| inserts && !self.unreadable)?.mark()
    }

    fn pass<'a>(&mut self, bytes: &'a [u8], count: usize) -> &'a [u8] {
        self.left -= count;
        &bytes[count..]
    }

    fn give_up(&mut self) {
        self.unreadable = true;
        self.step = BodyStep::Rest;
    }

    fn number(&self) -> u32 {
        u32::from_le_bytes(*self.fixed.first_chunk().expect("eight bytes"))
    }

    /// Called after the length of a document to write: skips the document.
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

    /// Takes bytes of a document to write: the first one may carry a mark.
    fn look(&mut self, bytes: &[u8]) {
        let Some(numbers) = &mut self.command.numbers else { return };
        self.walk.bytes(bytes, numbers);
        if self.skip == 0 || numbers.mark().is_some() {
            self.walk.stop();
        }
    }

    /// Called when all bytes of a step of fixed length are there.
    fn fixed(&mut self) {
        match self.step {
            BodyStep::MsgFlags => {
                let flags = self.number();
                self.more_to_come = flags & MORE_TO_COME != 0;
                self.tail = if flags & CHECKSUM_PRESENT == 0 { 0 } else { 4 };
                self.section();
            }
            BodyStep::SectionKind => match self.fixed[0] {
                0 => self.begin_command(),
                1 => self.step = BodyStep::SequenceLength,
                _ => self.give_up(),
            },
            BodyStep::SequenceLength => match (self.number() as usize).checked_sub(4) {
                Some(inner) if inner <= self.left => {
                    self.sequence_left = inner;
                    self.step = BodyStep::SequenceName;
                }
                _ => self.give_up(),
            },
            BodyStep::SequenceDocument => {
                let length = self.number() as usize;
                if length <= self.sequence_left && self.document() {
                    self.sequence_left -= length;
                    self.sequence();
                } else {
                    self.give_up();
                }
            }
            BodyStep::LegacyHead => self.step = BodyStep::Namespace,
            BodyStep::QueryNumbers if self.is_command => self.begin_command(),
            BodyStep::QueryNumbers => self.step = BodyStep::Rest,
            BodyStep::InsertDocument => {
                self.document();
            }
            _ => unreachable!("steps of no fixed length"),
        }
    }

    /// Called when the zero byte is there that ends a step.
    fn named(&mut self) {
        if self.step == BodyStep::SequenceName {
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
            OpCode::Query => BodyStep::QueryNumbers,
            OpCode::Insert => BodyStep::InsertDocument,
            _ => BodyStep::Rest,
        };
    }

    fn begin_command(&mut self) {
        self.walk.begin();
        self.step = BodyStep::Command;
    }

    fn section(&mut self) {
        self.step = if self.left > self.tail { BodyStep::SectionKind } else { BodyStep::Rest };
    }

    fn sequence(&mut self) {
        if self.sequence_left > 0 {
            self.step = BodyStep::SequenceDocument;
        } else if self.left - self.skip > self.tail {
            self.step = BodyStep::SectionKind;
        } else {
            self.step = BodyStep::Rest;
        }
    }
}

impl MessageContent for RequestBody {
    fn begin(&mut self, header: &Header) -> Result<(), WireError> {
        let opcode = header.opcode;
        if matches!(opcode, OpCode::Reply | OpCode::Other(_)) {
            return Err(WireError::OpCode(opcode.into()));
        }
        self.opcode = opcode;
        self.step = match opcode {
            OpCode::Msg => BodyStep::MsgFlags,
            OpCode::Query | OpCode::Insert | OpCode::Update | OpCode::Delete | OpCode::GetMore => {
                BodyStep::LegacyHead
            }
            _ => BodyStep::Rest,
        };
        self.left = header.length - HEADER_BYTES;
        (self.skip, self.have, self.tail, self.name_bytes) = (0, 0, 0, 0);
        self.name.clear();
        self.namespace.clear();
        self.walk.stop();
        self.command.begin(opcode);
        (self.is_command, self.more_to_come, self.unreadable) = (false, false, false);
        Ok(())
    }

    fn bytes(&mut self, mut bytes: &[u8]) {
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
                        self.step = BodyStep::Rest;
                    }
                }
            }
        }
    }

    fn end(&mut self) {
        let whole = match self.step {
            BodyStep::Rest => true,
            BodyStep::InsertDocument => self.have == 0,
            _ => false,
        };
        let nameless = (self.opcode == OpCode::Msg || self.is_command) && !self.command.has_name;
        self.unreadable |= !whole || nameless;
    }
}

impl CommandOutline {
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

    /// Whether an array has the documents or statements of a write.
    fn counts(&self, name: &[u8]) -> bool {
        matches!(
            (&self.name[..], name),
            (b"insert", b"documents") | (b"update", b"updates") | (b"delete", b"deletes")
        )
    }

    /// Counts a document of such an array: the first one may carry a mark.
    fn document(&mut self) -> Go {
        self.documents = self.documents.saturating_add(1);
        if self.documents == 1 && self.numbers.is_some() { Go::Into } else { Go::Over }
    }
}

impl Visitor for CommandOutline {
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
            2 => self.numbers.as_mut().map_or(Go::Over, |numbers| numbers.field(0, kind, name)),
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
