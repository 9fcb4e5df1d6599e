//! Follows message boundaries in a stream of bytes that has already been passed on.
//!
//! There is one for each direction of a connection. For messages of any length it keeps 16 bytes of
//! a header and the state of the body under way.

use wire::{HEADER_BYTES, Header, WireError};

const TLS_HANDSHAKE: u8 = 0x16;
const TLS_MAJOR: u8 = 3;

/// When a piece of the stream passed, ns since the epoch.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_field_names)] // names hold units
pub(super) struct Passed {
    pub read_ns: u64,
    pub written_ns: u64,
    /// Total time so far for which full link buffers kept this direction from reading.
    pub held_ns: u64,
}

/// A message that has passed.
#[derive(Debug, Clone, Copy)]
pub(super) struct PassedMessage {
    pub header: Header,
    /// When the first byte was read.
    pub first_ns: u64,
    /// When the last byte would have been read with unlimited buffers of the link.
    pub read_ns: u64,
    /// When the last byte was written on.
    pub written_ns: u64,
}

/// The use that a direction makes of a message's body.
pub(super) trait MessageContent {
    fn begin(&mut self, header: &Header) -> Result<(), WireError>;
    /// Takes the next bytes of the body, never more than it has.
    fn bytes(&mut self, bytes: &[u8]);
    fn end(&mut self);
}

#[derive(Debug)]
pub(super) struct Follower<C> {
    head: [u8; HEADER_BYTES],
    have: usize,
    header: Option<Header>,
    /// Bytes of the message under way still to come.
    left: usize,
    first: Passed,
    messages: u64,
    /// Whether the stream is encrypted, so that its bytes are no messages.
    pub encrypted: bool,
    /// Content of the message that is passing or has just passed.
    pub content: C,
}

impl<C: MessageContent> Follower<C> {
    pub fn new(content: C) -> Self {
        Self {
            head: [0; HEADER_BYTES],
            have: 0,
            header: None,
            left: 0,
            first: Passed::default(),
            messages: 0,
            encrypted: false,
            content,
        }
    }

    /// The next bytes of the stream; `each` is called for every message that ends in them.
    ///
    /// # Errors
    /// An impossible header: where the next message begins is unknown.
    pub fn follow(
        &mut self,
        mut bytes: &[u8],
        passed: Passed,
        mut each: impl FnMut(PassedMessage, &C),
    ) -> Result<(), WireError> {
        while !bytes.is_empty() && !self.encrypted {
            let Some(header) = self.header else {
                bytes = self.head(bytes, passed)?;
                continue;
            };
            let count = self.left.min(bytes.len());
            self.content.bytes(&bytes[..count]);
            bytes = &bytes[count..];
            self.left -= count;
            if self.left == 0 {
                self.end(header, passed, &mut each);
            }
        }
        // A message that is nothing but a header ends with it.
        if let (Some(header), 0) = (self.header, self.left) {
            self.end(header, passed, &mut each);
        }
        Ok(())
    }

    fn head<'a>(&mut self, bytes: &'a [u8], passed: Passed) -> Result<&'a [u8], WireError> {
        if self.have == 0 {
            self.first = passed;
        }
        let count = (HEADER_BYTES - self.have).min(bytes.len());
        self.head[self.have..self.have + count].copy_from_slice(&bytes[..count]);
        self.have += count;
        if self.have == HEADER_BYTES {
            self.have = 0;
            let begun = Header::parse(&self.head).and_then(|header| {
                self.content.begin(&header)?;
                Ok(header)
            });
            match begun {
                Ok(header) => {
                    self.left = header.length - HEADER_BYTES;
                    self.header = Some(header);
                }
                // TLS is assumed only if a message would be wrong: a header may begin with the same
                // bytes.
                Err(_) if self.messages == 0 && is_tls(&self.head) => self.encrypted = true,
                Err(error) => return Err(error),
            }
        }
        Ok(&bytes[count..])
    }

    fn end(&mut self, header: Header, passed: Passed, each: &mut impl FnMut(PassedMessage, &C)) {
        self.content.end();
        self.header = None;
        self.messages += 1;
        let held_ns = passed.held_ns - self.first.held_ns;
        let message = PassedMessage {
            header,
            first_ns: self.first.read_ns,
            read_ns: passed.read_ns.saturating_sub(held_ns).max(self.first.read_ns),
            written_ns: passed.written_ns,
        };
        each(message, &self.content);
    }
}

