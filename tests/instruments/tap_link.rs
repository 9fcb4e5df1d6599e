//! The link is as slow as it says; never faster, whatever the machine is doing.

use std::io::Write as _;
use std::time::Instant;

use crate::tap_support::{Tap, answer, ask, connect, host_of, msg};
use bson::{Binary, rawdoc, spec::BinarySubtype};
use tap::link::LinkSpec;
use tap::validate::validate;

#[test]
fn the_link_measures_itself() {
    let spec = LinkSpec::parse("100mbit,rtt=0.6ms").expect("a link");
    let check = validate(&spec).expect("sockets");
    eprintln!("{}", check.sentence);
    // Benchmarks measure how near it comes. A busy machine overestimates the tap's own hop, by
    // which each way is shortened, up to 0.1 ms.
    assert!(check.ping_rtt_us >= 400.0, "{check:?}");
    assert_eq!(
        check.ok,
        check.bandwidth_error_percent.abs() <= 5.0 && check.ping_error_us.abs() <= 50.0
    );
}

#[test]
fn commands_take_the_links_time_and_the_server_is_not_blamed() {
    let name = "commands_take_the_links_time_and_the_server_is_not_blamed";
    let Some(uri) = crate::support::server(name) else { return };
    let mut tap = Tap::start(&host_of(uri), 1, &["--link", "8mbit,rtt=40ms,jitter=2ms"]);
    let mut socket = connect(tap.addresses[0]);
    tap.rotate(Some("pings"));
    let began = Instant::now();
    for id in 0..10 {
        ask(&mut socket, &msg(id, 0, &rawdoc! { "ping": 1, "$db": "admin" }));
    }
    let pings_us = began.elapsed().as_secs_f64() * 1e6;
    assert!(pings_us >= 380_000.0, "{pings_us}");
    tap.rotate(Some("bulk"));
    // A message of 1 MB takes a second, on its way through a buffer that holds 298 KiB of it.
    let bytes = Binary { subtype: BinarySubtype::Generic, bytes: vec![7; 1_000_000] };
    let insert = rawdoc! {
        "insert": "big", "$db": "tap_link", "documents": [{ "_id": 1, "bytes": bytes }],
    };
    let began = Instant::now();
    ask(&mut socket, &msg(99, 0, &insert));
    let bulk_us = began.elapsed().as_secs_f64() * 1e6;
    assert!(bulk_us >= 1_000_000.0, "{bulk_us}");
    tap.rotate(None);
    ask(&mut socket, &msg(100, 0, &rawdoc! { "drop": "big", "$db": "tap_link" }));

    let pings = tap.summary("pings", 10);
    assert!(pings.link_us_per_op >= 38_000.0, "{pings:?}");
    // Time on the link that is the server's as well would count twice.
    assert!(10.0 * (pings.link_us_per_op + pings.server_us_per_op) <= pings_us, "{pings:?}");
    let bulk = tap.summary("bulk", 1);
    assert!(bulk.link_us_per_op > 1_000_000.0, "also while a full buffer held the tap: {bulk:?}");
    assert!(bulk.link_us_per_op + bulk.server_us_per_op <= bulk_us, "{bulk:?}");
}

#[test]
fn a_writer_that_waits_for_nothing_is_held_once_the_buffers_are_full() {
    let name = "a_writer_that_waits_for_nothing_is_held_once_the_buffers_are_full";
    let Some(uri) = crate::support::server(name) else { return };
    let tap = Tap::start(&host_of(uri), 1, &["--link", "16mbit,rtt=1ms"]);
    let mut socket = connect(tap.addresses[0]);
    let bytes = Binary { subtype: BinarySubtype::Generic, bytes: vec![7; 100_000] };
    let insert = rawdoc! {
        "insert": "oneway", "$db": "tap_link", "documents": [{ "bytes": bytes }],
        "writeConcern": { "w": 0 },
    };
    let began = Instant::now();
    for id in 0..60 {
        // 6 MB at 2 MB a second; the kernel's buffer of this socket grows to 4 MB at most.
        socket.write_all(&msg(id, 2, &insert)).expect("it reads");
    }
    assert!(began.elapsed().as_millis() >= 250, "{:?}", began.elapsed());
    ask(&mut socket, &msg(100, 0, &rawdoc! { "drop": "oneway", "$db": "tap_link" }));
    assert!(began.elapsed().as_millis() >= 3000, "{:?}", began.elapsed());
}

#[test]
fn half_closes_and_ends_pass_the_link() {
    let name = "half_closes_and_ends_pass_the_link";
    let Some(uri) = crate::support::server(name) else { return };
    let mut tap = Tap::start(&host_of(uri), 1, &["--link", "lan-1gbit"]);
    let mut socket = connect(tap.addresses[0]);
    socket.write_all(&msg(1, 0, &rawdoc! { "ping": 1, "$db": "admin" })).expect("it reads");
    socket.shutdown(std::net::Shutdown::Write).expect("open");
    answer(&mut socket);
    assert!(crate::tap_support::is_ended(&mut socket));
    let mut garbage = connect(tap.addresses[0]);
    garbage.write_all(&[0xff; 100]).expect("it reads");
    assert!(crate::tap_support::is_ended(&mut garbage));
    tap.rotate(None); // waits for accounts under way
    assert_eq!(tap.end().lines().count(), 1);
}
