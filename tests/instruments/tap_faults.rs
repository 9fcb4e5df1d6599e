//! Peers that break off, close by half, send too much or nonsense. That connection ends with at
//! most one line, and the tap goes on.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};

use crate::tap_support::{Tap, answer, ask, connect, host_of, is_ended, message, msg};
use bson::rawdoc;
use nix::sys::socket::{setsockopt, sockopt};
use wire::OpCode;

fn ping(id: i32) -> Vec<u8> {
    msg(id, 0, &rawdoc! { "ping": 1, "$db": "admin" })
}

/// Closes with a reset.
fn reset(socket: TcpStream) {
    let linger = nix::libc::linger { l_onoff: 1, l_linger: 0 };
    setsockopt(&socket, sockopt::Linger, &linger).expect("an option");
    drop(socket);
}

#[test]
fn thousands_of_connections_pass_at_once() {
    let name = "thousands_of_connections_pass_at_once";
    if base::process_id::raise_file_limit() < 4200 {
        return crate::support::skip(name, "this user may not open 4200 files");
    }
    let Some(uri) = crate::support::server(name) else { return };
    let mut tap = Tap::start(&host_of(uri), 1, &[]);
    let mut all: Vec<_> = (0..2000).map(|_| connect(tap.addresses[0])).collect();
    for socket in &mut all {
        ask(socket, &ping(1));
    }
    assert!(tap.is_running());
    drop(all);
    assert_eq!(tap.end(), "");
}

#[test]
fn clients_that_misbehave_lose_their_connection_and_nobody_elses() {
    let name = "clients_that_misbehave_lose_their_connection_and_nobody_elses";
    let Some(uri) = crate::support::server(name) else { return };
    let mut tap = Tap::start(&host_of(uri), 1, &[]);
    tap.rotate(Some("faults"));
    let mut good = connect(tap.addresses[0]);
    ask(&mut good, &ping(1));

    let mut garbage = connect(tap.addresses[0]);
    garbage.write_all(b"GET / HTTP/1.1\r\nHost: there\r\n\r\n").expect("it reads");
    assert!(is_ended(&mut garbage));

    let mut too_long = connect(tap.addresses[0]);
    ask(&mut too_long, &ping(1));
    let mut header = message(2, OpCode::Msg, &[]);
    header[..4].copy_from_slice(&48_000_001_i32.to_le_bytes());
    too_long.write_all(&header).expect("it reads");
    assert!(is_ended(&mut too_long));

    let mut gone = connect(tap.addresses[0]);
    ask(&mut gone, &ping(1));
    gone.write_all(&ping(2)[..20]).expect("it reads");
    reset(gone);

    // mongod answers requests before the half-close, and then closes.
    let mut half = connect(tap.addresses[0]);
    half.write_all(&ping(1)).expect("it reads");
    half.shutdown(Shutdown::Write).expect("open");
    answer(&mut half);
    assert!(is_ended(&mut half));

    ask(&mut good, &ping(2));
    assert!(tap.is_running());
    tap.rotate(None);
    let (_, recording) = tap.recorded("faults", 0);
    assert_eq!(recording.connections.len(), 5);
    assert_eq!(recording.connections.iter().filter(|it| it.dropped.is_some()).count(), 2);
    let summary = tap.summary("faults", 1);
    // good 2, long 1, gone 1, half 1
    assert_eq!(summary.commands["ping"].count - summary.commands["ping"].unanswered, 5);
    let log = tap.end();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 2, "one line for each that was dropped: {log}");
    assert!(lines.iter().any(|it| it.contains("48000001")), "{log}");
}

