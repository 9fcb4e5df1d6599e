//! A server whose answers hold thousands of documents in each other.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use mongodb::bson::{RawDocumentBuf, rawdoc};
use wire::{OpCode, read_message, reply};

use crate::fake_support::{Lab, code, stderr};
use crate::support::said;

/// `{a: {a: …}}`.
fn nested(levels: u32) -> RawDocumentBuf {
    let mut bytes = Vec::new();
    for level in (1..=levels).rev() {
        bytes.extend_from_slice(&(5 + 8 * level).to_le_bytes());
        bytes.extend_from_slice(b"\x03a\0");
    }
    bytes.extend_from_slice(&[5, 0, 0, 0, 0]);
    bytes.resize(bytes.len() + levels as usize, 0);
    RawDocumentBuf::from_bytes(bytes).expect("BSON")
}

fn serve(levels: u32) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream, levels));
        }
    });
    address
}

fn answer(mut stream: TcpStream, levels: u32) {
    let body = rawdoc! {
        "ismaster": true, "maxWireVersion": 17, "maxBsonObjectSize": 16 << 20, "ok": 1,
        "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000, "version": "6.0.5",
        "databases": [], "nested": nested(levels),
    };
    let (mut request, mut answer) = (Vec::new(), Vec::new());
    while let Ok(Some(header)) = read_message(&mut stream, &mut request) {
        match header.opcode {
            OpCode::Query => reply::legacy(&mut answer, 1, header.request_id, 0, 0, 0, [&*body]),
            _ => reply::msg(&mut answer, 1, header.request_id, &body),
        }
        if stream.write_all(&answer).is_err() {
            return;
        }
    }
}

#[test]
fn a_server_that_answers_thousands_of_levels_cannot_be_used_and_is_no_crash() {
    let lab = Lab::even_and_slow();
    let uri = format!("mongodb://{}/", serve(5_000));
    let output = lab.run(["clean", "--uri", &uri, "--dry-run"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let words = ["run", "crud", "-d", "even", "--rounds", "1", "--out", "out", "--uri", &uri];
    let output = lab.run(words);
    assert_eq!(code(&output), 4, "{}", said(&output));
    assert!(stderr(&output).contains("error: "), "{}", said(&output));
}
