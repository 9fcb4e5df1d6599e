//! Follows one BSON document while its bytes pass in pieces of any size. Shows a visitor the fields
//! that it wants to see. It keeps no more than a name and eight bytes.

use super::raw::{Size, kind};

/// Names longer than this are cut: no visitor looks for them.
pub const NAME_BYTES_MAX: usize = 128;

/// The visitor's choice for a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Go {
    /// Nothing.
    Over,
    /// The fields inside; for documents and arrays.
    Into,
    /// The value; for types of at most eight bytes.
    Read,
}

/// Sees the fields of a document.
pub trait Visitor {
    /// A field begins, `depth` documents inside of the outermost.
    fn field(&mut self, depth: usize, kind: u8, name: &[u8]) -> Go;
    /// The value of a field that was to be read; shorter ones are followed by zeros.
    fn value(&mut self, kind: u8, bytes: [u8; 8]);
    /// The document or array with fields of `depth` ends.
    fn end(&mut self, depth: usize);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum WalkState {
    Length,
    Kind,
    Name,
    Value,
    ValueLength,
    Pattern,
    PatternOptions,
    /// The document has ended, or there is none.
    #[default]
    Ended,
    /// It cannot be followed.
    Failed,
}

/// The document under way; at first none.
#[derive(Debug, Default)]
pub struct Walk {
    step: WalkState,
    /// Bytes to hop over before `step`.
    skip: usize,
    fixed: [u8; 8],
    have: usize,
    name: Vec<u8>,
    kind: u8,
    /// Documents entered.
    depth: usize,
}

impl Walk {
    /// A document begins with its next byte.
    pub fn begin(&mut self) {
        (self.step, self.skip, self.have, self.depth) = (WalkState::Length, 0, 0, 0);
        self.name.clear();
    }

    /// Looks at nothing more.
    pub fn stop(&mut self) {
        self.step = WalkState::Ended;
    }

    pub fn is_done(&self) -> bool {
        self.step == WalkState::Ended || self.has_failed()
    }

    pub fn has_failed(&self) -> bool {
        self.step == WalkState::Failed
    }

    /// Takes the next bytes; returns those after the document's end.
    pub fn bytes<'a>(&mut self, mut bytes: &'a [u8], visitor: &mut impl Visitor) -> &'a [u8] {
        while !bytes.is_empty() && !self.is_done() {
            if self.skip > 0 {
                let count = self.skip.min(bytes.len());
                self.skip -= count;
                bytes = &bytes[count..];
                continue;
            }
            let used = match self.step {
                WalkState::Length | WalkState::ValueLength => self.take(bytes, 4, visitor),
                WalkState::Kind => self.take(bytes, 1, visitor),
                WalkState::Value => {
                    self.take(bytes, if self.kind == kind::INT { 4 } else { 8 }, visitor)
                }
                WalkState::Name | WalkState::Pattern | WalkState::PatternOptions => {
                    self.text(bytes, visitor)
                }
                WalkState::Ended | WalkState::Failed => 0,
            };
            bytes = &bytes[used..];
        }
        bytes
    }

    fn take(&mut self, bytes: &[u8], wanted: usize, visitor: &mut impl Visitor) -> usize {
        let count = (wanted - self.have).min(bytes.len());
        self.fixed[self.have..self.have + count].copy_from_slice(&bytes[..count]);
        self.have += count;
        if self.have == wanted {
            self.have = 0;
            self.taken(visitor);
        }
        count
    }

    fn taken(&mut self, visitor: &mut impl Visitor) {
        match self.step {
            WalkState::Length => self.step = WalkState::Kind,
            WalkState::Kind => {
                self.kind = self.fixed[0];
                if self.kind == 0 {
                    visitor.end(self.depth);
                    self.step = if self.depth == 0 { WalkState::Ended } else { WalkState::Kind };
                    self.depth = self.depth.saturating_sub(1);
                } else {
                    self.step = WalkState::Name;
                }
            }
            WalkState::ValueLength => {
                let length = *self.fixed.first_chunk().expect("eight bytes");
                let behind = Size::of(self.kind).behind(length);
                self.step = if behind.is_some() { WalkState::Kind } else { WalkState::Failed };
                self.skip = behind.unwrap_or_default();
            }
            _ => {
                let mut value = self.fixed;
                if self.kind == kind::INT {
                    value[4..].fill(0);
                }
                visitor.value(self.kind, value);
                self.step = WalkState::Kind;
            }
        }
    }

    /// Takes bytes up to the zero byte, which is counted.
    fn text(&mut self, bytes: &[u8], visitor: &mut impl Visitor) -> usize {
        let zero = bytes.iter().position(|byte| *byte == 0);
        let text = &bytes[..zero.unwrap_or(bytes.len())];
        if self.step == WalkState::Name {
            let room = NAME_BYTES_MAX.saturating_sub(self.name.len());
            self.name.extend_from_slice(&text[..text.len().min(room)]);
        }
        if zero.is_some() {
            self.step = match self.step {
                WalkState::Name => self.named(visitor),
                WalkState::Pattern => WalkState::PatternOptions,
                _ => WalkState::Kind,
            };
        }
        text.len() + usize::from(zero.is_some())
    }

    fn named(&mut self, visitor: &mut impl Visitor) -> WalkState {
        let go = visitor.field(self.depth, self.kind, &self.name);
        self.name.clear();
        match (go, Size::of(self.kind)) {
            (Go::Into, _) => {
                self.depth += 1;
                WalkState::Length
            }
            (Go::Read, _) => WalkState::Value,
            (Go::Over, Size::Fixed(bytes)) => {
                self.skip = bytes;
                WalkState::Kind
            }
            (Go::Over, Size::Counted { .. }) => WalkState::ValueLength,
            (Go::Over, Size::Pattern) => WalkState::Pattern,
            (Go::Over, Size::Unknown) => WalkState::Failed,
        }
    }
}
