//! The tap's record of one command and its answer: 80 bytes, little-endian.
//!
//! | bytes | field | meaning |
//! |---|---|---|
//! | 0..8 | `request_in_ns` | last request byte read from the client |
//! | 8..16 | `request_out_ns` | last request byte given to the kernel, for the server |
//! | 16..24 | `reply_first_ns` | first reply byte read from the server |
//! | 24..32 | `reply_last_ns` | last reply byte read from the server |
//! | 32..40 | `reply_out_ns` | last reply byte given to the kernel, for the client |
//! | 40..44 | `bytes_out` | length of the request, bytes |
//! | 44..48 | `bytes_in` | length of the reply, bytes |
//! | 48..52 | `documents` | documents of an insert, statements of an update or delete |
//! | 52..56 | `connection` | its number in the proxy, from 1 |
//! | 56..60 | `shape` | index into the shapes of the recording |
//! | 60..64 | `flags` | [`flags`] |
//! | 64..72 | `mark_sequence` | number of the message, where [`flags::MARKED`] is set, else 0 |
//! | 72..76 | `mark_producer` | its producer, likewise |
//! | 76..80 | `documents_in` | documents of the reply from the marked one on; 0 without one |
//!
//! Times are ns since the experiment's epoch (CLOCK_MONOTONIC). The reply's times are 0 where there
//! was none. `request_in_ns` and `reply_last_ns` are those of a link with endless buffers. A full
//! buffer keeps the tap from reading within a message; that time is subtracted, because it is the
//! link's and neither the client's nor the server's.
//!
//! Marks are recorded only if they were asked for (see `mark`). With `documents_in` the mark is the
//! first message's in the reply. Without it the mark is the first document's of the insert.

use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};

use base::error::{Error, Result};

pub const EXCHANGE_BYTES: usize = 80;

/// Bits of [`Exchange::flags`].
pub mod flags {
    /// There was a reply.
    pub const ANSWERED: u32 = 1;
    /// The client wanted no reply (w:0 in OP_MSG).
    pub const MORE_TO_COME: u32 = 1 << 1;
    /// A legacy opcode.
    pub const LEGACY: u32 = 1 << 2;
    /// The request, the reply or both are OP_COMPRESSED.
    pub const COMPRESSED: u32 = 1 << 3;
    /// A reply without a request: the server sends it unasked (exhaust).
    pub const STREAMED: u32 = 1 << 4;
    /// The request's body could not be followed; its bytes were passed on all the same.
    pub const UNREADABLE: u32 = 1 << 5;
    /// The request or the reply carries a known message.
    pub const MARKED: u32 = 1 << 6;
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exchange {
    pub request_in_ns: u64,
    pub request_out_ns: u64,
    pub reply_first_ns: u64,
    pub reply_last_ns: u64,
    pub reply_out_ns: u64,
    pub bytes_out: u32,
    pub bytes_in: u32,
    pub documents: u32,
    pub connection: u32,
    pub shape: u32,
    pub flags: u32,
    pub mark_sequence: u64,
    pub mark_producer: u32,
    pub documents_in: u32,
}

/// The identity of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageMark {
    pub producer: u32,
    /// Number among the messages of its producer.
    pub sequence: u64,
}

impl Exchange {
    pub fn is(&self, bits: u32) -> bool {
        self.flags & bits == bits
    }

    /// Mark of its message, if it has one and marks were asked for.
    pub fn mark(&self) -> Option<MessageMark> {
        let mark = MessageMark { producer: self.mark_producer, sequence: self.mark_sequence };
        self.is(flags::MARKED).then_some(mark)
    }

    pub fn set_mark(&mut self, mark: MessageMark) {
        (self.mark_producer, self.mark_sequence) = (mark.producer, mark.sequence);
        self.flags |= flags::MARKED;
    }

    /// From the last request byte in to the last reply byte out, ns; 0 without a reply.
    pub fn whole_ns(&self) -> u64 {
        self.reply_out_ns.saturating_sub(self.request_in_ns)
    }

