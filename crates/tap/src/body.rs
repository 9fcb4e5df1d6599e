//! Follows the body of a request while its bytes pass, in pieces of any size: the command's name,
//! the names of its fields, how many documents it carries.
//!
//! Nothing is kept but names: values are hopped over by their lengths. Holding messages back until
//! they are whole was rejected (a batch of 48 MB for each of a thousand connections), and so was
//! looking at their first bytes only (`lsid` and `writeConcern` stand behind the documents).
//!
//! A body that cannot be followed is no reason to end a connection: the server is its judge. The
//! message's length still says where the next one begins.

use std::sync::Arc;

use wire::OpCode;

use super::exchange::Mark;
use super::mark::{First, MarkFields};
use super::walk::{DOCUMENT_BYTES_MIN, NAME_BYTES_MAX, Size, kind};

/// Names of one message kept; the rest is left out.
const NAMES_BYTES_MAX: usize = 4096;
const CHECKSUM_PRESENT: u32 = 1;
const MORE_TO_COME: u32 = 1 << 1;

/// What is read next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    MsgFlags,
    SectionKind,
    SequenceLength,
    SequenceName,
    SequenceDocument,
    /// Four bytes that mean nothing to us, before a namespace.
    LegacyHead,
    Namespace,
    /// numberToSkip and numberToReturn of OP_QUERY.
    QueryNumbers,
    InsertDocument,
    DocumentLength,
    ElementType,
    ElementName,
    ValueLength,
    RegexOptions,
    Regex,
    ArrayLength,
    ArrayType,
    ArrayName,
    ArrayDocument,
    /// Whatever follows is of no interest.
    Rest,
}

/// How a step's bytes end.
enum Wants {
    Bytes(usize),
    /// A zero byte.
    Zero,
    Nothing,
}

impl Step {
    fn wants(self) -> Wants {
        match self {
            Self::SectionKind | Self::ElementType | Self::ArrayType => Wants::Bytes(1),
            Self::MsgFlags
            | Self::SequenceLength
            | Self::SequenceDocument
            | Self::LegacyHead
            | Self::InsertDocument
            | Self::DocumentLength
            | Self::ValueLength
            | Self::ArrayLength
            | Self::ArrayDocument => Wants::Bytes(4),
            Self::QueryNumbers => Wants::Bytes(8),
            Self::SequenceName
            | Self::Namespace
            | Self::ElementName
            | Self::RegexOptions
            | Self::Regex
            | Self::ArrayName => Wants::Zero,
            Self::Rest => Wants::Nothing,
        }
    }
}

/// The body under way.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // each says one thing that was read
pub(super) struct Body {
    opcode: OpCode,
    step: Step,
    /// Body bytes not looked at yet.
    left: usize,
    /// Bytes to hop over before `step`.
    skip: usize,
    fixed: [u8; 8],
    have: usize,
    name: Vec<u8>,
    /// Bytes of the name under way, also beyond what is kept.
    name_bytes: usize,
    element: u8,
    /// Bytes of a checksum at the end.
    tail: usize,
    sequence_left: usize,
    /// Inside of `$query`, where drivers wrap a command to give a read preference.
    wrapped: bool,
    /// OP_QUERY on `DATABASE.$cmd`.
    is_command: bool,
    has_command: bool,
    /// Looks at the first document, where marks are asked for.
    first: Option<Box<First>>,
    /// Of a legacy opcode, and no command.
    pub namespace: Vec<u8>,
    /// First field of the body.
    pub command: Vec<u8>,
    /// Its other fields and the sequences, each ended by a zero byte.
    pub names: Vec<u8>,
    /// Documents of an insert, statements of an update or delete.
    pub documents: u32,
    /// OP_MSG that wants no answer.
    pub more_to_come: bool,
    /// It could not be followed to its end.
    pub unreadable: bool,
}

impl Body {
    pub fn new(marks: Option<&Arc<MarkFields>>) -> Self {
        Self {
            opcode: OpCode::Msg,
            step: Step::Rest,
            left: 0,
            skip: 0,
            fixed: [0; 8],
            have: 0,
            name: Vec::new(),
            name_bytes: 0,
            element: 0,
            tail: 0,
            sequence_left: 0,
            wrapped: false,
            is_command: false,
            has_command: false,
            first: marks.map(|fields| Box::new(First::new(fields.clone()))),
            namespace: Vec::new(),
            command: Vec::new(),
            names: Vec::new(),
            documents: 0,
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
        (self.wrapped, self.is_command, self.has_command) = (false, false, false);
        for names in [&mut self.name, &mut self.namespace, &mut self.command, &mut self.names] {
            names.clear();
        }
        self.documents = u32::from(matches!(opcode, OpCode::Update | OpCode::Delete));
        (self.more_to_come, self.unreadable) = (false, false);
        if let Some(first) = &mut self.first {
            first.clear();
        }
    }

    /// Which message an insert carries first; None: none, or nobody asked.
    pub fn mark(&self) -> Option<Mark> {
        let inserts = self.opcode == OpCode::Insert || self.command == b"insert";
        self.first.as_ref().filter(|_| inserts && !self.unreadable)?.mark()
    }

    /// The next bytes of the body, never more than it has.
    pub fn bytes(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.skip > 0 {
                let count = self.skip.min(bytes.len());
                self.skip -= count;
                if let Some(first) = &mut self.first {
                    first.bytes(&bytes[..count], self.skip == 0);
                }
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
            }
        }
    }

