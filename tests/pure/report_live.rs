//! The live page: in a real browser while a real run goes on, and against clients that no browser
//! is.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::browser;
use crate::fake_support::Lab;
use crate::support::{comes_true, skip, wait_until};
use report::live_server::LiveServer;
use serde_json::Value;

/// The address that a run of the lab has printed.
fn address(lab: &Lab) -> String {
    let mut found = None;
    wait_until("the address of the live page", || {
        let text = std::fs::read_to_string(lab.path("stderr")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("live page: "));
        found = line.map(str::to_owned);
        found.is_some()
    });
    found.expect("an address")
}

#[test]
fn a_page_grows_with_the_rounds_and_keeps_what_its_reader_did() {
    let test = "a_page_grows_with_the_rounds_and_keeps_what_its_reader_did";
    let mut browser = match browser::at("live", &[]) {
        Ok(browser) => browser,
        Err(reason) => return skip(test, &reason),
    };
    let mut lines = BufReader::new(browser.stdout.take().expect("its output")).lines();
    let mut line = || lines.next().expect("a line").expect("text");
    assert_eq!(line(), "\"ready\"");
    let lab = Lab::even_and_slow();
    let mut run = lab.start(lab.words(&["even", "slow"], &["--rounds", "16", "--live"]));
    // A client that never reads, from the first round to the end.
    let address = address(&lab);
    let _deaf = asked(&address, "events", None);
    writeln!(browser.stdin.take().expect("its input"), "{address}").expect("it reads");
    assert_eq!(line(), "\"seen\"");
    let done = lab.finish(&mut run);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert_eq!(done.stderr.matches("http://").count(), 1, "{}", done.stderr);
    let found: Value = serde_json::from_str(&line()).expect("JSON");
    assert!(browser.wait().expect("it ends").success());
    assert_eq!(found["errors"], serde_json::json!([]), "{found}");
    assert!(found["grown"].as_u64().is_some_and(|it| it > 0), "{found}");
    assert_eq!((&found["moved"], &found["kept"]), (&0.into(), &true.into()), "{found}");
    assert_eq!(found["pressed"], "false", "{found}");
    assert_eq!(found["hidden"], serde_json::json!([true, true]), "{found}");
    let said: Vec<&str> =
        found["said"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let is_round = |it: &&str| it.starts_with("run under way: round ") && it.ends_with(" of 16");
    assert!(said.iter().any(is_round) && said.ends_with(&["ended"]), "{found}");
    assert!(found["end"].as_str().is_some_and(|it| it.ends_with("out/report.html")), "{found}");
    assert!(found["rounds"].as_str().is_some_and(|it| it.contains("16 rounds")), "{found}");
    lab.assert_nothing_runs();
}

/// Sends a request for what is below the address. Unless a host is given it is the address's own.
fn asked(address: &str, below: &str, host: Option<&str>) -> TcpStream {
    let (own, path) = address.strip_prefix("http://").and_then(|it| it.split_once('/')).unwrap();
    let mut stream = TcpStream::connect(own).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
    let host = host.unwrap_or(own);
    // A connection that is one too many has ended already: reading shows it.
    let _ = write!(stream, "GET /{path}{below} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    stream
}

/// What it says to a request, up to these words.
fn up_to(stream: &mut TcpStream, words: &str) -> String {
    let (mut read, mut bytes) = (Vec::new(), vec![0; 1 << 20]);
    loop {
        let count = stream.read(&mut bytes).expect("an answer");
        assert!(count > 0, "it ended after {} bytes", read.len());
        let from = read.len().saturating_sub(words.len());
        read.extend_from_slice(&bytes[..count]);
        if String::from_utf8_lossy(&read[from..]).contains(words) {
            return String::from_utf8_lossy(&read).into_owned();
        }
    }
}

#[test]
fn only_the_address_with_its_token_is_answered() {
    let server = LiveServer::start().expect("a server");
    let address = server.address();
    let code = |below: &str, host: Option<&str>| {
        up_to(&mut asked(&address, below, host), "\r\n\r\n")[9..12].to_owned()
    };
    assert_eq!(code("", None), "200");
    let port = address.split([':', '/']).nth(4).expect("a port");
    for host in ["rebound.example", &format!("rebound.example:{port}"), "127.0.0.1", "localhost"] {
        assert_eq!(code("", Some(host)), "403", "{host}");
    }
    assert_eq!(code("report.html", None), "404");
    let (origin, token) = address[7..].split_once('/').expect("a token");
    for path in [String::new(), "0".repeat(32) + "/", token[1..].to_owned()] {
        let wrong = format!("http://{origin}/{path}");
        assert!(up_to(&mut asked(&wrong, "", None), "\r\n").contains(" 404 "), "{wrong}");
        assert!(up_to(&mut asked(&wrong, "events", None), "\r\n").contains(" 404 "), "{wrong}");
    }
    let another = LiveServer::start().expect("another").address();
    assert!(!another.ends_with(token), "{another}");
    let mut clients: Vec<TcpStream> = (0..8).map(|_| asked(&address, "events", None)).collect();
    for client in &mut clients {
        up_to(client, "event-stream");
    }
    // An end is no error of a browser: it tries again.
    let refused = asked(&address, "events", None).read(&mut [0; 100]);
    assert!(refused.is_err() || refused.is_ok_and(|count| count == 0), "there are enough");
    drop(clients);
    assert!(comes_true(|| {
        server.show("run under way: round 1 of 2", ""); // a client that has gone is noticed
        asked(&address, "", None).read(&mut [0; 100]).is_ok_and(|count| count > 0)
    }));
}

#[test]
fn a_client_that_does_not_read_holds_nothing_and_gets_the_newest_later() {
    let server = LiveServer::start().expect("a server");
    let mut deaf = asked(&server.address(), "events", None);
    up_to(&mut deaf, "event-stream");
    let mut hearing = asked(&server.address(), "events", None);
    for round in 1..=20 {
        // No buffer of the system takes all of them.
        server.publish(&format!("{round}:{}", "x".repeat(4 << 20)));
    }
    server.show("run under way: round 20 of 20", "");
    server.end(Some("the last page"), "kept");
    let heard = up_to(&mut hearing, "\"ended\":true");
    assert!(heard.contains("the last page"), "the other client has its end");
    let late = up_to(&mut deaf, "\"ended\":true");
    assert!(late.contains("the last page"));
    assert!(late.len() < 10 * (4 << 20), "what it missed is left out: {} bytes", late.len());
}