fn is_tls(head: &[u8; HEADER_BYTES]) -> bool {
    head[0] == TLS_HANDSHAKE && head[1] == TLS_MAJOR
}

#[cfg(test)]
mod tests {
    use bson::{Bson, RawDocumentBuf, doc, rawdoc};

    use rand_core::{Rng as _, SeedableRng as _};

    use super::super::request_body::RequestBody;
    use super::*;

    /// The follower's view of one request.
    #[derive(Debug, Clone, PartialEq, Eq, Default)]
    struct Seen {
        command: String,
        namespace: String,
        names: Vec<String>,
        documents: u32,
        more_to_come: bool,
        unreadable: bool,
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    fn seen(body: &RequestBody) -> Seen {
        let names = body.command.names.split(|byte| *byte == 0).filter(|it| !it.is_empty());
        Seen {
            command: text(&body.command.name),
            namespace: text(&body.namespace),
            names: names.map(text).collect(),
            documents: body.command.documents,
            more_to_come: body.more_to_come,
            unreadable: body.unreadable,
        }
    }

    /// Follows a stream in pieces of `piece` bytes.
    fn follow(stream: &[u8], piece: usize) -> Result<Vec<Seen>, WireError> {
        let mut follower = Follower::new(RequestBody::new(None));
        let mut all = Vec::new();
        for bytes in stream.chunks(piece) {
            follower.follow(bytes, Passed::default(), |_, body| all.push(seen(body)))?;
        }
        Ok(all)
    }

    fn message(opcode: i32, body: &[u8]) -> Vec<u8> {
        let length = HEADER_BYTES + body.len();
        let header = Header { length, request_id: 7, response_to: 0, opcode: opcode.into() };
        [&header.to_bytes()[..], body].concat()
    }

    fn msg(flags: u32, sections: &[Vec<u8>], tail: &[u8]) -> Vec<u8> {
        message(2013, &[&flags.to_le_bytes()[..], &sections.concat(), tail].concat())
    }

    fn body(document: &RawDocumentBuf) -> Vec<u8> {
        [&[0][..], document.as_bytes()].concat()
    }

    fn sequence(name: &str, documents: usize) -> Vec<u8> {
        let one = rawdoc! { "_id": 1, "text": "some" };
        let inner = [name.as_bytes(), &[0], &one.as_bytes().repeat(documents)].concat();
        let length = (inner.len() as u32 + 4).to_le_bytes();
        [&[1][..], &length, &inner].concat()
    }

    fn legacy(opcode: i32, namespace: &str, rest: &[u8]) -> Vec<u8> {
        message(opcode, &[&[0; 4][..], namespace.as_bytes(), &[0], rest].concat())
    }

