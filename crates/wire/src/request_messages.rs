//! Requests of drivers.

use bson::RawDocument;

use super::{HEADER_BYTES, Header, OpCode, WireError};

/// OP_MSG: a CRC-32C is at its end. It is not verified, since it protects nothing on one host.
const CHECKSUM_PRESENT: u32 = 1;
/// OP_MSG: no answer is wanted.
const MORE_TO_COME: u32 = 1 << 1;
/// The first 16 flags must be understood, the others may be ignored.
const REQUIRED_FLAGS: u32 = 0xffff;
const CHECKSUM_BYTES: usize = 4;

/// A request, borrowed from its message.
#[derive(Debug)]
pub enum RequestMessage<'a> {
    Msg(Msg<'a>),
    Query(Query<'a>),
    Insert { flags: u32, namespace: &'a str, documents: Vec<&'a RawDocument> },
    Update { flags: u32, namespace: &'a str, filter: &'a RawDocument, update: &'a RawDocument },
    Delete { flags: u32, namespace: &'a str, filter: &'a RawDocument },
    GetMore { namespace: &'a str, number_to_return: i32, cursor: i64 },
    KillCursors { cursors: Vec<i64> },
}

/// OP_MSG.
#[derive(Debug)]
pub struct Msg<'a> {
    /// w:0: no answer is wanted.
    pub more_to_come: bool,
    pub body: &'a RawDocument,
    /// Document sequences: a field of the command, and its documents.
    pub sequences: Vec<(&'a str, Vec<&'a RawDocument>)>,
}

/// OP_QUERY: a find, or on a collection `$cmd` a command.
#[derive(Debug)]
pub struct Query<'a> {
    pub flags: u32,
    /// `database.collection`
    pub namespace: &'a str,
    pub number_to_skip: i32,
    /// Negative or 1: one batch and no cursor; 0: the server's default.
    pub number_to_return: i32,
    pub query: &'a RawDocument,
    pub fields: Option<&'a RawDocument>,
}

impl<'a> RequestMessage<'a> {
    /// Reads a whole message. Documents are checked as far as their lengths; their elements are
    /// read where they are used.
    pub fn parse(header: &Header, message: &'a [u8]) -> Result<Self, WireError> {
        let mut rest = Rest(&message[HEADER_BYTES..]);
        let request = match header.opcode {
            OpCode::Msg => Self::Msg(msg(&mut rest)?),
            OpCode::Query => Self::Query(query(&mut rest)?),
            OpCode::Insert => Self::Insert {
                flags: rest.u32()?,
                namespace: rest.string()?,
                documents: rest.documents()?,
            },
            OpCode::Update => {
                rest.u32()?;
                let namespace = rest.string()?;
                let flags = rest.u32()?;
                Self::Update {
                    namespace,
                    flags,
                    filter: rest.document()?,
                    update: rest.document()?,
                }
            }
            OpCode::Delete => {
                rest.u32()?;
                let namespace = rest.string()?;
                Self::Delete { namespace, flags: rest.u32()?, filter: rest.document()? }
            }
            OpCode::GetMore => {
                rest.u32()?;
                let namespace = rest.string()?;
                Self::GetMore { namespace, number_to_return: rest.i32()?, cursor: rest.i64()? }
            }
            OpCode::KillCursors => {
                rest.u32()?;
                let count = rest.u32()?;
                let mut cursors = Vec::new();
                for _ in 0..count {
                    cursors.push(rest.i64()?);
                }
                Self::KillCursors { cursors }
            }
            OpCode::Reply | OpCode::Compressed | OpCode::Other(_) => {
                return Err(WireError::OpCode(header.opcode.into()));
            }
        };
        if rest.0.is_empty() { Ok(request) } else { Err(WireError::Long(rest.0.len())) }
    }
}

fn msg<'a>(rest: &mut Rest<'a>) -> Result<Msg<'a>, WireError> {
    let flags = rest.u32()?;
    let unknown = flags & REQUIRED_FLAGS & !(CHECKSUM_PRESENT | MORE_TO_COME);
    if unknown != 0 {
        return Err(WireError::Flags(unknown));
    }
    if flags & CHECKSUM_PRESENT != 0 {
        let length = rest.0.len().checked_sub(CHECKSUM_BYTES);
        rest.0 = &rest.0[..length.ok_or(WireError::Short("a checksum"))?];
    }
    let (mut bodies, mut sequences) = (Vec::new(), Vec::new());
    while let Some((kind, after)) = rest.0.split_first() {
        rest.0 = after;
        match kind {
            0 => bodies.push(rest.document()?),
            1 => sequences.push(sequence(rest)?),
            other => return Err(WireError::Section(*other)),
        }
    }
    let &[body] = &bodies[..] else { return Err(WireError::Bodies(bodies.len())) };
    Ok(Msg { more_to_come: flags & MORE_TO_COME != 0, body, sequences })
}

fn sequence<'a>(rest: &mut Rest<'a>) -> Result<(&'a str, Vec<&'a RawDocument>), WireError> {
    // The length counts its own four bytes.
    let length = (rest.u32()? as usize).checked_sub(4).ok_or(WireError::Short("a sequence"))?;
    let mut inner = Rest(rest.take(length)?);
    Ok((inner.string()?, inner.documents()?))
}

fn query<'a>(rest: &mut Rest<'a>) -> Result<Query<'a>, WireError> {
    Ok(Query {
        flags: rest.u32()?,
        namespace: rest.string()?,
        number_to_skip: rest.i32()?,
        number_to_return: rest.i32()?,
        query: rest.document()?,
        fields: if rest.0.is_empty() { None } else { Some(rest.document()?) },
    })
}

/// The rest of a message.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let taken = self.0.split_at_checked(length).ok_or(WireError::Short("a field"))?;
        self.0 = taken.1;
        Ok(taken.0)
    }

    fn i32(&mut self) -> Result<i32, WireError> {
        Ok(i32::from_le_bytes(self.take(4)?.try_into().expect("4 bytes")))
    }

    fn u32(&mut self) -> Result<u32, WireError> {
        Ok(self.i32()?.cast_unsigned())
    }

    fn i64(&mut self) -> Result<i64, WireError> {
        Ok(i64::from_le_bytes(self.take(8)?.try_into().expect("8 bytes")))
    }

    /// Up to the first zero byte.
    fn string(&mut self) -> Result<&'a str, WireError> {
        let end = self.0.iter().position(|byte| *byte == 0);
        let bytes = self.take(end.ok_or(WireError::Short("a name"))?)?;
        self.take(1)?;
        std::str::from_utf8(bytes).map_err(|_| WireError::Utf8)
    }

    fn document(&mut self) -> Result<&'a RawDocument, WireError> {
        let length = *self.0.first_chunk().ok_or(WireError::Short("a document"))?;
        let length = usize::try_from(i32::from_le_bytes(length)).unwrap_or(0);
        let bytes = self.0.get(..length).ok_or(WireError::Short("a document"))?;
        let document =
            RawDocument::from_bytes(bytes).map_err(|error| WireError::Bson(error.to_string()))?;
        self.0 = &self.0[length..];
        Ok(document)
    }

    fn documents(&mut self) -> Result<Vec<&'a RawDocument>, WireError> {
        let mut documents = Vec::new();
        while !self.0.is_empty() {
            documents.push(self.document()?);
        }
        Ok(documents)
    }
}