#[test]
fn servers_that_misbehave_lose_their_connection_and_the_tap_goes_on() {
    // No server can be told to do this.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = listener.local_addr().expect("an address").to_string();
    let mut tap = Tap::start(&to, 1, &[]);
    tap.rotate(Some("servers"));
    let through = |tap: &Tap| {
        let mut client = connect(tap.addresses[0]);
        client.write_all(&ping(7)).expect("it reads");
        let (mut server, _) = listener.accept().expect("a connection");
        let mut request = vec![0; ping(7).len()];
        server.read_exact(&mut request).expect("the request");
        assert_eq!(request, ping(7));
        (client, server)
    };

    let (mut client, server) = through(&tap);
    reset(server);
    assert!(is_ended(&mut client));

    let (mut client, mut server) = through(&tap);
    server.write_all(&[0xff; 64]).expect("it reads");
    assert!(is_ended(&mut client) && is_ended(&mut server));

    // Half of a reply, then no more.
    let (mut client, mut server) = through(&tap);
    server.write_all(&msg(1, 0, &rawdoc! { "ok": 1 })[..30]).expect("it reads");
    server.shutdown(Shutdown::Write).expect("open");
    let mut half = Vec::new();
    client.read_to_end(&mut half).expect("bytes, then an end");
    assert_eq!(half.len(), 30, "bytes go on as they come");
    client.write_all(&ping(8)).expect("this half is open");
    let mut more = vec![0; ping(8).len()];
    server.read_exact(&mut more).expect("the half-close was passed on as one");
    drop((client, server));

    drop(listener);
    // A process that another test is starting holds the socket until its exec.
    while TcpStream::connect(&to).is_ok() {
        std::thread::yield_now();
    }
    let mut refused = connect(tap.addresses[0]);
    assert!(is_ended(&mut refused));
    tap.rotate(None);
    let log = tap.end();
    assert_eq!(log.lines().count(), 2, "garbage and no server: {log}");
}

#[test]
fn encrypted_connections_are_counted_and_nothing_else() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut tap = Tap::start(&listener.local_addr().expect("an address").to_string(), 1, &[]);
    tap.rotate(Some("tls"));
    let mut client = connect(tap.addresses[0]);
    let hello = [&[0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3][..], &[0x5a; 194]].concat();
    client.write_all(&hello).expect("it reads");
    let (mut server, _) = listener.accept().expect("a connection");
    let mut bytes = vec![0; hello.len()];
    server.read_exact(&mut bytes).expect("passed on");
    let reply = [&[0x16, 3, 3, 0, 90, 2, 0, 0, 86, 3, 3][..], &[0xa5; 84]].concat();
    server.write_all(&reply).expect("it reads");
    client.read_exact(&mut bytes[..reply.len()]).expect("passed on");
    tap.rotate(None);
    let (exchanges, recording) = tap.recorded("tls", 0);
    let [connection] = &recording.connections[..] else { panic!("{recording:?}") };
    assert!(exchanges.is_empty() && connection.encrypted);
    assert_eq!((connection.bytes_out, connection.bytes_in), (205, 95));
    let reason = tap.summary("tls", 1).not_separable.expect("a reason");
    assert!(reason.contains("TLS"), "{reason}");
}

#[test]
fn two_hundred_connections_at_once_are_served() {
    let name = "two_hundred_connections_at_once_are_served";
    let Some(uri) = crate::support::server(name) else { return };
    let mut tap = Tap::start(&host_of(uri), 1, &[]);
    tap.rotate(Some("many"));
    let mut sockets: Vec<TcpStream> = (0..200).map(|_| connect(tap.addresses[0])).collect();
    for round in 0..5 {
        for socket in &mut sockets {
            socket.write_all(&ping(round)).expect("it reads");
        }
        for socket in &mut sockets {
            answer(socket);
        }
    }
    tap.rotate(Some("closed"));
    drop(sockets);
    let summary = tap.summary("many", 1000);
    assert_eq!(summary.commands["ping"].count, 1000);
    assert_eq!((summary.connections_opened, summary.connections_peak), (200, 200));
    assert!(summary.in_flight_peak > 1, "{summary:?}");
    // Open connections stay in the next stretch's list, and their end is noted there.
    crate::support::wait_until("all ends are noted", || {
        tap.rotate(Some("closed"));
        tap.recorded("closed", 0).1.connections.iter().all(|it| it.closed_ns.is_some())
    });
}