    /// Requests as drivers send them, with their expected views.
    fn corpus() -> Vec<(Vec<u8>, Seen)> {
        let of = |command: &str, names: &[&str], documents| Seen {
            command: command.into(),
            names: names.iter().map(|it| (*it).to_owned()).collect(),
            documents,
            ..Seen::default()
        };
        let insert = rawdoc! { "insert": "c", "ordered": true, "$db": "d", "lsid": { "id": 1 } };
        let many = doc! { "_id": 1, "s": "x" };
        let in_body = doc! {
            "insert": "c", "documents": vec![Bson::Document(many); 12], "ordered": true,
        };
        let in_body = RawDocumentBuf::try_from(&in_body).expect("a document");
        let wrapped = rawdoc! {
            "$query": { "count": "c", "query": { "a": 1 } }, "$readPreference": { "mode": "x" },
        };
        let zeros = [0_u8; 8];
        let query = |document: &RawDocumentBuf| [&zeros[..], document.as_bytes()].concat();
        let names = ["documents", "ordered", "$db", "lsid"];
        let after = ["ordered", "$db", "lsid", "documents"];
        let one = rawdoc! { "a": 1 };
        let namespace =
            |name: &str, documents| Seen { namespace: name.into(), documents, ..Seen::default() };
        vec![
            (
                msg(0, &[body(&insert), sequence("documents", 1000)], &[]),
                of("insert", &after, 1000),
            ),
            (msg(0, &[sequence("documents", 3), body(&insert)], &[]), of("insert", &names, 3)),
            (msg(1, &[body(&insert)], &[9; 4]), of("insert", &names[1..], 0)),
            (
                msg(2, &[body(&insert), sequence("documents", 2)], &[]),
                Seen { more_to_come: true, ..of("insert", &after, 2) },
            ),
            (msg(0, &[body(&in_body)], &[]), of("insert", &["documents", "ordered"], 12)),
            (msg(0, &[body(&every_type())], &[]), every_type_seen()),
            (legacy(2004, "d.$cmd", &query(&rawdoc! {"isMaster": 1})), of("isMaster", &[], 0)),
            (
                legacy(2004, "d.$cmd", &query(&wrapped)),
                of("count", &["query", "$readPreference"], 0),
            ),
            (legacy(2004, "d.c", &query(&one)), namespace("d.c", 0)),
            (legacy(2002, "d.c", &one.as_bytes().repeat(5)), namespace("d.c", 5)),
            (legacy(2001, "d.c", &query(&one)), namespace("d.c", 1)),
            (legacy(2006, "d.c", &query(&one)), namespace("d.c", 1)),
            (legacy(2005, "d.c", &[0; 12]), namespace("d.c", 0)),
            (message(2007, &[0; 16]), Seen::default()),
            (message(2012, &[5; 40]), Seen::default()),
        ]
    }

    /// A command with a field of every BSON type, the deprecated ones too.
    fn every_type() -> RawDocumentBuf {
        let values: [(u8, &[u8]); 20] = [
            (0x01, &[0; 8]),
            (0x02, b"\x02\0\0\0a\0"),
            (0x03, b"\x05\0\0\0\0"),
            (0x04, b"\x05\0\0\0\0"),
            (0x05, b"\x02\0\0\0\0ab"),
            (0x06, b""),
            (0x07, &[1; 12]),
            (0x08, b"\x01"),
            (0x09, &[0; 8]),
            (0x0a, b""),
            (0x0b, b"a.*\0i\0"),
            (0x0c, b"\x02\0\0\0a\0cccccccccccc"),
            (0x0d, b"\x02\0\0\0a\0"),
            (0x0e, b"\x02\0\0\0a\0"),
            (0x0f, b"\x0f\0\0\0\x02\0\0\0a\0\x05\0\0\0\0"),
            (0x10, &[0; 4]),
            (0x11, &[0; 8]),
            (0x12, &[0; 8]),
            (0x13, &[0; 16]),
            (0x7f, b""),
        ];
        let mut inner = Vec::new();
        for (number, (kind, value)) in values.iter().enumerate() {
            inner.extend_from_slice(&[*kind]);
            inner.extend_from_slice(format!("f{number}\0").as_bytes());
            inner.extend_from_slice(value);
        }
        let length = (inner.len() as u32 + 5).to_le_bytes();
        let bytes = [&length[..], &inner, &[0]].concat();
        RawDocumentBuf::from_bytes(bytes).expect("a document")
    }

    fn every_type_seen() -> Seen {
        let names = (1..20).map(|number| format!("f{number}")).collect();
        Seen { command: "f0".into(), names, ..Seen::default() }
    }

    #[test]
    fn requests_are_read_in_pieces_of_any_size() {
        let corpus = corpus();
        let stream: Vec<u8> = corpus.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let expected: Vec<Seen> = corpus.into_iter().map(|(_, seen)| seen).collect();
        for piece in [1, 2, 3, 7, 16, 61, 1000, stream.len()] {
            assert_eq!(follow(&stream, piece), Ok(expected.clone()), "in pieces of {piece}");
        }
    }

