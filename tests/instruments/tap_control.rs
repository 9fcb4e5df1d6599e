//! The tap as the core drives it: separate arms, files that begin and end on request, an end with
//! the core's.

use crate::tap_support::{Tap, ask, connect, host_of, msg};
use bson::rawdoc;

#[test]
fn files_begin_and_end_on_request_and_arms_are_apart() {
    let name = "files_begin_and_end_on_request_and_arms_are_apart";
    let Some(uri) = crate::support::server(name) else { return };
    let mut tap = Tap::start(&host_of(uri), 2, &[]);
    let mut sockets = [connect(tap.addresses[0]), connect(tap.addresses[1])];
    let mut ping = |arm: usize, times: i32| {
        for id in 0..times {
            ask(&mut sockets[arm], &msg(id, 0, &rawdoc! { "ping": 1, "$db": "admin" }));
        }
    };
    ping(0, 3); // before the first rotation: not written down
    tap.rotate(Some("r01-first"));
    ping(0, 5);
    ping(1, 700); // more than a connection keeps to itself
    tap.rotate(Some("r01-second"));
    ping(1, 2);
    tap.rotate(None);
    ping(0, 4);
    let counts = |name: &str| [0, 1].map(|arm| tap.recorded(name, arm).0.len());
    assert_eq!(counts("r01-first"), [5, 700]);
    assert_eq!(counts("r01-second"), [0, 2]);
    let (exchanges, recording) = tap.recorded("r01-first", 1);
    assert_eq!(recording.connections.len(), 1, "the other arm's is the other arm's");
    assert!(recording.connections[0].opened_ns < exchanges[0].request_in_ns);
    assert!(exchanges.is_sorted_by_key(|it| it.request_in_ns));
    assert_eq!(recording.link, None);
}

#[test]
fn a_folder_that_cannot_be_written_is_an_answer_and_no_end() {
    let start = tap::control::ControlOptions {
        to: "127.0.0.1:9".to_owned(),
        arms: 1,
        epoch: base::clock::Epoch::start(),
        link: None,
        marks: None,
    };
    let lines = "{\"type\":\"rotate\",\"prefix\":\"/dev/null/here\"}\n{\"type\":\"rotate\"}\n";
    let mut answers = Vec::new();
    tap::control::serve(&start, lines.as_bytes(), &mut answers).expect("goes on");
    let text = String::from_utf8(answers).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].contains("failed") && lines[1].contains("/dev/null/here"), "{text}");
    assert_eq!(lines[2], "{\"type\":\"rotated\"}");
}
