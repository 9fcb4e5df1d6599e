//! From exchanges to figures, with exchanges made by hand; and whether arms did the same work.

use record::records::{Tap, TapCommand};
use record::samples::Sample;
use tap::CommandShape;
use tap::exchange::{Exchange, flags};
use tap::fairness::{ArmTraffic, fairness};
use tap::recording::{ConnectionRecord, Recording};
use tap::tap_summary::CallSpan;

const COMMANDS: [&str; 7] =
    ["find", "insert", "hello", "ping", "OP_INSERT", "getlasterror", "getMore"];

fn shape(command: &str) -> u32 {
    COMMANDS.iter().position(|it| *it == command).expect("a command") as u32
}

fn recording() -> Recording {
    let shapes = COMMANDS.map(|command| CommandShape {
        command: command.to_owned(),
        namespace: None,
        fields: vec!["$db".to_owned(), format!("of_{command}")],
    });
    let connection =
        |number| ConnectionRecord { number, opened_ns: 10, ..ConnectionRecord::default() };
    Recording { link: None, shapes: shapes.into(), connections: vec![connection(1), connection(2)] }
}

/// Comes in at `at`, is passed on 5 later, answered after `server` and given back 5 after that.
fn exchange(command: &str, connection: u32, at: u64, server: u64) -> Exchange {
    Exchange {
        request_in_ns: at,
        request_out_ns: at + 5,
        reply_first_ns: at + 5 + server,
        reply_last_ns: at + 5 + server,
        reply_out_ns: at + 10 + server,
        bytes_out: 100,
        bytes_in: 50,
        documents: 0,
        connection,
        shape: shape(command),
        flags: flags::ANSWERED,
        ..Exchange::default()
    }
}

fn unanswered(command: &str, connection: u32, at: u64) -> Exchange {
    Exchange {
        request_in_ns: at,
        request_out_ns: at + 5,
        bytes_out: 100,
        documents: 1,
        connection,
        shape: shape(command),
        ..Exchange::default()
    }
}

fn sample(start_ns: u64, service_ns: u64) -> Sample {
    Sample {
        intended_ns: start_ns,
        start_ns,
        service_ns,
        index: 0,
        operation: 0,
        outcome: 0,
        worker: 0,
    }
}

/// One find an operation, one after the other, 1000 ns apart: 100 before the request, 410 in it, 90
/// behind it.
fn finds(count: u64) -> (Vec<Exchange>, Vec<Sample>) {
    let exchanges = (0..count).map(|n| exchange("find", 1, n * 1000 + 1100, 400)).collect();
    (exchanges, (0..count).map(|n| sample(n * 1000 + 1000, 600)).collect())
}

const ALL: [(u64, u64); 1] = [(0, 1_000_000)];

fn summarise(
    exchanges: &[Exchange],
    recording: &Recording,
    turns: &[(u64, u64)],
    samples: impl IntoIterator<Item = Sample>,
    operations: u64,
) -> Tap {
    let calls = samples.into_iter().map(|it| CallSpan::of(&it)).collect();
    tap::tap_summary::summarise(exchanges, recording, turns, calls, operations)
}

#[test]
fn the_drivers_share_is_what_is_left_of_the_service_time() {
    let (exchanges, samples) = finds(300);
    let tap = summarise(&exchanges, &recording(), &ALL, samples, 300);
    assert_eq!((tap.server_us_per_op, tap.link_us_per_op), (0.41, 0.0));
    let driver = tap.driver_us_per_op.expect("separable");
    assert!((driver - 0.19).abs() < 1e-9, "{driver}");
    assert_eq!(tap.matched_operations, 300);
    assert_eq!((tap.encode_p50_us, tap.decode_p50_us), (Some(0.1), Some(0.09)));
    assert_eq!(
        (tap.round_trips_per_op, tap.bytes_out_per_op, tap.bytes_in_per_op),
        (1., 100., 50.)
    );
    assert_eq!((tap.connections_peak, tap.connections_idle), (2, 1));
    assert_eq!((tap.connections_opened, tap.connections_closed), (2, 0));
    assert_eq!((tap.in_flight_peak, tap.in_flight_mean), (1, 300.0 * 410.0 / 1e6));
    let find = &tap.commands["find"];
    assert_eq!((find.count, find.server_p50_us, find.server_p99_us), (300, Some(0.41), None));
    assert_eq!(find.fields, ["$db", "of_find"]);
    assert_eq!(tap.not_separable, None);
}