    #[test]
    fn a_body_that_cannot_be_followed_does_not_lose_the_next_message() {
        let good = msg(0, &[body(&rawdoc! { "ping": 1 })], &[]);
        let mut bad = good.clone();
        bad[HEADER_BYTES + 4] = 9; // a section of no known kind
        let mut long = msg(0, &[sequence("documents", 2), body(&rawdoc! { "insert": "c" })], &[]);
        long[HEADER_BYTES + 5] = 0xff; // longer than the message
        let truncated = message(2013, &[0, 0, 0, 0, 0, 50, 0]);
        for bad in [bad, long, truncated, msg(0, &[], &[]), message(2004, &[1, 2])] {
            let seen = follow(&[bad, good.clone()].concat(), 5).expect("lengths are right");
            assert_eq!((seen.len(), seen[0].unreadable), (2, true), "{seen:?}");
            assert_eq!((&seen[1].command[..], seen[1].unreadable), ("ping", false));
        }
    }

    #[test]
    fn a_header_that_cannot_be_ends_the_stream() {
        let mut long = message(2013, &[]);
        long[..4].copy_from_slice(&48_000_001_i32.to_le_bytes());
        assert_eq!(follow(&long, 99), Err(WireError::Length(48_000_001)));
        assert_eq!(follow(&message(1, &[0; 20]), 99), Err(WireError::OpCode(1)), "a reply");
        let garbage = follow(b"GET / HTTP/1.1\r\nHost: x\r\n", 99);
        assert_eq!(garbage, Err(WireError::Length(0x2054_4547)));
    }

    #[test]
    fn tls_is_told_by_its_first_bytes() {
        let hello = [&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3][..], &[0xab; 600]].concat();
        for piece in [1, 16, 600] {
            let mut follower = Follower::new(RequestBody::new(None));
            for bytes in hello.chunks(piece) {
                let result = follower.follow(bytes, Passed::default(), |_, _| panic!("none"));
                result.expect("only counted");
            }
            assert!(follower.encrypted);
        }
        // A message of 790 bytes begins with the same two.
        let padding = "x".repeat(790 - 34);
        let same = msg(0, &[body(&rawdoc! { "a": padding.as_str() })], &[]);
        assert_eq!((same.len(), same[0], same[1]), (790, 0x16, 3));
        assert_eq!(follow(&same, 99).expect("a message").len(), 1);
    }

    #[test]
    fn times_are_those_of_the_first_and_last_piece_without_what_the_link_held() {
        let bytes = msg(0, &[body(&rawdoc! { "ping": 1 })], &[]);
        let mut follower = Follower::new(RequestBody::new(None));
        let mut all = Vec::new();
        let pieces = [(10, 1, 0), (500, 510, 0), (900, 950, 300)];
        for (bytes, (read_ns, written_ns, held_ns)) in bytes.chunks(15).zip(pieces) {
            let passed = Passed { read_ns, written_ns, held_ns };
            follower.follow(bytes, passed, |it, _| all.push(it)).expect("a message");
        }
        let [it] = all[..] else { panic!("one message") };
        assert_eq!((it.first_ns, it.read_ns, it.written_ns), (10, 900 - 300, 950));
    }

    #[test]
    fn mutated_messages_are_followed_or_refused() {
        let stream: Vec<u8> = corpus().into_iter().flat_map(|(bytes, _)| bytes).collect();
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(5);
        let mut draw = |below: usize| random.next_u64() as usize % below;
        let (mut refused, mut unreadable) = (0, 0);
        for _ in 0..20_000 {
            let mut bytes = stream.clone();
            for _ in 0..=draw(4) {
                let at = draw(bytes.len());
                match draw(3) {
                    0 => bytes[at] = draw(256) as u8,
                    1 => bytes.truncate(at + 1),
                    _ => {
                        bytes.remove(at);
                    }
                }
                if bytes.is_empty() {
                    bytes.push(0);
                }
            }
            match follow(&bytes, 1 + draw(300)) {
                Ok(seen) => unreadable += usize::from(seen.iter().any(|it| it.unreadable)),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > 1000 && unreadable > 100, "{refused} refused, {unreadable} unreadable");
    }
}
