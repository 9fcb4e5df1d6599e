//! Servers that mean no good: thousands of documents in each other, an answer that never ends.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mongodb::bson::{RawDocumentBuf, rawdoc};
use nix::sys::signal::Signal;
use wire::request_messages::RequestMessage;
use wire::{OpCode, read_message, reply_messages};

use crate::fake_support::{Lab, code, pid, send, stderr, wait_until};
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

/// A server with these levels in every answer. Where it drips, whatever is asked once somebody is
/// connected has an answer that comes byte by byte, and no end.
fn serve(levels: u32, drips: Option<Arc<AtomicBool>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let drips = drips.clone();
            thread::spawn(move || answer(stream, levels, drips.as_deref()));
        }
    });
    address
}

/// What the core asks to find out who a server is.
const ASKED_FIRST: [&str; 6] = ["hello", "ismaster", "isMaster", "ping", "buildInfo", "find"];

fn command(request: RequestMessage<'_>) -> String {
    let body = match request {
        RequestMessage::Msg(message) => message.body,
        RequestMessage::Query(query) => query.query,
        _ => return String::new(),
    };
    body.iter().next().and_then(Result::ok).map_or(String::new(), |(name, _)| name.to_string())
}

/// Returns when its client has gone.
fn drip(stream: &mut TcpStream, answer: &mut [u8]) {
    answer[..4].copy_from_slice(&1_000_000_i32.to_le_bytes());
    for byte in answer.iter().chain(std::iter::repeat(&0)) {
        if stream.write_all(&[*byte]).is_err() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn answer(mut stream: TcpStream, levels: u32, drips: Option<&AtomicBool>) {
    let body = rawdoc! {
        "ismaster": true, "maxWireVersion": 17, "maxBsonObjectSize": 16 << 20, "ok": 1,
        "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000, "version": "6.0.5",
        "databases": [], "nested": nested(levels),
    };
    let (mut request, mut answer) = (Vec::new(), Vec::new());
    while let Ok(Some(header)) = read_message(&mut stream, &mut request) {
        match header.opcode {
            OpCode::Query => {
                reply_messages::legacy(&mut answer, 1, header.request_id, 0, 0, 0, [&*body]);
            }
            _ => reply_messages::msg(&mut answer, 1, header.request_id, &body),
        }
        let asked = RequestMessage::parse(&header, &request).map(command).unwrap_or_default();
        if let Some(drips) = drips.filter(|_| !ASKED_FIRST.contains(&asked.as_str())) {
            drips.store(true, Ordering::Relaxed);
            return drip(&mut stream, &mut answer);
        }
        if stream.write_all(&answer).is_err() {
            return;
        }
    }
}

#[test]
fn a_server_that_answers_thousands_of_levels_cannot_be_used_and_is_no_crash() {
    let lab = Lab::even_and_slow();
    let uri = format!("mongodb://{}/", serve(5_000, None));
    let output = lab.run(["clean", "--uri", &uri, "--dry-run"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let words = ["run", "crud", "-d", "even", "--rounds", "1", "--out", "out", "--uri", &uri];
    let output = lab.run(words);
    assert_eq!(code(&output), 4, "{}", said(&output));
    assert!(stderr(&output).contains("error: "), "{}", said(&output));
}

const RUN: [&str; 8] = ["run", "crud", "-d", "even", "--rounds", "1", "--out", "out"];

#[test]
fn an_answer_without_an_end_is_given_up() {
    let lab = Lab::even_and_slow();
    let server = serve(0, Some(Arc::default()));
    let uri = format!("mongodb://{server}/?socketTimeoutMS=1");
    let run = [&RUN[..], &["--uri", &uri]].concat();
    let clean = vec!["clean", "--uri", &uri, "--dry-run"];
    thread::scope(|scope| {
        for (words, command) in [(clean, "listDatabases"), (run, "listCollections")] {
            let (lab, uri) = (&lab, &uri);
            scope.spawn(move || {
                let output = lab.run(words);
                assert_eq!(code(&output), 4, "{}", said(&output));
                let told = format!("error: {uri} did not answer `{command}` within 5 s\nhint: ");
                assert!(stderr(&output).contains(&told), "{}", said(&output));
            });
        }
    });
    lab.assert_nothing_runs();
}

#[test]
fn ctrl_c_waits_for_no_answer() {
    let lab = Lab::even_and_slow();
    let drips = Arc::new(AtomicBool::new(false));
    let server = serve(0, Some(drips.clone()));
    let uri = format!("mongodb://{server}/");
    let mut child = lab.start([&RUN[..], &["--uri", &uri]].concat());
    wait_until("an answer drips", || drips.load(Ordering::Relaxed));
    send(pid(&child), Signal::SIGINT);
    let sent = Instant::now();
    assert_eq!(lab.finish(&mut child).code, 130);
    assert!(sent.elapsed() < Duration::from_secs(30), "half of the time that an answer has");
    lab.assert_nothing_runs();
}