    /// Time on the link, both ways, ns. Without a link it is the tap's own time.
    pub fn link_ns(&self) -> u64 {
        self.request_out_ns.saturating_sub(self.request_in_ns)
            + self.reply_out_ns.saturating_sub(self.reply_last_ns)
    }

    /// Server and wire, ns. Without a link the tap's own forwarding is part of the wire.
    pub fn server_ns(&self, linked: bool) -> u64 {
        if linked { self.whole_ns().saturating_sub(self.link_ns()) } else { self.whole_ns() }
    }

    pub fn from_bytes(bytes: &[u8; EXCHANGE_BYTES]) -> Self {
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        Self {
            request_in_ns: u64_at(0),
            request_out_ns: u64_at(8),
            reply_first_ns: u64_at(16),
            reply_last_ns: u64_at(24),
            reply_out_ns: u64_at(32),
            bytes_out: u32_at(40),
            bytes_in: u32_at(44),
            documents: u32_at(48),
            connection: u32_at(52),
            shape: u32_at(56),
            flags: u32_at(60),
            mark_sequence: u64_at(64),
            mark_producer: u32_at(72),
            documents_in: u32_at(76),
        }
    }

    pub fn to_bytes(&self) -> [u8; EXCHANGE_BYTES] {
        let mut bytes = [0; EXCHANGE_BYTES];
        let times = [
            self.request_in_ns,
            self.request_out_ns,
            self.reply_first_ns,
            self.reply_last_ns,
            self.reply_out_ns,
        ];
        for (place, time) in bytes[..40].chunks_exact_mut(8).zip(times) {
            place.copy_from_slice(&time.to_le_bytes());
        }
        let numbers = [
            self.bytes_out,
            self.bytes_in,
            self.documents,
            self.connection,
            self.shape,
            self.flags,
        ];
        for (place, number) in bytes[40..64].chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes[64..72].copy_from_slice(&self.mark_sequence.to_le_bytes());
        bytes[72..76].copy_from_slice(&self.mark_producer.to_le_bytes());
        bytes[76..80].copy_from_slice(&self.documents_in.to_le_bytes());
        bytes
    }
}

/// All records of a file. A killed tap may leave a torn last one, which is left out.
pub fn read(path: &Path) -> Result<Vec<Exchange>> {
    Exchanges::open(path)?.collect()
}

/// The records of one file in constant memory. They stop at an error.
pub struct Exchanges {
    path: PathBuf,
    /// The file; None after an error, which would otherwise be returned for ever.
    file: Option<BufReader<File>>,
}

impl Exchanges {
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::file("read", path, &error))?;
        let file = Some(BufReader::with_capacity(1 << 18, file));
        Ok(Self { path: path.to_owned(), file })
    }
}

impl Iterator for Exchanges {
    type Item = Result<Exchange>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut bytes = [0; EXCHANGE_BYTES];
        match self.file.as_mut()?.read_exact(&mut bytes) {
            Ok(()) => Some(Ok(Exchange::from_bytes(&bytes))),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(error) => {
                self.file = None;
                Some(Err(Error::file("read", &self.path, &error)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_laid_out_as_its_table_says() {
        let exchange = Exchange {
            request_in_ns: 0x0102_0304_0506_0708,
            request_out_ns: 2,
            reply_first_ns: 3,
            reply_last_ns: 4,
            reply_out_ns: 5,
            bytes_out: 6,
            bytes_in: 7,
            documents: 8,
            connection: 9,
            shape: 10,
            flags: flags::ANSWERED | flags::COMPRESSED,
            mark_sequence: 0x0102_0304_0506_0708,
            mark_producer: 11,
            documents_in: 12,
        };
        let bytes = exchange.to_bytes();
        assert_eq!(bytes[..8], [8, 7, 6, 5, 4, 3, 2, 1]);
        for (at, value) in [(8, 2), (16, 3), (24, 4), (32, 5), (40, 6), (44, 7), (48, 8), (52, 9)] {
            assert_eq!(bytes[at], value);
        }
        assert_eq!((bytes[56], bytes[60]), (10, 9));
        assert_eq!(bytes[64..72], [8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!((bytes[72], bytes[76]), (11, 12));
        assert_eq!(Exchange::from_bytes(&bytes), exchange);
    }
}