#[test]
fn the_links_time_is_taken_off_the_servers() {
    let (exchanges, samples) = finds(10);
    let linked = Recording { link: Some("lan-1gbit".into()), ..recording() };
    let tap = summarise(&exchanges, &linked, &ALL, samples, 10);
    assert_eq!((tap.server_us_per_op, tap.link_us_per_op), (0.4, 0.01));
    assert!((tap.driver_us_per_op.expect("separable") - 0.19).abs() < 1e-9);
}

#[test]
fn only_what_came_in_during_the_turns_counts() {
    let (exchanges, mut samples) = finds(300);
    samples.truncate(2);
    // Requests at 1100 and 2100, and none between 2200 and 5000.
    let turns = [(2200, 3000), (1000, 2150)];
    let tap = summarise(&exchanges, &recording(), &turns, samples, 2);
    assert_eq!(tap.commands["find"].count, 2);
    assert_eq!((tap.round_trips_per_op, tap.matched_operations), (1.0, 2));
    assert_eq!(tap.in_flight_by_turn, [(410.0 + 50.0) / 1150.0, 0.0]);
    assert_eq!(tap.connections_opened, 0, "both were opened before");
}

#[test]
fn monitors_are_counted_and_belong_to_no_operation() {
    let (mut exchanges, samples) = finds(10);
    exchanges.push(exchange("hello", 2, 1050, 5000));
    exchanges.push(exchange("ping", 2, 9000, 5000));
    let tap = summarise(&exchanges, &recording(), &ALL, samples, 10);
    assert_eq!((tap.commands["hello"].background, tap.commands["ping"].background), (1, 1));
    assert_eq!((tap.round_trips_per_op, tap.in_flight_peak), (1.0, 1));
    assert_eq!(tap.matched_operations, 10);
    // Where there are only pings, they are the operations.
    let pings: Vec<Exchange> = (0..5).map(|n| exchange("ping", 1, n * 1000 + 100, 100)).collect();
    let samples = (0..5).map(|n| sample(n * 1000, 500));
    let tap = summarise(&pings, &recording(), &ALL, samples, 5);
    assert_eq!((tap.commands["ping"].background, tap.matched_operations), (0, 5));
}

#[test]
fn an_operation_of_several_commands_is_timed_from_the_first_to_the_last() {
    let exchanges = [exchange("find", 1, 1100, 100), exchange("getMore", 1, 1400, 100)];
    let many = exchanges.iter().cycle().zip(0..600_u64);
    let later = |it: &Exchange, by: u64| Exchange {
        request_in_ns: it.request_in_ns + by,
        request_out_ns: it.request_out_ns + by,
        reply_first_ns: it.reply_first_ns + by,
        reply_last_ns: it.reply_last_ns + by,
        reply_out_ns: it.reply_out_ns + by,
        ..*it
    };
    let many: Vec<Exchange> = many.map(|(it, n)| later(it, n / 2 * 1000)).collect();
    let samples = (0..300).map(|n| sample(n * 1000 + 1000, 600));
    let tap = summarise(&many, &recording(), &ALL, samples, 300);
    assert_eq!((tap.round_trips_per_op, tap.matched_operations), (2.0, 300));
    assert_eq!((tap.encode_p50_us, tap.decode_p50_us), (Some(0.1), Some(0.09)));
    assert!((tap.driver_us_per_op.expect("separable") - 0.38).abs() < 1e-9);
}

#[test]
fn operations_that_overlap_are_not_guessed() {
    let (exchanges, mut samples) = finds(300);
    // Another worker's long operation, around a hundred of them and the commands of 99.
    samples.push(sample(500, 100_000));
    let tap = summarise(&exchanges, &recording(), &ALL, samples, 301);
    assert_eq!(tap.matched_operations, 201);
    assert!(tap.driver_us_per_op.is_some(), "one at a time on the connection");
}

fn reason(exchanges: &[Exchange], recording: &Recording) -> String {
    let samples = finds(300).1;
    let tap = summarise(exchanges, recording, &ALL, samples, 300);
    assert_eq!((tap.driver_us_per_op, tap.encode_p50_us), (None, None));
    tap.not_separable.expect("a reason")
}

#[test]
fn inseparable_times_say_why() {
    let base = finds(3).0;
    let with = |more: Exchange| [&base[..], &[more]].concat();
    let good = recording();
    let overlapping = reason(&with(exchange("find", 1, 1200, 10)), &good);
    assert_eq!(overlapping, "commands overlap on one connection");
    let write = reason(&with(unanswered("insert", 1, 9000)), &good);
    assert!(write.contains("unacknowledged"), "{write}");
    let mut compressed = exchange("find", 1, 9000, 10);
    compressed.flags |= flags::COMPRESSED;
    assert!(reason(&with(compressed), &good).contains("compressed"));
    let mut tls = recording();
    tls.connections[1].encrypted = true;
    assert!(reason(&base, &tls).contains("TLS"));
    assert_eq!(reason(&[], &good), "no command passed the tap");
    let parallel = reason(&with(exchange("find", 2, 1200, 500_000)), &good);
    assert!(parallel.contains("side by side"), "{parallel}");
    let nobody = summarise(&base, &good, &ALL, [], 0);
    assert!(nobody.not_separable.is_some_and(|it| it.contains("no operations")));
}