    /// The message is through.
    pub fn end(&mut self) {
        let whole = match self.step {
            Step::Rest => true,
            Step::InsertDocument => self.have == 0,
            _ => false,
        };
        let nameless = (self.opcode == OpCode::Msg || self.is_command) && !self.has_command;
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

    /// The length just read, of something that has `before` of its bytes behind us and at least
    /// `least` in all; hops over the rest of it, plus `after`.
    fn hop(&mut self, before: usize, least: usize, after: usize) -> bool {
        let length = self.number() as usize;
        if length < least || length - before + after > self.left {
            self.give_up();
            return false;
        }
        self.skip = length - before + after;
        true
    }

    /// The length just read is that of one of the documents to write, which is hopped over.
    fn document(&mut self) -> bool {
        if !self.hop(4, DOCUMENT_BYTES_MIN, 0) {
            return false;
        }
        if let (Some(first), 0) = (&mut self.first, self.documents) {
            first.begin(*self.fixed.first_chunk().expect("eight bytes"));
        }
        self.documents = self.documents.saturating_add(1);
        true
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
                0 => self.step = Step::DocumentLength,
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
            Step::QueryNumbers => {
                self.step = if self.is_command { Step::DocumentLength } else { Step::Rest };
            }
            Step::InsertDocument => {
                self.document();
            }
            Step::DocumentLength => self.step = Step::ElementType,
            Step::ElementType => self.element_type(),
            Step::ValueLength => self.value_length(),
            Step::ArrayLength => self.step = Step::ArrayType,
            Step::ArrayType => {
                let end = self.fixed[0] == 0;
                self.step = if end { Step::ElementType } else { Step::ArrayName };
            }
            Step::ArrayDocument => {
                if self.document() {
                    self.step = Step::ArrayType;
                }
            }
            _ => unreachable!("steps that end with a zero byte"),
        }
    }

    /// The zero byte of a step that ends with one is there.
    fn named(&mut self) {
        match self.step {
            Step::SequenceName => {
                let Some(rest) = self.sequence_left.checked_sub(self.name_bytes + 1) else {
                    return self.give_up();
                };
                self.sequence_left = rest;
                self.keep_name();
                self.sequence();
            }
            Step::Namespace => {
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
            Step::ElementName => self.element_name(),
            Step::Regex => self.step = Step::RegexOptions,
            Step::RegexOptions => self.step = Step::ElementType,
            Step::ArrayName => {
                // Documents are counted, anything else in such an array is the server's to refuse.
                if self.element == kind::ARRAY && self.fixed[0] == kind::DOCUMENT {
                    self.step = Step::ArrayDocument;
                } else {
                    self.give_up();
                }
            }
            _ => unreachable!("steps of fixed length"),
        }
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

    fn element_type(&mut self) {
        self.element = self.fixed[0];
        if self.element != 0 {
            self.step = Step::ElementName;
        } else if self.wrapped {
            self.wrapped = false;
            self.step = Step::ElementType;
        } else if self.opcode == OpCode::Msg {
            self.section();
        } else {
            self.step = Step::Rest;
        }
    }

    fn element_name(&mut self) {
        let wraps =
            self.opcode == OpCode::Query && !self.has_command && self.element == kind::DOCUMENT;
        if wraps && (self.name == b"$query" || self.name == b"query") {
            self.wrapped = true;
            self.step = Step::DocumentLength;
            return;
        }
        if !self.has_command {
            self.has_command = true;
            self.command.extend_from_slice(&self.name);
        } else if self.element == kind::ARRAY && self.counts() {
            self.keep_name();
            self.step = Step::ArrayLength;
            return;
        } else {
            self.keep_name();
        }
        self.step = match Size::of(self.element) {
            Size::Fixed(bytes) => {
                self.skip = bytes;
                Step::ElementType
            }
            Size::Counted { .. } => Step::ValueLength,
            Size::Pattern => Step::Regex,
            Size::Unknown => return self.give_up(),
        };
    }

    fn value_length(&mut self) {
        let Size::Counted { before, least, after } = Size::of(self.element) else {
            unreachable!("only such values have a length")
        };
        if self.hop(before, least, after) {
            self.step = Step::ElementType;
        }
    }

    /// Whether the array that begins holds what the command writes.
    fn counts(&self) -> bool {
        matches!(
            (&self.command[..], &self.name[..]),
            (b"insert", b"documents") | (b"update", b"updates") | (b"delete", b"deletes")
        )
    }

    fn keep_name(&mut self) {
        if self.names.len() + self.name.len() < NAMES_BYTES_MAX {
            self.names.extend_from_slice(&self.name);
            self.names.push(0);
        }
    }
}