#[test]
fn a_write_and_its_get_last_error_are_one() {
    let pairs = (0..300_u64).flat_map(|n| {
        let at = n * 1000 + 1100;
        [unanswered("OP_INSERT", 1, at), exchange("getlasterror", 1, at + 20, 380)]
    });
    let exchanges: Vec<Exchange> = pairs.collect();
    let samples = finds(300).1;
    let tap = summarise(&exchanges, &recording(), &ALL, samples, 300);
    // 20 from the write to getlasterror, and 390 for itself.
    assert!((tap.server_us_per_op - 0.41).abs() < 1e-9, "{}", tap.server_us_per_op);
    assert!((tap.driver_us_per_op.expect("separable") - 0.19).abs() < 1e-9);
    assert_eq!(tap.commands["OP_INSERT"].unanswered, 300);
}

fn tap(commands: &[(&str, u64, u64, &[&str])], bytes_out: f64) -> Tap {
    let command = |documents, count, fields: &[&str]| TapCommand {
        count,
        documents,
        fields: fields.iter().map(|it| (*it).to_owned()).collect(),
        batches: if documents == 0 {
            [].into()
        } else {
            [((documents / count) as u32, count)].into()
        },
        ..TapCommand::default()
    };
    let all: u64 = commands.iter().map(|it| it.1).sum();
    Tap {
        commands: commands
            .iter()
            .map(|(name, count, documents, fields)| {
                ((*name).to_owned(), command(*documents, *count, fields))
            })
            .collect(),
        round_trips_per_op: all as f64 / 100.0,
        bytes_out_per_op: bytes_out,
        bytes_in_per_op: 50.0,
        ..Tap::default()
    }
}

fn compare(a: &Tap, b: &Tap) -> Vec<String> {
    let side = |name, tap| ArmTraffic { name, tap, operations: 100 };
    fairness(&[side("a@1", a), side("b@2", b)])
}

#[test]
fn arms_that_did_the_same_are_not_mentioned() {
    let a = tap(&[("find", 100, 0, &["$db", "filter"])], 100.0);
    let b = tap(&[("find", 102, 0, &["$db", "filter"])], 109.0);
    assert_eq!(compare(&a, &b), [""; 0]);
    let mut monitored = b.clone();
    let hello = TapCommand { count: 3, background: 3, ..TapCommand::default() };
    monitored.commands.insert("hello".into(), hello);
    assert_eq!(compare(&a, &monitored), [""; 0]);
}

#[test]
fn arms_that_did_other_work_are_named_with_numbers() {
    let a = tap(&[("insert", 100, 10_000, &["$db"])], 100.0);
    let b = tap(&[("insert", 200, 10_000, &["$db", "lsid", "txnNumber"])], 111.0);
    assert_eq!(
        compare(&a, &b),
        [
            "b@2 moved 2.00 commands an operation, a@1 1.00.",
            "b@2 moved 111 bytes to the server an operation, a@1 100.",
            "b@2's insert carried 50.0 documents on average and at most 50, a@1's 100 and 100.",
            "b@2's insert carries lsid (implicit sessions), txnNumber (retryable writes); a@1's \
             does not.",
        ]
    );
}

#[test]
fn old_protocols_and_compression_are_named() {
    let new = tap(&[("insert", 100, 100, &[])], 100.0);
    let old = tap(&[("OP_INSERT", 100, 100, &[]), ("getlasterror", 100, 0, &[])], 100.0);
    assert_eq!(
        compare(&new, &old),
        [
            "b@2 moved 2.00 commands an operation, a@1 1.00.",
            "b@2 sent OP_INSERT (1.00 an operation), getlasterror (1.00 an operation), a@1 did \
             not.",
            "a@1 sent insert (1.00 an operation), b@2 did not.",
            "b@2 uses legacy opcodes (OP_INSERT), a@1 none.",
        ]
    );
    let packed = tap(&[("OP_COMPRESSED", 100, 0, &[])], 100.0);
    let sentences = compare(&new, &packed).join("\n");
    assert!(sentences.contains("b@2 compresses its messages, a@1 does not."), "{sentences}");
}
